// GLOBAL and FLAT atomics: lane after lane, one step each. FLAT's may be in LDS or scratch.
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/atomic_updates.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

void update_lds(Wave& wave, u32 address, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                u64& before) {
  std::memcpy(&before, wave.lds + address, bytes);
  const u64 after = update(before, operand, compare);
  std::memcpy(wave.lds + address, &after, bytes);
}

// The operation of one lane; false if it is invalid, with the wave stopped.
bool update_lane(Wave& wave, const Operation& op, u32 lane, u64 va, u32 bytes, AtomicUpdate update,
                 u64 operand, u64 compare, u64& before) {
  u32 offsets[64];
  offsets[lane] = static_cast<u32>(va);
  u64 only = u64{1} << lane;
  if ((op.flags & kMemoryFlat) != 0) {
    if (va >> 32 == wave.shared_aperture >> 32) {
      const LdsAccess access =
          (op.flags & kMemoryReturns) != 0 ? LdsAccess::AtomicResult : LdsAccess::Atomic;
      if (check_lds(wave, op, only, offsets, bytes, access) == Flow::Stop) return false;
      if (va % bytes != 0) {
        stop_unaligned_atomic(wave, op, va, lane, bytes);
        return false;
      }
      before = 0;
      if (only != 0) update_lds(wave, offsets[lane], bytes, update, operand, compare, before);
      return true;
    }
    if (va >> 32 == wave.private_aperture >> 32) {
      if (check_scratch(wave, op, only, offsets, bytes, true) == Flow::Stop) return false;
      va = wave.flat_scratch + swizzle_scratch(offsets[lane], lane, wave.lanes);
    }
  }
  if (va % bytes != 0) {
    stop_unaligned_atomic(wave, op, va, lane, bytes);
    return false;
  }
  Memory& memory = *wave.memory;
  if (memory.atomic(va, bytes, update, operand, compare, before,
                    static_cast<CachePolicy>(op.control))) {
    return true;
  }
  stop_at_fault(wave, op, memory.fault(), lane);
  return false;
}

Flow atomic(Wave& wave, const Operation& op, u32 bytes, AtomicUpdate update, bool compares) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  LaneAddresses addresses;
  global_addresses(wave, op, active, addresses);
  const u32* data = wave.v + op.src[kData].row;
  const usize pitch = wave.lanes;
  u64 before[64];
  for (u64 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    const u64 operand = lane_value(data + lane, pitch, bytes);
    const u64 compare = compares ? lane_value(data + lane + pitch * (bytes / 4), pitch, bytes) : 0;
    if (!update_lane(wave, op, lane, addresses.at(lane), bytes, update, operand, compare,
                     before[lane])) {
      return Flow::Stop;
    }
  }
  return_before(wave, op, bytes, before);
  return Flow::Next;
}

template <u32 kBytes, AtomicUpdate kUpdate, bool kCompares = false>
Flow run(Wave& wave, const Operation& op) {
  if constexpr (update::kRounds<kUpdate>) {
    if (!rounds_to_nearest(wave)) return stop_undocumented(wave, op, "rounding not to nearest");
  }
  return atomic(wave, op, kBytes, kUpdate, kCompares);
}

template <u32 kBytes, AtomicUpdate kUpdate, bool kCompares = false>
constexpr Entry entry(std::string_view name) {
  return {name, atomic_shape(kBytes, kCompares ? 2 : 1), &run<kBytes, kUpdate, kCompares>};
}

// Both families have the same instructions.
#define BOTH(name, ...) \
  entry<__VA_ARGS__>("GLOBAL_ATOMIC_" name), entry<__VA_ARGS__>("FLAT_ATOMIC_" name)

// clang-format off
constexpr Entry kTable[] = {
    BOTH("SWAP", 4, update::swap<u32>),
    BOTH("SWAP_X2", 8, update::swap<u64>),
    BOTH("CMPSWAP", 4, update::compare_swap<u32>, true),
    BOTH("CMPSWAP_X2", 8, update::compare_swap<u64>, true),
    BOTH("ADD", 4, update::add<u32>),
    BOTH("ADD_X2", 8, update::add<u64>),
    BOTH("SUB", 4, update::subtract<u32>),
    BOTH("SUB_X2", 8, update::subtract<u64>),
    BOTH("SMIN", 4, update::minimum<i32>),
    BOTH("SMIN_X2", 8, update::minimum<i64>),
    BOTH("UMIN", 4, update::minimum<u32>),
    BOTH("UMIN_X2", 8, update::minimum<u64>),
    BOTH("SMAX", 4, update::maximum<i32>),
    BOTH("SMAX_X2", 8, update::maximum<i64>),
    BOTH("UMAX", 4, update::maximum<u32>),
    BOTH("UMAX_X2", 8, update::maximum<u64>),
    BOTH("AND", 4, update::bit_and<u32>),
    BOTH("AND_X2", 8, update::bit_and<u64>),
    BOTH("OR", 4, update::bit_or<u32>),
    BOTH("OR_X2", 8, update::bit_or<u64>),
    BOTH("XOR", 4, update::bit_xor<u32>),
    BOTH("XOR_X2", 8, update::bit_xor<u64>),
    BOTH("INC", 4, update::increment<u32>),
    BOTH("INC_X2", 8, update::increment<u64>),
    BOTH("DEC", 4, update::decrement<u32>),
    BOTH("DEC_X2", 8, update::decrement<u64>),
    BOTH("FCMPSWAP", 4, update::compare_swap_float<f32>, true),
    BOTH("FCMPSWAP_X2", 8, update::compare_swap_float<f64>, true),
    BOTH("FMIN", 4, update::min_float<f32>),
    BOTH("FMIN_X2", 8, update::min_float<f64>),
    BOTH("FMAX", 4, update::max_float<f32>),
    BOTH("FMAX_X2", 8, update::max_float<f64>),
    BOTH("ADD_F32", 4, update::add_float<f32>),
    BOTH("ADD_F64", 8, update::add_float<f64>),
    BOTH("MIN_F64", 8, update::min_float<f64>),
    BOTH("MAX_F64", 8, update::max_float<f64>),
    BOTH("PK_ADD_F16", 4, update::add_halves),
    BOTH("PK_ADD_BF16", 4, update::add_bfloats),
    BOTH("COND_SUB_U32", 4, update::subtract_if_fits<u32>),
    entry<4, update::subtract_clamped<u32>>("GLOBAL_ATOMIC_CSUB"),
    entry<4, update::subtract_clamped<u32>>("FLAT_ATOMIC_CSUB_U32"),
};
// clang-format on
#undef BOTH

}  // namespace

HandlerTable global_atomics_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
