// Instructions that move values between lanes, between vector and scalar registers; indexed moves.
// See matrix.cc for accumulation registers.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Instructions"]
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

Flow nothing(Wave&, const Operation&) { return Flow::Next; }

u32 read_lane(const Wave& wave, const Source& source, u32 lane) {
  if (source.kind != Source::Kind::Vector) return read_32(wave, source);
  return wave.v[source.row + lane];
}

// ---- to and from scalar registers ----

// The first active lane; lane 0 when none is.
Flow read_first_lane(Wave& wave, const Operation& op) {
  const u64 exec = wave.exec();
  const u32 lane = exec == 0 ? 0 : static_cast<u32>(std::countr_zero(exec));
  wave.s[op.dst] = read_lane(wave, op.src[0], lane);
  return Flow::Next;
}
Flow read_lane(Wave& wave, const Operation& op) {
  const u32 lane = read_32(wave, op.src[1]) & (wave.lanes - 1);
  wave.s[op.dst] = read_lane(wave, op.src[0], lane);
  return Flow::Next;
}
// EXEC is ignored.
Flow write_lane(Wave& wave, const Operation& op) {
  const u32 lane = read_32(wave, op.src[1]) & (wave.lanes - 1);
  wave.v[op.dst_row + lane] = read_32(wave, op.src[0]);
  return Flow::Next;
}

// Active lanes below this one, among those that the first operand names.
template <bool high_lanes>
Flow count_lanes_below(Wave& wave, const Operation& op) {
  alignas(64) u32 buffers[2][2 * kMaxLanes];
  const Row a = fetch<u32>(wave, op, 0, buffers[0]), b = fetch<u32>(wave, op, 1, buffers[1]);
  const u64 exec = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    alignas(64) u32 out[kStep];
    for (u32 i = 0; i < kStep; ++i) {
      const u64 below = (u64{1} << (base + i)) - 1;
      const u32 mask = static_cast<u32>(high_lanes ? below >> 32 : below);
      out[i] = b.low[base + i] + static_cast<u32>(std::popcount(a.low[base + i] & mask));
    }
    store_result(wave, op, Type::B32, out, nullptr, base, static_cast<u32>(exec >> base));
  }
  return Flow::Next;
}

// ---- permutations ----

// Stores value(lane) for active lanes; lanes without a value keep theirs.
template <class Value>
Flow permute(Wave& wave, const Operation& op, Value value) {
  u32 out[kMaxLanes];
  u64 written = 0;
  const u64 exec = wave.exec();
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if ((exec >> lane & 1) && value(lane, out[lane])) written |= u64{1} << lane;
  }
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if (written >> lane & 1) wave.v[op.dst_row + lane] = out[lane];
  }
  return Flow::Next;
}

// Reads a lane that may be inactive: op_sel's bits are fetch-inactive and bound-control.
bool permuted(const Wave& wave, const Operation& op, u32 from, u32& out) {
  const bool fetch_inactive = op.words[0] >> 11 & 1, bound_control = op.words[0] >> 12 & 1;
  if (fetch_inactive || (wave.exec() >> from & 1)) {
    out = read_lane(wave, op.src[0], from);
    return true;
  }
  out = 0;
  return bound_control;
}

// Within rows of sixteen, or from the other row of a pair: four bits per lane say from where.
template <bool other_row>
Flow permute_16(Wave& wave, const Operation& op) {
  const u64 selectors = read_32(wave, op.src[1]) | u64{read_32(wave, op.src[2])} << 32;
  return permute(wave, op, [&](u32 lane, u32& out) {
    const u32 row = (lane & ~15u) ^ (other_row ? 16 : 0);
    return permuted(wave, op, row + (selectors >> (4 * (lane & 15)) & 15), out);
  });
}
template <bool other_row>
Flow permute_16_variable(Wave& wave, const Operation& op) {
  return permute(wave, op, [&](u32 lane, u32& out) {
    const u32 row = (lane & ~15u) ^ (other_row ? 16 : 0);
    return permuted(wave, op, row + (read_lane(wave, op.src[1], lane) & 15), out);
  });
}
// The halves of a wave of 64 change places.
Flow permute_64(Wave& wave, const Operation& op) {
  if (wave.lanes == 32) return Flow::Next;
  return permute(wave, op, [&](u32 lane, u32& out) {
    out = read_lane(wave, op.src[0], lane ^ 32);
    return true;
  });
}
// gfx950: the odd rows of `rows` lanes of the destination and the even ones of the source.
template <u32 rows>
Flow swap_rows(Wave& wave, const Operation& op) {
  u32* const first = wave.v + op.dst_row;
  u32* const second = wave.v + op.src[0].row;
  const u64 exec = wave.exec();
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if (!(lane & rows) || !(exec >> lane & 1)) continue;
    std::swap(first[lane], second[lane - rows]);
  }
  return Flow::Next;
}

// ---- swaps and indexed moves ----

void copy_active(const Wave& wave, const u32* from, u32* to) {
  const u64 exec = wave.exec();
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if (exec >> lane & 1) to[lane] = from[lane];
  }
}

Flow swap_registers(Wave& wave, const Operation& op) {
  u32* const a = wave.v + op.dst_row;
  u32* const b = wave.v + op.src[0].row;
  const u64 exec = wave.exec();
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if (exec >> lane & 1) std::swap(a[lane], b[lane]);
  }
  return Flow::Next;
}
Flow swap_halves(Wave& wave, const Operation& op) {
  u32* const a = wave.v + op.dst_row;
  u32* const b = wave.v + op.src[0].row;
  const u32 shift_a = op.flags & kDstHigh ? 16 : 0;
  const u32 shift_b = op.src[0].modifiers & Source::kHigh ? 16 : 0;
  const u64 exec = wave.exec();
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    const u32 half_a = a[lane] >> shift_a & 0xffff, half_b = b[lane] >> shift_b & 0xffff;
    a[lane] = (a[lane] & ~(0xffffu << shift_a)) | half_b << shift_a;
    b[lane] = (b[lane] & ~(0xffffu << shift_b)) | half_a << shift_b;
  }
  return Flow::Next;
}

bool in_range(Wave& wave, const Operation& op, u32 index) {
  if (index < wave.vgpr_count) return true;
  stop_out_of_bounds(wave, op, Exit::Limit::Registers, 0, 0,
                     fmt::format("register {}, the wave has {}", index, wave.vgpr_count), false);
  return false;
}
// M0 is added to the source's number, the destination's, or both; `split`: bits 9 to 0 and 25 to 16
// for the one and the other.
u32 low_index(u32 m0) { return m0 & 0x3ff; }
u32 high_index(u32 m0) { return m0 >> 16 & 0x3ff; }
template <bool source, bool destination, bool split>
Flow move_relative(Wave& wave, const Operation& op) {
  const u32 m0 = wave.s[kM0];
  const u32 from = op.src[0].index + (source ? split ? low_index(m0) : m0 : 0);
  const u32 to = op.dst + (destination ? split ? high_index(m0) : m0 : 0);
  const bool is_vector = op.src[0].kind == Source::Kind::Vector;
  if ((is_vector && !in_range(wave, op, from)) || !in_range(wave, op, to)) return Flow::Stop;
  u32 buffer[kMaxLanes];
  if (!is_vector) std::fill_n(buffer, kMaxLanes, read_32(wave, op.src[0]));
  copy_active(wave, is_vector ? wave.row(from) : buffer, wave.row(to));
  return Flow::Next;
}
Flow swap_relative(Wave& wave, const Operation& op) {
  const u32 m0 = wave.s[kM0];
  const u32 a = op.src[0].index + low_index(m0), b = op.dst + high_index(m0);
  if (!in_range(wave, op, a) || !in_range(wave, op, b)) return Flow::Stop;
  const u64 exec = wave.exec();
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    if (exec >> lane & 1) std::swap(wave.row(a)[lane], wave.row(b)[lane]);
  }
  return Flow::Next;
}

// ---- gfx12: transcendental functions of scalars ----

template <auto F>
Flow scalar_function(Wave& wave, const Operation& op) {
  const InstructionRounding<Rounds::Nearest> rounding(wave);
  u32 bits = read_32(wave, op.src[0]);
  if (op.src[0].modifiers & Source::kAbs) bits &= 0x7fffffff;
  if (op.src[0].modifiers & Source::kNeg) bits ^= 0x80000000;
  f32 value = static_cast<f32>(F(f64{std::bit_cast<f32>(bits)}));
  if (op.flags & kClamp) value = value > 0 ? std::fmin(value, 1.0f) : 0.0f;
  wave.s[op.dst] = std::bit_cast<u32>(value);
  return Flow::Next;
}
template <auto F>
Flow scalar_half_function(Wave& wave, const Operation& op) {
  const InstructionRounding<Rounds::Nearest> rounding(wave);
  u32 bits = read_32(wave, op.src[0]) >> (op.src[0].modifiers & Source::kHigh ? 16 : 0) & 0xffff;
  if (op.src[0].modifiers & Source::kAbs) bits &= 0x7fff;
  if (op.src[0].modifiers & Source::kNeg) bits ^= 0x8000;
  f64 value = F(f64{half_to_float(bits)});
  if (op.flags & kClamp) value = value > 0 ? std::fmin(value, 1.0) : 0.0;
  wave.s[op.dst] = double_to_half(value, {0, wave.holds_overflow()});
  return Flow::Next;
}

constexpr Shape kFirst{Type::B32, {Type::B32}, kScalarDst};
constexpr Shape kRead{Type::B32, {Type::B32, Type::B32}, kScalarDst};
constexpr Shape kOne{Type::B32, {Type::B32}, 0}, kTwo{Type::B32, {Type::B32, Type::B32}, 0};
constexpr Shape kThree{Type::B32, {Type::B32, Type::B32, Type::B32}, kNoModifiers};
constexpr Shape kScalarF32{Type::F32, {Type::F32}, kScalarDst};
constexpr Shape kScalarF16{Type::F16, {Type::F16}, kScalarDst};

constexpr auto kExp = [](f64 a) { return std::exp2(a); };
constexpr auto kLog = [](f64 a) { return std::log2(a); };
constexpr auto kReciprocal = [](f64 a) { return 1.0 / a; };
constexpr auto kReciprocalRoot = [](f64 a) { return 1.0 / std::sqrt(a); };
constexpr auto kRoot = [](f64 a) { return std::sqrt(a); };

constexpr Entry kTable[] = {
    {"V_NOP", {}, &nothing},
    {"V_PIPEFLUSH", {}, &nothing},
    {"V_CLREXCP", {}, &nothing},
    {"V_READFIRSTLANE_B32", kFirst, &read_first_lane},
    {"V_READLANE_B32", kRead, &read_lane},
    {"V_WRITELANE_B32", kTwo, &write_lane},
    {"V_MBCNT_LO_U32_B32", kTwo, &count_lanes_below<false>},
    {"V_MBCNT_HI_U32_B32", kTwo, &count_lanes_below<true>},
    {"V_PERMLANE16_B32", kThree, &permute_16<false>},
    {"V_PERMLANEX16_B32", kThree, &permute_16<true>},
    {"V_PERMLANE16_VAR_B32", kTwo, &permute_16_variable<false>},
    {"V_PERMLANEX16_VAR_B32", kTwo, &permute_16_variable<true>},
    {"V_PERMLANE64_B32", kOne, &permute_64},
    {"V_PERMLANE16_SWAP_B32", kOne, &swap_rows<16>},
    {"V_PERMLANE32_SWAP_B32", kOne, &swap_rows<32>},
    {"V_SWAP_B32", kOne, &swap_registers},
    {"V_SWAP_B16", {Type::B16, {Type::B16}, 0}, &swap_halves},
    {"V_MOVRELS_B32", kOne, &move_relative<true, false, false>},
    {"V_MOVRELD_B32", kOne, &move_relative<false, true, false>},
    {"V_MOVRELSD_B32", kOne, &move_relative<true, true, false>},
    {"V_MOVRELSD_2_B32", kOne, &move_relative<true, true, true>},
    {"V_SWAPREL_B32", kOne, &swap_relative},
    {"V_S_EXP_F32", kScalarF32, &scalar_function<kExp>},
    {"V_S_LOG_F32", kScalarF32, &scalar_function<kLog>},
    {"V_S_RCP_F32", kScalarF32, &scalar_function<kReciprocal>},
    {"V_S_RSQ_F32", kScalarF32, &scalar_function<kReciprocalRoot>},
    {"V_S_SQRT_F32", kScalarF32, &scalar_function<kRoot>},
    {"V_S_EXP_F16", kScalarF16, &scalar_half_function<kExp>},
    {"V_S_LOG_F16", kScalarF16, &scalar_half_function<kLog>},
    {"V_S_RCP_F16", kScalarF16, &scalar_half_function<kReciprocal>},
    {"V_S_RSQ_F16", kScalarF16, &scalar_half_function<kReciprocalRoot>},
    {"V_S_SQRT_F16", kScalarF16, &scalar_half_function<kRoot>},
};

}  // namespace

HandlerTable vector_lane_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
