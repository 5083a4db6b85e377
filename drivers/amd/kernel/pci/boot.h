// The blocks of a GPU as they are started, one function each, in the order of this header. Each
// leaves its block as torvalds/linux amdgpu and tinygrad leave it; docs/hw/amd-boot.md draws it.
#pragma once

#include "drivers/amd/kernel/pci/firmware_files.h"
#include "drivers/amd/kernel/pci/page_tables.h"
#include "drivers/amd/kernel/pci/register_access.h"

namespace doorbell::amd {

// Where the memory that blocks keep for ever lies, in the GPU's own: the same in every process, so
// that a GPU that was left alive needs nothing but queues.
namespace boot_memory {
inline constexpr u64 kRootTable = 0, kScratchPage = 0x1000, kDummyPage = 0x2000;
inline constexpr u64 kPspCommand = 0x3000, kPspFence = 0x4000;
inline constexpr u64 kSmuTable = 0x8000, kPspRing = 0x10000, kPspRingBytes = 0x10000;
// Of each queue those of all XCCs, one behind the other.
inline constexpr u64 kMqds = 0x20000, kMqdBytes = 0x1000, kMaxXccs = 8;
inline constexpr u64 kInterruptRing = 0x40000, kInterruptRingBytes = 0x40000;
inline constexpr u64 kInterruptPointer = 0x80000;
inline constexpr u64 kPspMessage = 0x100000, kPspMessageBytes = 0x100000;
inline constexpr u64 kTmr = 0x200000, kMaxTmrBytes = 0x1300000;  // on a MiB
inline constexpr u64 kEnd = u64{32} << 20;
}  // namespace boot_memory

// A GPU while it is started.
struct BootTarget {
  RegisterAccess registers;
  os::DeviceMemory vram;    // the host's view
  u64 framebuffer = 0;      // where the memory controller has the memory's first byte
  u64 framebuffer_end = 0;  // its last byte's
  u64 offset = 0;           // of the memory behind other GPUs', in page tables

  u64 mc_address(u64 at) const { return framebuffer + at; }
  // What the host wrote into the GPU's memory is there.
  void flush_hdp() const;
  // In words: the last one is filled up with zeros.
  void copy_in(u64 at, std::span<const u8> bytes) const;
};
Result<BootTarget> read_framebuffer(const RegisterAccess& registers, os::DeviceMemory vram);

void start_bus_interface(const BootTarget& target);
// Address translation of the two kinds of memory hubs, each with all that the GPU has of them.
enum class Hub : u8 { Graphics, Memory };
void start_hub(const BootTarget& target, Hub hub);
Result<void> invalidate_hub(const BootTarget& target, Hub hub);
void start_interrupts(const BootTarget& target);

bool is_psp_alive(const RegisterAccess& registers);
Result<void> start_psp(const BootTarget& target, const Firmware& firmware);

bool is_smu_alive(const RegisterAccess& registers);
// Of the power controller's firmware; fails soon where it does not answer.
Result<u32> read_smu_version(const RegisterAccess& registers);
Result<void> start_smu(const BootTarget& target);
// The highest clocks, or what the power controller thinks best.
Result<void> set_clocks(const RegisterAccess& registers, bool highest);
// Of several XCCs, behind start_graphics(): all take part in the grids of an AQL queue.
Result<void> make_one_partition(const BootTarget& target);
// The whole GPU, as if it had been switched off. Takes half a second.
Result<void> reset_whole_gpu(const RegisterAccess& registers);

Result<void> wait_for_graphics(const RegisterAccess& registers);
// Warm: whatever the processor does is ended first,
// and what else was set stays.
void start_graphics(const BootTarget& target, const ProcessorEntries& entries, bool is_warm);
void start_copy_engine(const BootTarget& target);

}  // namespace doorbell::amd
