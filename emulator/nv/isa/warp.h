// Warp: the state of 32 threads. compute/block.h runs it; isa/ changes it.
#pragma once

#include <array>
#include <bit>
#include <string>

#include "emulator/core/checks.h"
#include "emulator/nv/isa/operation.h"

namespace doorbell::emu::nvgpu {

class Block;

constexpr u32 kConvergenceBarriers = 16;

struct Warp {
  enum class Wait : u8 { None, Convergence, WarpSync, BlockBarrier };

  alignas(64) std::array<Row, kRows> rows{};
  std::array<u32, kPredicates> predicates{};
  u64 pc = 0;
  u32 active = 0;  // the running lanes, all at pc
  u32 alive = 0;   // lanes that have not ended
  Block* block = nullptr;
  const Row* constants = nullptr;  // of the launch: read_constants(); borrowed from the grid
  u32 index = 0;                   // in the block

  // Lanes that do not run.
  std::array<u64, kLanes> lane_pc{};
  std::array<Wait, kLanes> wait{};
  std::array<u32, kLanes> wait_for{};  // number of the barrier, or the mask of lanes

  // Where a lane goes behind the body of the WARPSYNC.COLLECTIVE that it executed last; 0: behind a
  // WARPSYNC without a body.
  std::array<u64, kLanes> collective_return{};

  // A convergence barrier is a register of each lane: the mask of the lanes that meet.
  std::array<std::array<u32, kLanes>, kConvergenceBarriers> convergence{};

  u32 barrier_result = 0;  // of BAR.RED, for B2R
  u64 instructions = 0;
  u32 copies_committed = 0;  // groups of LDGSTS
  u32 copy_scoreboard = 7;   // that LDGDEPBAR names
  u32 yielded = 0;           // lanes that executed YIELD in their last turn
  bool ends_turn = false;    // an instruction lets others run

  struct {
    const Check* rule = nullptr;
    u32 lane = 0;
    u64 address = 0;
    std::string message;
  } fault;

  u32 guard_of(const Operation& op) const {
    const u32 mask = predicates[op.guard];
    return op.guard_not ? ~mask : mask;
  }
  // The lanes that execute it; a uniform operation is executed for all or none.
  u32 mask_of(const Operation& op) const {
    const u32 guard = guard_of(op);
    return op.opcode->flags & kUniform ? guard : guard & active;
  }
  static u32 first_lane(u32 mask) { return static_cast<u32>(std::countr_zero(mask)); }
};

// The operand of lane 0 of its row: of `word` 0 or 1 of a pair.
inline const Row& row_of(const Warp& warp, const Source& source, u32 word = 0) {
  if (source.constant != 0) [[unlikely]]
    return warp.constants[2 * (source.constant - 1) + word];
  return warp
      .rows[source.index + (source.index == kZero || source.index == kUniformZero ? 0 : word)];
}

inline u32 predicate_of(const Warp& warp, u32 index, bool complement) {
  return complement ? ~warp.predicates[index] : warp.predicates[index];
}
// 0 and, 1 or, 2 xor.
inline u32 combine_predicates(u32 kind, u32 a, u32 b) {
  return kind == 0 ? a & b : kind == 1 ? a | b : a ^ b;
}
// Sets the lanes of `mask`; PT stays true. Uniform operations set all.
inline void set_predicate(Warp& warp, u32 index, u32 value, u32 mask) {
  if ((index & 7) == kTrue) return;
  warp.predicates[index] = (warp.predicates[index] & ~mask) | (value & mask);
}

Flow stop(Warp& warp, const Check& rule, u32 lane, u64 address, std::string message);

}  // namespace doorbell::emu::nvgpu
