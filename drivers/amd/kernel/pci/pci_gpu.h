// PciGpu: one GPU that this process drives itself: found by its discovery table, started block by
// block, then given queues, as the kernel's driver would. See pci_kernel.h for the calls that lead
// here, boot.h for the blocks.
//
// It stands in one of three states, as two scratch registers tell: never started, started by
// somebody else, or started by us and left alive. The third takes a warm start: queues and page
// tables anew, firmware as it is. What a process left behind that died with queues on the GPU is no
// such state: the whole GPU is reset. [the protocol of tinygrad amdev.py AMDev.__init__()]
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/os/clock.h"
#include "base/os/pci.h"
#include "base/os/pinned_memory.h"
#include "drivers/amd/hw/bare/interrupts.h"
#include "drivers/amd/hw/topology.h"
#include "drivers/amd/kernel/pci/firmware_files.h"
#include "drivers/amd/kernel/pci/inspect.h"
#include "drivers/amd/kernel/pci/page_tables.h"
#include "drivers/amd/kernel/pci/register_access.h"

namespace doorbell::amd {

// GPU addresses begin there; the same on every GPU, and where kernel/kfd.cc takes its from.
inline constexpr u64 kFirstGpuAddress = u64{1} << 45;

// A hardware queue's memory; addresses are the GPU's.
struct PciQueueMemory {
  u64 ring = 0, ring_bytes = 0;
  u64 read_pointer = 0, write_pointer = 0;
  u64 eop = 0, eop_bytes = 0;
  bool is_aql = false;
};

class PciGpu {
 public:
  // Takes the device and reads its discovery table; starts nothing.
  static Result<std::unique_ptr<PciGpu>> open(os::Files& files, os::Clock& clock,
                                              const os::PciId& id, os::VfioContainer* vfio);
  ~PciGpu();
  PciGpu(const PciGpu&) = delete;
  PciGpu& operator=(const PciGpu&) = delete;

  const hw::Discovery& discovery() const { return discovery_; }
  u16 pci_device() const { return device_->id().device; }
  // As the kernel's topology would have them.
  hw::NodeProperties properties() const;
  u64 vram_bytes() const { return vram_bytes_; }
  // From nothing, or warm. Takes seconds on hardware.
  Result<void> boot();
  bool was_warm() const { return is_warm_; }

  // ---- memory ---------------------------------------------------------------------------------
  // In one piece. Where the region on the bus does not show all of the memory, what the host does
  // not see is taken first for what it need not see.
  Result<u64> allocate_vram(u64 bytes, bool is_for_host);
  void free_vram(u64 offset);
  u64 free_bytes();
  // The host's view of the GPU's memory, of its first part where the region is smaller.
  os::DeviceMemory vram() const {
    return vram_.memory.window(0, std::min(vram_.memory.size(), vram_bytes_));
  }
  bool shows(u64 offset, u64 bytes) const { return offset + bytes <= vram().size(); }
  // What went wrong on the way to the GPU, where that way can fail: USB.
  Result<void> state() const { return vram_.memory.state(); }
  // Behind USB: what the host sees of its memory is no mapping.
  bool is_remote() const { return vram_.memory.mapped() == nullptr; }
  // What the host wrote there is there.
  void flush_host_writes();
  // On the bus, for other GPUs.
  u64 bus_address(u64 offset) const { return device_->regions()[kMemoryRegion].address + offset; }
  // Each range maps from entry.address on; when it returns, the GPU sees it.
  struct Part {
    u64 address = 0, bytes = 0;
  };
  Result<void> map(u64 va, std::span<const Part> parts, const hw::PageEntry& entry);
  Result<void> unmap(u64 va, u64 bytes);

  // ---- queues ---------------------------------------------------------------------------------
  static constexpr u32 kComputeQueues = 4;
  // The number of its doorbell.
  Result<u32> start_compute(u32 queue, const PciQueueMemory& memory);
  // One that the hardware does not let go of ends with the last of the others: then, and after any
  // error, the compute processor is reset, so that the GPU is well for whoever comes next.
  Result<void> stop_compute(u32 queue);
  Result<u32> start_copy(const PciQueueMemory& memory);
  Result<void> stop_copy();
  Result<os::MappedRegisters> map_doorbells();

  // ---- interrupts -----------------------------------------------------------------------------
  // What came since the last call.
  std::vector<hw::InterruptEntry> take_interrupts();
  Result<u64> clock_ticks();
  // What the last page fault was; the next one is noted from here on.
  hw::FaultStatus take_fault();
  // The GPU did something that leaves its state unknown: the next process resets it.
  void mark_dirty();
  bool is_dirty();
  hw::InterruptSources interrupt_sources() const {
    return hw::interrupt_sources(*discovery_.chip());
  }

  // ---- as it is, for tools: inspect.h -----------------------------------------------------------
  struct Look {
    std::unique_lock<std::mutex> lock;
    const RegisterAccess& registers;
    BareView view() const { return {registers, vram}; }
    os::DeviceMemory vram;
  };
  Look look() { return {std::unique_lock(mutex_), *registers_, vram()}; }
  Result<u16> command_word() { return device_->read_config(os::kPciCommand); }

 private:
  static constexpr usize kMemoryRegion = 0, kDoorbellRegion = 2, kRegisterRegion = 5;
  PciGpu(os::Files& files, os::Clock& clock) : files_(files), clock_(clock) {}
  Result<void> map_regions();
  Result<void> read_table();
  Result<void> show_all();
  void set_up_heaps();
  Result<void> invalidate();
  void note_queues();
  u32 fault_status() const;
  void clear_faults();
  Result<void> recover();

  os::Files& files_;
  os::Clock& clock_;
  std::unique_ptr<os::PciDevice> device_;
  os::MappedRegisters mmio_;
  os::MappedMemory vram_;
  u64 vram_bytes_ = 0;
  hw::Discovery discovery_;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<RegisterAccess> registers_;
  bool is_warm_ = false, is_booted_ = false, is_dirty_ = false;
  u32 live_queues_ = 0;   // a bit each
  u32 stuck_queues_ = 0;  // of them, those that the hardware does not let go of
  ProcessorEntries entries_;
  std::optional<hcq::Tlsf> free_;    // what the host sees
  std::optional<hcq::Tlsf> hidden_;  // what it does not; none: it sees all
  std::optional<PageTables> tables_;
  u32 interrupt_rptr_ = 0;  // bytes
};

}  // namespace doorbell::amd
