// Slices of slots (runlist.h).
#include "emulator/amd/cp/runlist.h"

#include <algorithm>

namespace doorbell::emu::amdgpu {

namespace {

// Hardware's slices are some milliseconds long.
constexpr u32 kSlice = 16;
constexpr u32 kMaxAdversarialSlice = 8;
// How seldom a queue loses its slot at random, and for how many turns: mostly few, sometimes so
// many that waits for it stop polling.
constexpr u32 kDisturbOneIn = 32, kLongOneIn = 4;
constexpr u32 kMaxKeptOff = 32, kMaxKeptOffLong = 1 << 14;

}  // namespace

bool Runlist::remove(QueueId id) {
  return std::erase_if(members_, [&](const Member& member) { return member.queue->id() == id; }) >
         0;
}

Queue* Runlist::find(QueueId id) const {
  auto found = std::ranges::find_if(members_,
                                    [&](const Member& member) { return member.queue->id() == id; });
  return found == members_.end() ? nullptr : found->queue.get();
}

bool Runlist::wants_slot(const Member& member) {
  const QueueDescription& description = member.queue->description();
  return description.kind != QueueKind::Sdma && description.percentage != 0 &&
         !member.queue->stopped();
}

void Runlist::set(Member& member, bool mapped) {
  if (member.mapped == mapped) return;
  member.mapped = mapped;
  member.queue->note_slot(mapped);
}

// Nothing moved in the last turn, or the slice is over: the next ones.
void Runlist::share_slots() {
  usize wanting = static_cast<usize>(std::ranges::count_if(members_, wants_slot));
  bool fits = wanting <= slots_;
  if (!fits && (slice_left_ == 0 || moved_in_ + 1 < turn_)) {
    u32 step = slots_;
    if (gpu_.adversarial) step = 1 + static_cast<u32>(gpu_.random() % wanting);
    auto at =
        std::ranges::find_if(members_, [&](const Member& m) { return m.queue->id() >= first_; });
    // In the ring of those that want one.
    for (; step > 0; ++at) {
      if (at == members_.end()) at = members_.begin();
      if (wants_slot(*at)) --step;
    }
    first_ = at == members_.end() ? 0 : at->queue->id();
    slice_left_ =
        gpu_.adversarial ? 1 + static_cast<u32>(gpu_.random() % kMaxAdversarialSlice) : kSlice;
  }
  if (slice_left_ > 0) --slice_left_;
  usize begin = 0;
  while (begin < members_.size() && members_[begin].queue->id() < first_) ++begin;
  u32 left = slots_;
  for (usize i = 0; i < members_.size(); ++i) {
    Member& member = members_[(begin + i) % members_.size()];
    bool own = !wants_slot(member);
    bool mapped = member.kept_off == 0 && (own || fits || left > 0);
    if (mapped && !own && !fits) {
      --left;
      if (!member.mapped) member.queue->poll_write_pointer();
    }
    set(member, mapped);
  }
}

void Runlist::disturb() {
  for (Member& member : members_)
    if (member.kept_off > 0) --member.kept_off;
  if (members_.empty() || !gpu_.chance(kDisturbOneIn)) return;
  Member& member = members_[gpu_.random() % members_.size()];
  if (member.last == Step::Stopped) return;
  u32 most = gpu_.chance(kLongOneIn) ? kMaxKeptOffLong : kMaxKeptOff;
  member.kept_off = 1 + static_cast<u32>(gpu_.random() % most);
}

void Runlist::begin_turn() {
  ++turn_;
  if (gpu_.adversarial) disturb();
  share_slots();
}

void Runlist::stepped(Member& member, Step step) {
  member.stepped = turn_;
  member.last = step;
  if (step == Step::Moved) moved_in_ = turn_;
}

bool Runlist::is_unsettled() const {
  return std::ranges::any_of(members_, [&](const Member& member) {
    return !member.mapped && (wants_slot(member) || member.kept_off > 0) &&
           member.stepped <= moved_in_;
  });
}

bool Runlist::is_waiting() const {
  return std::ranges::any_of(members_,
                             [](const Member& member) { return member.last == Step::Waiting; });
}

}  // namespace doorbell::emu::amdgpu
