// Grids in flight and the events behind them (pipeline.h).
#include "emulator/amd/cp/pipeline.h"

#include <algorithm>

#include "base/util/check.h"
#include "emulator/core/races/agent_races.h"

namespace doorbell::emu::amdgpu {

namespace {

// Long enough that the scheduler costs little, short enough that no queue starves: about a
// millisecond.
constexpr u64 kSlice = 1 << 15;
constexpr u64 kAdversarialSlice = 64;

}  // namespace

void Pipeline::launch(std::unique_ptr<RunningGrid> grid, std::vector<Snapshot> snapshots,
                      std::vector<Use> uses, std::shared_ptr<RaceTask> task) {
  items_.push_back({.grid = std::move(grid),
                    .snapshots = std::move(snapshots),
                    .uses = std::move(uses),
                    .task = std::move(task)});
  ++grids_;
}

void Pipeline::save_waves(const SaveOptions& options, std::span<SavedContext> xccs) const {
  for (const Item& item : items_)
    if (item.grid) item.grid->save_waves(options, xccs);
}

const Use* Pipeline::find_use(u64 start, u64 end) const {
  for (const Item& item : items_)
    for (const Use& use : item.uses)
      if (use.va < end && use.va + use.bytes > start) return &use;
  return nullptr;
}

void Pipeline::when_done(usize grids, EndOfPipe event) {
  if (grids == 0) return at_end(std::move(event));
  auto completion = std::make_shared<Completion>(Completion{grids, std::move(event)});
  for (usize i = items_.size() - grids; i < items_.size(); ++i) items_[i].completion = completion;
}

bool Pipeline::run(const EndOfPipe& event) {
  auto fault = event();
  if (fault) failure_ = *fault;
  return !fault;
}

// The index of the grid that runs next; there is one.
usize Pipeline::choose() const {
  usize nth = gpu_.adversarial ? gpu_.random() % (grids_ - giving_way_) : 0;
  for (usize i = 0; i < items_.size(); ++i)
    if (items_[i].grid && !items_[i].gives_way && nth-- == 0) return i;
  UNREACHABLE("{} of {} grids give way", giving_way_, grids_);
}

Pipeline::State Pipeline::give_way(Item& item, bool sleeps) {
  item.gives_way = true;
  asleep_ += sleeps ? 1 : 0;
  if (++giving_way_ < grids_) return State::Moved;
  const bool all_sleep = asleep_ == grids_;
  all_their_turn();
  return all_sleep ? State::Waiting : State::Polling;
}

// Something has changed that grids that poll may see.
void Pipeline::all_their_turn() {
  if (giving_way_ == 0) return;
  for (Item& item : items_) item.gives_way = false;
  giving_way_ = asleep_ = 0;
}

bool Pipeline::still_same(const Snapshot& snapshot) const {
  const u8* now = gpu_.memory.space().at(snapshot.va, snapshot.bytes.size(), false);
  return now != nullptr &&
         std::ranges::equal(snapshot.bytes, std::span(now, snapshot.bytes.size()));
}

Pipeline::State Pipeline::step() {
  if (items_.empty()) return State::Empty;
  if (!items_.front().grid) {
    EndOfPipe event = std::move(items_.front().event);
    items_.pop_front();
    gpu_.spun = 0;
    return run(event) ? State::Moved : State::Failed;
  }
  const usize index = choose();
  Item& item = items_[index];
  u64 budget = gpu_.adversarial ? 1 + gpu_.random() % kAdversarialSlice : kSlice;
  const GridState state = item.grid->run(budget);
  switch (state) {
    case GridState::Running:
    case GridState::Polling:
      gpu_.spun += budget;
      item.spent += budget;
      if (gpu_.hang_after != 0 && item.spent > gpu_.hang_after) return State::Endless;
      if (state == GridState::Polling) return give_way(item, false);
      if (gpu_.adversarial) all_their_turn();
      return State::Moved;
    case GridState::Waiting: return give_way(item, true);
    case GridState::Failed:
      if (auto fault = item.grid->fault())
        failure_ = *fault;
      else
        failure_ = item.grid->exception().value_or(
            HwException{.what = "a wave failed", .cause = HwException::Cause::Other});
      return State::Failed;
    case GridState::Done: break;
  }
  all_their_turn();
  for (Snapshot& snapshot : item.snapshots)
    if (!changed_ && !still_same(snapshot)) changed_ = std::move(snapshot);
  if (item.task) item.task->end_part();
  std::shared_ptr<Completion> completion = std::move(item.completion);
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(index));
  --grids_;
  gpu_.spun = 0;
  bool last = completion && --completion->left == 0;
  return !last || run(completion->event) ? State::Moved : State::Failed;
}

std::optional<Snapshot> Pipeline::take_changed() { return std::exchange(changed_, std::nullopt); }

}  // namespace doorbell::emu::amdgpu
