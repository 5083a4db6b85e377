// Branches, calls, and how lanes that took different ways meet again.
//
// Each lane has a pc of its own; the running lanes share one. BSSY notes who is to meet, BSYNC
// waits for them [NVIDIA, "Volta architecture white paper", "Independent thread scheduling"; Mesa's
// NAK, OpBSSy, OpBSync, OpBreak].
#include <fmt/format.h>

#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"

namespace doorbell::emu::nvgpu {

namespace {

u64 pc_of(const Warp& warp, const Operation& op) { return warp.block->grid().start + op.offset; }
u64 next_pc(const Warp& warp, const Operation& op) { return pc_of(warp, op) + sizeof(Words); }

// Offsets of jumps count words of four bytes.
u64 target_of(const Operation& op) {
  i64 words = op.words.signed_at(34, 48);
  if (op.has_split_target()) words = words * 256 + op.field(16, 8);
  return static_cast<u64>(words * 4);
}

u64 pair_at(const Warp& warp, const Source& source, u32 lane) {
  return row_of(warp, source, 0)[lane] | u64{row_of(warp, source, 1)[lane]} << 32;
}

// `lanes` go to `target`, the other running ones go on. The lower address runs first.
Flow jump(Warp& warp, const Operation& op, u32 lanes, u64 target) {
  if (lanes == 0) return Flow::Next;
  const u32 others = warp.active & ~lanes;
  if (others == 0) {
    warp.pc = target;
    return Flow::Jump;
  }
  const u64 next = next_pc(warp, op);
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) warp.lane_pc[lane] = lanes >> lane & 1 ? target : next;
  warp.active = 0;
  return Flow::Schedule;
}

// Each of `lanes` to a target of its own.
template <class TargetOf>
Flow jump_each(Warp& warp, const Operation& op, u32 lanes, TargetOf target_of_lane) {
  if (lanes == 0) return Flow::Next;
  const u64 first = target_of_lane(Warp::first_lane(lanes));
  bool same = lanes == warp.active;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1)) continue;
    warp.lane_pc[lane] = lanes >> lane & 1 ? target_of_lane(lane) : next_pc(warp, op);
    same &= warp.lane_pc[lane] == first;
  }
  if (same) {
    warp.pc = first;
    return Flow::Jump;
  }
  warp.active = 0;
  return Flow::Schedule;
}

// `lanes` wait behind the instruction; the others go on.
Flow park(Warp& warp, const Operation& op, u32 lanes, Warp::Wait kind, u32 what) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1)) continue;
    warp.lane_pc[lane] = next_pc(warp, op);
    if (!(lanes >> lane & 1)) continue;
    warp.wait[lane] = kind;
    warp.wait_for[lane] = what;
  }
  warp.active = 0;
  return Flow::Schedule;
}

}  // namespace

std::optional<u64> jump_target(const Operation& op, u64 pc) {
  constexpr u32 kCallAbsolute = 0x143, kCallRelative = 0x144, kBranch = 0x147, kIndexed = 0x149;
  const u32 number = op.opcode == nullptr ? 0 : op.opcode->number;
  const bool is_call = number == kCallAbsolute || number == kCallRelative;
  if (number == kIndexed || (is_call && op.form == 1)) return 0;
  if (number == kCallAbsolute) return target_of(op);
  if (number == kCallRelative || number == kBranch) return pc + sizeof(Words) + target_of(op);
  return std::nullopt;
}

Flow no_operation(Warp&, const Operation&) { return Flow::Next; }

Flow register_beyond_count(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  if (lanes == 0) return Flow::Next;
  return stop(warp, kRegisterCount, Warp::first_lane(lanes), 0,
              fmt::format("it uses registers beyond the {} that a thread has",
                          warp.block->grid().kernel.registers));
}

Flow drop_cached(Warp& warp, const Operation&) {
  warp.block->drop_all_cached();
  return Flow::Next;
}

Flow branch(Warp& warp, const Operation& op) {
  u32 lanes = warp.mask_of(op);
  const u64 target = next_pc(warp, op) + target_of(op);
  if (op.bit(91)) {  // .DIV, .CONV: whether the running lanes are those of a mask
    u32 mask = warp.rows[kUniformStart + op.field(24, 6)][0];
    if (op.bit(30)) mask = ~mask;
    const bool converged = warp.active == (mask & warp.alive);
    return jump(warp, op, converged == op.bit(32) ? lanes : 0, target);
  }
  lanes &= predicate_of(warp, op.in_p, op.not_p);
  return jump(warp, op, lanes, target);
}

Flow branch_indexed(Warp& warp, const Operation& op) {
  const u64 base = next_pc(warp, op) + target_of(op);
  return jump_each(warp, op, warp.mask_of(op),
                   [&](u32 lane) { return base + pair_at(warp, op.a, lane); });
}

// RPCMOV.32 Rpc.HI, R3; RPCMOV.32 R3, Rpc.LO.
Flow move_return_address(Warp& warp, const Operation& op) {
  const u32 half = kRpc + op.field(31, 1);
  const bool writes = op.opcode->number == 0x152;
  if (op.form != 1) return unknown_instruction(warp, op);
  store_row(warp, writes ? half : op.dst, warp.rows[writes ? op.field(32, 8) : half].data(),
            warp.mask_of(op));
  return Flow::Next;
}

Flow call_relative(Warp& warp, const Operation& op) {
  const u64 base = next_pc(warp, op) + target_of(op);
  if (op.form == 1) return branch_indexed(warp, op);
  return jump(warp, op, warp.mask_of(op), base);
}

Flow call_absolute(Warp& warp, const Operation& op) {
  if (op.form == 1)
    return jump_each(warp, op, warp.mask_of(op),
                     [&](u32 lane) { return pair_at(warp, op.a, lane); });
  return jump(warp, op, warp.mask_of(op), target_of(op));
}

// Bit 85 is absolute: the register holds the address, otherwise an offset from the function.
Flow return_lanes(Warp& warp, const Operation& op) {
  const u64 base = target_of(op) + (op.bit(85) ? 0 : next_pc(warp, op));
  return jump_each(warp, op, warp.mask_of(op),
                   [&](u32 lane) { return base + pair_at(warp, op.a, lane); });
}

Flow exit_lanes(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op) & predicate_of(warp, op.in_p, op.not_p);
  warp.alive &= ~lanes;
  warp.active &= ~lanes;
  return warp.active == 0 ? Flow::Schedule : Flow::Next;
}

Flow convergence_set(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1) warp.convergence[op.field(16, 4)][lane] = lanes;
  return Flow::Next;
}

Flow convergence_wait(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op), barrier = op.field(16, 4);
  if (lanes == 0) return Flow::Next;
  const u32 needed = warp.convergence[barrier][Warp::first_lane(lanes)] & warp.alive;
  if (needed == lanes && lanes == warp.active) return Flow::Next;
  return park(warp, op, lanes, Warp::Wait::Convergence, barrier);
}

Flow convergence_break(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op) & predicate_of(warp, op.in_p, op.not_p);
  if (lanes == 0) return Flow::Next;
  auto& masks = warp.convergence[op.field(16, 4)];
  const u32 all = masks[Warp::first_lane(lanes)];
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (all >> lane & 1) masks[lane] &= ~lanes;
  return Flow::Next;
}

Flow convergence_to_register(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  auto& masks = warp.convergence[op.field(24, 4)];
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    if (op.dst != kZero) warp.rows[op.dst][lane] = masks[lane];
    if (op.bit(84)) masks[lane] = 0;  // .CLEAR
  }
  return Flow::Next;
}

Flow register_to_convergence(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  const Row& from = warp.rows[op.field(32, 8)];
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1) warp.convergence[op.field(24, 4)][lane] = from[lane];
  return Flow::Next;
}

// With a register or an immediate as its mask; that of sm_90 has no immediate (.ALL). With a target
// (.COLLECTIVE) the lanes, which may come from several places, execute one body together, up to
// ENDCOLLECTIVE, and each goes on at its own target. [The code of NVIDIA's compilers: the target is
// behind ENDCOLLECTIVE, and the bodies of all places that may meet use the same registers]
Flow warp_sync(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  if (lanes == 0) return Flow::Next;
  const bool collective = op.chip >= 90 && op.bit(86);
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (lanes >> lane & 1)
      warp.collective_return[lane] = collective ? next_pc(warp, op) + target_of(op) : 0;
  u32 mask = kAllLanes;
  if (op.form == 1) mask = warp.rows[op.a.index][Warp::first_lane(lanes)];
  if (op.form == 4 && op.chip < 90) mask = op.field(32, 32);
  if ((mask & warp.alive) == lanes && lanes == warp.active) return Flow::Next;
  return park(warp, op, lanes, Warp::Wait::WarpSync, mask);
}

Flow end_collective(Warp& warp, const Operation& op) {
  return jump_each(warp, op, warp.mask_of(op),
                   [&](u32 lane) { return warp.collective_return[lane]; });
}

// Others may run first: Block::end_turn() says when.
Flow yield_lanes(Warp& warp, const Operation&) {
  warp.yielded |= warp.active;
  return Flow::Next;
}

Flow trap(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  if (lanes == 0) return Flow::Next;
  return stop(warp, kTrap, Warp::first_lane(lanes), 0, "the kernel executes a trap");
}

// Bits 77 and 78: 0 waits, 1 arrives, 2 waits and reduces a predicate.
Flow block_barrier(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op), mode = op.field(77, 2);
  if (lanes == 0) return Flow::Next;
  const bool immediate = op.form == 5 || op.form == 4;
  const Row& from = warp.rows[op.field(32, 8)];
  Block::Arrival arrival;
  arrival.barrier = immediate ? op.field(54, 4) : from[Warp::first_lane(lanes)] & 15;
  arrival.threads = immediate ? op.field(42, 12) : 0;
  arrival.waits = mode != 1;
  if (mode == 2) {
    constexpr Block::Reduce kReductions[] = {Block::Reduce::Count, Block::Reduce::And,
                                             Block::Reduce::Or, Block::Reduce::None};
    arrival.reduce = kReductions[op.field(74, 2)];
    arrival.values = predicate_of(warp, op.in_p, op.not_p);
  }
  if (!immediate || mode == 3)
    return stop(warp, kUnknownInstruction, Warp::first_lane(lanes), 0,
                "a barrier whose number is in a register is not executed");
  if (const u32 barriers = warp.block->grid().barriers; arrival.barrier >= barriers)
    return stop(warp, kBarrierCount, Warp::first_lane(lanes), 0,
                fmt::format("barrier {}, the block has {}", arrival.barrier, barriers));
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) warp.lane_pc[lane] = next_pc(warp, op);
  warp.active = 0;
  warp.block->arrive(warp, lanes, arrival);
  return Flow::Schedule;
}

Flow barrier_to_register(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  for (u32 lane = 0; lane < kLanes; ++lane)
    if ((lanes >> lane & 1) && op.dst != kZero) warp.rows[op.dst][lane] = warp.barrier_result;
  set_predicate(warp, op.p, warp.barrier_result != 0 ? kAllLanes : 0, lanes);
  return Flow::Next;
}

Flow unknown_instruction(Warp& warp, const Operation& op) {
  const u32 number = op.field(0, 9);
  return stop(warp, kUnknownInstruction, Warp::first_lane(warp.active), 0,
              op.opcode == nullptr
                  ? fmt::format("instruction {:#x} is unknown", number)
                  : fmt::format("{} in this form is not executed", op.opcode->name));
}

}  // namespace doorbell::emu::nvgpu
