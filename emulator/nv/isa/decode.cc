// From words to operations: operands by their form, and constants.
#include <cstring>

#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/operation.h"

namespace doorbell::emu::nvgpu {

namespace {

// Forms: which operand bits 32 to 63 hold, and as what.
enum Form : u32 {
  kRegisters = 1,
  kImmediateLast = 2,  // the third source
  kConstantLast = 3,
  kImmediate = 4,  // the second source
  kConstant = 5,
  kUniformRegister = 6,
  kUniformLast = 7,
};
bool is_last(u32 form) {
  return form == kImmediateLast || form == kConstantLast || form == kUniformLast;
}

class Decoder {
 public:
  // `program`: gets the constants; may be null.
  Decoder(Operation& op, Program* program) : op_(op), words_(op.words), program_(program) {}

  // False: the form is not known.
  bool decode() {
    const bool uniform = op_.opcode->flags & kUniform;
    op_.has_uniform_dst = uniform || op_.opcode->number == 0x0ca || op_.opcode->number == 0x1c2 ||
                          op_.opcode->number == 0x1c3 || op_.opcode->number == 0x1c4 ||
                          op_.opcode->number == 0x02f;
    op_.dst = register_at(16, op_.has_uniform_dst);
    op_.guard = predicate_at(12, uniform);
    op_.guard_not = words_.bit(15);
    op_.p = predicate_at(81, uniform), op_.q = predicate_at(84, uniform);
    // Lanes vote, also where the result is uniform.
    op_.in_p = predicate_at(87, uniform && op_.opcode->number != 0x086), op_.not_p = words_.bit(90);
    op_.in_q = predicate_at(77, uniform), op_.not_q = words_.bit(80);
    // Bit 67 of PLOP3: the third predicate is a uniform one.
    const bool uniform_third = op_.opcode->number == 0x01c && words_.bit(67);
    op_.in_s = predicate_at(68, uniform || uniform_third), op_.not_s = words_.bit(71);
    op_.a.index = register_at(24, uniform);
    op_.e.index = register_at(64, uniform);
    if (op_.opcode->number == 0x148 && op_.form == kRegisters)
      op_.a.index = register_at(op_.chip >= 90 ? 24 : 32, false);
    bool good = true;
    for (const OperandSpec& spec : operands_of(*op_.opcode)) {
      if (spec.role == 'x' || spec.role == 'b' || spec.role == 'c') good &= decode_x(spec);
    }
    for (const OperandSpec& spec : operands_of(*op_.opcode)) modify(spec);
    op_.b = is_last(op_.form) ? op_.e : op_.x;
    op_.c = is_last(op_.form) ? op_.x : op_.e;
    return good;
  }

 private:
  u32 register_at(unsigned from, bool uniform) const {
    if (uniform) return kUniformStart + words_.field(from, 6);
    return words_.field(from, 8);
  }
  u32 predicate_at(unsigned from, bool uniform) const {
    return words_.field(from, 3) + (uniform ? kUniformPredicates : 0);
  }

  void add_constant(Constant constant) {
    if (program_ == nullptr) return;
    constant.operation = static_cast<u32>(program_->operations.size());
    program_->constants.push_back(constant);
    op_.x.constant = static_cast<u32>(program_->constants.size());
  }

  bool decode_x(const OperandSpec& spec) {
    Source& x = op_.x;
    const bool uniform = op_.opcode->flags & kUniform;
    switch (op_.form) {
      case kImmediate:
      case kImmediateLast: {
        const u32 value = words_.field(32, 32);
        const bool high = op_.opcode->flags & kDouble;
        add_constant({.low = high ? 0 : value, .high = high ? value : 0});
        return true;
      }
      case kConstant:
      case kConstantLast: return decode_constant(spec);
      case kUniformRegister:
      case kUniformLast: x.index = kUniformStart + words_.field(32, 6); return true;
      default: x.index = register_at(32, uniform); return true;
    }
  }

  bool decode_constant(const OperandSpec& spec) {
    if (words_.bit(91)) return false;  // a bank that a uniform register names
    add_constant({.bank = words_.field(54, 5),
                  .offset = words_.field(38, 16),
                  .bytes = spec.registers * 4u});
    return true;
  }

  // Which bits of the words hold the modifiers depends on where the operand is.
  void modify(const OperandSpec& spec) {
    const bool in_x = spec.role == 'x' || (spec.role == 'b' && !is_last(op_.form)) ||
                      (spec.role == 'c' && is_last(op_.form));
    Source& source = spec.role == 'a' ? op_.a : in_x ? op_.x : op_.e;
    if (spec.role != 'a' && spec.role != 'x' && spec.role != 'b' && spec.role != 'c') return;
    // F2FP of other formats has them where the modifiers would be.
    if (op_.opcode->number == 0x03e && words_.field(86, 5) != 0) return;
    if (in_x && (op_.form == kImmediate || op_.form == kImmediateLast)) return;
    const unsigned negative = spec.role == 'a' ? 72 : in_x ? 63 : 75;
    const unsigned absolute = spec.role == 'a' ? 73 : in_x ? 62 : 74;
    const unsigned swizzle = spec.role == 'a' ? 74 : in_x ? 60 : 81;
    switch (spec.modifier) {
      case 'f':
        if (words_.bit(absolute)) source.keep = 0x7fff'ffff;
        if (words_.bit(negative)) source.flip = 0x8000'0000;
        break;
      case 'h':
        source.swizzle = static_cast<u8>(words_.field(swizzle, 2));
        // Bits 74 and 75 are the first source's swizzle: the third's modifiers are elsewhere.
        if (words_.bit(spec.role == 'a' || in_x ? absolute : 83)) source.keep = 0x7fff'7fff;
        if (words_.bit(spec.role == 'a' || in_x ? negative : 84)) source.flip = 0x8000'8000;
        break;
      case 'n': source.negative = words_.bit(negative); break;
      default: break;
    }
  }

  Operation& op_;
  const Words& words_;
  Program* program_;
};

Operation make(const Words& words, u32 offset, u32 chip, Program* program) {
  Operation op;
  op.words = words;
  op.offset = offset;
  op.chip = chip;
  op.form = words.field(9, 3);
  op.opcode = find_opcode(words.field(0, 9));
  op.handler = unknown_instruction;
  if (op.opcode == nullptr) return op;
  const bool good = Decoder(op, program).decode();
  if (good && op.opcode->handler != nullptr) op.handler = op.opcode->handler;
  return op;
}

}  // namespace

Program decode(std::span<const u8> code, u64 start, u32 chip) {
  Program program;
  program.start = start;
  program.operations.reserve(code.size() / sizeof(Words));
  for (usize at = 0; at + sizeof(Words) <= code.size(); at += sizeof(Words)) {
    Words words;
    std::memcpy(&words, code.data() + at, sizeof(Words));
    program.operations.push_back(make(words, static_cast<u32>(at), chip, &program));
  }
  return program;
}

Operation decode_one(const Words& words, u32 offset, u32 chip) {
  return make(words, offset, chip, nullptr);
}

std::vector<Row> read_constants(const Program& program, const Banks& banks,
                                std::vector<u32>* beyond) {
  std::vector<Row> rows(2 * program.constants.size());
  for (usize i = 0; i < program.constants.size(); ++i) {
    const Constant& constant = program.constants[i];
    u32 value[2] = {constant.low, constant.high};
    if (constant.bank != Constant::kImmediate) {
      const auto bank = banks.find(constant.bank);
      if (bank == banks.end() || constant.offset + constant.bytes > bank->second.size())
        beyond->push_back(constant.operation);
      else
        std::memcpy(value, bank->second.data() + constant.offset, constant.bytes);
    }
    rows[2 * i].fill(value[0]);
    rows[2 * i + 1].fill(value[1]);
  }
  return rows;
}

}  // namespace doorbell::emu::nvgpu
