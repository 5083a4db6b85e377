"""Writes rounding_cases.h: floats rounded in all four modes, by exact arithmetic on fractions.

python3 tests/emulator/amd/isa/number/rounding_model.py > tests/emulator/amd/isa/number/rounding_cases.h
"""
import random
import struct
from fractions import Fraction

HALF, SINGLE, DOUBLE = (11, -14, 15), (24, -126, 127), (53, -1022, 1023)  # digits, exponents
SIZES = {HALF: ('e', 'H'), SINGLE: ('f', 'I'), DOUBLE: ('d', 'Q')}


def value_of(bits, form):
  return Fraction(struct.unpack('<' + SIZES[form][0], struct.pack('<' + SIZES[form][1], bits))[0])


def integer(value, mode):
  """Modes as MODE has them: 0 nearest even, 1 up, 2 down, 3 towards zero."""
  floor = value.numerator // value.denominator
  rest = value - floor
  if rest == 0 or mode == 2 or (mode == 3 and value > 0): return floor
  if mode in (1, 3): return floor + 1
  return floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1))


def rounded(value, form, mode, held=False):
  """The bits of an exact, non-zero value in the format."""
  digits, least, most = form
  exponent = 0
  while abs(value) >= Fraction(2) ** (exponent + 1): exponent += 1
  while abs(value) < Fraction(2) ** exponent: exponent -= 1
  unit = Fraction(2) ** (max(exponent, least) - digits + 1)
  steps = abs(integer(value / unit, mode))
  infinity = (most - least + 2) << (digits - 1)
  if steps * unit >= Fraction(2) ** (most + 1):
    away = not held and (mode == 0 or (mode == 1 and value > 0) or (mode == 2 and value < 0))
    bits = infinity if away else infinity - 1
  elif steps < 1 << (digits - 1):
    bits = steps
  else:
    bits = ((max(exponent, least) - least) << (digits - 1)) + steps
  sign = 1 << (struct.calcsize(SIZES[form][1]) * 8 - 1)
  return bits | (sign if value < 0 else 0)


def some(form, generator):
  """Bits of a finite number, not zero, near one as often as anywhere."""
  digits, least, most = form
  low, high = (-4, 4) if generator.random() < 0.6 else (least - 3, most)
  if form != HALF: low, high = max(low, -24), min(high, 15)
  number = Fraction(generator.randrange(1, 1 << digits), 1 << (digits - 1))
  number *= Fraction(2) ** generator.randrange(low, high)
  return rounded(number * generator.choice((-1, 1)), form, 0)


def sum_of(a, b): return a + b


def product(a, b): return a * b


def fused(a, b, c): return a * b + c


# name, chips, operands' formats, the result's, the exact result
OPERATIONS = [
    ('v_add_f16', '*', (HALF, HALF), HALF, sum_of),
    ('v_mul_f16', '*', (HALF, HALF), HALF, product),
    ('v_fma_f16', '*', (HALF, HALF, HALF), HALF, fused),
    ('v_pk_add_f16', '*', (HALF, HALF), HALF, sum_of),
    ('v_pk_fma_f16', '*', (HALF, HALF, HALF), HALF, fused),
    ('v_cvt_f16_f32', '*', (SINGLE,), HALF, lambda a: a),
    ('v_add_f32', '*', (SINGLE, SINGLE), SINGLE, sum_of),
    ('v_fma_f32', '*', (SINGLE, SINGLE, SINGLE), SINGLE, fused),
    ('v_cvt_f32_f64', '*', (DOUBLE,), SINGLE, lambda a: a),
    ('v_add_f64', '*', (DOUBLE, DOUBLE), DOUBLE, sum_of),
    ('v_mul_f64', '*', (DOUBLE, DOUBLE), DOUBLE, product),
    ('v_fma_f64', '*', (DOUBLE, DOUBLE, DOUBLE), DOUBLE, fused),
    ('s_add_f16', 'gfx1201', (HALF, HALF), HALF, sum_of),
    ('s_mul_f16', 'gfx1201', (HALF, HALF), HALF, product),
    ('s_add_f32', 'gfx1201', (SINGLE, SINGLE), SINGLE, sum_of),
    ('v_fma_mixlo_f16', '*', (SINGLE, SINGLE, SINGLE), HALF, None),
    ('v_mad_f16', 'gfx942', (HALF, HALF, HALF), HALF, None),
    ('v_cvt_pk_u8_f32', '*', (SINGLE,), None, None),
]


def result(name, form, exact, values, single, double, held):
  mode = single if form == SINGLE else double
  if name == 'v_cvt_pk_u8_f32': return max(0, min(255, integer(values[0], single)))
  if name == 'v_fma_mixlo_f16':
    first = value_of(rounded(fused(*values), SINGLE, single), SINGLE)
    return rounded(first, HALF, double, held)
  if name == 'v_mad_f16':
    first = rounded(values[0] * values[1], HALF, double, held)
    if first & 0x7fff in (0, 0x7c00): return None  # a zero's sign, an infinite sum
    total = value_of(first, HALF) + values[2]
    return rounded(total, HALF, double, held) if total else None
  value = exact(*values)
  return rounded(value, form, mode, held and form == HALF) if value else None


def main():
  generator = random.Random(20)
  print('// Floats in all rounding modes. Written by rounding_model.py; do not edit.')
  print('#pragma once\n\n#include "base/util/types.h"\n\nnamespace doorbell::testing {\n')
  print('struct RoundingCase {\n  const char* chips;\n  const char* name;')
  print('  u32 mode;  // the MODE register\n  u64 a, b, c, expected;\n};\n')
  print('// clang-format off\ninline constexpr RoundingCase kRoundingCases[] = {')
  for name, chips, forms, form, exact in OPERATIONS:
    written = 0
    while written < 24:
      single, double, held = generator.randrange(4), written % 4, generator.random() < 0.2
      bits = [some(f, generator) for f in forms]
      values = [value_of(b, f) for b, f in zip(bits, forms)]
      expected = result(name, form, exact, values, single, double, held)
      if expected is None: continue
      mode = 0xf0 | single | double << 2 | (1 << 23 if held else 0)
      words = ', '.join('%#x' % b for b in (bits + [0, 0])[:3])
      line = '    {"%s", "%s", %#x, %s, %#x},' % (chips, name, mode, words, expected)
      print(line if len(line) <= 100 else line.replace(', 0x', ',\n     0x', 1))
      written += 1
  print('};\n// clang-format on\n\n}  // namespace doorbell::testing')


main()
