// What a grid tells those who ask: breakpoints, and broken rules.
#include <algorithm>
#include <utility>

#include "emulator/amd/compute/grid.h"

namespace doorbell::emu::amdgpu {

void Grid::tell_break(WorkGroup& group, usize index) {
  WorkGroup::Member& member = group.member(index);
  const u64 pc = member.wave->pc;
  if (member.told_at == member.wave->clock || !std::ranges::count(breaks_, pc)) return;
  member.told_at = member.wave->clock;
  if (!options_.at_break(group, index)) std::erase(breaks_, pc);
}

bool Grid::report_undefined(const UndefinedUse& use, const GridStop& stop) {
  if (!reported_.emplace(use.pc, use.kind).second) return false;
  return options_.undefined->report(use.kind, stop.what);
}

std::optional<GridStop> Grid::missing_wait(const WorkGroup& group, usize index) {
  const std::optional<MissingWait> found = group.member(index).loads->take();
  if (!found || !reported_waits_.insert(found->pc).second) return std::nullopt;
  GridStop result = stop(GridStop::Kind::Wait, group, index, {.pc = found->pc}, found->what);
  if (!options_.missing_wait(result.what)) return std::nullopt;
  return result;
}

std::optional<GridStop> Grid::race(WorkGroup& group, usize index) {
  std::optional<GridStop> result;
  if (group.races() != nullptr)
    result = report_races(group.races()->take(), options_.race, group, index);
  if (!result && options_.races && races_)
    result = report_races(options_.races->take(), options_.memory_race, group, index);
  if (!result && accesses_)
    result = report_races(accesses_->take(), options_.agent_race, group, index);
  return result;
}

std::optional<GridStop> Grid::report_races(const std::vector<Race>& found,
                                           const std::function<bool(const std::string&)>& report,
                                           const WorkGroup& group, usize index) {
  for (const Race& race : found) {
    if (!reported_races_.emplace(race.pc, race.other_pc).second) continue;
    const Exit where{.pc = race.pc, .lane = race.lane};
    GridStop result = stop(GridStop::Kind::Race, group, index, where, race.what);
    if (report(result.what)) return result;
  }
  return std::nullopt;
}

// Hardware continues after such an access, so each limit is reported once. An atomic operation at
// an unaligned address is a memory violation. [RDNA3 ISA 3.3.3, "Atomics"]
bool Grid::stops_at(const GridStop& bounds) {
  const u8 limit = static_cast<u8>(1u << static_cast<u8>(bounds.exit.limit));
  if (!options_.broken || (unjudged_ & limit) != 0) return true;
  const bool error = options_.broken(bounds);
  if (error || bounds.exit.limit == Exit::Limit::Alignment) return true;
  unjudged_ |= limit;
  return false;
}

// Hardware hangs there until the queue is reset.
GridStop Grid::deadlock(const WorkGroup& group, const std::string& where) const {
  GridStop result = stop(GridStop::Kind::Deadlock, group, 0, {}, "deadlock at barriers: " + where);
  if (options_.broken) options_.broken(result);
  return result;
}

}  // namespace doorbell::emu::amdgpu
