// Admits groups, chooses waves, and reports why they stopped.
#include "emulator/amd/compute/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/util/check.h"
#include "emulator/amd/compute/wave_save.h"
#include "emulator/amd/isa/run.h"

namespace doorbell::emu::amdgpu {

namespace {

// Without a seed: the instructions that a wave which does not wait may run before the other waves
// of its group get a turn, and the number after which it is first checked for polling.
constexpr u64 kPlainBudget = 1 << 16, kFirstLook = 1 << 12;
// Budget of a polling wave.
constexpr u64 kPollingBudget = 1 << 8;
// A loop of more blocks is not considered polling.
constexpr u32 kLoopBlocks = 32;
// With a seed: groups that run at once, unless they poll.
constexpr u64 kMaxSeededGroups = 4;
constexpr u64 kSeededBudget = 64;
// With a seed: after how many instructions of each the groups are checked for polling, four times
// as many after each check at which some do not poll; and the number after which more groups start
// in any case.
constexpr u64 kSeededLook = 1 << 10, kSeededPatience = 1 << 20;
constexpr u32 kMaxWorkItems = 1024;
// Instructions after which waves that stopped only at s_sleep count as waiting; and the most that a
// polling loop has from one s_sleep to the next.
constexpr u64 kPolling = 1024, kPollingLoop = 256;

}  // namespace

Grid::Grid(const Chip& chip, CodeCache& code, Memory& memory, Dispatch dispatch,
           const GridOptions& options)
    : chip_(chip),
      code_(code),
      memory_(memory),
      dispatch_(std::move(dispatch)),
      options_(options),
      resources_(amdgpu::resources(chip, dispatch_)),
      lanes_(dispatch_.wave32 ? 32 : 64),
      random_(options.seed),
      max_resident_(max_resident_groups(chip, options.compute_units, dispatch_)),
      under_way_(std::min(kMaxSeededGroups, max_resident_)) {
  code_.begin_dispatch();
  breaks_ = options.breaks;
  code_.end_blocks_before(breaks_);
  look_at_ = look_after_ = kSeededLook;
  if (options_.counts != nullptr) {
    // Of a dispatch that several XCCs run, the first one counts the launch.
    const u64 launches = dispatch_.xcc % dispatch_.xcc_count == 0 ? 1 : 0;
    counter_ = std::make_unique<WaveCounter>(chip_, memory_, launches);
  } else {
    if (dispatch_.task)
      accesses_ = std::make_unique<GridAccesses>(*dispatch_.task, *options_.space);
    if (options_.races || accesses_)
      races_ = std::make_unique<RaceMemory>(memory_, chip_, *options_.space, options_.races.get(),
                                            accesses_.get());
    Memory& seen = races_ ? static_cast<Memory&>(*races_) : memory_;
    if (options_.undefined != nullptr)
      twins_ = std::make_unique<TwinMemories>(seen, *options_.undefined->space,
                                              *options_.undefined->memory);
  }
  groups_ = u64{dispatch_.groups[0]} * dispatch_.groups[1] * dispatch_.groups[2];
  next_group_ = dispatch_.xcc % dispatch_.xcc_count;
  waves_per_group_ = waves_per_group(dispatch_);
  if (dispatch_.scratch_wave_bytes == 0 || waves_per_group_ == 0) return;
  // Slots of whole groups, the first on top of the stack.
  for (u32 runs = dispatch_.scratch_waves / waves_per_group_; runs > 0; --runs) {
    free_slots_.push_back((runs - 1) * waves_per_group_);
  }
}

bool Grid::fits(GridStop& why) const {
  const std::array<u32, 3>& size = dispatch_.group_size;
  const u64 items = u64{size[0]} * size[1] * size[2];
  if (items == 0 || items > kMaxWorkItems) {
    why = refuse(GridStop::Kind::Size, fmt::format("a group of {}x{}x{} work items, at most {}",
                                                   size[0], size[1], size[2], kMaxWorkItems));
    return false;
  }
  if (dispatch_.lds_bytes > chip_.lds_bytes) {
    why =
        refuse(GridStop::Kind::Size, fmt::format("{} bytes of LDS, {} has {}", dispatch_.lds_bytes,
                                                 chip_.name, chip_.lds_bytes));
    return false;
  }
  if (resources_.scratch && dispatch_.scratch_wave_bytes > 0 &&
      dispatch_.scratch_waves < waves_per_group_) {
    why = refuse(GridStop::Kind::Scratch,
                 fmt::format("a group has {} waves, scratch has slots for {}", waves_per_group_,
                             dispatch_.scratch_waves));
    return false;
  }
  return true;
}

GridStop Grid::run(u64 instructions) {
  GridStop why;
  if (next_group_ < groups_ && !fits(why)) return why;
  stuck_ = false;
  why = options_.seed != 0 ? run_seeded(instructions) : run_plain(instructions);
  if (counter_) options_.counts->add(options_.counted_as, counter_->take());
  if (why.kind == GridStop::Kind::Running) {
    why.spinning = spinning_;
    why.waiting = stuck_ || (!has_room() && instructions_ - awake_at_ > kPolling);
  }
  if (why.kind != GridStop::Kind::Running && why.kind != GridStop::Kind::Done) stopped_ = why;
  return why;
}

void Grid::save_waves(const SaveOptions& options, SavedContext& to) const {
  const bool fault = stopped_.kind == GridStop::Kind::Fault;
  const bool illegal = stopped_.kind == GridStop::Kind::Illegal;
  for (const std::unique_ptr<WorkGroup>& group : resident_) {
    std::optional<StoppedWave> stopped;
    if ((fault || illegal) && group->place().id == stopped_.group)
      stopped = StoppedWave{
          .wave = stopped_.wave, .memory_violation = fault, .illegal_instruction = illegal};
    save_group(*group, dispatch_, options, stopped, to);
  }
}

// Memory for one more group.
bool Grid::has_room() const {
  if (next_group_ >= groups_ || resident_.size() >= max_resident_) return false;
  return !resources_.scratch || dispatch_.scratch_wave_bytes == 0 || !free_slots_.empty();
}

void Grid::admit_more() {
  for (usize more = std::max<usize>(1, resident_.size()); more > 0 && admit();) --more;
}

bool Grid::admit() {
  if (!has_room()) return false;
  const bool scratch = resources_.scratch && dispatch_.scratch_wave_bytes > 0;
  GroupPlace place{.number = next_group_};
  next_group_ += dispatch_.xcc_count;
  u64 rest = place.number;
  for (u32 i = 0; i < 3; ++i) {
    const u32 at = static_cast<u32>(rest % dispatch_.groups[i]);
    rest /= dispatch_.groups[i];
    place.id[i] = dispatch_.first_group[i] + at;
    const bool partial = dispatch_.partial_size[i] != 0 && at == dispatch_.groups[i] - 1;
    place.size[i] = partial ? dispatch_.partial_size[i] : dispatch_.group_size[i];
  }
  place.compute_unit = static_cast<u32>(options_.seed != 0 ? random_.below(options_.cache_units)
                                                           : place.number % options_.cache_units);
  if (scratch) {
    place.scratch_slot = free_slots_.back();
    free_slots_.pop_back();
  }
  if (spare_.empty()) spare_.push_back(std::make_unique<WorkGroup>(chip_, lanes_));
  resident_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  const u64 poison = options_.poison ? options_.seed * 2 + 1 : 0;
  if (twins_ && scratch) undefine_scratch(place);
  resident_.back()->start(dispatch_, resources_, place, memory_, poison,
                          {.undefined = twins_ != nullptr,
                           .waits = options_.missing_wait != nullptr,
                           .races = options_.race != nullptr && !counter_,
                           .global = races_ ? options_.races.get() : nullptr});
  return true;
}

// A lane's scratch holds whatever a wave before left there. If the dispatch does not give scratch's
// address, only the kernel knows it.
void Grid::undefine_scratch(const GroupPlace& place) {
  if (dispatch_.scratch_base == 0) return;
  u64 va = dispatch_.scratch_base + u64{place.scratch_slot} * dispatch_.scratch_wave_bytes;
  const u64 end = va + u64{waves_per_group_} * dispatch_.scratch_wave_bytes;
  while (va < end) {
    const Range* range = options_.undefined->space->find(va);
    if (range == nullptr || range->host == nullptr) return;  // the access will fault
    const u64 bytes = std::min(end, range->end) - va;
    options_.undefined->memory->allocate(range->host + (va - range->start), bytes);
    va += bytes;
  }
}

void Grid::retire_ended() {
  for (usize i = 0; i < resident_.size();) {
    if (!resident_[i]->ended()) {
      ++i;
      continue;
    }
    if (resources_.scratch && dispatch_.scratch_wave_bytes > 0) {
      free_slots_.push_back(resident_[i]->place().scratch_slot);
    }
    spare_.push_back(std::move(resident_[i]));
    resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Exit Grid::run_wave(WorkGroup::Member& member, u64 budget, std::optional<UndefinedUse>& use) {
  if (counter_) return run_counted(*member.wave, memory_, code_, budget, *counter_);
  const Judges judges{.loads = member.loads.get(), .races = races_.get()};
  if (twins_) return run_with_twin(*member.wave, *member.twin, *twins_, code_, budget, judges, use);
  if (races_) return run_judged(*member.wave, *races_, code_, budget, judges);
  if (judges.any()) return run_judged(*member.wave, memory_, code_, budget, judges);
  return amdgpu::run(*member.wave, memory_, code_, budget);
}

// Runs one wave until it waits, ends, stops or has used its budget.
GridStop Grid::step(WorkGroup& group, usize index, u64 budget) {
  Wave& wave = *group.member(index).wave;
  memory_.select(group.place().compute_unit);
  if (races_) races_->begin(group.place().number, wave);
  const u64 before = wave.clock;
  GridStop result;
  for (u64 used = 0; used < budget; used = wave.clock - before) {
    Twin* const twin = group.member(index).twin.get();
    if (!breaks_.empty()) [[unlikely]]
      tell_break(group, index);
    const u64 most = breaks_.empty() ? budget - used : 1;  // one block: check its successor
    wave.unjudged = unjudged_;
    if (twin != nullptr) twin->wave.unjudged = unjudged_;
    std::optional<UndefinedUse> use;
    const Exit exit = run_wave(group.member(index), most, use);
    if (group.races() != nullptr || races_) {
      if (std::optional<GridStop> found = race(group, index)) {
        result = std::move(*found);
        break;
      }
    }
    if (options_.missing_wait) {
      if (std::optional<GridStop> early = missing_wait(group, index)) {
        result = std::move(*early);
        break;
      }
    }
    if (use) {
      const Exit where{.pc = use->pc, .lane = use->lane};
      result = stop(GridStop::Kind::Undefined, group, index, where, use->what);
      if (report_undefined(*use, result)) break;
      result = {};
      continue;
    }
    u64& slept_at = group.member(index).slept_at;
    if (exit.kind == Exit::Kind::Sleep) slept_at = wave.clock;
    // With a seed a budget is shorter than a loop.
    const bool polls =
        exit.kind == Exit::Kind::Sleep ||
        (exit.kind == Exit::Kind::Budget && slept_at != 0 && wave.clock - slept_at < kPollingLoop);
    if (!polls) awake_at_ = instructions_ + (wave.clock - before);
    if (!obey(exit, group, index, result)) break;
  }
  instructions_ += wave.clock - before;
  return result;
}

bool Grid::obey(const Exit& exit, WorkGroup& group, usize index, GridStop& result) {
  WorkGroup::Member& member = group.member(index);
  Wave& wave = *member.wave;
  Wave* const twin = twins_ ? &member.twin->wave : nullptr;
  switch (exit.kind) {
    case Exit::Kind::EndProgram: group.end(index); return false;
    case Exit::Kind::Barrier: group.wait_at_barrier(index, exit.pc); return false;
    case Exit::Kind::BarrierSignal: {
      const bool first = group.signal_barrier(index);
      if (exit.value == 0) return true;
      // A wave that is alone has no barrier. [RDNA4 ISA, S_BARRIER_SIGNAL_ISFIRST]
      wave.scc = first && group.waves() > 1 ? 1 : 0;
      if (twin != nullptr) twin->scc = wave.scc;
      return true;
    }
    case Exit::Kind::BarrierWait:
      group.wait_for_barrier(index, exit.pc);
      return member.state == WorkGroup::State::Ready;
    case Exit::Kind::BarrierState:
      if (group.waves() == 1) {
        result = illegal(exit, group, index,
                         "state of the barrier of a group of one wave, which has none");
        return false;
      }
      wave.s[exit.value] = group.barrier_state();
      if (twin != nullptr) twin->s[exit.value] = wave.s[exit.value];
      return true;
    case Exit::Kind::WaveSync: {
      if (dispatch_.wave_sync == nullptr) {
        result = illegal(exit, group, index,
                         fmt::format("{}: the process has no global wave sync, which "
                                     "ALLOC_QUEUE_GWS gives it where the GPU has any",
                                     exit.name));
        return false;
      }
      const auto wait = dispatch_.wave_sync->ask(exit.sync);
      group.note_sync(index);
      if (wait) group.wait_for_sync(index, *wait);
      return !wait;
    }
    case Exit::Kind::Message: return true;
    case Exit::Kind::Budget:
    case Exit::Kind::Sleep: return false;
    case Exit::Kind::Fault:
      result = stop(GridStop::Kind::Fault, group, index, exit,
                    fmt::format("{} {} {:#x}", exit.name, exit.write ? "writes to" : "reads from",
                                exit.address));
      return false;
    case Exit::Kind::Bounds:
      result = stop(GridStop::Kind::Bounds, group, index, exit, exit.name);
      if (stops_at(result)) return false;
      result = {};
      return true;
    case Exit::Kind::Illegal:
      result = illegal(exit, group, index, fmt::format("illegal instruction {}", exit.name));
      return false;
    case Exit::Kind::Trap:
      if (options_.returns_from_traps) return true;
      result = stop(GridStop::Kind::Trap, group, index, exit, fmt::format("trap {}", exit.value));
      return false;
  }
  return false;
}

GridStop Grid::illegal(const Exit& exit, WorkGroup& group, usize wave, std::string_view what) {
  group.member(wave).wave->pc = exit.pc;
  return stop(GridStop::Kind::Illegal, group, wave, exit, what);
}

// A wave polls if it returns to the same pc with the same registers: only writes of others can end
// its loop. Loops that count their iterations are not detected. For a wave that polled before,
// comparing the scalar registers after one iteration is enough.
GridStop Grid::look_at(WorkGroup& group, usize index) {
  WorkGroup::Member& member = group.member(index);
  const Wave& wave = *member.wave;
  const bool known = std::exchange(member.polls, false);
  const u64 pc = wave.pc;
  const u32 scc = wave.scc;
  const auto scalars = wave.s;
  const std::span rows(wave.v, usize{wave.vgpr_count} * wave.lanes);
  std::vector<u32> vectors;
  for (bool last : {known, true}) {
    for (u32 blocks = 0; blocks == 0 || (wave.pc != pc && blocks < kLoopBlocks); ++blocks) {
      GridStop result = step(group, index, 1);
      if (result.kind != GridStop::Kind::Running || member.state != WorkGroup::State::Ready)
        return result;
    }
    if (wave.pc != pc || wave.scc != scc || wave.s != scalars) return {};
    if (last) {
      member.polls = known || std::ranges::equal(rows, vectors);
      return {};
    }
    vectors.assign(rows.begin(), rows.end());
  }
  return {};
}

GridStop Grid::take_turn(WorkGroup& group, usize index) {
  WorkGroup::Member& member = group.member(index);
  const Wave& wave = *member.wave;
  const u64 end = wave.clock + kPlainBudget;
  GridStop result;
  const auto goes_on = [&] {
    return result.kind == GridStop::Kind::Running && member.state == WorkGroup::State::Ready;
  };
  for (u64 budget = member.polls ? kPollingBudget : kFirstLook; wave.clock < end; budget *= 4) {
    result = step(group, index, std::min(budget, end - wave.clock));
    if (!goes_on()) break;
    if (member.slept_at == wave.clock) {
      member.polls = true;  // s_sleep lets others run first
      break;
    }
    result = look_at(group, index);
    if (!goes_on() || member.polls) break;
  }
  return result;
}

void Grid::end_round() {
  retire_ended();
  const usize before = resident_.size();
  // They may wait for a group that has not started.
  if (before == 0)
    admit();
  else if (round_.all_long)
    admit_more();
  spinning_ = before > 0 && round_.all_poll && resident_.size() == before;
  stuck_ = before > 0 && round_.none_ready && resident_.size() == before;
  turn_ = 0;
  round_ = {.all_long = true, .all_poll = true, .none_ready = true};
}

GridStop Grid::run_plain(u64 instructions) {
  const u64 end = instructions_ + std::min(instructions, ~u64{0} - instructions_);
  for (;;) {
    if (turn_ == resident_.size()) {
      end_round();
      if (resident_.empty()) return {.kind = GridStop::Kind::Done};
      if (stuck_) return {.kind = GridStop::Kind::Running};
    }
    WorkGroup& group = *resident_[turn_++];
    if (dispatch_.wave_sync != nullptr) group.wake(*dispatch_.wave_sync);
    for (usize i = 0; i < group.waves(); ++i) {
      const WorkGroup::Member& member = group.member(i);
      if (member.state != WorkGroup::State::Ready) continue;
      GridStop result = take_turn(group, i);
      if (result.kind != GridStop::Kind::Running) return result;
      const bool ready = member.state == WorkGroup::State::Ready;
      const bool waits = member.state == WorkGroup::State::AtWaveSync;
      round_.none_ready = false;
      round_.all_long &= ready || waits;
      round_.all_poll &= waits || (ready && member.polls);
    }
    if (std::string where = group.deadlock(); !group.ended() && !where.empty()) {
      return deadlock(group, where);
    }
    if (instructions_ >= end) return {.kind = GridStop::Kind::Running};
  }
}

GridStop Grid::look_around() {
  bool all_poll = true;
  u64 waves = 0;
  for (const std::unique_ptr<WorkGroup>& group : resident_) {
    for (usize i = 0; i < group->waves(); ++i) {
      const WorkGroup::Member& member = group->member(i);
      if (member.state != WorkGroup::State::Ready) continue;
      GridStop result = look_at(*group, i);
      if (result.kind != GridStop::Kind::Running) return result;
      all_poll &= member.state == WorkGroup::State::Ready && member.polls;
      ++waves;
    }
  }
  look_after_ *= 4;
  if (all_poll || look_after_ > kSeededPatience) {
    under_way_ = std::min<u64>(2 * under_way_, max_resident_);
    look_after_ = kSeededLook;
  }
  look_at_ = instructions_ + look_after_ * waves;
  return {};
}

GridStop Grid::run_seeded(u64 instructions) {
  const u64 end = instructions_ + std::min(instructions, ~u64{0} - instructions_);
  std::vector<std::pair<usize, usize>> ready;
  for (;;) {
    if (next_group_ < groups_ && instructions_ >= look_at_) {
      GridStop result = look_around();
      if (result.kind != GridStop::Kind::Running) return result;
    }
    retire_ended();
    while (resident_.size() < under_way_ && admit()) {
    }
    if (resident_.empty()) return {.kind = GridStop::Kind::Done};
    ready.clear();
    for (usize g = 0; g < resident_.size(); ++g) {
      WorkGroup& group = *resident_[g];
      if (dispatch_.wave_sync != nullptr) group.wake(*dispatch_.wave_sync);
      for (usize i = 0; i < group.waves(); ++i) {
        if (group.member(i).state == WorkGroup::State::Ready) ready.emplace_back(g, i);
      }
      if (std::string where = group.deadlock(); !group.ended() && !where.empty()) {
        return deadlock(group, where);
      }
    }
    if (ready.empty()) {
      stuck_ = !has_room();
      if (stuck_) return {.kind = GridStop::Kind::Running};
      under_way_ = std::min<u64>(2 * under_way_, max_resident_);
      continue;
    }
    const auto [g, i] = ready[random_.below(ready.size())];
    const u64 budget = 1 + random_.below(kSeededBudget);
    order_hash_ =
        (order_hash_ ^ (resident_[g]->place().number << 16 | i << 8 | budget)) * 0x9e3779b97f4a7c15;
    GridStop result = step(*resident_[g], i, budget);
    if (result.kind != GridStop::Kind::Running) return result;
    if (instructions_ >= end) return {.kind = GridStop::Kind::Running};
  }
}

GridStop Grid::stop(GridStop::Kind kind, const WorkGroup& group, usize wave, const Exit& exit,
                    std::string_view what) const {
  const std::array<u32, 3>& id = group.place().id;
  GridStop result{.kind = kind, .group = id, .wave = static_cast<u32>(wave), .exit = exit};
  if (kind == GridStop::Kind::Fault) result.fault = memory_.fault();
  const std::string kernel = dispatch_.kernel.empty() ? "the kernel" : dispatch_.kernel;
  const std::string lane =
      exit.lane == kNoLane ? std::string() : fmt::format(", lane {}", exit.lane);
  result.what = fmt::format("{} at {:#x}, group {},{},{}, wave {}, pc {:#x}{}: {}", kernel,
                            dispatch_.code, id[0], id[1], id[2], wave, exit.pc, lane, what);
  return result;
}

GridStop Grid::refuse(GridStop::Kind kind, std::string what) const {
  const std::string kernel = dispatch_.kernel.empty() ? "the kernel" : dispatch_.kernel;
  return {.kind = kind, .what = fmt::format("{} at {:#x}: {}", kernel, dispatch_.code, what)};
}

}  // namespace doorbell::emu::amdgpu
