// CardState: all that an emulated card without a kernel driver keeps besides its memory, as plain
// bytes: they may lie in a file, where a process that is killed leaves them as they are at that
// moment, and the next process finds them. What a member means is for bare_gpu.h and
// security_processor.h.
#pragma once

#include <array>
#include <type_traits>

#include "drivers/amd/hw/bare/mqd.h"
#include "drivers/amd/hw/bare/registers.h"

namespace doorbell::emu::amdgpu {

struct SecurityState {
  u32 lag = 0;         // looks until an answer shows
  u64 next_part = 0;   // of the boot loader's steps
  u32 message_at = 0;  // in MiB
  bool is_alive = false;
  u64 ring = 0;
  u32 ring_bytes = 0, write_pointer = 0;
  u32 ring_low = 0, ring_high = 0, ring_size = 0;
  bool has_ring = false, has_tmr = false, has_started_graphics = false;
  u32 control_status = 0, wanted_tmr_bytes = 0;
  u64 compute_entry = 0, pfp_entry = 0, me_entry = 0;
  u32 partitions = 0;              // of the XCCs; 0: nobody said
  std::array<bool, 256> loaded{};  // by PspFirmware
};

struct CardState {
  static constexpr u32 kQueues = 8, kVmids = 16, kInstances = 8;
  static constexpr u64 kMagic = 0x33'64'72'61'63'62'64;  // "dbcard3"

  u64 magic = 0;  // kMagic once the card has been switched on
  // Of each instance of a block.
  std::array<std::array<u32, amd::hw::kRegisters>, kInstances> values{};
  std::array<std::array<std::array<u32, amd::hw::kHqdRegisters>, kQueues>, kInstances> queues{};
  // VMIDs whose SH_MEM_* are set.
  std::array<std::array<bool, kVmids>, kInstances> windows{};
  SecurityState security;
  std::array<bool, kInstances> has_begun{};  // the compute processor, at its entry
  bool has_pfp_begun = false, has_me_begun = false;
  std::array<bool, kInstances> is_translating{};  // the graphics hub was set up and invalidated
  std::array<bool, kInstances> is_held{};         // the memory hub's semaphore
  u32 invalidated = 0;  // a bit for each XCC whose hub was told, until all were
  u64 smu_table = 0;    // the driver's, of the memory controller
  u16 command = 0;      // of PCI
  u64 shown_bytes = 0;  // of its memory, by the region on the bus
  u32 mm_index = 0, mm_index_hi = 0;
  u32 interrupt_wptr = 0;  // bytes
};
static_assert(std::is_trivially_copyable_v<CardState>);

}  // namespace doorbell::emu::amdgpu
