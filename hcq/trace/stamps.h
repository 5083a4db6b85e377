// Stamps: memory in which the devices of a graph write the begin and the end of each node, from
// which spans are made. It may outlive the graph, until the last run is done.
//
// Thread safety: adding by one thread, before the first run; then all functions from any thread.
// Memory ordering: stamps are read once the positions of the run are done, which acquires them.
#pragma once

#include <mutex>

#include "hcq/queue/queue.h"
#include "hcq/trace/trace.h"

namespace doorbell::hcq {

class Stamps final : public Trace::Source {
 public:
  Stamps() = default;
  // Returns the memory to queues that outlive it.
  ~Stamps() override;
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  // Adds a node on this queue; returns its number, from 0 over all queues.
  void add(Queue& queue, std::string name, std::string category);
  // Allocates the memory; once, after the last add().
  Result<void> allocate();
  GpuAddr address(u32 node, bool end) const;

  // Call before a run is submitted, when the last run is done: adds the spans of the last run.
  void begin_run(Trace& trace);
  // Call after a run was submitted.
  void end_run(const Fence& done);
  bool collect(Trace& trace) override;

 private:
  struct Lane {
    Queue* queue;  // outlives this
    u32 nodes = 0;
    core::Allocation memory = {};  // two timestamps a node

    i64 bytes() const { return i64{2} * nodes * queue->timestamp_bytes(); }
  };
  struct Node {
    u32 lane, place;
    std::string name, category;
  };
  u64 ticks_of(const Node& node, bool end) const;
  void add_spans(Trace& trace);

  std::vector<Lane> lanes_;
  std::vector<Node> nodes_;
  std::mutex mutex_;  // guards the members below, and the stamps
  bool pending_ = false;
  Fence last_;
};

}  // namespace doorbell::hcq
