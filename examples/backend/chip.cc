// The instructions, one by one.
#include "examples/backend/chip.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/util/try.h"

namespace doorbell::abacus {

namespace {

constexpr i64 kBytes[kTypeCount] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4};
constexpr bool kSigned[kTypeCount] = {false, true,  false, true,  false,
                                      true,  false, true,  false, false};

i64 bytes_of(Type type) { return kBytes[static_cast<int>(type)]; }
bool is_signed(Type type) { return kSigned[static_cast<int>(type)]; }
int width_of(Type type) { return static_cast<int>(bytes_of(type) * 8); }

// A register's 64 bits for the low bits of a value.
u64 extend(Type type, u64 bits) {
  if (type == Type::b) return bits & 1;
  int unused = 64 - width_of(type);
  if (is_signed(type)) return static_cast<u64>(static_cast<i64>(bits << unused) >> unused);
  return bits << unused >> unused;
}

f32 float_of(u64 bits) { return std::bit_cast<f32>(static_cast<u32>(bits)); }
u64 bits_of(f32 value) { return std::bit_cast<u32>(value); }

u64 from_float(Type to, f32 x) {
  if (to == Type::b) return x != 0;
  if (std::isnan(x)) return 0;
  int digits = width_of(to) - (is_signed(to) ? 1 : 0);
  // Both ends are powers of two, so f32 has them.
  f32 end = std::ldexp(1.0f, digits), whole = std::trunc(x);
  if (whole >= end) return extend(to, digits == 64 ? ~u64{0} : (u64{1} << digits) - 1);
  if (!is_signed(to)) return whole <= 0 ? 0 : static_cast<u64>(whole);
  if (whole < -end) return extend(to, u64{1} << digits);
  return static_cast<u64>(static_cast<i64>(whole));
}

u64 convert(Type to, Type from, u64 x) {
  if (from == to) return x;
  if (from == Type::f32) return from_float(to, float_of(x));
  if (to == Type::b) return x != 0;
  if (to != Type::f32) return extend(to, x);
  return bits_of(is_signed(from) ? static_cast<f32>(static_cast<i64>(x)) : static_cast<f32>(x));
}

u64 float_arithmetic(Opcode opcode, f32 a, f32 b) {
  switch (opcode) {
    case Opcode::add: return bits_of(a + b);
    case Opcode::sub: return bits_of(a - b);
    case Opcode::mul: return bits_of(a * b);
    case Opcode::fdiv: return bits_of(a / b);
    case Opcode::sqrt: return bits_of(std::sqrt(a));
    case Opcode::lt: return a < b;
    case Opcode::ne: return a != b;
    default: return 0;
  }
}

u64 divide(Type type, u64 a, u64 b) {
  if (b == 0) return 0;
  if (!is_signed(type)) return a / b;
  if (static_cast<i64>(b) == -1) return 0 - a;  // the least integer over -1 is itself
  return static_cast<u64>(static_cast<i64>(a) / static_cast<i64>(b));
}

u64 shift(Opcode opcode, Type type, u64 a, u64 by) {
  u64 width = static_cast<u64>(width_of(type));
  if (opcode == Opcode::shl) return by >= width ? 0 : a << by;
  if (is_signed(type)) return static_cast<u64>(static_cast<i64>(a) >> std::min<u64>(by, 63));
  return by >= width ? 0 : a >> by;
}

u64 integer_arithmetic(Opcode opcode, Type type, u64 a, u64 b) {
  switch (opcode) {
    case Opcode::add: return a + b;
    case Opcode::sub: return a - b;
    case Opcode::mul: return a * b;
    case Opcode::cdiv: return divide(type, a, b);
    case Opcode::lt: return is_signed(type) ? static_cast<i64>(a) < static_cast<i64>(b) : a < b;
    case Opcode::ne: return a != b;
    case Opcode::and_: return a & b;
    case Opcode::or_: return a | b;
    case Opcode::xor_: return a ^ b;
    case Opcode::shl:
    case Opcode::shr: return shift(opcode, type, a, b);
    default: return 0;
  }
}

u64 arithmetic(Opcode opcode, Type type, u64 a, u64 b) {
  if (type == Type::f32) return float_arithmetic(opcode, float_of(a), float_of(b));
  u64 value = integer_arithmetic(opcode, type, a, b);
  return opcode == Opcode::lt || opcode == Opcode::ne ? value : extend(type, value);
}

}  // namespace

Result<void> Chip::check(u64 address, i64 bytes) const {
  const u64 size = memory_.size(), length = static_cast<u64>(bytes);
  if (bytes < 0 || address > size || length > size - address)
    return fail(ErrorKind::DeviceLost, "fault: {} bytes at {:#x}, where memory ends at {:#x}",
                bytes, address, size);
  return {};
}

Result<void> Chip::write(u64 address, const void* from, i64 bytes) {
  std::lock_guard lock(mutex_);
  TRY(check(address, bytes));
  if (bytes > 0) std::memcpy(memory_.data() + address, from, static_cast<usize>(bytes));
  return {};
}

Result<void> Chip::read(void* to, u64 address, i64 bytes) {
  std::lock_guard lock(mutex_);
  TRY(check(address, bytes));
  if (bytes > 0) std::memcpy(to, memory_.data() + address, static_cast<usize>(bytes));
  return {};
}

Result<void> Chip::move(u64 to, u64 from, i64 bytes) {
  std::lock_guard lock(mutex_);
  TRY(check(to, bytes));
  TRY(check(from, bytes));
  if (bytes > 0)
    std::memmove(memory_.data() + to, memory_.data() + from, static_cast<usize>(bytes));
  return {};
}

Result<void> Chip::run(const Code& code, std::span<const u64> buffers,
                       std::span<const i64> variables) {
  std::lock_guard lock(mutex_);
  std::vector<u64> r(code.registers);
  for (usize pc = 0; pc < code.instructions.size();) {
    const Instruction& at = code.instructions[pc++];
    switch (at.opcode) {
      case Opcode::li: r[at.d] = at.a | u64{at.b} << 32; break;
      case Opcode::arg:
        if (at.a >= buffers.size())
          return fail(ErrorKind::DeviceLost, "fault: buffer {} of {}", at.a, buffers.size());
        r[at.d] = buffers[at.a];
        break;
      case Opcode::var:
        if (at.a >= variables.size())
          return fail(ErrorKind::DeviceLost, "fault: variable {} of {}", at.a, variables.size());
        r[at.d] = static_cast<u64>(variables[at.a]);
        break;
      case Opcode::ld: {
        TRY(check(r[at.a], bytes_of(at.type)));
        u64 bits = 0;
        std::memcpy(&bits, memory_.data() + r[at.a], static_cast<usize>(bytes_of(at.type)));
        r[at.d] = extend(at.type, bits);
        break;
      }
      case Opcode::st:
        TRY(check(r[at.a], bytes_of(at.type)));
        std::memcpy(memory_.data() + r[at.a], &r[at.b], static_cast<usize>(bytes_of(at.type)));
        break;
      case Opcode::mov: r[at.d] = r[at.a]; break;
      case Opcode::jmp: pc = at.c; break;
      case Opcode::jge:
        if (static_cast<i64>(r[at.a]) >= static_cast<i64>(r[at.b])) pc = at.c;
        break;
      case Opcode::cast: r[at.d] = convert(at.type, at.from, r[at.a]); break;
      case Opcode::bits: r[at.d] = extend(at.type, r[at.a]); break;
      case Opcode::sel: r[at.d] = r[at.a] != 0 ? r[at.b] : r[at.c]; break;
      case Opcode::halt: return {};
      default: r[at.d] = arithmetic(at.opcode, at.type, r[at.a], r[at.b]); break;
    }
  }
  return fail(ErrorKind::DeviceLost, "fault: the program runs past its end");
}

}  // namespace doorbell::abacus
