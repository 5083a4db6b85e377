// DS atomics, with and without the value before. Waves of a group run one at a time, so that plain
// loads and stores of LDS are atomic.
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/atomic_updates.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

struct LdsAtomic {
  u32 bytes = 4;
  AtomicUpdate update = nullptr;
  bool returns = false;
};

// At `offset` of each lane's address; `data` is the operand's row, the second operand is data1.
Flow atomic(Wave& wave, const Operation& op, const LdsAtomic& what, u32 offset, const u32* data,
            const u32* address, u32* dst) {
  const u64 active = wave.exec();
  u64 within = active;
  alignas(64) u32 at[64];
  for (u32 lane = 0; lane < wave.lanes; ++lane) at[lane] = address[lane] + offset;
  const LdsAccess access = what.returns ? LdsAccess::AtomicResult : LdsAccess::Atomic;
  if (check_lds(wave, op, within, at, what.bytes, access) == Flow::Stop) return Flow::Stop;
  const u32* data1 = wave.v + op.src[kData1].row;
  const usize pitch = wave.lanes;
  const auto answer = [&](u32 lane, u64 before) {
    if (!what.returns) return;
    dst[lane] = static_cast<u32>(before);
    if (what.bytes == 8) dst[lane + pitch] = static_cast<u32>(before >> 32);
  };
  for_each_lane(active & ~within, [&](u32 lane) { answer(lane, 0); });
  for (u64 left = within; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    if (at[lane] % what.bytes != 0)
      return stop_unaligned_atomic(wave, op, at[lane], lane, what.bytes);
    u64 before = 0;
    std::memcpy(&before, wave.lds + at[lane], what.bytes);
    const u64 after = what.update(before, lane_value(data + lane, pitch, what.bytes),
                                  lane_value(data1 + lane, pitch, what.bytes));
    std::memcpy(wave.lds + at[lane], &after, what.bytes);
    // The destination may be an operand of this lane, which has been read.
    answer(lane, before);
  }
  return Flow::Next;
}

template <u32 kBytes, AtomicUpdate kUpdate, bool kReturns>
Flow run(Wave& wave, const Operation& op) {
  if constexpr (update::kRounds<kUpdate>) {
    if (!rounds_to_nearest(wave)) return stop_undocumented(wave, op, "rounding not to nearest");
  }
  return atomic(wave, op, {kBytes, kUpdate, kReturns}, static_cast<u32>(op.immediate),
                wave.v + op.src[kData].row, wave.v + op.src[kAddress].row, wave.v + op.dst_row);
}

// Two elements, each with its offset in elements, or 64 of them.
template <u32 kBytes, u32 kStride>
Flow exchange_two(Wave& wave, const Operation& op) {
  const LdsAtomic what{kBytes, update::swap<u64>, true};
  const u32 first = op.immediate & 0xff, second = op.immediate >> 8 & 0xff;
  const u32 scale = kBytes * kStride, rows = kBytes / 4;
  // The destination may be what the second half reads.
  u32 address[64], data1[128];
  std::memcpy(address, wave.v + op.src[kAddress].row, wave.lanes * 4);
  std::memcpy(data1, wave.v + op.src[kData1].row, wave.lanes * 4 * rows);
  u32* dst = wave.v + op.dst_row;
  const u32* data = wave.v + op.src[kData].row;
  if (atomic(wave, op, what, first * scale, data, address, dst) == Flow::Stop) return Flow::Stop;
  return atomic(wave, op, what, second * scale, data1, address, dst + rows * wave.lanes);
}

// Two dwords beside each other: each gives way to the operand's where that one's top bit is set,
// without that bit. [RDNA3 ISA, DS_CONDXCHG32_RTN_B64]
Flow exchange_marked(Wave& wave, const Operation& op) {
  constexpr u32 kMark = 1u << 31;
  const u64 active = wave.exec();
  const u32* address = wave.v + op.src[kAddress].row;
  u32 at[64];
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    at[lane] = (address[lane] + static_cast<u32>(op.immediate)) & 0xfff8;
  }
  u64 within = active;
  if (check_lds(wave, op, within, at, 8, LdsAccess::AtomicResult) == Flow::Stop) return Flow::Stop;
  for_each_lane(active & ~within, [&](u32 lane) {
    for (u32 i = 0; i < 2; ++i) wave.v[op.dst_row + i * wave.lanes + lane] = 0;
  });
  for_each_lane(within, [&](u32 lane) {
    for (u32 i = 0; i < 2; ++i) {
      const u32 operand = wave.v[op.src[kData].row + i * wave.lanes + lane];
      u8* const cell = wave.lds + at[lane] + 4 * i;
      const u32 before = read_as<u32>(cell), after = operand & ~kMark;
      if ((operand & kMark) != 0) std::memcpy(cell, &after, 4);
      wave.v[op.dst_row + i * wave.lanes + lane] = before;
    }
  });
  return Flow::Next;
}

// A second operand is in data1.
template <u32 kBytes, AtomicUpdate kUpdate, bool kReturns>
constexpr Entry entry(std::string_view name) {
  Shape shape = atomic_shape(kBytes, 1);
  const bool two =
      name.starts_with("DS_CMPST") || name.starts_with("DS_MSKOR") || name.starts_with("DS_WRAP");
  if (two) shape.wide[1 + kData1] = kBytes / 4;
  return {name, shape, &run<kBytes, kUpdate, kReturns>};
}
constexpr Shape two_shape(u8 rows) {
  return {.flags = kMemory, .wide = {static_cast<u8>(2 * rows), 1, rows, 0, rows}};
}

#define BOTH(name, type, ...)                                                         \
  entry<__VA_ARGS__, false>("DS_" name "_" type), entry<__VA_ARGS__, true>("DS_" name \
                                                                           "_RTN"     \
                                                                           "_" type)

// clang-format off
constexpr Entry kTable[] = {
    {"DS_CONDXCHG32_RTN_B64", atomic_shape(8, 1), &exchange_marked},
    BOTH("ADD", "U32", 4, update::add<u32>),
    BOTH("ADD", "U64", 8, update::add<u64>),
    BOTH("SUB", "U32", 4, update::subtract<u32>),
    BOTH("SUB", "U64", 8, update::subtract<u64>),
    BOTH("RSUB", "U32", 4, update::subtract_from<u32>),
    BOTH("RSUB", "U64", 8, update::subtract_from<u64>),
    BOTH("INC", "U32", 4, update::increment<u32>),
    BOTH("INC", "U64", 8, update::increment<u64>),
    BOTH("DEC", "U32", 4, update::decrement<u32>),
    BOTH("DEC", "U64", 8, update::decrement<u64>),
    BOTH("MIN", "I32", 4, update::minimum<i32>),
    BOTH("MIN", "I64", 8, update::minimum<i64>),
    BOTH("MIN", "U32", 4, update::minimum<u32>),
    BOTH("MIN", "U64", 8, update::minimum<u64>),
    BOTH("MAX", "I32", 4, update::maximum<i32>),
    BOTH("MAX", "I64", 8, update::maximum<i64>),
    BOTH("MAX", "U32", 4, update::maximum<u32>),
    BOTH("MAX", "U64", 8, update::maximum<u64>),
    BOTH("AND", "B32", 4, update::bit_and<u32>),
    BOTH("AND", "B64", 8, update::bit_and<u64>),
    BOTH("OR", "B32", 4, update::bit_or<u32>),
    BOTH("OR", "B64", 8, update::bit_or<u64>),
    BOTH("XOR", "B32", 4, update::bit_xor<u32>),
    BOTH("XOR", "B64", 8, update::bit_xor<u64>),
    BOTH("MSKOR", "B32", 4, update::mask_or<u32>),
    BOTH("MSKOR", "B64", 8, update::mask_or<u64>),
    BOTH("CMPST", "B32", 4, update::compare_store<u32>),
    BOTH("CMPST", "B64", 8, update::compare_store<u64>),
    BOTH("CMPST", "F32", 4, update::compare_store_float<f32>),
    BOTH("CMPST", "F64", 8, update::compare_store_float<f64>),
    BOTH("CMPSTORE", "B32", 4, update::compare_swap<u32>),
    BOTH("CMPSTORE", "B64", 8, update::compare_swap<u64>),
    BOTH("CMPSTORE", "F32", 4, update::compare_swap_float<f32>),
    BOTH("CMPSTORE", "F64", 8, update::compare_swap_float<f64>),
    BOTH("ADD", "F32", 4, update::add_float<f32>),
    BOTH("ADD", "F64", 8, update::add_float<f64>),
    BOTH("MIN", "F32", 4, update::min_float<f32>),
    BOTH("MIN", "F64", 8, update::min_float<f64>),
    BOTH("MAX", "F32", 4, update::max_float<f32>),
    BOTH("MAX", "F64", 8, update::max_float<f64>),
    BOTH("PK_ADD", "F16", 4, update::add_halves),
    BOTH("PK_ADD", "BF16", 4, update::add_bfloats),
    BOTH("COND_SUB", "U32", 4, update::subtract_if_fits<u32>),
    BOTH("SUB_CLAMP", "U32", 4, update::subtract_clamped<u32>),
    entry<4, update::swap<u32>, true>("DS_WRXCHG_RTN_B32"),
    entry<8, update::swap<u64>, true>("DS_WRXCHG_RTN_B64"),
    {"DS_WRXCHG2_RTN_B32", two_shape(1), &exchange_two<4, 1>},
    {"DS_WRXCHG2_RTN_B64", two_shape(2), &exchange_two<8, 1>},
    {"DS_WRXCHG2ST64_RTN_B32", two_shape(1), &exchange_two<4, 64>},
    {"DS_WRXCHG2ST64_RTN_B64", two_shape(2), &exchange_two<8, 64>},
    entry<4, update::wrap<u32>, true>("DS_WRAP_RTN_B32"),
};
// clang-format on
#undef BOTH

}  // namespace

HandlerTable lds_atomics_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
