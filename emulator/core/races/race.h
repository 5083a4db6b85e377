// What the detectors of races have in common (global_races.h, agent_races.h, and LDS's of
// amd/isa/races): what they find, who tells them of barriers, and sparse clocks.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/util/types.h"

namespace doorbell::emu {

// In an Exit, where it is not known which lane it was.
inline constexpr u32 kNoLane = ~u32{0};

struct Race {
  u64 pc = 0, other_pc = 0;  // of the later and of the earlier access
  u32 lane = kNoLane;        // of the later one
  std::string what;          // a sentence
};

// Is told what orders the waves of a group, by amd/compute/work_group.h; warps of a block by
// nv/compute/block.h. A group has barriers by number, from 0 on.
class GroupOrder {
 public:
  // A wave comes to a barrier, or ends, which is waiting for all of its instructions. [RDNA3 ISA,
  // S_ENDPGM]
  virtual void arrive(u32 wave, u32 barrier) = 0;
  virtual void end(u32 wave) = 0;
  // All have come to the barrier.
  virtual void complete(u32 barrier) = 0;
  // A wave goes on behind the barrier that was complete last.
  virtual void pass(u32 wave, u32 barrier) = 0;
  // Global wave sync, which is taken to order the wave with all that came to it before.
  virtual void sync(u32 wave) = 0;

 protected:
  ~GroupOrder() = default;
};

// For each agent the time of its own up to which the owner comes behind it; 0 of most. Ordered by
// agent, for a grid has many agents, of which few know of each other.
class SparseClock {
 public:
  u32 of(u32 agent) const {
    const auto at = find(agent);
    return at != entries_.end() && at->first == agent ? at->second : 0;
  }
  void raise(u32 agent, u32 time) {
    const auto at = entries_.begin() + (find(agent) - entries_.begin());
    if (at == entries_.end() || at->first != agent)
      entries_.emplace(at, agent, time);
    else
      at->second = std::max(at->second, time);
  }
  void join(const SparseClock& other) {
    std::vector<Entry> joined;
    joined.reserve(std::max(entries_.size(), other.entries_.size()));
    auto left = entries_.begin();
    for (const Entry& right : other.entries_) {
      while (left != entries_.end() && left->first < right.first) joined.push_back(*left++);
      joined.push_back(right);
      if (left == entries_.end() || left->first != right.first) continue;
      joined.back().second = std::max(left++->second, right.second);
    }
    joined.insert(joined.end(), left, entries_.end());
    entries_ = std::move(joined);
  }
  // What `agent` knew at that time of its own; of others it may know more by now.
  void join_before(const SparseClock& other, u32 agent, u32 time) {
    const u32 known = std::max(of(agent), time);
    join(other);
    entries_[static_cast<usize>(find(agent) - entries_.begin())].second = known;
  }
  // Of the other only what it knows of these agents.
  void join(const SparseClock& other, u32 first, u32 count) {
    for (auto at = other.find(first); at != other.entries_.end() && at->first - first < count; ++at)
      raise(at->first, at->second);
  }
  void clear() { entries_.clear(); }

 private:
  using Entry = std::pair<u32, u32>;
  std::vector<Entry>::const_iterator find(u32 agent) const {
    return std::ranges::lower_bound(entries_, agent, {}, &Entry::first);
  }
  std::vector<Entry> entries_;
};

}  // namespace doorbell::emu
