// Decoding: the parts common to all formats, and the scalar formats.
// [RDNA3 ISA, chapter "Microcode formats"; "CDNA3 ISA" and "RDNA4 ISA", the same chapter]
#include "emulator/amd/isa/decode/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/decode/normal_name.h"
#include "emulator/amd/isa/matrix/matrix_operation.h"
#include "emulator/amd/isa/scalar/scalar_op.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kLiteral = 255, kFirstVector = 256;

Flow stop_illegal(Wave& wave, const Operation& op) {
  wave.exit = {.kind = Exit::Kind::Illegal, .pc = op.pc};
  wave.exit.name = op.name.empty()
                       ? fmt::format("words {:#010x} {:#010x}", op.words[0], op.words[1])
                       : std::string(op.name);
  wave.pc = op.pc;
  return Flow::Stop;
}

// An operand code without a known meaning. Scales are registers or integers.
std::optional<u32> unknown_source(const Operation& op) {
  for (const Source& source : op.src) {
    if (source.kind == Source::Kind::Special && !is_special_value(source.index))
      return source.index;
  }
  if (op.size != kScaledBytes) return std::nullopt;
  for (u32 code : scale_operands(op)) {
    if (code > 208 && code < kFirstVector) return code;
  }
  return std::nullopt;
}
Flow stop_unknown_source(Wave& wave, const Operation& op) {
  wave.exit = {.kind = Exit::Kind::Illegal, .pc = op.pc};
  wave.exit.name = fmt::format("{} with source operand {}", op.name, *unknown_source(op));
  wave.pc = op.pc;
  return Flow::Stop;
}

bool is_double(Type type) { return type == Type::F64 || type == Type::B64 || type == Type::I64; }

// The codes 240 to 248: a half, one, two, four, their negatives, and 1 / (2 pi), in the operand's
// own format. [RDNA3 ISA, "Scalar source operands"]
u64 inline_float(u32 code, Type type) {
  constexpr double kValues[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
  constexpr u16 kHalf[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
  constexpr u32 kInversePi32 = 0x3e22f983;
  constexpr u64 kInversePi64 = 0x3fc45f306dc9c882;
  const u32 i = code - 240;
  if (type == Type::F16 || type == Type::PackedF16 || type == Type::B16) return kHalf[i];
  if (is_double(type)) return i == 8 ? kInversePi64 : std::bit_cast<u64>(kValues[i]);
  const u32 bits = i == 8 ? kInversePi32 : std::bit_cast<u32>(static_cast<float>(kValues[i]));
  if (type == Type::BF16 || type == Type::PackedBF16) return bits >> 16;
  if (type == Type::PackedF32) return bits | u64{bits} << 32;
  return bits;
}

u64 inline_integer(i64 value, Type type) {
  if (is_double(type)) return static_cast<u64>(value);
  const u64 low = static_cast<u32>(value);
  return type == Type::PackedF32 ? low | low << 32 : low;
}

u64 literal_value(u32 literal, Type type) {
  if (type == Type::F64) return u64{literal} << 32;
  if (type == Type::I64) return static_cast<u64>(static_cast<i64>(static_cast<i32>(literal)));
  if (type == Type::PackedF32) return literal | u64{literal} << 32;
  return literal;
}

}  // namespace

Format format_of(const Chip& chip, u32 word) {
  const u32 top6 = word >> 26, top9 = word >> 23;
  if (top6 < 0x20) {  // bit 31 is clear
    const u32 top7 = word >> 25;
    return top7 == 0x3f ? Format::Vop1 : top7 == 0x3e ? Format::Vopc : Format::Vop2;
  }
  if (top9 == 0x17d) return Format::Sop1;
  if (top9 == 0x17e) return Format::Sopc;
  if (top9 == 0x17f) return Format::Sopp;
  if (word >> 28 == 0xb) return Format::Sopk;
  if (word >> 30 == 2) return Format::Sop2;
  if (chip.generation == Generation::Gfx9) {
    if (top6 == 0x30) return Format::Smem;
    if (top9 == 0x1a7) return Format::Vop3p;
    if (top6 == 0x34) return Format::Vop3;
  } else {
    if (top6 == 0x3d) return Format::Smem;
    if (top6 == 0x35) return Format::Vop3;
    if (top6 == 0x33) return Format::Vop3p;
    if (top6 == 0x32 && chip.generation >= Generation::Gfx11) return Format::Vopd;
  }
  if (top6 == 0x36) return Format::Ds;
  if (chip.generation == Generation::Gfx12) {
    if (top6 == 0x3b) return Format::Flat;
    if (top6 == 0x31) return Format::Buffer;
    return Format::Other;
  }
  if (top6 == 0x37) return Format::Flat;
  if (top6 == 0x38 || top6 == 0x3a) return Format::Buffer;
  return Format::Other;
}

Source Decoder::vector_source(u32 index) const {
  return {.kind = Source::Kind::Vector, .index = static_cast<u16>(index), .row = index * lanes_};
}

u16 Decoder::scalar_register(u32 code) const {
  if (chip_.has_null() && code == chip_.null_code()) return kSink;
  if (code == chip_.m0_code()) return kM0;
  return static_cast<u16>(code);
}

Source Decoder::source(u32 code, Type type, u32 literal) const {
  const auto constant = [](u64 value) {
    return Source{.kind = Source::Kind::Constant, .value = value};
  };
  if (code >= kFirstVector) return vector_source(code - kFirstVector);
  if (chip_.has_null() && code == chip_.null_code()) return constant(0);
  if (code < 128) return {.kind = Source::Kind::Scalar, .index = scalar_register(code)};
  if (code <= 192) return constant(inline_integer(i64{code} - 128, type));
  if (code <= 208) return constant(inline_integer(192 - i64{code}, type));
  if (code >= 240 && code <= 248) return constant(inline_float(code, type));
  if (code == kLiteral) return constant(literal_value(literal, type));
  return {.kind = Source::Kind::Special, .index = static_cast<u16>(code)};
}

void Decoder::set_entry(std::string_view name, Operation& op) const {
  op.entry = handlers_.find(name);
  op.handler = op.entry != nullptr ? handlers_.handler(*op.entry) : &stop_illegal;
}

u32 Decoder::decode(std::span<const u8> bytes, u64 pc, std::vector<Operation>& out) {
  Operation op;
  op.pc = pc;
  std::memcpy(op.words.data(), bytes.data(), std::min(bytes.size(), sizeof op.words));
  const InstructionSource::Instruction found = source_->decode(bytes, pc);
  op.name = found.name;
  op.size = static_cast<u16>(found.size == 0 ? 4 : found.size);
  op.handler = &stop_illegal;
  // V_MFMA_SCALE_*: the scales come first, then the multiplication with all other operands.
  if (found.size == kScaledBytes)
    std::rotate(op.words.begin(), op.words.begin() + 2, op.words.end());
  const Format format = found.size == 0 ? Format::Other : format_of(chip_, op.words[0]);
  const usize first = out.size();
  if (format == Format::Vopd) {
    append_dual(found.name, op, out);
  } else {
    decode_one(format, found, op);
    out.push_back(op);
  }
  for (usize i = first; i < out.size(); ++i) {
    if (out[i].entry == nullptr || !unknown_source(out[i])) continue;
    out[i].entry = nullptr;
    out[i].handler = &stop_unknown_source;
  }
  return op.size;
}

void Decoder::decode_one(Format format, const InstructionSource::Instruction& found,
                         Operation& op) const {
  if (found.size != 0) set_entry(normal_name(found.name), op);
  if (op.entry == nullptr) return;
  switch (format) {
    case Format::Sop2:
    case Format::Sop1:
    case Format::Sopk:
    case Format::Sopc:
    case Format::Sopp: decode_scalar(format, op); break;
    case Format::Smem: decode_smem(op); break;
    case Format::Vop1:
    case Format::Vop2:
    case Format::Vopc:
    case Format::Vop3:
    case Format::Vop3p: decode_vector(format, op); break;
    default: decode_memory(*this, format, op); break;
  }
}

void Decoder::decode_scalar(Format format, Operation& op) const {
  const u32 word = op.words[0], literal = op.words[1];
  const Shape& shape = op.entry->shape;
  if (format == Format::Sopk || format == Format::Sopp) {
    op.immediate = sign_extend(field(word, 15, 0), 16);
    if (format == Format::Sopp) return;
    op.dst = scalar_register(field(word, 22, 16));
    // s_cmpk and s_addk read the register that they name as destination.
    if (shape.src[0] != Type::None) op.src[0] = source(field(word, 22, 16), shape.src[0], 0);
    if (op.size == 8) op.src[1] = {.kind = Source::Kind::Constant, .value = literal};
    return;
  }
  if (shape.src[0] != Type::None) op.src[0] = source(field(word, 7, 0), shape.src[0], literal);
  if (format != Format::Sop1 && shape.src[1] != Type::None) {
    op.src[1] = source(field(word, 15, 8), shape.src[1], literal);
  }
  if (format == Format::Sopc) return;
  op.dst = scalar_register(field(word, 22, 16));
  if (shape.flags & kLiteralMiddle) {
    op.src[2] = op.src[1];
    op.src[1] = {.kind = Source::Kind::Constant, .value = literal};
  } else if (shape.flags & kLiteralLast) {
    op.src[2] = {.kind = Source::Kind::Constant, .value = literal};
  } else if (shape.flags & kReadsDst) {
    // The destination is the last source: the second of SOP1's, the third of SOP2's.
    op.src[format == Format::Sop1 ? 1 : 2] = source(field(word, 22, 16), shape.dst, 0);
  }
}

// The address is sbase + offset + soffset. gfx9 has either offset alone in the 21 bits' place.
// [LLVM SMInstructions.td, classes SMEM_Real_vi, SMEM_Real_gfx10, SMEM_Real_gfx12]
void Decoder::decode_smem(Operation& op) const {
  const u32 low = op.words[0], high = op.words[1];
  op.dst = scalar_register(field(low, 12, 6));
  op.src[0] = {.kind = Source::Kind::Scalar, .index = scalar_register(field(low, 5, 0) << 1)};
  const u32 soffset = field(high, 31, 25);
  if (chip_.generation == Generation::Gfx12) {
    op.immediate = sign_extend(field(high, 23, 0), 24);
    op.src[1] = source(soffset, Type::B32, 0);
    return;
  }
  if (chip_.generation != Generation::Gfx9) {
    op.immediate = sign_extend(field(high, 20, 0), 21);
    op.src[1] = source(soffset, Type::B32, 0);
    return;
  }
  const bool has_immediate = field(low, 17, 17) != 0, has_soffset = field(low, 14, 14) != 0;
  if (has_immediate) {
    op.immediate = sign_extend(field(high, 20, 0), 21);
  } else if (!has_soffset) {
    op.src[1] = source(field(high, 6, 0), Type::B32, 0);
  }
  if (has_soffset) op.src[1] = source(soffset, Type::B32, 0);
}

}  // namespace doorbell::emu::amdgpu
