// QueueRaces: what a queue orders among its processor, the grids that it has started, and the
// events behind them (agent_races.h).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/core/races/agent_races.h"

namespace doorbell::emu {

// Thread safety: rung() from any thread, all else from the GPU's.
class QueueRaces {
 public:
  explicit QueueRaces(AgentRaces& races);
  // The queue is destroyed: the host knows that it does nothing any more.
  ~QueueRaces();
  QueueRaces(const QueueRaces&) = delete;
  QueueRaces& operator=(const QueueRaces&) = delete;

  // What executes the packets.
  RaceTask& processor() { return *processor_; }
  // Another one is executed, which lies at this place of the ring or is called from there: it is
  // behind the doorbell that announced it.
  void begin_packet(u64 position, std::string who);
  // The host has announced what lies before `end`.
  void rung(u64 end);
  // The packet at hand came after its doorbell: the host may have known more.
  void learn_from_host();

  // A grid of the packet at hand, which ends when `parts` of it have (RaceTask::end_part()).
  std::shared_ptr<RaceTask> launch(std::string who, u32 parts);
  // A grid that begins when another one has ended.
  std::shared_ptr<RaceTask> launch_behind(const RaceTask& before, std::string who);
  // What acts when all that is in flight has ended; or all but grids.
  struct Event {
    std::shared_ptr<RaceTask> task;
    std::vector<std::shared_ptr<RaceTask>> behind;
  };
  Event add_event(bool is_behind_grids = true);
  void begin(Event& event);
  void end(Event& event);

  // The processor has waited for the grids, or for the events too.
  void join_grids() { join(true); }
  void join_all() { join(false); }

 private:
  struct InFlight {
    std::shared_ptr<RaceTask> task;
    bool is_grid = false;
  };
  std::shared_ptr<RaceTask> add(bool is_grid, const RaceTask* before = nullptr);
  void join(bool grids_only);

  AgentRaces& races_;  // borrowed
  const u64 queue_;
  std::shared_ptr<RaceTask> processor_;
  std::vector<InFlight> open_;  // what the processor is not behind
  // Under the races' lock: ends of what was announced, and what the host knew.
  std::deque<std::pair<u64, SparseClock>> doorbells_;
};

}  // namespace doorbell::emu
