// ChannelGroup and NvkChannel: the rings through which the host engine of a GPU is fed, as RM makes
// them. Channels of a group are scheduled together. See ../gp_ring.h for what goes into a ring.
//
// Thread safety: announce() from one thread at a time; the rest does not change.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "drivers/nv/hw/rm/notification.h"
#include "drivers/nv/kernel/nvk_gpu.h"

namespace doorbell::nv {

class ChannelGroup {
 public:
  static Result<std::unique_ptr<ChannelGroup>> make(NvkGpu& gpu);

  NvkGpu& gpu() const { return gpu_; }
  u32 handle() const { return group_.handle(); }
  u32 context_share() const { return share_.handle(); }
  // Lets its channels run, when all are made.
  Result<void> schedule();

 private:
  explicit ChannelGroup(NvkGpu& gpu) : gpu_(gpu) {}

  NvkGpu& gpu_;
  RmObject group_, share_;
};

class NvkChannel {
 public:
  static constexpr u32 kEntries = 4096;

  // A channel for an engine's class; one for compute copies, too. The group outlives it; `what` is
  // for reports.
  static Result<std::unique_ptr<NvkChannel>> make(ChannelGroup& group, hw::ClassId engine,
                                                  std::string what);
  ~NvkChannel();
  NvkChannel(const NvkChannel&) = delete;
  NvkChannel& operator=(const NvkChannel&) = delete;

  hw::ClassId engine() const { return engine_class_; }
  u32 handle() const { return channel_.handle(); }
  // The ring: kEntries of two words.
  std::span<u32> ring() const { return {reinterpret_cast<u32*>(ring_->host()), kEntries * 2}; }
  // Makes the entries before `put` valid, and rings the doorbell.
  void announce(u32 put);
  // What ended the channel, if something did.
  std::optional<hw::Notification> error() const;
  // What the debugger reports of the channel's context: faults of the MMU, SMs that stopped. Empty:
  // nothing. For compute channels.
  std::string faults() const;
  // Where memory accesses faulted.
  std::optional<u64> fault_address() const;

 private:
  NvkChannel(ChannelGroup& group, hw::ClassId engine, std::string what)
      : group_(group), engine_class_(engine), what_(std::move(what)) {}
  Result<void> make_memory();
  Result<void> make_objects();
  Result<void> join_uvm();

  ChannelGroup& group_;
  const hw::ClassId engine_class_;
  const std::string what_;
  std::unique_ptr<NvkMemory> ring_, notifier_;
  RmObject channel_, engine_, copier_, debugger_;
  u32 token_ = 0;
  u64 resources_ = 0;  // addresses for RM's own resources of the channel
  bool is_registered_ = false;
};

}  // namespace doorbell::nv
