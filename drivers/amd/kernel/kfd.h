// Kfd: the process's side of /dev/kfd: the open node, its version, the GPUs of the topology, the
// addresses that all of them share, and what lies where. See kfd_memory.h,
// kfd_queue.h and kfd_events.h for memory, queues and events, hw/kfd.h for the ioctls.
//
// There is one for a process and its kernel, for as long as the process lives. Closing the node
// ends nothing: the kernel keeps the process's address spaces, each bound to the render node it
// came with, and its event page until the process's memory is gone, and gives a second Kfd neither.
// [Linux kfd_process.c, kfd_process_notifier_release(), kfd_process_device_init_vm(): -EBUSY;
// kfd_events.c, kfd_kmap_event_page(): -EINVAL]
//
// GPU addresses are a range of our own, the same on every GPU of the process, and never those of
// the host: whoever mixes the two up faults at once.
//
// Refused, because nothing here needs them: XNACK (retried page faults), SVM ranges, and IPC
// handles; memory goes to other processes as dma-bufs.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/os/fork.h"
#include "base/os/host.h"
#include "drivers/amd/hw/kfd.h"
#include "drivers/amd/topology.h"
#include "hcq/memory/address_map.h"
#include "hcq/memory/tlsf.h"
#include "hcq/signal/signal.h"

namespace doorbell::amd {

class KfdEvents;
class KfdGpu;
class SharedMemory;

struct KfdOptions {
  // Asks the kernel for trap temporaries, by which saved waves tell their place in the grid.
  bool trap_registers = false;
  u64 page_bytes = os::host_page_bytes();
};

class Kfd {
 public:
  // Opens the node and reads the topology. Errors say what to do about them. Both outlive it; the
  // clock is that of all its devices.
  static Result<std::unique_ptr<Kfd>> open(os::Files& files, os::Clock& clock = os::host_clock(),
                                           const KfdOptions& options = {});
  ~Kfd();
  Kfd(const Kfd&) = delete;
  Kfd& operator=(const Kfd&) = delete;

  const std::vector<Node>& nodes() const { return nodes_; }
  u32 minor_version() const { return minor_version_; }
  // The host's, in which the kernel counts memory, and compares a queue's buffers.
  u64 page_bytes() const { return options_.page_bytes; }
  // Saved waves tell their place in the grid.
  bool has_trap_registers() const { return has_trap_registers_; }
  os::Files& files() const { return files_; }
  os::Clock& clock() const { return clock_; }
  os::File& file() const { return *file_; }
  // Memory that every GPU of the process sees, now and later: signals, events' mailboxes.
  SharedMemory& shared_memory() const { return *shared_; }
  hcq::SignalPool& signals() const { return *signals_; }
  KfdEvents& events() const { return *events_; }

  // The `index`-th of nodes(): opened when first asked for, and kept.
  Result<KfdGpu*> gpu(usize index);

  // Fails in a child that was forked from the process that opened it: the kernel gives the child
  // none of it, and an emulated machine has no threads there.
  Result<void> check_process() const { return process_.check("AMD's devices"); }

  // The error names the call and what it was given.
  template <class T>
  Result<void> call(T& arguments) {
    Result<int> answer = send(hw::kRequest<T>, &arguments);
    if (answer) [[likely]]
      return {};
    std::string given;
    T::fields(arguments, [&](const char* name, const auto& value) {
      add_field(&given, name, static_cast<u64>(value));
    });
    return refusal(answer.error(), T::kName, given);
  }

  // GPU addresses.
  Result<u64> reserve(u64 bytes);
  void unreserve(u64 va);

  // What lies where, for reports.
  hcq::AddressMap& address_map() { return map_; }
  const hcq::AddressMap& address_map() const { return map_; }

 private:
  struct Opened {
    std::unique_ptr<KfdGpu> gpu;
    bool joined = false;  // it sees the shared memory, and there are events
  };
  Kfd(os::Files& files, os::Clock& clock, const KfdOptions& options, std::unique_ptr<os::File> file,
      u32 minor_version, std::vector<Node> nodes);
  // Once, when the first GPU's address space is bound and no queue is there yet.
  void set_runtime();
  // As the file's ioctl(), but asks again for a while where the kernel says "later".
  Result<int> send(unsigned long request, void* arguments);
  static void add_field(std::string* text, const char* name, u64 value);
  static Error refusal(const Error& error, const char* call, const std::string& given);

  os::Files& files_;
  os::Clock& clock_;
  const KfdOptions options_;
  const std::unique_ptr<os::File> file_;
  const u32 minor_version_;
  const os::ForkGuard process_;
  bool has_trap_registers_ = false;
  const std::vector<Node> nodes_;

  std::mutex gpus_mutex_;  // guards gpus_ and runtime_asked_
  bool runtime_asked_ = false;
  std::mutex mutex_;  // guards addresses_
  hcq::Tlsf addresses_;
  hcq::AddressMap map_;
  // In this order: signals and events lie in shared memory, which a GPU gave.
  std::vector<Opened> gpus_;
  std::unique_ptr<SharedMemory> shared_;
  std::unique_ptr<hcq::SignalPool> signals_;
  std::unique_ptr<KfdEvents> events_;
};

}  // namespace doorbell::amd
