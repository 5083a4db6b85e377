// Graph: work for several queues and devices, recorded once and replayed with other numbers.
// Kernels and copies are recorded in an order that would be right on one queue; which of them wait
// for each other across queues follows from the memory that they use. What the kernels are, which
// queue takes which, and what the slots mean is decided by whoever records: an engine's plan, a
// JIT.
//
//   Graph graph;
//   Operand input = graph.slot();
//   u32 x = graph.memory(graph.storage(), 0, 64, input);
//   u32 y = graph.memory(graph.storage(), 0, 64, address_of_y);
//   graph.exec(device.compute_queue(), {.program = p, .name = "scale",
//                                       .buffers = {{y, Access::Write}, {x, Access::Read}}});
//   TRY(graph.bind());
//   TRY(Fence done, graph.replay({address_of_x}));
//
// Thread safety: one thread at a time. The lock of each queue is held while a replay is submitted,
// so that two graphs over the same queues, used by two threads, cannot wait for each other.
// Memory ordering: that of Queue; a replay follows the last one where memory demands it.
#pragma once

#include <array>

#include "hcq/graph/hazards.h"
#include "hcq/graph/order.h"
#include "hcq/queue/resident_commands.h"
#include "hcq/trace/stamps.h"

namespace doorbell::hcq {

class Graph {
 public:
  struct Options {
    Trace* trace = nullptr;  // gets a span for each kernel and copy; outlives the graph
    int instances = 2;       // runs that may be on their way at once; one while tracing
    // Every queue's part ends when all have ended, so that who waits for one of the devices, or
    // submits to it, is after the whole run. Else only the fence of the run says that.
    bool join = false;
  };
  struct Argument {
    u32 memory;
    Access access;
  };
  struct Exec {
    core::Program* program = nullptr;  // of the queue's device; outlives the graph's runs
    std::string name;                  // for traces
    std::vector<Argument> buffers;     // by slot of the kernel
    std::vector<Operand> variables;
  };

  Graph() : Graph(Options()) {}
  explicit Graph(const Options& options) : options_(options) {}
  // Neither waits nor gives back memory that is still read: its queues do later, and outlive it.
  ~Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // ---- recording --------------------------------------------------------------------------------
  // The next of the numbers that replay() brings: an address, a variable, a size.
  Operand slot();
  // Something that overlaps no other storage. Memories that replays may make overlap (two inputs
  // of which one is written) belong in one storage, at one offset.
  u32 storage() { return storages_++; }
  // Bytes of a storage, and where the devices see them.
  u32 memory(u32 storage, u64 offset, u64 bytes, Operand address);
  void exec(Queue& queue, Exec exec);
  void copy(Queue& queue, u32 to, u32 from, u64 bytes);
  // With Options::join: this queue's part ends with the others, though it may run nothing.
  void join(Queue& queue) { lane_of(queue); }
  // Writes the words. Once it succeeded, nothing can be recorded; where it failed, nothing is held.
  Result<void> bind();

  // ---- running ----------------------------------------------------------------------------------
  // Starts a run, after `after` on all queues. Returns what is done when the run is. Errors of the
  // work itself surface when its queues are synchronised.
  Result<Fence> replay(std::span<const u64> values = {}, const Fence& after = {});

  usize node_count() const { return nodes_.size(); }
  // How queues will wait for each other; for tests and people.
  Order order() const;
  // The same in words, a line for each node, once bound:
  //   CPU:1 copy: copy 4096 bytes -> 1; after CPU compute 2
  // "-> 1": raises its queue's signal 1; "|": a barrier before it.
  std::string str() const;

 private:
  struct Memory {
    u32 storage;
    u64 offset, bytes;
    Operand address;
  };
  struct Node {
    u32 lane;
    Exec exec;           // a kernel, where it has a program
    u64 copy_bytes = 0;  // a copy from buffers[1] to buffers[0]
  };
  // The signals of a lane's queue, as another lane's sees them.
  struct View {
    u32 viewer;  // a lane
    u32 address_slot;
  };
  // One queue's part.
  struct Lane {
    Queue* queue;
    std::unique_ptr<ResidentCommands> commands;
    ResidentCommands::Instance* instance = nullptr;  // of the run that is being submitted
    u32 address_slot = 0, value_slot = 0;            // of its signals: value_slot + number - 1
    Position base = 0, last_base = 0;                // before this run and the one before
    std::vector<OrderWait> waits;     // within a run: the last signal of each other lane
    std::vector<View> views;          // its signals, where others see them at another address
    std::array<Segment, 2> segments;  // of the run that is being submitted: waits, the words
  };

  u32 lane_of(Queue& queue);
  // How many signals a run raises on the lane's queue.
  u32 signal_count(usize lane) const {
    return order_.signals[lane] + (options_.join && lanes_.size() > 1 ? 1 : 0);
  }
  void sort_lanes();
  std::vector<OrderWait> waits_of(u32 lane) const;
  Result<void> make_stamps();
  void emit(u32 lane, CommandBuffer* commands) const;
  void emit_join(u32 lane, CommandBuffer* commands) const;
  void emit_node(u32 node, CommandBuffer* commands) const;
  u32 number_slots();
  // Of a signal of a lane's queue, numbered from 1.
  Operand address_of(u32 lane, u32 viewer) const;
  Operand value_of(u32 lane, u32 signal) const {
    return Operand::of_slot(lanes_[lane].value_slot + signal - 1);
  }
  Result<void> take_instances();
  Result<void> reserve_all();
  Result<void> fill_slots(std::span<const u64> values);
  // What to write to the lane's queue.
  Result<std::span<const Segment>> segments_of(usize lane, const Fence& after);
  Point point_of(const OrderWait& wait, Position Lane::* base) const {
    return {lanes_[wait.queue].queue, lanes_[wait.queue].*base + wait.signal};
  }

  const Options options_;
  u32 slots_ = 0, storages_ = 0;
  std::vector<Memory> memories_;
  std::vector<Node> nodes_;
  std::vector<Lane> lanes_;  // after bind(), in the order of locking
  Order order_;
  bool bound_ = false;
  // While tracing; shared_ptr: the trace asks for spans when we may be gone.
  std::shared_ptr<Stamps> stamps_;

  std::vector<u64> table_;
  bool has_run_ = false;
};

}  // namespace doorbell::hcq
