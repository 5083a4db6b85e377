// Tasks, their clocks and what they access (agent_races.h).
#include "emulator/core/races/agent_races.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/util/check.h"
#include "base/util/format.h"

namespace doorbell::emu {

// Bytes that a grid has accessed at this time of its own, of the pages at hand: what was judged
// once need not be again, for whoever accesses them meanwhile is judged against it.
struct RaceTask::Seen {
  static constexpr usize kPages = 128;
  struct Page {
    u64 key = ~u64{0};
    std::array<u64, AccessMap::kPage / 64> bytes{};
  };

  // The word of 64 bytes that they lie in, whose bits are `mask`; null if they cross its end.
  u64* find(const u8* host, u64 count, AgentAccess access, u32 now, u64& mask) {
    const u64 at = reinterpret_cast<u64>(host), bit = at % 64;
    if (bit + count > 64) return nullptr;
    if (time != now) {
      for (Page& page : pages) page.key = ~u64{0};
      time = now;
    }
    const u64 key = at / AccessMap::kPage * 8 + static_cast<u64>(access);
    Page& page = pages[(key ^ key >> 7) % kPages];
    if (page.key != key) page = {.key = key, .bytes = {}};
    mask = (count == 64 ? ~u64{0} : (u64{1} << count) - 1) << bit;
    return &page.bytes[at % AccessMap::kPage / 64];
  }

  u32 time = 0;
  std::array<Page, kPages> pages;
};

RaceTask::RaceTask(AgentRaces& races, u64 queue, u32 agent, u32 time, SparseClock clock)
    : races_(races), queue_(queue), agent_(agent), time_(time), clock_(std::move(clock)) {}
RaceTask::~RaceTask() = default;

std::shared_ptr<const AccessSite> RaceTask::site() {
  if (!site_ || site_->time != time_)
    site_ = std::make_shared<AccessSite>(
        AccessSite{.agent = agent_, .time = time_, .queue = queue_, .who = who_, .clock = clock_});
  return site_;
}

std::optional<AccessMap::Conflict> RaceTask::access(const u8* host, u64 bytes, AgentAccess access) {
  u64 mask = 0;
  u64* seen = nullptr;
  if (!is_processor_) {
    if (!seen_) seen_ = std::make_unique<Seen>();
    seen = seen_->find(host, bytes, access, time_, mask);
    if (seen != nullptr && (*seen & mask) == mask) return std::nullopt;
  }
  std::lock_guard lock(races_.mutex_);
  auto found = races_.accesses_.access(host, bytes, access, site());
  if (seen != nullptr) *seen |= mask;
  if (!found || std::ranges::count(told_, found->other->who) != 0) return std::nullopt;
  told_.push_back(found->other->who);
  return found;
}

void RaceTask::acquire(const SignalClocks::Wait& wait) {
  std::lock_guard lock(races_.mutex_);
  bool is_host = false;
  SparseClock learnt = races_.signals_.acquire(wait, is_host);
  if (is_host) learnt.join(races_.hand_on());
  for (const auto& writer : races_.accesses_.loose_writers(wait.host, wait.bytes, clock_)) {
    learnt.join(writer->clock);
    learnt.raise(writer->agent, writer->time);
  }
  races_.part_from(learnt);
  clock_.join(learnt);
  site_.reset();
}

void RaceTask::release(const u8* host, std::span<const u8> bytes) {
  const u64 offset = reinterpret_cast<u64>(host) % SignalClocks::kCell;
  const u64 before = __atomic_load_n(reinterpret_cast<const u64*>(host - offset), __ATOMIC_RELAXED);
  std::array<u8, SignalClocks::kCell> cell = std::bit_cast<std::array<u8, sizeof before>>(before);
  CHECK_LE(offset + bytes.size(), cell.size());
  std::ranges::copy(bytes, cell.begin() + static_cast<std::ptrdiff_t>(offset));
  std::lock_guard lock(races_.mutex_);
  SparseClock clock = clock_;
  clock.raise(agent_, time_);
  races_.signals_.release(host, before, std::bit_cast<u64>(cell), clock, races_.hand_on());
  races_.released_.join(clock);
  if (is_processor_) {
    ++time_;
  } else if (!std::exchange(published_, true)) {
    races_.published_.push_back(agent_);
  }
}

void RaceTask::release_to_host() {
  std::lock_guard lock(races_.mutex_);
  races_.released_.join(clock_);
  races_.released_.raise(agent_, time_);
  ++time_;
}

void RaceTask::end_part() {
  std::lock_guard lock(races_.mutex_);
  CHECK(parts_ > 0, "a grid ends twice");
  if (--parts_ == 0) races_.end(*this);
}

void RaceTask::call(std::string who) {
  who_ = std::make_shared<const std::string>(std::move(who));
  site_.reset();
}

const std::string& RaceTask::who() { return *who_; }

std::string RaceTask::describe(const AccessMap::Conflict& conflict) const {
  constexpr const char* kDid[] = {"read", "wrote", "read", "updated", "wrote"};
  const OrderNames& names = races_.names_;
  return fmt::format(
      "which {} {}; {}", *conflict.other->who, kDid[static_cast<usize>(conflict.access)],
      conflict.other->queue == queue_
          ? fmt::format("no packet between them waits for the first: a barrier ({}), or a wait for "
                        "its signal",
                        names.barriers)
          : fmt::format("nothing orders their queues: a wait for a signal that is written behind "
                        "the first ({}), or a doorbell that rings after it",
                        names.signals));
}

void AgentRaces::forget(const u8* host, u64 bytes) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  accesses_.forget(host, bytes);
  signals_.forget(host, bytes);
  std::erase_if(aliases_, [&](const auto& alias) {
    return alias.second.host < host + bytes && host < alias.second.host + alias.second.bytes;
  });
}

void AgentRaces::alias(const u8* mapped, const u8* host, u64 bytes) {
  std::lock_guard lock(mutex_);
  std::erase_if(aliases_, [&](const auto& alias) {
    return alias.first < mapped + bytes && mapped < alias.first + alias.second.bytes;
  });
  aliases_[mapped] = {host, bytes};
}

const u8* AgentRaces::host_of(const u8* mapped) const {
  const auto after = aliases_.upper_bound(mapped);
  if (after == aliases_.begin()) return mapped;
  const auto& [start, alias] = *std::prev(after);
  const u64 offset = static_cast<u64>(mapped - start);
  return offset < alias.bytes ? alias.host + offset : mapped;
}

SparseClock AgentRaces::known_to_host() {
  std::lock_guard lock(mutex_);
  return hand_on();
}

usize AgentRaces::agents() {
  std::lock_guard lock(mutex_);
  return agents_.size();
}

// Whoever gets it is behind what has happened, and behind what the host has done, not behind what
// the same grids and the host do from now on.
SparseClock AgentRaces::hand_on() {
  part_from(released_);
  if (host_ != nullptr) released_.raise(host_->agent_, host_->time_++);
  return released_;
}

void AgentRaces::part_from(const SparseClock& learnt) {
  std::erase_if(published_, [&](u32 agent) {
    RaceTask* const task = agents_[agent].task;
    if (task == nullptr || !task->published_) return true;
    if (learnt.of(agent) < task->time_) return false;
    ++task->time_;
    task->published_ = false;
    return true;
  });
}

std::shared_ptr<RaceTask> AgentRaces::begin(u64 queue, const SparseClock& clock) {
  const auto fits = [&](const Agent& agent) {
    const u32 number = static_cast<u32>(&agent - agents_.data());
    return agent.queue == queue && agent.task == nullptr && clock.of(number) >= agent.last;
  };
  auto at = std::ranges::find_if(agents_, fits);
  if (at == agents_.end()) at = agents_.insert(at, Agent{.queue = queue});
  auto task = std::make_shared<RaceTask>(*this, queue, static_cast<u32>(at - agents_.begin()),
                                         at->last + 1, clock);
  at->task = task.get();
  return task;
}

void AgentRaces::end(RaceTask& task) {
  if (std::exchange(task.done_, true)) return;
  Agent& agent = agents_[task.agent_];
  CHECK(agent.task == &task, "agent {} runs another task", task.agent_);
  agent.last = task.time_;
  agent.task = nullptr;
  task.seen_.reset();
}

}  // namespace doorbell::emu
