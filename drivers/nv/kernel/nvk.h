// Nvk: the process's side of NVIDIA's kernel modules: RM and UVM, the machine's GPUs, and the
// addresses that all of them share. See nvk_gpu.h, nvk_memory.h and nvk_channel.h for what is made
// on a GPU. There is one for a process and its kernel.
//
// GPU addresses are ranges of our own, the same on every GPU of the process, and never those of the
// host: mixing the two up faults at once. What host engines read (pushbuffers, QMDs, semaphores)
// lies below 2^40.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/os/clock.h"
#include "base/os/fork.h"
#include "base/os/host.h"
#include "drivers/nv/kernel/rm_client.h"
#include "drivers/nv/kernel/uvm.h"
#include "hcq/memory/address_map.h"
#include "hcq/memory/tlsf.h"
#include "hcq/signal/signal.h"

namespace doorbell::nv {

class NvkGpu;
class SharedMemory;

class Nvk {
 public:
  // Opens both kernel modules and lists the GPUs. Errors say what to do about them. Both outlive
  // it; the clock is that of all its devices.
  static Result<std::unique_ptr<Nvk>> open(os::Files& files, os::Clock& clock = os::host_clock());
  ~Nvk();
  Nvk(const Nvk&) = delete;
  Nvk& operator=(const Nvk&) = delete;

  const std::vector<hw::CardInfo>& cards() const { return cards_; }
  os::Files& files() const { return files_; }
  os::Clock& clock() const { return clock_; }
  RmClient& client() const { return *client_; }
  Uvm& uvm() const { return *uvm_; }
  // Memory that every GPU of the process sees, now and later: signals.
  SharedMemory& shared_memory() const { return *shared_; }
  hcq::SignalPool& signals() const { return *signals_; }
  // What lies where, for reports.
  hcq::AddressMap& address_map() { return map_; }

  // The `index`-th of cards(): opened when first asked for, and kept.
  Result<NvkGpu*> gpu(usize index);

  // Fails in a child that was forked from the process that opened it: the kernel modules give the
  // child none of it.
  Result<void> check_process() const { return process_.check("NVIDIA's devices"); }

  // GPU addresses; `low`: below 2^40.
  Result<u64> reserve(u64 bytes, u64 alignment, bool low);
  void unreserve(u64 va);

 private:
  Nvk(os::Files& files, os::Clock& clock, std::unique_ptr<RmClient> client,
      std::unique_ptr<Uvm> uvm, std::vector<hw::CardInfo> cards);

  os::Files& files_;
  os::Clock& clock_;
  const std::unique_ptr<RmClient> client_;
  const std::unique_ptr<Uvm> uvm_;
  const std::vector<hw::CardInfo> cards_;
  const os::ForkGuard process_;
  std::mutex mutex_;  // guards what follows
  hcq::Tlsf low_, high_;
  hcq::AddressMap map_;
  std::mutex gpus_mutex_;  // guards gpus_
  // In this order: signals lie in shared memory, which a GPU gave.
  std::vector<std::unique_ptr<NvkGpu>> gpus_;
  std::unique_ptr<SharedMemory> shared_;
  std::unique_ptr<hcq::SignalPool> signals_;
};

}  // namespace doorbell::nv
