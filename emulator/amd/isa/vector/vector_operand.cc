// Operands and results of vector instructions that are not plain registers: scalars, constants,
// modifiers, DPP, SDWA, 16-bit halves, denormals.
// [RDNA3 and CDNA3 ISA documents, chapter "Vector ALU operations"]
#include <xmmintrin.h>
#include <algorithm>
#include <cmath>

#include "base/util/target_clones.h"
#include "emulator/amd/isa/number/host_float.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

bool is_wide(Type type) {
  return type == Type::B64 || type == Type::F64 || type == Type::I64 || type == Type::PackedF32;
}

DOORBELL_CLONES("avx2", "default") void fill(u32* row, u32 value) {
  for (u32 i = 0; i < kMaxLanes; ++i) row[i] = value;
}
DOORBELL_CLONES("avx2", "default") void shift_high_down(u32* row) {
  for (u32 i = 0; i < kMaxLanes; ++i) row[i] >>= 16;
}
DOORBELL_CLONES("avx2", "default") void change_sign(u32* row, u32 clear, u32 flip) {
  for (u32 i = 0; i < kMaxLanes; ++i) row[i] = (row[i] & ~clear) ^ flip;
}
// Where the exponent's bits are all zero, only the sign stays.
DOORBELL_CLONES("avx2", "default") void flush_denormals(u32* row, u32 exponent, u32 sign) {
  for (u32 i = 0; i < kMaxLanes; ++i) row[i] &= row[i] & exponent ? ~0u : sign;
}
void flush_doubles(u32* low, u32* high) {
  for (u32 i = 0; i < kMaxLanes; ++i) {
    if (high[i] & 0x7ff00000) continue;
    low[i] = 0;
    high[i] &= 0x80000000;
  }
}

// ---- DPP ----

// Which lane of the wave lane i reads; -1 for one that is out of bounds.
// [RDNA3 ISA, "DPP16"; CDNA3 ISA for the forms that work on whole waves]
i32 dpp_source(const Wave& wave, u32 control, i32 lane) {
  const i32 row = lane & ~15, at = lane & 15, n = static_cast<i32>(control & 15);
  const i32 lanes = static_cast<i32>(wave.lanes);
  if (control <= 0xff) return (lane & ~3) + static_cast<i32>(control >> (2 * (lane & 3)) & 3);
  switch (control >> 4) {
    case 0x10: return at + n < 16 ? row + at + n : -1;
    case 0x11: return at - n >= 0 ? row + at - n : -1;
    case 0x12: return row + ((at - n) & 15);
    case 0x15: return row + n;
    case 0x16: return row + (at ^ n);
    default: break;
  }
  switch (control) {
    case 0x130: return lane + 1 < lanes ? lane + 1 : -1;
    case 0x134: return (lane + 1) % lanes;
    case 0x138: return lane - 1;
    case 0x13c: return (lane + lanes - 1) % lanes;
    case 0x140: return row + 15 - at;
    case 0x141: return (lane & ~7) + 7 - (lane & 7);
    case 0x142: return row - 1;
    case 0x143: return lane < 32 ? -1 : 31;
    default: return -1;
  }
}

// The lane read; -1 where the operand is 0 or the lane does not write.
i32 moved_lane(const Wave& wave, const Operation& op, i32 lane, u64 exec) {
  const i32 from = op.flags & kDpp16
                       ? dpp_source(wave, op.control >> 8 & 0x1ff, lane)
                       : (lane & ~7) + static_cast<i32>(op.control >> (8 + 3 * (lane & 7)) & 7);
  const bool active = from >= 0 && (exec >> from & 1) != 0;
  return active || (from >= 0 && (op.flags & kFetchInvalid)) ? from : -1;
}

void move_lanes(const Wave& wave, const Operation& op, const u32* from, u32* to) {
  const u64 exec = wave.exec();
  for (u32 i = 0; i < wave.lanes; ++i) {
    const i32 lane = moved_lane(wave, op, static_cast<i32>(i), exec);
    to[i] = lane < 0 ? 0 : from[lane];
  }
}

// ---- SDWA ----

// Selectors 0 to 3 name bytes, 4 and 5 halves, 6 the whole.
void select_part(u32* row, u32 selector, bool sign_extended) {
  if (selector == 6) return;
  const u32 bits = selector < 4 ? 8 : 16;
  const u32 shift = selector < 4 ? 8 * selector : 16 * (selector - 4);
  for (u32 i = 0; i < kMaxLanes; ++i) {
    const u32 part = row[i] << (32 - bits - shift);
    row[i] = sign_extended ? static_cast<u32>(static_cast<i32>(part) >> (32 - bits))
                           : part >> (32 - bits);
  }
}

void store_part(u32* dst, const u32* value, u32 control, u32 mask) {
  const u32 selector = control >> 8 & 7, unused = control >> 11 & 3;
  const u32 bits = selector == 6 ? 32 : selector < 4 ? 8 : 16;
  const u32 shift = selector == 6 ? 0 : selector < 4 ? 8 * selector : 16 * (selector - 4);
  const u32 field = bits == 32 ? ~0u : ((1u << bits) - 1) << shift;
  for (u32 i = 0; i < kStep; ++i) {
    if (!(mask >> i & 1)) continue;
    u32 result = value[i] << shift & field;
    if (unused == 1 && bits != 32) {
      result = static_cast<u32>(static_cast<i32>(value[i] << (32 - bits)) >> (32 - bits)) << shift;
    } else if (unused == 2) {
      result |= dst[i] & ~field;
    }
    dst[i] = result;
  }
}

void read_mask(const Wave& wave, const Source& source, u32* row) {
  u64 mask = 0;
  if (source.kind == Source::Kind::Scalar) {
    mask = wave.mask(source.index);
  } else {
    mask = scalar_value(wave, source);
    if (source.kind == Source::Kind::Constant && static_cast<i32>(mask) < 0) {
      mask |= ~u64{0xffffffff};  // inline integers are of 64 bits in waves of 64
    }
  }
  for (u32 i = 0; i < kMaxLanes; ++i) row[i] = static_cast<u32>(mask >> i & 1);
}

// The raw words of operand k.
void read_raw(const Wave& wave, const Operation& op, u32 k, bool wide, u32* low, u32* high) {
  const Source& source = op.src[k];
  if (source.kind == Source::Kind::Vector) {
    const u32* row = wave.v + source.row;
    const u32 bytes = wave.lanes * 4;
    const bool moved = (source.modifiers & Source::kMoved) && (op.flags & (kDpp16 | kDpp8));
    if (moved) {
      move_lanes(wave, op, row, low);
      if (wide) move_lanes(wave, op, row + wave.lanes, high);
    } else {
      std::memcpy(low, row, bytes);
      if (wide) std::memcpy(high, row + wave.lanes, bytes);
    }
    if (wave.lanes < kMaxLanes) {
      std::memset(low + wave.lanes, 0, bytes);
      if (wide) std::memset(high + wave.lanes, 0, bytes);
    }
    return;
  }
  const u64 value = wide ? read_64(wave, source) : read_32(wave, source);
  fill(low, static_cast<u32>(value));
  if (wide) fill(high, static_cast<u32>(value >> 32));
}

// v_fma_mix: op_sel_hi says that the operand is a half, op_sel which; neg_hi stands for abs.
void prepare_mixed(const Source& source, u32* row) {
  const bool half = source.modifiers & Source::kHighHigh;
  if (half && (source.modifiers & Source::kHigh)) shift_high_down(row);
  for (u32 i = 0; half && i < kMaxLanes; ++i) {
    row[i] = std::bit_cast<u32>(half_to_float(row[i] & 0xffff));
  }
  const bool abs = source.modifiers & Source::kNegHigh, neg = source.modifiers & Source::kNeg;
  if (abs || neg) change_sign(row, abs ? 1u << 31 : 0, neg ? 1u << 31 : 0);
}

}  // namespace

u64 dpp_lanes(const Wave& wave, const Operation& op) {
  const u64 exec = wave.exec();
  const u32 bank_mask = op.control >> 24 & 15, row_mask = op.control >> 28 & 15;
  const bool bound_control = (op.control >> 19 & 1) != 0;
  u64 result = 0;
  for (u32 i = 0; i < wave.lanes; ++i) {
    if (!(row_mask >> (i / 16) & 1) || !(bank_mask >> (i / 4 & 3) & 1)) continue;
    if (!bound_control && moved_lane(wave, op, static_cast<i32>(i), exec) < 0) continue;
    result |= u64{1} << i;
  }
  return result & exec;
}

void prepare_operand(const Wave& wave, const Operation& op, u32 k, Type type, u32* buffer) {
  const Source& source = op.src[k];
  u32* const low = buffer;
  u32* const high = buffer + kMaxLanes;
  if (type == Type::Mask) return read_mask(wave, source, low);
  const bool wide = is_wide(type);
  read_raw(wave, op, k, wide, low, high);
  if ((source.modifiers & Source::kHigh) && type != Type::Mixed) shift_high_down(low);
  if ((op.flags & kSdwa) && (source.modifiers & Source::kMoved)) {
    select_part(low, op.control >> (k == 0 ? 16 : 24) & 7, source.modifiers & Source::kSext);
  }
  const bool abs = source.modifiers & Source::kAbs, neg = source.modifiers & Source::kNeg;
  const bool plain = wave.float_plain;
  if (type == Type::F32 || type == Type::M32) {
    if (abs || neg) change_sign(low, abs ? 1u << 31 : 0, neg ? 1u << 31 : 0);
    if (type == Type::F32 && !plain && !(wave.mode.denorm_32 & 1))
      flush_denormals(low, 0x7f800000, 1u << 31);
  } else if (type == Type::Mixed) {
    prepare_mixed(source, low);
  } else if (type == Type::F16 || type == Type::BF16) {
    if (abs || neg) change_sign(low, abs ? 1u << 15 : 0, neg ? 1u << 15 : 0);
    if (!plain && type == Type::F16 && !(wave.mode.denorm_64 & 1)) {
      flush_denormals(low, 0x7c00, 1u << 15);
    }
  } else if (type == Type::F64) {
    if (abs || neg) change_sign(high, abs ? 1u << 31 : 0, neg ? 1u << 31 : 0);
    if (!plain && !(wave.mode.denorm_64 & 1)) flush_doubles(low, high);
  }
}

void prepare_packed(const Wave& wave, const Operation& op, u32 k, Type type, u32* low, u32* high) {
  const Source& source = op.src[k];
  const bool wide = type == Type::PackedF32;
  alignas(64) u32 raw[kMaxLanes], second[kMaxLanes];
  read_raw(wave, op, k, wide, raw, second);
  const bool takes_high[] = {(source.modifiers & Source::kHigh) != 0,
                             (source.modifiers & Source::kHighHigh) != 0};
  u32* const to[] = {low, high};
  for (u32 part = 0; part < 2; ++part) {
    if (wide) {
      std::memcpy(to[part], takes_high[part] ? second : raw, sizeof raw);
    } else {
      std::memcpy(to[part], raw, sizeof raw);
      if (takes_high[part]) shift_high_down(to[part]);
    }
    const bool neg = source.modifiers & (part == 0 ? Source::kNeg : Source::kNegHigh);
    const bool is_float = type != Type::PackedB16;
    const u32 sign = wide ? 1u << 31 : 1u << 15;
    const u32 abs = source.modifiers & Source::kAbs ? sign : 0;
    if (is_float && (neg || abs != 0)) change_sign(to[part], abs, neg ? sign : 0);
    if (wave.float_plain) continue;
    if (wide && !(wave.mode.denorm_32 & 1)) flush_denormals(to[part], 0x7f800000, 1u << 31);
    if (type == Type::PackedF16 && !(wave.mode.denorm_64 & 1)) {
      flush_denormals(to[part], 0x7c00, 1u << 15);
    }
  }
}

// ---- results ----

namespace {

// Whether NaN clamps to 0, which MODE's DX10_CLAMP selects; otherwise it stays. gfx12 has no such
// bit and clamps it. [RDNA3 ISA, "Mode register"; LLVM AMDGPUUsage, ENABLE_DX10_CLAMP "GFX6-GFX11"]
bool clamps_nan(const Wave& wave) {
  return wave.chip->generation == Generation::Gfx12 || (wave.mode_bits() >> 8 & 1) != 0;
}

f64 modified(const Wave& wave, f64 value, u32 flags) {
  switch ((flags & kOmodMask) >> kOmodShift) {
    case 1: value *= 2; break;
    case 2: value *= 4; break;
    case 3: value *= 0.5; break;
    default: break;
  }
  if ((flags & kClamp) && (!std::isnan(value) || clamps_nan(wave)))
    value = value > 0 ? std::min(value, 1.0) : 0.0;
  return value;
}

u32 modified_half(const Wave& wave, u32 half, u32 flags) {
  if (flags & (kOmodMask | kClamp)) {
    half = double_to_half(modified(wave, half_to_float(half), flags), wave.half_rounding());
  }
  return flush_16(half, wave.mode.denorm_64 & 2);
}

// omod and clamp of floats, and denormal results.
void modify_floats(const Wave& wave, u32 flags, Type type, u32* low, u32* high) {
  const bool changes = (flags & (kOmodMask | kClamp)) != 0;
  const u8 keep_64 = wave.mode.denorm_64 & 2, keep_32 = wave.mode.denorm_32 & 2;
  for (u32 i = 0; i < kStep; ++i) {
    if (type == Type::F32) {
      f32 value = std::bit_cast<f32>(low[i]);
      if (changes) value = static_cast<f32>(modified(wave, value, flags));
      low[i] = std::bit_cast<u32>(flush_32(value, keep_32 != 0));
    } else if (type == Type::F64) {
      f64 value = std::bit_cast<f64>(low[i] | u64{high[i]} << 32);
      if (changes) value = modified(wave, value, flags);
      u64 bits = std::bit_cast<u64>(value);
      if (!keep_64 && (bits & 0x7ff0000000000000) == 0) bits &= u64{1} << 63;
      low[i] = static_cast<u32>(bits);
      high[i] = static_cast<u32>(bits >> 32);
    } else if (type == Type::F16) {
      low[i] = modified_half(wave, low[i], flags);
    } else if (type == Type::PackedF32) {
      const f32 first = static_cast<f32>(modified(wave, std::bit_cast<f32>(low[i]), flags));
      const f32 second = static_cast<f32>(modified(wave, std::bit_cast<f32>(high[i]), flags));
      low[i] = std::bit_cast<u32>(flush_32(first, keep_32 != 0));
      high[i] = std::bit_cast<u32>(flush_32(second, keep_32 != 0));
    } else if (type == Type::PackedF16) {
      low[i] = modified_half(wave, low[i] & 0xffff, flags) |
               modified_half(wave, low[i] >> 16, flags) << 16;
    } else if (type == Type::BF16 && changes) {
      low[i] = float_to_bfloat(static_cast<f32>(modified(wave, bfloat_to_float(low[i]), flags)));
    }
  }
}

DOORBELL_CLONES("avx2", "default") void store_masked(u32* dst, const u32* value, u32 mask) {
  for (u32 i = 0; i < kStep; ++i) dst[i] = mask >> i & 1 ? value[i] : dst[i];
}
DOORBELL_CLONES("avx2", "default")
void store_half(u32* dst, const u32* value, u32 mask, u32 keep, u32 shift) {
  for (u32 i = 0; i < kStep; ++i) {
    const u32 merged = (dst[i] & keep) | (value[i] & 0xffff) << shift;
    dst[i] = mask >> i & 1 ? merged : dst[i];
  }
}

}  // namespace

void store_result(Wave& wave, const Operation& op, Type type, const u32* low, const u32* high,
                  u32 base, u32 mask) {
  u32* const dst = wave.v + op.dst_row + base;
  const bool is_float = type == Type::F32 || type == Type::F64 || type == Type::F16 ||
                        type == Type::BF16 || type == Type::PackedF16 || type == Type::PackedF32;
  alignas(64) u32 changed_low[kStep], changed_high[kStep];
  if (is_float && ((op.flags & (kOmodMask | kClamp)) || !wave.float_plain)) {
    std::memcpy(changed_low, low, sizeof changed_low);
    if (is_wide(type)) std::memcpy(changed_high, high, sizeof changed_high);
    modify_floats(wave, op.flags, type, changed_low, changed_high);
    low = changed_low;
    high = changed_high;
  }
  if (op.flags & kSdwa) return store_part(dst, low, op.control, mask);
  if (is_half(type)) {
    const bool to_high = (op.flags & kDstHigh) != 0;
    const u32 keep = to_high ? 0xffff : op.flags & kKeepHigh ? 0xffff0000 : 0;
    return store_half(dst, low, mask, keep, to_high ? 16 : 0);
  }
  store_masked(dst, low, mask);
  if (is_wide(type)) store_masked(dst + wave.lanes, high, mask);
}

}  // namespace doorbell::emu::amdgpu
