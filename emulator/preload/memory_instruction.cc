// Prefixes, opcode, ModRM with what follows it, immediate.
#include "emulator/preload/memory_instruction.h"

namespace doorbell::emu {
namespace {

using Kind = MemoryInstruction::Kind;

class Bytes {
 public:
  explicit Bytes(std::span<const u8> code) : code_(code) {}
  // 0 behind the end, which is_short() tells.
  u8 next() { return at_ < code_.size() ? code_[at_++] : (is_short_ = true, u8{0}); }
  u8 peek() const { return at_ < code_.size() ? code_[at_] : 0; }
  u64 next_signed(unsigned bytes) {
    u64 value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= u64{next()} << (8 * i);
    const unsigned above = 64 - 8 * bytes;
    return static_cast<u64>(static_cast<i64>(value << above) >> above);
  }
  bool is_short() const { return is_short_; }
  unsigned at() const { return static_cast<unsigned>(at_); }

 private:
  const std::span<const u8> code_;
  usize at_ = 0;
  bool is_short_ = false;
};

// What an opcode says; ModRM.reg must be `extension` where that is not negative.
struct Form {
  Kind kind;
  bool is_byte = false;    // of memory
  unsigned bytes = 0;      // of memory, where the operand size does not say it
  bool is_signed = false;  // of an extending load
  int extension = -1;      // an opcode group
  unsigned immediate = 0;  // bytes; 4: the operand's size, at most 4
};

std::optional<Form> form_of(unsigned opcode) {
  switch (opcode) {
    case 0x88: return Form{Kind::Store, true};
    case 0x89: return Form{Kind::Store};
    case 0x8a: return Form{Kind::Load, true};
    case 0x8b: return Form{Kind::Load};
    case 0xc6: return Form{.kind = Kind::Store, .is_byte = true, .extension = 0, .immediate = 1};
    case 0xc7: return Form{.kind = Kind::Store, .extension = 0, .immediate = 4};
    case 0x63: return Form{.kind = Kind::Load, .bytes = 4, .is_signed = true};
    case 0x0fb6: return Form{.kind = Kind::Load, .bytes = 1};
    case 0x0fb7: return Form{.kind = Kind::Load, .bytes = 2};
    case 0x0fbe: return Form{.kind = Kind::Load, .bytes = 1, .is_signed = true};
    case 0x0fbf: return Form{.kind = Kind::Load, .bytes = 2, .is_signed = true};
    case 0x38: return Form{Kind::CompareLeft, true};
    case 0x39: return Form{Kind::CompareLeft};
    case 0x3a: return Form{Kind::CompareRight, true};
    case 0x3b: return Form{Kind::CompareRight};
    case 0x80:
      return Form{.kind = Kind::CompareLeft, .is_byte = true, .extension = 7, .immediate = 1};
    case 0x81: return Form{.kind = Kind::CompareLeft, .extension = 7, .immediate = 4};
    case 0x83: return Form{.kind = Kind::CompareLeft, .extension = 7, .immediate = 1};
    case 0x84: return Form{Kind::Test, true};
    case 0x85: return Form{Kind::Test};
    case 0xf6: return Form{.kind = Kind::Test, .is_byte = true, .extension = 0, .immediate = 1};
    case 0xf7: return Form{.kind = Kind::Test, .extension = 0, .immediate = 4};
    default: return std::nullopt;
  }
}

// The address behind ModRM is not needed: the fault tells it. False: the operand is a register.
bool skip_address(Bytes& code, u8 modrm) {
  const unsigned mode = modrm >> 6;
  if (mode == 3) return false;
  unsigned displacement = mode == 1 ? 1 : mode == 2 ? 4 : 0;
  const bool has_sib = (modrm & 7) == 4;
  if (mode == 0 && (modrm & 7) == 5) displacement = 4;  // from rip
  if (has_sib) {
    const u8 sib = code.next();
    if (mode == 0 && (sib & 7) == 5) displacement = 4;
  }
  for (unsigned i = 0; i < displacement; ++i) (void)code.next();
  return true;
}

}  // namespace

std::optional<MemoryInstruction> decode_memory_instruction(std::span<const u8> given) {
  Bytes code(given);
  bool is_word = false;
  for (;; (void)code.next()) {
    const u8 prefix = code.peek();
    if (prefix == 0x66)
      is_word = true;
    else if (prefix != 0x64 && prefix != 0x65 && prefix != 0x3e)  // segments
      break;
  }
  const u8 rex = (code.peek() & 0xf0) == 0x40 ? code.next() : u8{0};
  const bool is_wide = (rex & 8) != 0;
  unsigned opcode = code.next();
  if (opcode == 0x0f) opcode = 0x0f00 | code.next();
  const std::optional<Form> form = form_of(opcode);
  if (!form || (opcode == 0x63 && !is_wide)) return std::nullopt;
  const u8 modrm = code.next();
  const unsigned field = modrm >> 3 & 7;
  if ((form->extension >= 0 && field != static_cast<unsigned>(form->extension)) ||
      !skip_address(code, modrm))
    return std::nullopt;
  const unsigned operand = is_wide ? 8 : is_word ? 2 : 4;
  MemoryInstruction found;
  found.kind = form->kind;
  found.bytes = form->bytes != 0 ? form->bytes : form->is_byte ? 1 : operand;
  found.register_bytes = form->is_byte ? 1 : operand;
  found.is_signed = form->is_signed;
  found.reg = field | (rex & 4) << 1;
  // Without a REX prefix, bytes 4 to 7 are the second ones of the first four registers.
  found.is_high = form->is_byte && form->extension < 0 && rex == 0 && field >= 4;
  if (found.is_high) found.reg -= 4;
  if (form->immediate != 0)
    found.immediate =
        code.next_signed(form->immediate == 4 && is_word && !is_wide ? 2 : form->immediate);
  found.length = code.at();
  if (code.is_short()) return std::nullopt;
  return found;
}

}  // namespace doorbell::emu
