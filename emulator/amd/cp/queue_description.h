// What a queue of an emulated GPU is made of: the arguments that the kernel driver takes from
// CREATE_QUEUE, already validated by emulator/amd/kfd. How the words in the ring are read is for
// the processors of this folder.
#pragma once

#include <optional>
#include <string>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

enum class QueueKind : u8 { Pm4, Aql, Sdma };

// Numbered by the kernel door, unique per GPU; a number is never used for a second queue.
using QueueId = u32;

// Addresses are the GPU's.
struct QueueDescription {
  QueueKind kind = QueueKind::Pm4;
  u64 ring = 0, ring_bytes = 0;
  u64 read_pointer = 0, write_pointer = 0;  // of 64-bit cells
  u64 eop = 0, eop_bytes = 0;
  u64 context_save = 0, context_save_bytes = 0, control_stack_bytes = 0;
  u32 priority = 7;
  u32 target_xcc = 0;         // of the partition: where a PM4 queue runs
  bool wave_sync = false;     // its process has the GPU's global wave sync, by this queue
  std::optional<u32> number;  // the kernel's name for it, for reports; else the GPU's QueueId
  u32 percentage = 100;       // 0: the queue is mapped to no hardware and stands still
  // The bytes of the doorbell in the client's page. Where nobody can trap the client's store, the
  // GPU's thread polls here (host memory, borrowed until the queue is removed); else null, and
  // Gpu::ring() brings the value.
  const volatile u64* polled_doorbell = nullptr;
};

// What the kernel hands to a client that waits for KFD_EVENT_MEMORY.
struct MemoryFault {
  QueueId queue = 0;
  u64 va = 0;
  bool not_present = false, read_only = false, no_execute = false, imprecise = false;
  std::string what;  // who touched it: packet or kernel, PC, lane, and the buffer's history
};

// What the kernel hands to a client that waits for KFD_EVENT_HW_EXCEPTION.
struct HwException {
  enum class Cause : u8 { Packet, Instruction, Other };
  QueueId queue = 0;
  std::string what;
  Cause cause = Cause::Packet;
  bool told = false;    // the queue's client has heard of it from the queue: nothing is reset
  bool judged = false;  // a rule at error stopped the queue, and its report says why
};

// The way from a GPU to the kernel's interrupt handler.
//
// Thread safety: called from the GPU's thread (free-running) or from whoever calls run_until_idle()
// (lockstep), without a lock of the GPU held: the callee may call the Gpu.
class Interrupts {
 public:
  virtual ~Interrupts() = default;
  // An end-of-pipe or copy engine interrupt; the low `valid_bits` of context_id are the event that
  // kfd_signal_event_interrupt() looks up. [amdkfd/kfd_int_process_v11.c: 32 from the CP, 28 from
  // SDMA]
  virtual void signal(u32 context_id, unsigned valid_bits) = 0;
  // The queue has stopped for good.
  virtual void memory_fault(const MemoryFault& fault) = 0;
  virtual void hw_exception(const HwException& exception) = 0;
};

}  // namespace doorbell::emu::amdgpu
