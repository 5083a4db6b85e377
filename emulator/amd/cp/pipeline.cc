// Grids in flight and the events behind them (pipeline.h).
#include "emulator/amd/cp/pipeline.h"

#include <algorithm>

namespace doorbell::emulator::amd {

namespace {

// Long enough that the scheduler costs little, short enough that no queue starves: about a
// millisecond.
constexpr u64 kSlice = 1 << 15;
constexpr u64 kAdversarialSlice = 64;

}  // namespace

void Pipeline::launch(std::unique_ptr<RunningGrid> grid, std::vector<Snapshot> snapshots,
                      std::vector<Use> uses) {
  items_.push_back(
      {.grid = std::move(grid), .snapshots = std::move(snapshots), .uses = std::move(uses)});
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
  usize nth = gpu_.adversarial ? gpu_.random() % grids_ : 0;
  for (usize i = 0; i < items_.size(); ++i)
    if (items_[i].grid && nth-- == 0) return i;
  UNREACHABLE("no grid among {} items", items_.size());
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
  usize index = choose();
  Item& item = items_[index];
  u64 budget = gpu_.adversarial ? 1 + gpu_.random() % kAdversarialSlice : kSlice;
  switch (item.grid->run(budget)) {
    case GridState::Running:
      gpu_.spun += budget;
      item.spent += budget;
      return gpu_.hang_after != 0 && item.spent > gpu_.hang_after ? State::Endless : State::Moved;
    case GridState::Waiting: return State::Waiting;
    case GridState::Failed:
      if (auto fault = item.grid->fault())
        failure_ = *fault;
      else
        failure_ = item.grid->exception().value_or(
            HwException{.what = "a wave failed", .cause = HwException::Cause::Other});
      return State::Failed;
    case GridState::Done: break;
  }
  for (Snapshot& snapshot : item.snapshots)
    if (!changed_ && !still_same(snapshot)) changed_ = std::move(snapshot);
  std::shared_ptr<Completion> completion = std::move(item.completion);
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(index));
  --grids_;
  gpu_.spun = 0;
  bool last = completion && --completion->left == 0;
  return !last || run(completion->event) ? State::Moved : State::Failed;
}

std::optional<Snapshot> Pipeline::take_changed() { return std::exchange(changed_, std::nullopt); }

}  // namespace doorbell::emulator::amd
