// Queues and events: CREATE_QUEUE to WAIT_EVENTS.
#include <cerrno>

#include <fmt/format.h>

#include "base/util/log.h"
#include "drivers/amd/kernel/pci/pci_kernel.h"
#include "drivers/amd/kernel/usb/shadow_memory.h"

namespace doorbell::amd {
namespace {

constexpr u64 kDoorbellStride = u64{1} << 32, kDoorbellBytes = 8;
constexpr u64 kMillisecond_ns = 1'000'000;

}  // namespace

int PciKernel::create_queue(hw::KfdCreateQueue& arguments) {
  Gpu* const gpu = find(arguments.gpu_id);
  if (gpu == nullptr || gpu->gpu == nullptr) return EINVAL;
  const bool is_copy = arguments.queue_type == hw::kKfdQueueSdma;
  const bool is_aql = arguments.queue_type == hw::kKfdQueueComputeAql;
  if (is_aql && gpu->gpu->is_remote())
    return refuse(ENOTSUP, "AQL queues behind USB: unset AMD_AQL, so that queues are of PM4");
  if (!is_copy && !is_aql && arguments.queue_type != hw::kKfdQueueCompute)
    return refuse(ENOTSUP, fmt::format("a queue of type {} over PCI", arguments.queue_type));
  Queue queue{.gpu = gpu, .is_copy = is_copy, .is_live = true};
  while (!is_copy && queue.slot < PciGpu::kComputeQueues &&
         (gpu->compute_queues >> queue.slot & 1) != 0)
    ++queue.slot;
  if (is_copy ? gpu->copy_queue : queue.slot == PciGpu::kComputeQueues)
    return refuse(ENOMEM, "all queues of the GPU over PCI are taken");
  const PciQueueMemory memory{.ring = arguments.ring_base_address,
                              .ring_bytes = arguments.ring_size,
                              .read_pointer = arguments.read_pointer_address,
                              .write_pointer = arguments.write_pointer_address,
                              .eop = arguments.eop_buffer_address,
                              .eop_bytes = arguments.eop_buffer_size,
                              .is_aql = is_aql};
  const Result<u32> doorbell =
      is_copy ? gpu->gpu->start_copy(memory) : gpu->gpu->start_compute(queue.slot, memory);
  if (!doorbell) return refuse(EIO, doorbell.error().message);
  if (is_copy)
    gpu->copy_queue = true;
  else
    gpu->compute_queues |= 1u << queue.slot;
  // Waves are not saved there.
  if (shadow_ != nullptr)
    for (const auto& [handle, allocated] : memories_)
      if (allocated->va == arguments.ctx_save_restore_address) shadow_->ignore(allocated->copy);
  u64 index = 0;
  while (gpus_[index].get() != gpu) ++index;
  arguments.doorbell_offset = index * kDoorbellStride + *doorbell * kDoorbellBytes;
  arguments.queue_id = queues_.empty() ? 1 : queues_.rbegin()->first + 1;
  queues_.emplace(arguments.queue_id, queue);
  return 0;
}

int PciKernel::destroy_queue(u32 id) {
  const auto found = queues_.find(id);
  if (found == queues_.end()) return EINVAL;
  const Queue queue = found->second;
  queues_.erase(found);
  // The end of the last one mends what went wrong: more of that is known before.
  if (queue.gpu->gpu->is_dirty()) take_interrupts();
  Result<void> stopped;
  if (queue.is_live)
    stopped =
        queue.is_copy ? queue.gpu->gpu->stop_copy() : queue.gpu->gpu->stop_compute(queue.slot);
  if (queue.is_copy)
    queue.gpu->copy_queue = false;
  else if (stopped)
    queue.gpu->compute_queues &= ~(1u << queue.slot);
  return stopped ? 0 : refuse(ETIME, stopped.error().message);
}

// A queue that is taken off the hardware has lost its waves: it does not go on.
int PciKernel::update_queue(const hw::KfdUpdateQueue& arguments) {
  const auto found = queues_.find(arguments.queue_id);
  if (found == queues_.end()) return EINVAL;
  Queue& queue = found->second;
  if (arguments.queue_percentage != 0)
    return queue.is_live ? 0 : refuse(ENOTSUP, "a stopped queue does not go on over PCI");
  if (!queue.is_live) return 0;
  queue.is_live = false;
  const Result<void> stopped =
      queue.is_copy ? queue.gpu->gpu->stop_copy() : queue.gpu->gpu->stop_compute(queue.slot);
  return stopped ? 0 : refuse(ETIME, stopped.error().message);
}

// ---- events -------------------------------------------------------------------------------------

int PciKernel::create_event(hw::KfdCreateEvent& arguments) {
  // Interrupts say what the mailboxes do.
  if (const auto page = memories_.find(arguments.event_page_offset);
      shadow_ != nullptr && page != memories_.end())
    shadow_->ignore(page->second->copy);
  u32 id = 1;
  while (events_.contains(id)) ++id;
  if (id >= hw::kKfdSignalEventLimit) return ENOSPC;
  events_[id] = {.type = arguments.event_type, .auto_reset = arguments.auto_reset != 0};
  arguments.event_id = arguments.event_trigger_data = arguments.event_slot_index = id;
  return 0;
}

PciKernel::Event* PciKernel::first_of(u32 type) {
  for (auto& [id, event] : events_)
    if (event.type == type) return &event;
  return nullptr;
}

void PciKernel::take_interrupts() {
  for (const auto& gpu : gpus_)
    if (gpu->gpu != nullptr)
      for (const hw::InterruptEntry& entry : gpu->gpu->take_interrupts())
        take_interrupt(*gpu, entry);
}

// [kfd_int_process_v11.c event_interrupt_wq_v11(); gmc_v11_0.c gmc_v11_0_process_interrupt()]
void PciKernel::take_interrupt(Gpu& gpu, const hw::InterruptEntry& entry) {
  const hw::InterruptSources sources = gpu.gpu->interrupt_sources();
  const bool is_trap = entry.client == sources.copy_client && entry.source == sources.copy_source;
  if (is_trap || (entry.client == hw::kClientGrbmCp && entry.source == hw::kSourceEndOfPipe)) {
    const u32 id = is_trap ? entry.context0 & hw::kCopyTrapContext : entry.context0;
    if (const auto event = events_.find(id); event != events_.end())
      event->second.is_signalled = true;
    return;
  }
  gpu.gpu->mark_dirty();
  if (entry.client == sources.fault_client && entry.source == sources.fault_source) {
    Event* const event = first_of(hw::kKfdEventMemory);
    if (event == nullptr) return;
    const hw::FaultStatus status = gpu.gpu->take_fault();
    event->memory = {};
    event->memory.gpu_id = gpu.number;
    event->memory.va = u64{entry.context0} << 12 | u64{entry.context1 & 0xf} << 44;
    event->memory.not_present = (status.permission_faults & hw::kFaultValid) != 0 ? 1 : 0;
    event->memory.read_only = (status.permission_faults & hw::kFaultWrite) != 0 ? 1 : 0;
    event->memory.no_execute = (status.permission_faults & hw::kFaultExecute) != 0 ? 1 : 0;
    event->is_signalled = true;
    return;
  }
  log().warn("GPU {}: interrupt of client {}, source {}, contexts {:#x} {:#x}",
             gpu.description.id.address, entry.client, entry.source, entry.context0,
             entry.context1);
  Event* const event = first_of(hw::kKfdEventHwException);
  if (event == nullptr) return;
  event->exception = {};
  event->exception.gpu_id = gpu.number;
  event->exception.reset_cause = hw::kKfdResetGpuHang;
  event->is_signalled = true;
}

// What a waiter learns of an event that is signalled. [kfd_events.c copy_signaled_event_data()]
void PciKernel::tell_event(hw::KfdEventData& data) {
  Event& event = events_.at(data.event_id);
  if (!event.is_signalled) return;
  if (event.type == hw::kKfdEventMemory) data.memory_exception = event.memory;
  if (event.type == hw::kKfdEventHwException) data.hw_exception = event.exception;
  if (event.auto_reset) event.is_signalled = false;
}

int PciKernel::wait_events(hw::KfdWaitEvents& arguments) {
  auto* const data = reinterpret_cast<hw::KfdEventData*>(arguments.events_ptr);
  const u64 end = clock_.now_ns() + arguments.timeout * kMillisecond_ns;
  for (u32 turn = 0;; ++turn) {
    {
      std::lock_guard lock(mutex_);
      take_interrupts();
      if (const Result<void> exchanged = exchange(); !exchanged)
        return refuse(errno_of(exchanged.error()), exchanged.error().message);
      u32 signalled = 0;
      for (u32 i = 0; i < arguments.num_events; ++i) {
        const auto found = events_.find(data[i].event_id);
        if (found == events_.end()) return turn == 0 ? EINVAL : EIO;
        signalled += found->second.is_signalled ? 1 : 0;
      }
      if (arguments.wait_for_all != 0 ? signalled == arguments.num_events : signalled != 0) {
        for (u32 i = 0; i < arguments.num_events; ++i) tell_event(data[i]);
        arguments.wait_result = hw::kKfdWaitComplete;
        return 0;
      }
    }
    if (clock_.now_ns() >= end) {
      arguments.wait_result = hw::kKfdWaitTimeout;
      return 0;
    }
    clock_.relax(turn);
  }
}

}  // namespace doorbell::amd
