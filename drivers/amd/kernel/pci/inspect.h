// What a GPU without a kernel driver is doing, by its registers and its memory alone, whoever
// started it, and whether or not it answers: translations, queues, interrupts, firmware. Nothing
// here changes the GPU's state, but for the selection of a queue, which is put back.
//
// Thread safety: the caller holds the GPU, see PciGpu::look().
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "drivers/amd/hw/bare/interrupts.h"
#include "drivers/amd/hw/bare/mqd.h"
#include "drivers/amd/hw/stream/stream.h"
#include "drivers/amd/kernel/pci/register_access.h"

namespace doorbell::amd {

// The GPU's registers and the host's view of its memory.
struct BareView {
  const RegisterAccess& registers;
  os::DeviceMemory vram;
};

// ---- translations of VMID 0, as the graphics hub has them ---------------------------------------
struct WalkStep {
  unsigned level = 0;
  u64 table = 0, index = 0, bits = 0;  // an entry of the table at that offset of the memory
};
struct PageWalk {
  std::vector<WalkStep> steps;
  // Where the address leads; empty: nowhere, and `ends` says why.
  struct Target {
    bool is_system = false;
    u64 address = 0;     // of the address asked for: on the bus, or in the GPU's memory
    u64 page_bytes = 0;  // of the page that has it
  };
  std::optional<Target> target;
  const char* ends = "";
};
PageWalk walk_pages(const BareView& view, u64 va);

// Bytes at a GPU address. What lies on the bus is asked of `host`, which may not know it. Empty:
// not all of it can be read.
using HostByte = std::function<const u8*(u64 bus_address)>;
std::optional<std::vector<u8>> read_memory(const BareView& view, u64 va, u64 bytes,
                                           const HostByte& host);

// ---- queues -------------------------------------------------------------------------------------
struct QueueView {
  hw::StreamKind kind = hw::StreamKind::Pm4;
  bool is_active = false;
  u32 doorbell = 0;  // in 32-bit words
  bool has_doorbell = false;
  u64 ring = 0, ring_bytes = 0, eop = 0, descriptor = 0;  // GPU addresses; the last of the memory
                                                          // controller
  u64 read_pointer_at = 0, write_pointer_at = 0;
  // As the registers have the pointers: in words, of SDMA in bytes, of AQL in packets.
  u64 read_register = 0, write_register = 0;
};
// Registers from CP_MQD_BASE_ADDR on, of a queue of the first pipe.
std::array<u32, hw::kHqdRegisters> read_queue_registers(const RegisterAccess& registers, u32 queue);
QueueView read_compute_queue(const RegisterAccess& registers, u32 queue);
QueueView read_copy_queue(const RegisterAccess& registers);

// The queue's pointers in words from the ring's beginning, by the memory where they are kept, else
// by registers; and the words between them.
struct RingView {
  u64 read = 0, write = 0;
  bool is_by_memory = false;
  std::optional<std::vector<u32>> unread;  // empty: the ring cannot be read from here
};
RingView read_ring(const BareView& view, const QueueView& queue, const HostByte& host);

// ---- interrupts ---------------------------------------------------------------------------------
struct InterruptsView {
  bool is_enabled = false, has_lost = false;
  u64 ring = 0, ring_bytes = 0;                    // of the memory controller
  u32 read = 0, write = 0;                         // bytes
  std::vector<hw::InterruptEntry> waiting, taken;  // oldest first; of those taken the last ones
};
InterruptsView read_interrupts(const BareView& view, usize most_taken);

// ---- firmware -----------------------------------------------------------------------------------
struct FirmwareState {
  bool is_psp_alive = false, has_psp_ring = false, has_started_graphics = false;
  bool is_compute_running = false, is_copy_running = false;
  u32 owner = 0, live = 0;           // SCRATCH_REG7 and 6
  std::optional<u32> power_version;  // of the power controller, where it was asked
};
// `asks`: the power controller is sent a message.
FirmwareState read_firmware_state(const RegisterAccess& registers, bool asks);

}  // namespace doorbell::amd
