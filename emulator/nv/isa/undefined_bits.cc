// Undefined bits through operations.
#include "emulator/nv/isa/undefined_bits.h"

#include <bit>

#include "emulator/nv/isa/warp.h"

namespace doorbell::emu::nvgpu {

namespace {

// A carry goes up from the lowest undefined bit.
u32 upwards(u32 bits) { return bits == 0 ? 0 : ~u32{0} << std::countr_zero(bits); }

// Bits of the table's result that depend on undefined ones: those that some replacement changes.
u32 logic_bits(const u32 (&value)[3], const u32 (&undefined)[3], u32 table) {
  u32 some = 0, all = ~u32{0};
  for (u32 choice = 0; choice < 8; ++choice) {
    u32 in[3];
    for (u32 i = 0; i < 3; ++i)
      in[i] = (value[i] & ~undefined[i]) | (choice >> i & 1 ? undefined[i] : 0);
    u32 out = 0;
    for (u32 i = 0; i < 8; ++i)
      if (table >> i & 1)
        out |= (i & 4 ? in[0] : ~in[0]) & (i & 2 ? in[1] : ~in[1]) & (i & 1 ? in[2] : ~in[2]);
    some |= out, all &= out;
  }
  return some ^ all;
}

// Pairs of halves: each half of the result depends on one half of each source.
u32 half_bits(const Operation& op, const UndefinedBits& of, bool single) {
  const auto half = [&](const Source& source, u32 which) {
    if (source.swizzle >= 2) which = source.swizzle - 2u;
    return (of(source) >> (16 * which) & 0xffff) != 0;
  };
  u32 result = 0;
  for (u32 which = 0; which < 2; ++which) {
    bool undefined = half(op.a, which) || half(op.x, which);
    if (op.opcode->number == 0x031 || op.opcode->number == 0x035)  // HFMA2
      undefined |= half(op.e, which);
    if (undefined) result |= 0xffffu << (16 * which);
  }
  if (single) return result & 0xffff ? ~u32{0} : 0;
  return result;
}

// The bits that a conversion looks at.
u32 converted_bits(const Operation& op) {
  const u32 bytes = op.field(84, 2);
  if (bytes >= 2) return ~u32{0};
  const u32 number = op.opcode->number, part = op.form == 1 ? op.field(60, 2) : 0;
  if (number == 0x104 || number == 0x105) return part == 1 ? 0xffff'0000 : 0xffff;
  return bytes == 0 ? 0xffu << (8 * part) : 0xffffu << (16 * (part & 1));
}

}  // namespace

u32 undefined_result(const Warp& warp, const Operation& op, u32 lane, const UndefinedBits& of) {
  const auto value = [&](const Source& source) { return row_of(warp, source)[lane]; };
  const u32 a = of(op.a), b = of(op.b), c = of(op.c), x = of(op.x);
  switch (op.opcode->number) {
    case 0x002:  // MOV
    case 0x082: return x;
    case 0x007:  // SEL
    case 0x008:  // FSEL
    case 0x087: return predicate_of(warp, op.in_p, op.not_p) >> lane & 1 ? a : x;
    case 0x012:  // LOP3
    case 0x092: {
      const u32 values[3] = {value(op.a), value(op.b), value(op.c)}, undefined[3] = {a, b, c};
      return logic_bits(values, undefined, op.field(72, 8));
    }
    case 0x016:  // PRMT
    case 0x096: return b != 0 ? ~u32{0} : permuted_bytes(a, value(op.b), c, op);
    case 0x019:  // SHF
    case 0x099: return b != 0 ? ~u32{0} : funnel_shifted(a, value(op.b), c, op);
    case 0x010:  // IADD3
    case 0x090: return upwards(a | b | c);
    case 0x036: return upwards(a | x);  // VIADD
    case 0x024:                         // IMAD
    case 0x0a4: {
      const u32 factor = value(op.b);
      if (b == 0) return upwards((factor == 0 ? 0 : a << std::countr_zero(factor)) | c);
      return upwards(a | b | c);
    }
    case 0x030: return half_bits(op, of, op.bit(78));  // HADD2
    case 0x031:                                        // HFMA2
    case 0x032:                                        // HMUL2
    case 0x035:
    case 0x040: return half_bits(op, of, false);  // HMNMX2
    case 0x045:                                   // I2FP, F2F, F2I, I2F
    case 0x104:
    case 0x105:
    case 0x106:
    case 0x110:
    case 0x112: return x & converted_bits(op) ? ~u32{0} : 0;
    default: return ~u32{0};
  }
}

}  // namespace doorbell::emu::nvgpu
