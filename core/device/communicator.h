// Communicator: the other processes of a program that several run (SPMD), as the engine sees them:
// each has a rank, and devices that this process can name but not use. drivers/mpi implements it.
// What is exchanged, and when, is the schedule's: see core/schedule/shard.h.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"
#include "core/dtype/dtype.h"
#include "core/uop/op.h"

namespace doorbell::core {

// What every process of a group does at once. Blocks are equal parts of the memory, in the order of
// the group. In a graph it is a Copy with more args than the device: see core/uop/placement.h.
enum class ExchangeKind : u8 {
  Own,            // nothing: this process's part of a value of several
  StandIn,        // nothing: the value is another process's, which this one only names
  Reduce,         // everyone gets all combined
  ReduceScatter,  // everyone gets its own block of all combined
  Gather,         // everyone gets everyone's, block by block
  AllToAll,       // block i goes to process i of the group
  Broadcast,      // everyone gets that of the process `root`
};

struct Exchange {
  ExchangeKind kind = ExchangeKind::StandIn;
  Op op = Op::Add;  // of Reduce and ReduceScatter
  DType dtype;
  i64 bytes = 0;           // of what this process gives
  std::vector<i64> parts;  // bytes of each value; several of Reduce alone
  std::vector<int> ranks;  // the group, in order
  int root = 0;            // of Broadcast: its place in the group

  bool operator==(const Exchange&) const = default;
};

// "allreduce_add_float32 of 4", for people.
std::string describe(const Exchange& exchange);
// Whether op counts.
bool combines(const Exchange& exchange);
// What this process gets.
i64 result_bytes(const Exchange& exchange);

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  // among the processes of this machine
  // Its queue runs all exchanges, one after another. Every process must submit the same in the same
  // order, as far as it takes part.
  virtual Device& device() = 0;
  // A program of that device with the arguments {to..., from...}.
  virtual Result<std::unique_ptr<Program>> load(const Exchange& exchange) = 0;
  // Whether such programs take memory that the host does not see, of a device of this name
  // ("CUDA:1@2"), if all of the group's are such; else it goes through the host's. The same in all
  // processes.
  virtual bool takes_memory_of(std::string_view /*device*/) const { return false; }
  // The device of another process. Copies to it send, copies from it receive.
  virtual Result<std::unique_ptr<Device>> open_remote(DeviceSpec spec, int rank) = 0;
  // ---- for engines of exchanges, called by the queue --------------------------------------------
  // Waits until it is done, as long as an exchange may take; the error at the end of that time
  // names who is missing of `ranks`, and is told to the others.
  using IsDone = std::function<Result<bool>()>;
  virtual Result<void> wait(const IsDone& is_done, const std::string& what,
                            const std::vector<int>& ranks) = 0;
  // An exchange failed here, and the others are told. The error names those of `ranks` that do not
  // answer, which takes a moment to find out.
  virtual Error give_up(const Error& why, const std::vector<int>& ranks) = 0;
  // Before the process ends; nothing works afterwards.
  virtual void leave() = 0;
};

}  // namespace doorbell::core
