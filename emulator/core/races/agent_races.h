// AgentRaces: accesses of two agents of an emulated machine to the same byte, at least one of which
// writes, that nothing orders. An agent is whatever runs beside others: the processor of a queue
// (of commands, or a copy engine's), a grid in flight, an event at the end of the pipe. Waves of
// one grid are not judged here (global_races.h). Of the host doorbells are known, and what drivers
// tell (host_races.h).
//
// Happens-before by vector clocks. What orders: a grid is behind all that its queue's processor had
// waited for; the processor is behind grids and events where a packet waits for them
// (queue_races.h); who waits for a value in memory is behind the packet or atomic operation that
// wrote it (signal_clocks.h); and packets are behind all that was released in memory before their
// doorbell, for the host may have seen it. docs/decisions/0069-races.md says what is not seen.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/util/types.h"
#include "emulator/core/races/access_map.h"
#include "emulator/core/races/signal_clocks.h"

namespace doorbell::emu {

class AgentRaces;

// What one agent does. Its members are AgentRaces' own, under its lock, but for the text.
// Thread safety: AgentRaces'; bytes seen and races found belong to the agent's thread.
class RaceTask {
 public:
  RaceTask(AgentRaces& races, u64 queue, u32 agent, u32 time, SparseClock clock);
  ~RaceTask();

  // The agent accesses these bytes; what it races with, told once for each other task.
  std::optional<AccessMap::Conflict> access(const u8* host, u64 bytes, AgentAccess access);
  // It has read the word at `host` by an atomic load or operation, or a wait that is over.
  void acquire(const SignalClocks::Wait& wait);
  // It is about to write these bytes, at most 8 of one cell, by an atomic store or operation. Call
  // this before they are in memory: whoever reads them must find their writer's clock.
  void release(const u8* host, std::span<const u8> bytes);
  // The host hears of it, and of what it is behind.
  void release_to_host();

  // A grid on one of its XCCs has ended.
  void end_part();

  // For reports: "kernel k of GPU 0 queue 1 (PM4), ring word 20". `who` of what follows.
  void call(std::string who);
  const std::string& who();
  // "which kernel k of ... read", and what would have ordered the two.
  std::string describe(const AccessMap::Conflict& conflict) const;

  bool is_done() const { return done_; }

 private:
  friend class AgentRaces;
  friend class HostRaces;
  friend class QueueRaces;
  struct Seen;
  std::shared_ptr<const AccessSite> site();

  AgentRaces& races_;  // borrowed
  const u64 queue_;
  const u32 agent_;
  std::atomic<u32> time_;
  SparseClock clock_;
  bool published_ = false;  // a release of this time is in memory
  bool done_ = false;
  bool is_processor_ = false;  // its next access after a release has a time of its own
  u32 parts_ = 1;              // XCCs that have not ended
  std::shared_ptr<const std::string> who_;
  std::shared_ptr<const AccessSite> site_;
  std::vector<std::shared_ptr<const std::string>> told_;
  std::unique_ptr<Seen> seen_;  // bytes that were judged already
};

// How a vendor calls what would have ordered two accesses, for reports.
struct OrderNames {
  const char* barriers = "CS_PARTIAL_FLUSH, AQL's barrier bit";
  const char* signals = "RELEASE_MEM, FENCE, a completion signal";
};

// Of a machine. Thread safety: from any thread.
class AgentRaces {
 public:
  explicit AgentRaces(const OrderNames& names = {}) : names_(names) {}

  // The bytes are freed.
  void forget(const u8* host, u64 bytes);
  // The process has mapped these bytes of a device's memory once more.
  void alias(const u8* mapped, const u8* host, u64 bytes);
  // What the host may know now: all that was released in memory.
  SparseClock known_to_host();

  // For tests.
  usize agents();

 private:
  friend class RaceTask;
  friend class HostRaces;
  friend class QueueRaces;
  struct Agent {
    u64 queue = 0;
    u32 last = 0;              // time of its last task
    RaceTask* task = nullptr;  // that runs
  };

  // A task of the queue: by an agent whose tasks so far the new one is behind.
  std::shared_ptr<RaceTask> begin(u64 queue, const SparseClock& clock);
  void end(RaceTask& task);
  SparseClock hand_on();
  // Where the devices have the byte.
  const u8* host_of(const u8* mapped) const;
  void part_from(const SparseClock& learnt);

  const OrderNames names_;
  std::mutex mutex_;  // guards all below, and the tasks
  u64 queues_ = 0;
  std::vector<Agent> agents_;
  AccessMap accesses_;
  SignalClocks signals_;
  SparseClock released_;
  std::vector<u32> published_;  // agents of grids whose time has been released
  RaceTask* host_ = nullptr;    // host_races.h; null: its accesses are not known
  struct Alias {
    const u8* host = nullptr;
    u64 bytes = 0;
  };
  std::map<const u8*, Alias> aliases_;  // by where the process maps them
};

}  // namespace doorbell::emu
