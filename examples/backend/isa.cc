// The tables of isa.h, and the check of images against them.
#include "examples/backend/isa.h"

#include <cstring>

#include "base/util/try.h"

namespace doorbell::abacus {

namespace {

struct OpcodeRow {
  std::string_view name, operands;
};
constexpr OpcodeRow kOpcodes[] = {
#define ABACUS_ROW(name, operands, sentence) {#name, operands},
    ABACUS_OPCODES(ABACUS_ROW)
#undef ABACUS_ROW
};
constexpr std::string_view kTypes[kTypeCount] = {"b",   "i8",  "u8",  "i16", "u16",
                                                 "i32", "u32", "i64", "u64", "f32"};

Result<void> check(const Instruction& at, usize number, const ImageHeader& header) {
  if (static_cast<int>(at.opcode) >= kOpcodeCount)
    return fail(ErrorKind::Corrupt, "instruction {} has opcode {}, expected less than {}", number,
                static_cast<int>(at.opcode), kOpcodeCount);
  for (char operand : operands_of(at.opcode)) {
    u64 value = 0, end = header.registers;
    switch (operand) {
      case 'd': value = at.d; break;
      case 'a': value = at.a; break;
      case 'b': value = at.b; break;
      case 'c': value = at.c; break;
      case 'l': value = at.c, end = header.instructions; break;
      case 't': value = static_cast<u64>(at.type), end = kTypeCount; break;
      case 'f': value = static_cast<u64>(at.from), end = kTypeCount; break;
      default: continue;  // immediates may be anything
    }
    if (value >= end)
      return fail(ErrorKind::Corrupt,
                  "instruction {}: operand {} of {} is {}, expected less than {}", number, operand,
                  name_of(at.opcode), value, end);
  }
  return {};
}

}  // namespace

std::string_view name_of(Opcode opcode) {
  std::string_view name = kOpcodes[static_cast<int>(opcode)].name;
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;  // C++ keeps "and"
}

std::string_view operands_of(Opcode opcode) { return kOpcodes[static_cast<int>(opcode)].operands; }

std::string_view name_of(Type type) { return kTypes[static_cast<int>(type)]; }

Result<Code> decode(std::span<const u8> image) {
  ImageHeader header;
  if (image.size() < sizeof header)
    return fail(ErrorKind::Corrupt, "an image of {} bytes, expected at least {}", image.size(),
                sizeof header);
  std::memcpy(&header, image.data(), sizeof header);
  if (header.magic != kImageMagic)
    return fail(ErrorKind::Corrupt, "an image that begins with {:#x}, expected {:#x}", header.magic,
                kImageMagic);
  const u64 bytes = sizeof header + u64{header.instructions} * sizeof(Instruction);
  if (image.size() != bytes || header.instructions == 0 || header.registers > (1u << 24))
    return fail(ErrorKind::Corrupt, "an image of {} bytes with {} instructions and {} registers",
                image.size(), header.instructions, header.registers);
  Code code{header.registers, std::vector<Instruction>(header.instructions)};
  std::memcpy(code.instructions.data(), image.data() + sizeof header, image.size() - sizeof header);
  for (usize i = 0; i < code.instructions.size(); ++i) TRY(check(code.instructions[i], i, header));
  return code;
}

}  // namespace doorbell::abacus
