// Decoding of the vector ALU's formats: VOP1, VOP2, VOPC, VOP3, VOP3P, VOPD, with SDWA and DPP.
// [RDNA3 ISA, chapter "Microcode formats"; SDWA from "CDNA3 ISA"]
#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/decode/normal_name.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kFirstVector = 256;
constexpr u32 kLiteralCode = 255;
// Codes of the first source that say that the real one is in the next word.
constexpr u32 kDpp8Code = 233, kDpp8FetchCode = 234, kSdwaCode = 249, kDpp16Code = 250;

bool is_moved(u32 code) {
  return code == kDpp8Code || code == kDpp8FetchCode || code == kSdwaCode || code == kDpp16Code;
}

u32 source_count(const Shape& shape) {
  u32 count = 0;
  while (count < shape.src.size() && shape.src[count] != Type::None) ++count;
  return count;
}

// The sources in the words: all except the destination, VCC and a literal K.
u32 encoded_count(const Shape& shape, bool vop3) {
  u32 count = source_count(shape);
  if (shape.flags & kReadsDst) --count;
  if (shape.flags & (kLiteralMiddle | kLiteralLast)) --count;
  if ((shape.flags & kVccIn) && !vop3) --count;
  return count;
}

// VOP3's packed operands have one modifier for both halves; an inline constant is in both halves,
// registers and literals are used unchanged.
u8 packed_modifiers(const Source& source, u32 code, u8 given) {
  const bool inline_constant = source.kind == Source::Kind::Constant && code != kLiteralCode;
  u32 modifiers = 0;
  if (given & Source::kNeg) modifiers |= Source::kNegHigh;
  if (!inline_constant) modifiers |= Source::kHighHigh;
  return static_cast<u8>(modifiers);
}

}  // namespace

void Decoder::set_vector_dst(u32 index, Operation& op) const {
  op.dst = static_cast<u16>(index);
  op.dst_row = index * lanes_;
}

// From gfx11 on, a 16-bit operand outside VOP3 names a half: bit 7 of the register's number.
void Decoder::decode_vector(Format format, Operation& op) const {
  if (format == Format::Vop3) return decode_vop3(op);
  if (format == Format::Vop3p) return decode_vop3p(op);
  const u32 word = op.words[0], next = op.words[1];
  const Shape& shape = op.entry->shape;
  const bool halves = chip_.generation >= Generation::Gfx11;
  const u32 codes[] = {field(word, 8, 0), field(word, 16, 9) + kFirstVector};
  const u32 count = encoded_count(shape, false);
  for (u32 i = 0; i < count && i < 2; ++i) {
    u32 code = codes[i];
    if (i == 0 && is_moved(code)) continue;
    const bool high = halves && is_half(shape.src[i]) && code >= kFirstVector + 128;
    op.src[i] = source(high ? code - 128 : code, shape.src[i], next);
    if (high) op.src[i].modifiers |= Source::kHigh;
    if (is_packed(shape.src[i])) op.src[i].modifiers |= Source::kHighHigh;
  }
  if (codes[0] == kSdwaCode) {
    decode_sdwa(next, format, op);
  } else if (is_moved(codes[0])) {
    decode_dpp(next, codes[0], op);
  }
  const Source literal{.kind = Source::Kind::Constant, .value = next};
  if (shape.flags & kLiteralMiddle) {
    op.src[2] = op.src[1];
    op.src[1] = literal;
  } else if (shape.flags & kLiteralLast) {
    op.src[2] = literal;
  }
  const u32 vdst = field(word, 24, 17);
  if (format == Format::Vopc) {
    if (codes[0] != kSdwaCode) op.dst = op.entry->shape.flags & kCompareExec ? kExecLo : kVccLo;
  } else if (shape.flags & kScalarDst) {
    op.dst = scalar_register(vdst);
  } else {
    const bool high = halves && is_half(shape.dst) && vdst >= 128;
    set_vector_dst(high ? vdst - 128 : vdst, op);
    if (high) op.flags |= kDstHigh;
  }
  op.sdst = kVccLo;
  finish_vector(op);
}

void Decoder::decode_vop3(Operation& op) const {
  const u32 low = op.words[0], high = op.words[1];
  const Shape& shape = op.entry->shape;
  const bool has_sdst = (shape.flags & kCarryOut) != 0;
  const u32 abs = has_sdst ? 0 : field(low, 10, 8), op_sel = has_sdst ? 0 : field(low, 14, 11);
  const u32 neg = field(high, 31, 29);
  op.flags |= kVop3;
  const u32 codes[] = {field(high, 8, 0), field(high, 17, 9), field(high, 26, 18)};
  const u32 count = encoded_count(shape, true);
  for (u32 i = 0; i < count && i < 3; ++i) {
    if (i == 0 && is_moved(codes[0])) {
      decode_dpp(op.words[2], codes[0], op);
    } else {
      op.src[i] = source(codes[i], shape.src[i], op.words[2]);
    }
    u8 modifiers = 0;
    if (neg >> i & 1) modifiers |= Source::kNeg;
    if (abs >> i & 1) modifiers |= Source::kAbs;
    if (shape.flags & kNoModifiers) modifiers = 0;
    if (is_half(shape.src[i]) && (op_sel >> i & 1)) modifiers |= Source::kHigh;
    if (is_packed(shape.src[i])) modifiers |= packed_modifiers(op.src[i], codes[i], modifiers);
    op.src[i].modifiers |= modifiers;
  }
  if (field(low, 15, 15)) op.flags |= kClamp;
  if (!(shape.flags & kNoModifiers)) op.flags |= field(high, 28, 27) << kOmodShift;
  const u32 vdst = field(low, 7, 0);
  if (shape.flags & (kCompare | kScalarDst)) {
    op.dst = scalar_register(vdst);
  } else {
    set_vector_dst(vdst, op);
    if (is_half(shape.dst) && (op_sel & 8)) op.flags |= kDstHigh;
  }
  // From gfx10 on v_cmpx has no destination but EXEC.
  if ((shape.flags & kCompareExec) && chip_.generation >= Generation::Gfx10) op.dst = kExecLo;
  op.sdst = has_sdst ? scalar_register(field(low, 14, 8)) : u16{kVccLo};
  finish_vector(op);
}

void Decoder::decode_vop3p(Operation& op) const {
  const u32 low = op.words[0], high = op.words[1];
  const Shape& shape = op.entry->shape;
  const u32 op_sel = field(low, 13, 11), neg_high = field(low, 10, 8), neg = field(high, 31, 29);
  const u32 op_sel_high = field(high, 28, 27) | field(low, 14, 14) << 2;
  op.flags |= kVop3;
  const u32 codes[] = {field(high, 8, 0), field(high, 17, 9), field(high, 26, 18)};
  const u32 count = encoded_count(shape, true);
  for (u32 i = 0; i < count && i < 3; ++i) {
    if (i == 0 && is_moved(codes[0])) {
      decode_dpp(op.words[2], codes[0], op);
    } else {
      op.src[i] = source(codes[i], shape.src[i], op.words[2]);
    }
    u8 modifiers = 0;
    if (neg >> i & 1) modifiers |= Source::kNeg;
    if (neg_high >> i & 1) modifiers |= Source::kNegHigh;
    if (op_sel >> i & 1) modifiers |= Source::kHigh;
    if (op_sel_high >> i & 1) modifiers |= Source::kHighHigh;
    // A 32-bit operand, v_dot's last, has no halves to choose.
    const bool halves = is_packed(shape.src[i]) || shape.src[i] == Type::Mixed;
    if (!halves) modifiers &= Source::kNeg;
    op.src[i].modifiers |= modifiers;
  }
  if (field(low, 15, 15)) op.flags |= kClamp;
  if (shape.flags & kHighResult) op.flags |= kDstHigh;
  set_vector_dst(field(low, 7, 0), op);
  finish_vector(op);
}

// Implicit operands, and whether the result is stored as computed.
void Decoder::finish_vector(Operation& op) const {
  const Shape& shape = op.entry->shape;
  const u32 count = source_count(shape);
  if (shape.flags & kReadsDst) {
    Source& last = op.src[count - 1];
    const bool high = (op.flags & kDstHigh) != 0;
    last = vector_source(op.dst);
    if (high) last.modifiers |= Source::kHigh;
    if (is_packed(shape.dst)) last.modifiers |= Source::kHighHigh;
  }
  if ((shape.flags & kVccIn) && !(op.flags & kVop3)) {
    op.src[count - 1] = {.kind = Source::Kind::Scalar, .index = kVccLo};
  }
  // Results of 16 bits: gfx9 zeroes the other half, except in VOP3's three-operand forms.
  if (is_half(shape.dst) &&
      (chip_.generation >= Generation::Gfx10 || ((op.flags & kVop3) && source_count(shape) == 3))) {
    op.flags |= kKeepHigh;
  }
  const u32 changed = kClamp | kOmodMask | kDstHigh | kDpp16 | kDpp8 | kSdwa | kKeepHigh;
  if (!(op.flags & changed)) op.flags |= kDirect;
}

// [RDNA3 ISA, "DPP16" and "DPP8"]
void Decoder::decode_dpp(u32 word, u32 kind, Operation& op) const {
  const u32 index = field(word, 7, 0);
  const bool high = chip_.generation >= Generation::Gfx11 && !(op.flags & kVop3) &&
                    is_half(op.entry->shape.src[0]) && index >= 128;
  op.src[0] = vector_source(high ? index - 128 : index);
  op.src[0].modifiers = static_cast<u8>(Source::kMoved | (high ? Source::kHigh : 0));
  if (is_packed(op.entry->shape.src[0]) && !(op.flags & kVop3)) {
    op.src[0].modifiers |= Source::kHighHigh;
  }
  op.control = word;
  if (kind != kDpp16Code) {
    op.flags |= kDpp8;
    if (kind == kDpp8FetchCode) op.flags |= kFetchInvalid;
    return;
  }
  op.flags |= kDpp16;
  if (chip_.generation >= Generation::Gfx10 && field(word, 18, 18)) op.flags |= kFetchInvalid;
  if (op.flags & kVop3) return;  // VOP3's own modifiers hold
  if (field(word, 20, 20)) op.src[0].modifiers |= Source::kNeg;
  if (field(word, 21, 21)) op.src[0].modifiers |= Source::kAbs;
  if (field(word, 22, 22)) op.src[1].modifiers |= Source::kNeg;
  if (field(word, 23, 23)) op.src[1].modifiers |= Source::kAbs;
}

// [CDNA3 ISA, "SDWA" and "SDWAB"]
void Decoder::decode_sdwa(u32 word, Format format, Operation& op) const {
  op.control = word;
  op.flags |= kSdwa;
  const Shape& shape = op.entry->shape;
  const u32 first = field(word, 7, 0);
  const auto modifiers = [&](u32 sext, u32 neg, u32 abs) {
    u32 result = Source::kMoved;
    if (field(word, sext, sext)) result |= Source::kSext;
    if (field(word, neg, neg)) result |= Source::kNeg;
    if (field(word, abs, abs)) result |= Source::kAbs;
    return static_cast<u8>(result);
  };
  op.src[0] = field(word, 23, 23) ? source(first, shape.src[0], 0) : vector_source(first);
  op.src[0].modifiers = modifiers(19, 20, 21);
  if (format != Format::Vop1) {
    const u32 second = field(op.words[0], 16, 9);
    op.src[1] = field(word, 31, 31) ? source(second, shape.src[1], 0) : vector_source(second);
    op.src[1].modifiers = modifiers(27, 28, 29);
  }
  if (format == Format::Vopc) {
    op.dst = field(word, 15, 15) ? scalar_register(field(word, 14, 8)) : u16{kVccLo};
    if ((shape.flags & kCompareExec) && chip_.generation >= Generation::Gfx10) op.dst = kExecLo;
    return;
  }
  if (field(word, 13, 13)) op.flags |= kClamp;
  op.flags |= field(word, 15, 14) << kOmodShift;
}

// Two instructions in one. Both read before either writes: if the first would overwrite a source of
// the second, the second runs first; if each would, a source is copied before.
void Decoder::append_dual(std::string_view name, Operation op, std::vector<Operation>& out) {
  const DualNames names = dual_names(name);
  Operation half[2] = {op, op};
  set_entry(names.x, half[0]);
  set_entry(names.y, half[1]);
  const u32 dst_x = field(op.words[1], 31, 24);
  const u32 dst[] = {dst_x, field(op.words[1], 23, 17) << 1 | (~dst_x & 1)};
  for (u32 i = 0; i < 2; ++i) {
    if (half[i].entry == nullptr) {
      out.push_back(half[i]);
      return;
    }
    const Shape& shape = half[i].entry->shape;
    const u32 codes[] = {field(op.words[i], 8, 0), field(op.words[i], 16, 9) + kFirstVector};
    const u32 literal = op.words[2];
    const u32 count = encoded_count(shape, false);
    for (u32 k = 0; k < count && k < 2; ++k) {
      half[i].src[k] = source(codes[k], shape.src[k], literal);
      if (is_packed(shape.src[k])) half[i].src[k].modifiers |= Source::kHighHigh;
    }
    const Source constant{.kind = Source::Kind::Constant, .value = literal};
    if (shape.flags & kLiteralMiddle) {
      half[i].src[2] = half[i].src[1];
      half[i].src[1] = constant;
    } else if (shape.flags & kLiteralLast) {
      half[i].src[2] = constant;
    }
    set_vector_dst(dst[i], half[i]);
    finish_vector(half[i]);
  }
  const auto reads = [&](const Operation& reader, u32 index) {
    for (const Source& source : reader.src) {
      if (source.kind == Source::Kind::Vector && source.index == index) return true;
    }
    return false;
  };
  if (!reads(half[1], dst[0])) {
    out.insert(out.end(), {half[0], half[1]});
  } else if (!reads(half[0], dst[1])) {
    out.insert(out.end(), {half[1], half[0]});
  } else {
    Operation copy = op;
    set_entry("V_MOV_B32", copy);
    copy.src[0] = vector_source(dst[0]);
    // The first of Wave::kSpareRows.
    Source spare = vector_source(chip_.vgprs);
    spare.index = kSpareRegister;
    set_vector_dst(chip_.vgprs, copy);
    copy.dst = kSpareRegister;
    copy.flags = kDirect;
    for (Source& source : half[1].src) {
      if (source.kind == Source::Kind::Vector && source.index == dst[0]) {
        source = spare;
      }
    }
    out.insert(out.end(), {copy, half[0], half[1]});
  }
}

}  // namespace doorbell::emu::amdgpu
