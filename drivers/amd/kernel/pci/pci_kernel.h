// PciKernel: GPUs without their kernel driver, behind that driver's calls. It answers what Kfd asks
// of /dev/kfd, the render nodes and the topology, by PciGpu; all above kernel/kfd.h is as over the
// kernel. Every other path is the given door's.
//
// What the kernel's driver does and this does not: more processes on a GPU, more queues than the
// hardware has, saved waves, memory of the process's own (userptr) and dma-bufs. Such calls fail
// with ENOTSUP.
//
// Thread safety: that of a Files; ioctl() from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/forwarded_files.h"
#include "base/os/host_accesses.h"
#include "base/os/usb.h"
#include "drivers/amd/hw/kfd.h"
#include "drivers/amd/kernel/pci/firmware_files.h"
#include "drivers/amd/kernel/pci/pci_gpu.h"
#include "drivers/amd/kernel/usb/bridge_buffer.h"

namespace doorbell::amd {

class ShadowMemory;
class UsbFiles;

class PciKernel final : public os::ForwardedFiles {
 public:
  // Finds the GPUs. None that can be driven is an error, which says why not. Both are borrowed.
  static Result<std::unique_ptr<PciKernel>> open(os::Files& files, os::Clock& clock);
  // The same of GPUs behind USB.
  static Result<std::unique_ptr<PciKernel>> open_usb(os::Files& files, os::Usb& usb,
                                                     os::Clock& clock);
  ~PciKernel() override;

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

  // The GPUs in the topology's order, as their own tables describe them.
  struct Description {
    os::PciId id;
    u64 memory_bytes = 0, shown_bytes = 0;  // of them, by the memory's region on the bus
    hw::Discovery discovery;
  };
  std::vector<Description> descriptions() const;

  // For tools: the GPU of this index as it is, the one that this process drives, or else one that
  // is opened and not started; and bytes of the process's memory by their address on the bus, null
  // where they are not of this kernel.
  struct Viewed {
    PciGpu* gpu = nullptr;
    std::unique_ptr<PciGpu> opened;
  };
  Result<Viewed> view(usize index);
  const u8* host_byte(u64 bus_address);
  // Is to be told what the host copies in and out of memory that a GPU sees; null: nobody asks.
  os::HostAccesses* host_accesses() const;
  // Of a GPU behind USB that this process drives, by its number in the topology; else null.
  const BridgeBuffer* bridge_buffer(u32 number);
  // The files that such a GPU is started with, as they are installed.
  Result<Firmware> firmware_of(const PciGpu& gpu);

 private:
  class Node;
  struct Gpu {
    Description description;
    u32 number = 0;  // KFD's
    std::string properties;
    std::unique_ptr<PciGpu> gpu;  // once its address space is asked for
    u32 compute_queues = 0;       // a bit each
    bool copy_queue = false;
    BridgeBuffer bridge_buffer;
  };
  struct Memory {
    Gpu* owner = nullptr;
    u64 va = 0, bytes = 0;
    u32 flags = 0;
    u64 offset = 0;         // VRAM
    os::PinnedMemory host;  // of the system's memory, where the GPU reaches that
    u8* copy = nullptr;     // the host's, of a GPU's that is behind USB
    std::vector<Gpu*> mapped;
    bool is_pinned() const { return host.bytes().data() != nullptr; }
  };
  struct Queue {
    Gpu* gpu = nullptr;
    bool is_copy = false, is_live = false;
    u32 slot = 0;
  };
  struct Event {
    u32 type = 0;
    bool auto_reset = false, is_signalled = false;
    hw::KfdMemoryException memory;
    hw::KfdHwException exception;
  };

  PciKernel(os::Files& files, os::Clock& clock);
  Gpu* find(u32 number);
  Result<void> find_gpu(const os::PciId& id);
  void add(const os::PciId& id, PciGpu& gpu);

  // 0 or an errno; under mutex_, but for wait_events().
  int ioctl(unsigned long request, void* argument);
  int acquire(const hw::KfdAcquireVm& arguments);
  Result<void> map_bridge_buffer(Gpu& gpu);
  int allocate(hw::KfdAllocMemory& arguments);
  int free(u64 handle);
  int map(hw::KfdMapMemory& arguments);
  int unmap(hw::KfdUnmapMemory& arguments);
  int map_one(Memory& memory, Gpu& gpu);
  int create_queue(hw::KfdCreateQueue& arguments);
  int destroy_queue(u32 id);
  int update_queue(const hw::KfdUpdateQueue& arguments);
  int create_event(hw::KfdCreateEvent& arguments);
  int clock_counters(hw::KfdGetClockCounters& arguments);
  void tell_event(hw::KfdEventData& data);
  int wait_events(hw::KfdWaitEvents& arguments);
  void take_interrupts();
  void take_interrupt(Gpu& gpu, const hw::InterruptEntry& entry);
  Event* first_of(u32 type);
  Result<os::Mapping> map_memory(const os::MapRequest& request);
  Result<os::MappedRegisters> map_doorbells(const os::MapRequest& request);
  os::MappedRegisters wrap_doorbells(os::MappedRegisters all, PciGpu& gpu);
  // Of GPUs behind USB: what host and GPU wrote goes to the other. Fails where the way there does.
  Result<void> exchange();
  int refuse(int why, std::string message);
  static int errno_of(const Error& error);

  std::unique_ptr<UsbFiles> below_;  // of GPUs behind USB; files_ is in it
  os::Files& files_;
  os::Clock& clock_;
  std::shared_ptr<os::VfioContainer> vfio_;   // null: no GPU is left to it
  bool has_iommu_ = false;                    // in front of all GPUs, or of none
  std::map<std::string, std::string> texts_;  // of the topology, by path
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::unique_ptr<ShadowMemory> shadow_;             // null: no GPU is behind USB
  std::mutex mutex_;                                 // guards what follows
  std::map<u64, std::unique_ptr<Memory>> memories_;  // by handle
  u64 next_handle_ = 1;
  std::map<u32, Queue> queues_;
  std::map<u32, Event> events_;
  std::string last_error_;
};

}  // namespace doorbell::amd
