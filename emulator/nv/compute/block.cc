// Turns of warps, lanes that diverge and meet again, and barriers.
#include "emulator/nv/compute/block.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/instruction_class.h"

namespace doorbell::emu::nvgpu {

namespace {

// Instructions until another warp, or other lanes of the warp, have their turn: whoever spins on
// what others write does not keep them from it.
constexpr u64 kTurn = 20'000;

}  // namespace

Flow stop(Warp& warp, const Check& rule, u32 lane, u64 address, std::string message) {
  warp.fault.rule = &rule;
  warp.fault.lane = lane;
  warp.fault.address = address;
  warp.fault.message = std::move(message);
  return Flow::Stop;
}

Block::Block(const Grid& grid, std::array<u32, 3> index, InstructionCounter* counter, u64 number)
    : grid_(grid), index_(index), number_(number), counter_(counter) {
  const auto& size = grid.launch.block;
  const u32 threads = size[0] * size[1] * size[2];
  for (u32 first = 0; first < threads; first += kLanes) {
    auto warp = std::make_unique<Warp>();
    const u32 lanes = std::min(kLanes, threads - first);
    warp->block = this;
    warp->index = first / kLanes;
    warp->constants = grid.constants.data();
    warp->alive = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
    warp->lane_pc.fill(grid.kernel.entry);
    warp->predicates[kTrue] = warp->predicates[kUniformPredicates + kTrue] = kAllLanes;
    warps_.push_back(std::move(warp));
  }
  if (grid.judge != nullptr) order_ = grid.judge->start(number, index);
  if (grid.data_caches != nullptr) cache_ = &grid.data_caches->for_block(grid.memory);
  shared_.resize(grid.kernel.shared_bytes + grid.launch.dynamic_shared);
  local_.resize((usize{grid.local_bytes} + grid.local_high_bytes) * warps_.size() * kLanes);
  if (!grid.uses.empty()) rules_.resize(warps_.size());
  judges_shared_ = grid.checks.level(kSharedRace) != Level::Off ||
                   grid.checks.level(kUndefinedShared) != Level::Off;
  if (judges_shared_) {
    notes_.resize(shared_.size());
    copiers_.resize(shared_.size());
  }
}

u64 Block::instructions() const {
  u64 sum = 0;
  for (const auto& warp : warps_) sum += warp->instructions;
  return sum;
}

bool Block::run() {
  while (true) {
    bool alive = false, progress = false;
    for (const auto& warp : warps_) {
      if (warp->alive == 0) continue;
      const u64 before = warp->instructions;
      run_warp(*warp);
      if (fault_.rule != nullptr) return false;
      if (warp->alive == 0 && order_ != nullptr) order_->end(warp->index);
      progress |= warp->instructions != before || warp->alive == 0;
      alive |= warp->alive != 0;
    }
    if (!alive) return true;
    release_barriers();
    if (progress) continue;
    for (const auto& warp : warps_) {
      if (warp->alive == 0) continue;
      const u32 lane = Warp::first_lane(warp->alive);
      const u32 barrier = warp->wait_for[lane];
      set_deadlock(*warp, kBarrier,
                   fmt::format("{} of {} threads wait at barrier {}, and no other thread runs",
                               barriers_[barrier % kBarriers].arrived, threads_alive(), barrier));
      return false;
    }
  }
}

// From `op` until the flow changes; `op` ends behind the last one executed.
Flow Block::run_operations(Warp& warp, const Operation*& op) {
  if (counter_ != nullptr || grid_.judge != nullptr) return run_watched(warp, op);
  Flow flow = Flow::Next;
  if (rules_.empty()) {
    for (; flow == Flow::Next; ++op) flow = op->handler(warp, *op);
    return flow;
  }
  RegisterRules& rules = rules_[warp.index];
  const Operation* const first = grid_.operations.data();
  for (; flow == Flow::Next; ++op) {
    const bool good = rules.check(warp, *op, grid_.uses[static_cast<usize>(op - first)]);
    flow = good ? op->handler(warp, *op) : Flow::Stop;
  }
  return flow;
}

Flow Block::run_watched(Warp& warp, const Operation*& op) {
  const Operation* const first = grid_.operations.data();
  Flow flow = Flow::Next;
  for (; flow == Flow::Next; ++op) {
    if (counter_ != nullptr) counter_->begin(class_of(op->opcode));
    if (grid_.judge != nullptr)
      grid_.judge->begin(number_, warp.index, *op, grid_.start + op->offset);
    const bool good = rules_.empty() || rules_[warp.index].check(
                                            warp, *op, grid_.uses[static_cast<usize>(op - first)]);
    flow = good ? op->handler(warp, *op) : Flow::Stop;
    if (counter_ != nullptr) counter_->end();
    if (grid_.judge != nullptr && grid_.judge->has_found() && !tell_races(warp)) flow = Flow::Stop;
  }
  return flow;
}

// False: the warp is stopped.
bool Block::tell_races(Warp& warp) {
  const auto tell = [&](const std::vector<Race>& races, const Check& rule) {
    for (const Race& race : races) {
      const std::string message =
          fmt::format("{}+{:#x}, block ({}, {}, {}), warp {}: {}", grid_.kernel.name, race.pc,
                      index_[0], index_[1], index_[2], warp.index, race.what);
      if (grid_.checks.report(rule, message) == Level::Error && warp.fault.rule == nullptr)
        stop(warp, rule, 0, 0, race.what);
    }
  };
  tell(grid_.judge->take(), kGlobalRace);
  tell(grid_.judge->take_with_others(), kAgentRace);
  return warp.fault.rule == nullptr;
}

// By a barrier of its own number, at which all warps meet.
void Block::order_accesses() {
  notes_.order();
  if (order_ == nullptr) return;
  for (const auto& warp : warps_) order_->arrive(warp->index, kBarriers);
  order_->complete(kBarriers);
  for (const auto& warp : warps_) order_->pass(warp->index, kBarriers);
}

// The warp's lanes that are not kept waiting, until they have had their turn or all wait.
void Block::run_warp(Warp& warp) {
  const u64 most = grid_.launch.most_instructions;
  u64 left = kTurn;
  while (warp.active != 0 || choose_lanes(warp)) {
    const u64 index = (warp.pc - grid_.start) / sizeof(Words);
    if (index >= grid_.operations.size() || warp.pc % sizeof(Words) != 0) {
      set_deadlock(warp, kCodeFetch,
                   fmt::format("the instruction at {:#x} is beyond the code", warp.pc));
      return;
    }
    const Operation* const first = grid_.operations.data();
    const Operation* op = first + index;
    Flow flow = Flow::Next;
    const Operation* const start = op;
    flow = run_operations(warp, op);
    const u64 executed = static_cast<u64>(op - start);
    warp.instructions += executed;
    if (flow == Flow::Stop) {
      warp.pc = grid_.start + op[-1].offset;
      set_fault(warp);
      return;
    }
    if (most != 0 && warp.instructions > most) {
      set_deadlock(warp, kEndlessKernel,
                   fmt::format("{} instructions were executed", warp.instructions));
      return;
    }
    if (executed < left && !std::exchange(warp.ends_turn, false)) {
      left -= executed;
      continue;
    }
    return end_turn(warp);
  }
  if (warp.alive == 0 || fault_.rule != nullptr) return;
  const auto waits_for_block = [&](u32 lane) {
    return (warp.alive >> lane & 1) && warp.wait[lane] == Warp::Wait::BlockBarrier;
  };
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (waits_for_block(lane)) return;
  if (release_missed_sync(warp)) return run_warp(warp);
  if (fault_.rule != nullptr) return;
  const u32 lane = Warp::first_lane(warp.alive);
  warp.pc = warp.lane_pc[lane];
  set_deadlock(warp, kConvergence,
               fmt::format("lanes {:#x} wait for lanes that do not arrive", warp.alive));
}

// The running lanes make room for others of the warp.
void Block::end_turn(Warp& warp) {
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) warp.lane_pc[lane] = warp.pc;
  release_yielded(warp);
  choose_lanes(warp, std::exchange(warp.active, 0u));
  warp.yielded &= ~warp.active;
}

// A convergence barrier is complete when every lane that takes part either waits or yielded: a
// thread that spins until another one gives up a lock does not keep that one waiting. Who yielded
// meets nobody there later. [US patent 10,067,768, "Execution of Divergent Threads Using a
// Convergence Barrier", claim 1; CUDA Programming Guide 13, "Independent Thread Scheduling"]
void Block::release_yielded(Warp& warp) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(warp.alive >> lane & 1) || warp.wait[lane] != Warp::Wait::Convergence) continue;
    std::array<u32, kLanes>& masks = warp.convergence[warp.wait_for[lane]];
    const u32 needed = masks[lane] & warp.alive;
    u32 arrived = 0;
    for (u32 other = 0; other < kLanes; ++other)
      if ((needed >> other & 1) && warp.wait[other] == Warp::Wait::Convergence &&
          warp.lane_pc[other] == warp.lane_pc[lane])
        arrived |= 1u << other;
    const u32 missing = needed & ~arrived;
    if ((missing & ~warp.yielded) != 0) continue;
    for (u32 other = 0; other < kLanes; ++other) {
      if (arrived >> other & 1) warp.wait[other] = Warp::Wait::None;
      if (missing >> other & 1) masks[other] &= ~arrived;
    }
  }
}

// Where no lane of the warp can run and some wait at a __syncwarp: what happens is undefined. They
// go on, unless the rule is an error.
bool Block::release_missed_sync(Warp& warp) {
  u32 waiting = 0;
  for (u32 lane = 0; lane < kLanes; ++lane)
    if ((warp.alive >> lane & 1) && warp.wait[lane] == Warp::Wait::WarpSync) waiting |= 1u << lane;
  if (waiting == 0) return false;
  const u32 first = Warp::first_lane(waiting);
  const u32 missing = warp.wait_for[first] & warp.alive & ~waiting;
  warp.pc = warp.lane_pc[first] - sizeof(Words);
  const std::string message =
      fmt::format("lanes {:#x} wait for lanes {:#x}, which execute no such __syncwarp()", waiting,
                  missing == 0 ? warp.wait_for[first] : missing);
  if (grid_.checks.report(kWarpSync, fmt::format("{}+{:#x}: {}", grid_.kernel.name,
                                                 warp.pc - grid_.kernel.entry, message)) ==
      Level::Error) {
    set_deadlock(warp, kWarpSync, message);
    return false;
  }
  for (u32 lane = 0; lane < kLanes; ++lane)
    if (waiting >> lane & 1) warp.wait[lane] = Warp::Wait::None;
  return true;
}

// Whether another lane waits for what `lane` waits for: at a convergence barrier at the same place,
// at a __syncwarp of the same mask at any. [PTX ISA, "bar.warp.sync": "with the same membermask"]
bool Block::meets(const Warp& warp, u32 lane, u32 other) {
  if (warp.wait[other] != warp.wait[lane]) return false;
  if (warp.wait[lane] == Warp::Wait::Convergence) return warp.lane_pc[other] == warp.lane_pc[lane];
  return warp.wait_for[other] == warp.wait_for[lane] &&
         (warp.collective_return[other] == 0) == (warp.collective_return[lane] == 0);
}

// Lets lanes go whose convergence barrier, or __syncwarp's mask, is complete. Where a body follows,
// all execute the same one.
void Block::release_lanes(Warp& warp) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(warp.alive >> lane & 1)) continue;
    const Warp::Wait kind = warp.wait[lane];
    if (kind != Warp::Wait::Convergence && kind != Warp::Wait::WarpSync) continue;
    const u32 what = warp.wait_for[lane];
    const u32 needed =
        (kind == Warp::Wait::Convergence ? warp.convergence[what][lane] : what) & warp.alive;
    bool complete = true;
    for (u32 other = 0; other < kLanes && complete; ++other)
      if (needed >> other & 1) complete = meets(warp, lane, other);
    if (!complete) continue;
    const bool has_body = kind == Warp::Wait::WarpSync && warp.collective_return[lane] != 0;
    for (u32 other = 0; other < kLanes; ++other) {
      if (!((needed | 1u << lane) >> other & 1)) continue;
      warp.wait[other] = Warp::Wait::None;
      if (has_body) warp.lane_pc[other] = warp.lane_pc[lane];
    }
  }
}

// Of the lanes that may run, those that are farthest behind: they may meet the others. False, and
// none, if all of those are in `except`.
bool Block::choose_lanes(Warp& warp, u32 except) {
  release_lanes(warp);
  const u32 candidates = warp.alive & ~except;
  u64 lowest = ~u64{0};
  for (u32 lane = 0; lane < kLanes; ++lane)
    if ((candidates >> lane & 1) && warp.wait[lane] == Warp::Wait::None)
      lowest = std::min(lowest, warp.lane_pc[lane]);
  if (lowest == ~u64{0}) return false;
  warp.pc = lowest;
  warp.active = 0;
  for (u32 lane = 0; lane < kLanes; ++lane)
    if ((candidates >> lane & 1) && warp.wait[lane] == Warp::Wait::None &&
        warp.lane_pc[lane] == lowest)
      warp.active |= 1u << lane;
  return true;
}

u32 Block::threads_alive() const {
  u32 count = 0;
  for (const auto& warp : warps_) count += static_cast<u32>(std::popcount(warp->alive));
  return count;
}

void Block::arrive(Warp& warp, u32 lanes, const Arrival& arrival) {
  BarrierState& state = barriers_[arrival.barrier % kBarriers];
  const u32 count = static_cast<u32>(std::popcount(lanes));
  if (order_ != nullptr) order_->arrive(warp.index, arrival.barrier % kBarriers);
  state.arrived += count;
  state.threads = arrival.threads;
  state.reduce = arrival.reduce;
  state.count += static_cast<u32>(std::popcount(arrival.values & lanes));
  for (u32 lane = 0; lane < kLanes && arrival.waits; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    warp.wait[lane] = Warp::Wait::BlockBarrier;
    warp.wait_for[lane] = arrival.barrier;
  }
  release_barrier(arrival.barrier % kBarriers);
}

bool Block::release_barrier(u32 number) {
  BarrierState& state = barriers_[number];
  const u32 needed = state.threads != 0 ? state.threads : threads_alive();
  if (state.arrived == 0 || state.arrived < needed) return false;
  u32 result = state.count;
  if (state.reduce == Reduce::And) result = state.count == state.arrived ? kAllLanes : 0;
  if (state.reduce == Reduce::Or) result = state.count != 0 ? kAllLanes : 0;
  if (order_ != nullptr) order_->complete(number);
  for (const auto& warp : warps_) {
    if (state.reduce != Reduce::None) warp->barrier_result = result;
    bool passes = false;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      if (warp->wait[lane] != Warp::Wait::BlockBarrier || warp->wait_for[lane] != number) continue;
      warp->wait[lane] = Warp::Wait::None;
      passes = true;
    }
    if (passes && order_ != nullptr) order_->pass(warp->index, number);
  }
  state = {};
  notes_.order();
  return true;
}

// Threads that ended no longer keep a barrier closed.
void Block::release_barriers() {
  for (u32 number = 0; number < kBarriers; ++number) release_barrier(number);
}

void Block::set_fault(const Warp& warp) {
  fault_.kernel = grid_.kernel.name;
  fault_.rule = warp.fault.rule;
  fault_.pc = warp.pc - grid_.kernel.entry;
  fault_.block = index_;
  fault_.warp = warp.index;
  fault_.lane = warp.fault.lane;
  fault_.address = warp.fault.address;
  fault_.message = warp.fault.message;
  const u64 index = (warp.pc - grid_.start) / sizeof(Words);
  if (index < grid_.operations.size()) fault_.instruction = text_of(grid_.operations[index]);
}

void Block::set_deadlock(const Warp& warp, const Check& rule, std::string message) {
  set_fault(warp);
  fault_.rule = &rule;
  fault_.lane = warp.alive != 0 ? Warp::first_lane(warp.alive) : 0;
  fault_.message = std::move(message);
}

}  // namespace doorbell::emu::nvgpu
