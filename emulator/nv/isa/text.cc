// The text of an operation.
#include <fmt/format.h>

#include <cmath>

#include "emulator/core/number/number.h"
#include "emulator/nv/isa/operation.h"
#include "emulator/nv/isa/warpgroup.h"

namespace doorbell::emu::nvgpu {

namespace {

bool is_zero(u32 row) { return row == kZero || row == kUniformZero; }

std::string register_name(u32 row) {
  if (row >= kUniformStart)
    return row == kUniformZero ? "URZ" : fmt::format("UR{}", row - kUniformStart);
  return row == kZero ? "RZ" : fmt::format("R{}", row);
}

std::string predicate_name(u32 index, bool complement) {
  const char* prefix = index >= kUniformPredicates ? "UP" : "P";
  const std::string name = (index & 7) == kTrue ? std::string("T") : std::to_string(index & 7);
  return fmt::format("{}{}{}", complement ? "!" : "", prefix, name);
}

std::string float_text(f64 value) {
  if (value != value) return std::signbit(value) ? "-QNAN" : "+QNAN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "+INF";
  return fmt::format("{:.20g}", value);
}

std::string half_text(const Operation& op, u32 bits) {
  const bool compares = op.opcode->number == 0x033 || op.opcode->number == 0x034;
  return float_text(op.bit(compares ? 65 : 85) ? bfloat_to_float(bits) : half_to_float(bits));
}

std::string immediate_text(const Operation& op) {
  const u32 value = op.field(32, 32);
  const u8 flags = op.opcode->flags;
  constexpr u32 kMufu = 0x108, kRcp64h = 6, kRsq64h = 7;  // of MUFU two take a double's high word
  const u32 function = op.field(74, 4);
  const bool is_high = op.opcode->number == kMufu && (function == kRcp64h || function == kRsq64h);
  if ((flags & kDouble) || is_high) return float_text(std::bit_cast<f64>(u64{value} << 32));
  if (flags & kFloat) return float_text(std::bit_cast<f32>(value));
  if (flags & kPairs)  // the high one first
    return half_text(op, value >> 16) + ", " + half_text(op, value & 0xffff);
  const i32 number = static_cast<i32>(value);
  const bool as_signed = number < 0 && !(flags & kHex);
  return as_signed ? fmt::format("-{:#x}", 0 - value) : fmt::format("{:#x}", value);
}

std::string constant_text(const Operation& op) {
  return fmt::format("c[{:#x}][{:#x}]", op.field(54, 5), op.field(38, 16));
}

// The part of a register that a conversion reads, where it is not the lowest: of F2FP.UNPACK_B the
// two high bytes, of F2F, F2I, I2F and FRND that of 16 or 8 bits.
std::string part_text(const Operation& op) {
  const u32 number = op.opcode->number;
  if (number == 0x03e) return op.bit(88) && op.field(89, 2) == 1 ? ".H1" : "";
  const bool converts =
      (number >= 0x104 && number <= 0x107) || (number >= 0x110 && number <= 0x113);
  const u32 part = converts && op.form != 4 ? op.field(60, 2) : 0, size = op.field(84, 3);
  const bool is_half = size == 1 || size == 4;  // 4: bfloat16
  return part == 0 || (size != 0 && !is_half) ? ""
                                              : fmt::format(".{}{}", is_half ? "H" : "B", part);
}

std::string source_text(const Operation& op, const OperandSpec& spec) {
  const bool last = op.form == 2 || op.form == 3 || op.form == 7;
  const bool in_x = spec.role == 'x' || (spec.role == 'b' && !last) || (spec.role == 'c' && last);
  const Source& source = spec.role == 'a' ? op.a : in_x ? op.x : op.e;
  const bool immediate = in_x && (op.form == 2 || op.form == 4);
  if (immediate) return immediate_text(op);
  std::string name =
      in_x && (op.form == 3 || op.form == 5) ? constant_text(op) : register_name(source.index);
  if (source.keep != ~0u) name = "|" + name + "|";
  if (source.flip != 0) name = "-" + name;
  // With .X a minus is a complement; so it is of counts of bits.
  const bool complement = op.bit(74) || op.opcode->number == 0x109 || op.opcode->number == 0x100;
  if (source.negative) name = (complement ? "~" : "-") + name;
  return spec.role == 'x' ? name + part_text(op) : name;
}

std::string offset_text(i64 offset) {
  if (offset == 0) return "";
  return offset < 0 ? fmt::format("+-{:#x}", -offset) : fmt::format("+{:#x}", offset);
}

// "[R2.64+0x10]", "[R0.X4]", "[UR4]", "[0x8]".
std::string address_text(const Operation& op, char role) {
  std::string base = op.a.index == kZero ? "" : register_name(op.a.index);
  if (role == 'g' && op.bit(91)) base += ".64";
  // LDSM and STSM have .MT88 there.
  const bool scales = op.opcode->number != 0x03b && op.opcode->number != 0x044;
  if (role == 's' && scales && op.field(78, 2) != 0)
    base += fmt::format(".X{}", 2 << op.field(78, 2));
  if (role == 's' && op.bit(91)) {
    const bool has_value = !op.opcode->name.starts_with("LDS");  // in bits 32 to 39
    base += fmt::format("{}{}", base.empty() ? "" : "+",
                        register_name(kUniformStart + op.field(has_value ? 64 : 32, 6)));
  }
  const i64 offset = op.words.signed_at(40, 24);
  if (base.empty() && offset != 0) return fmt::format("[{:#x}]", offset);
  return fmt::format("[{}{}]", base.empty() ? "RZ" : base, offset_text(offset));
}

// "[R7+UR6+0x10]", "[UR6]".
std::string mbarrier_text(const Operation& op) {
  const bool uniform = op.opcode->flags & kUniform;
  std::string base = uniform || op.a.index != kZero ? register_name(op.a.index) : "";
  if (!uniform) {
    if (!base.empty()) base += "+";
    base += register_name(kUniformStart + op.field(64, 6));
  }
  return fmt::format("[{}{}]", base, offset_text(op.words.signed_at(40, 24)));
}

// Of a warp group's product: "R28, gdesc[UR4].negB", "gdesc[UR8].tnspA".
std::string factor_text(const Operation& op, bool left) {
  const bool in_register = op.form == 6;
  if (left && !in_register) return "";
  if (left) return fmt::format("{}{}", op.bit(72) ? "-" : "", register_name(op.a.index));
  const u32 number = kUniformStart + op.field(in_register ? 32 : 24, 6);
  return fmt::format("gdesc[{}]{}{}{}{}", register_name(number),
                     op.bit(72) && !in_register ? ".negA" : "", op.bit(63) ? ".negB" : "",
                     op.bit(61) && !in_register ? ".tnspA" : "", op.bit(62) ? ".tnspB" : "");
}

// "UP0, gsb0": numbers of this predicate are complemented.
std::string adds_text(const Operation& op) {
  const u32 number = 7 ^ op.field(87, 3);
  const bool always = number == kTrue && !op.bit(90);
  std::string text = always ? "" : predicate_name(kUniformPredicates + number, op.bit(90));
  if (op.field(84, 3) == 0) text += text.empty() ? "gsb0" : ", gsb0";
  return text;
}

std::string copied_address(const std::string& base, bool zero, i64 offset) {
  if (zero && offset != 0) return fmt::format("[{:#x}]", offset);
  return fmt::format("[{}{}]", base, offset_text(offset));
}

// F2FP has its first source where it packs two, and its third where it merges.
bool has_operand(const Operation& op, char role) {
  if (op.opcode->number != 0x03e) return true;
  const bool unpacks = op.field(73, 2) != 0 || op.bit(89);
  return role == 'a' ? !unpacks : role != 'c' || op.bit(90);
}

std::string bank_text(const Operation& op) {
  if (op.opcode->flags & kUniform || op.a.index == kZero) return constant_text(op);
  return fmt::format("c[{:#x}][{}{}]", op.field(54, 5), register_name(op.a.index),
                     offset_text(op.field(38, 16)));
}

// Empty: not printed.
std::string operand_text(const Operation& op, const OperandSpec& spec) {
  const auto predicate = [&](u32 index, bool complement) {
    if (spec.modifier == 'x') return op.bit(74) ? predicate_name(index, complement) : "";
    if (spec.optional && (index & 7) == kTrue && (!complement || !op.bit(74))) return std::string();
    return predicate_name(index, complement);
  };
  switch (spec.role) {
    case 'd': return spec.optional && is_zero(op.dst) ? "" : register_name(op.dst);
    case 'A': return "PR";
    case 'a':
    case 'x':
    case 'b':
    case 'c': return has_operand(op, spec.role) ? source_text(op, spec) : "";
    case 'e':
      if (is_warpgroup_product(op.opcode->number)) return register_name(op.e.index);
      return spec.optional && !op.bit(80) ? "" : op.bit(73) ? "" : register_name(op.e.index);
    case 'p': return predicate(op.p, false);
    case 'q': return predicate(op.q, false);
    case 'P': return predicate(op.in_p, op.not_p);
    case 'Q': return predicate(op.in_q, op.not_q);
    case 'S': return op.bit(72) || !spec.optional ? predicate_name(op.in_s, op.not_s) : "";
    case 'g':
    case 's':
    case 'l': return address_text(op, spec.role);
    case 'k': return bank_text(op);
    case 'v':  // ATOMS.POPC.INC has none
      if (op.opcode->number == 0x18c && is_popc_inc(op)) return "";
      return register_name(op.field(32, 8));
    case 'w': return register_name(op.field(64, 8));
    case 'r': return fmt::format("SR{:#x}", op.field(72, 8));
    case 'B': return fmt::format("B{}", op.field(16, 4));
    case 't': return "target";
    case 'h': return fmt::format("{:#x}", op.field(75, 5));
    case 'L': return fmt::format("{:#x}", op.field(72, 8));
    case 'M': return fmt::format("{:#x}", op.field(64, 3) | op.field(72, 5) << 3);
    case 'N': return fmt::format("{:#x}", op.field(16, 8));
    case 'C': return fmt::format("B{}", op.field(24, 4));
    case 'n': return fmt::format("{:#x}", op.field(54, 4));
    case 'j': return op.field(77, 2) == 2 ? predicate_name(op.in_p, op.not_p) : "";
    case 'u': return op.bit(79) ? "" : predicate_name(op.p, false);
    case 'G':
      return copied_address(register_name(op.dst), op.dst == kZero, op.words.signed_at(44, 20));
    case 'H':
      return copied_address(register_name(op.a.index) + ".64", false, op.words.signed_at(32, 12));
    case 'D': return op.bit(47) ? fmt::format("SB{}", op.field(44, 3)) : "";
    case 'E': return op.bit(47) ? fmt::format("{:#x}", op.field(38, 6)) : "";
    case 'K': return factor_text(op, true);
    case 'J': return factor_text(op, false);
    case 'O': return adds_text(op);
    case 'X': return op.bit(80) ? fmt::format("gsb0, {:#x}", op.field(72, 3)) : "";
    case 'I': return op.form == 2 ? predicate_name(op.p, false) : register_name(op.dst);
    case 'Y': return mbarrier_text(op);
    case 'U': return register_name(kUniformStart + op.field(32, 6));
    case 'F': return op.bit(31) ? "Rpc.HI" : "Rpc.LO";
    case 'V': return fmt::format("[{}]", register_name(kUniformStart + op.field(32, 6)));
    case 'R': return fmt::format("[{}]", register_name(kUniformStart + op.field(24, 6)));
    case 'Z': return register_name(kUniformStart + op.field(64, 6));
    case 'W':
      if (op.form == 1) return register_name(op.a.index);
      return op.chip >= 90 ? "" : fmt::format("{:#x}", op.field(32, 32));
    case 'T': return op.chip >= 90 && op.bit(86) ? "target" : "";
    case 'y':
      return op.form == 1 || op.form == 2 ? register_name(op.field(32, 8))
                                          : fmt::format("{:#x}", op.field(53, 5));
    case 'z':
      return op.form == 1 || op.form == 4 ? register_name(op.e.index)
                                          : fmt::format("{:#x}", op.field(40, 13));
    default: return "?";
  }
}

}  // namespace

std::string text_of(const Operation& op) {
  std::string text;
  if ((op.guard & 7) != kTrue || op.guard_not)
    text = fmt::format("@{} ", predicate_name(op.guard, op.guard_not));
  if (op.opcode == nullptr) return text + fmt::format("{:#x}", op.field(0, 12));
  text += op.opcode->name;
  const char* separator = " ";
  for (const OperandSpec& spec : operands_of(*op.opcode)) {
    const std::string operand = operand_text(op, spec);
    if (operand.empty()) continue;
    text += separator + operand;
    separator = ", ";
  }
  return text;
}

}  // namespace doorbell::emu::nvgpu
