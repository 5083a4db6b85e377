// The kernel's rules that the KFD door judges, each with where it stands. What the command
// processors judge is in emulator/amd/cp.
#pragma once

#include <array>

#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

// clang-format off
inline constexpr Check kVmAccess{"AMD-VM-001",
    "a GPU touches only memory that is mapped for it, as the mapping allows",
    "amdgpu gmc_v*_0.c process_interrupt(); kfd_events.c kfd_signal_vm_fault_event()"};
inline constexpr Check kVmAlloc{"AMD-VM-002",
    "memory is asked for in whole pages, to which the kernel rounds up, at the start of one, of "
    "one kind, a userptr where the process has memory",
    "amdgpu_amdkfd_gpuvm.c amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu(), kfd_chardev.c "
    "kfd_ioctl_alloc_memory_of_gpu()"};
inline constexpr Check kVmMap{"AMD-VM-003",
    "memory is mapped to GPUs whose address space the process has, and once to each: the kernel "
    "leaves what is mapped as it is",
    "kfd_chardev.c kfd_ioctl_map_memory_to_gpu(), kfd_ioctl_unmap_memory_from_gpu(); "
    "amdgpu_amdkfd_gpuvm.c amdgpu_amdkfd_gpuvm_map_memory_to_gpu(): entry->is_mapped"};
inline constexpr Check kVmFreeMapped{"AMD-VM-004",
    "memory is unmapped from every GPU before it is freed",
    "amdgpu_amdkfd_gpuvm.c amdgpu_amdkfd_gpuvm_free_memory_of_gpu(): -EBUSY"};
inline constexpr Check kVmFreeInUse{"AMD-VM-005",
    "the memory of a queue stays mapped until the queue is destroyed",
    "amdgpu_amdkfd_gpuvm.c: bo_va->queue_refcount, -EBUSY"};
inline constexpr Check kNoMemory{"AMD-VM-007",
    "memory that is asked for is there: a warning at most",
    "amdgpu_amdkfd_gpuvm.c amdgpu_amdkfd_reserve_mem_limit(): -ENOMEM"};
inline constexpr Check kHostMap{"AMD-VM-008",
    "mmap maps a buffer from its offset, shared, or all doorbells or remapped registers of a GPU",
    "drm_gem.c drm_gem_mmap(), ttm_bo_vm.c ttm_bo_mmap_obj(): -EINVAL; kfd_chardev.c kfd_mmap(): "
    "-ENODEV, kfd_doorbell.c kfd_doorbell_mmap(), kfd_mmio_mmap(): -EINVAL"};
inline constexpr Check kProcess{"AMD-KFD-001",
    "an ioctl is one that the driver has, with arguments that are memory of the process, on a GPU "
    "that exists and whose VM was acquired",
    "kfd_chardev.c kfd_ioctl(), kfd_process.c kfd_bind_process_to_device()"};
inline constexpr Check kNotEmulated{"AMD-KFD-002",
    "a program asks for nothing that only the real driver has: a warning at most",
    "docs/emulator.md \"What differs\""};
inline constexpr Check kRuntimeOrder{"AMD-KFD-003",
    "RUNTIME_ENABLE comes behind the first ACQUIRE_VM and before the first queue",
    "kfd_chardev.c runtime_enable(): -EEXIST with queues; it walks the process's devices, of which "
    "the debugger's clients hear; ROCr amd_topology.cpp Load()"};
inline constexpr Check kQueueArguments{"AMD-QUE-001",
    "percentage, priority, type and a ring that is a power of two",
    "kfd_chardev.c set_queue_properties_from_user()"};
inline constexpr Check kQueueBuffers{"AMD-QUE-002",
    "ring, read and write pointer, end-of-pipe buffer and save area are mapped, at the start of "
    "their buffer and in its size", "kfd_queue.c kfd_queue_acquire_buffers()"};
inline constexpr Check kQueueSizes{"AMD-QUE-003",
    "end-of-pipe buffer, control stack and save area have the sizes that the node tells",
    "kfd_queue.c kfd_queue_acquire_buffers(), kfd_queue_ctx_save_restore_size()"};
inline constexpr Check kQueueLife{"AMD-QUE-004",
    "a queue that is updated or destroyed exists, and there are no more than the driver takes",
    "kfd_process_queue_manager.c pqm_create_queue(), pqm_destroy_queue()"};
inline constexpr Check kQueueBusy{"AMD-QUE-007",
    "a queue has read all that was written before it is destroyed",
    "kfd_device_queue_manager.c destroy_queue_cpsch(): what is left in the ring is dropped"};
inline constexpr Check kQueueLeft{"AMD-QUE-005",
    "a process destroys its queues, frees its memory and ends without work in flight",
    "kfd_process.c kfd_process_notifier_release(): the driver cleans up what is left",
    Power::Full, Power::Partial};
inline constexpr Check kQueueStopped{"AMD-QUE-009",
    "a queue goes on until it is destroyed: no packet, instruction, fault or hang stops it; an "
    "error unless this name is given another level",
    "kfd_device_queue_manager.c evict_process_queues_cpsch(), reset_queues_on_hws_hang(); "
    "kfd_events.c kfd_signal_vm_fault_event(), kfd_signal_reset_event()",
    Power::Full, Power::Full, false, true};
inline constexpr Check kEventPage{"AMD-EVT-001",
    "the page of event slots is a GTT buffer of 4096 slots, set once before any event, never freed",
    "kfd_events.c kfd_kmap_event_page(), kfd_event_page_set(); kfd_chardev.c "
    "kfd_ioctl_free_memory_of_gpu(): -EPERM"};
inline constexpr Check kEventId{"AMD-EVT-002",
    "an event that is set, reset, waited for or destroyed exists, and is one that may be",
    "kfd_events.c kfd_set_event(), init_event_waiter()"};
inline constexpr Check kEventMailbox{"AMD-EVT-003",
    "an interrupt names an event, whose slot was written before",
    "kfd_events.c kfd_signal_event_interrupt(): else every slot is searched"};
inline constexpr Check kEventForever{"AMD-EVT-004",
    "somebody is left who can signal an event that is waited for without end",
    "kfd_events.c kfd_wait_on_events(): waits until a signal ends the process"};

inline constexpr std::array<const Check*, 21> kKfdChecks = {
    &kVmAccess, &kVmAlloc, &kVmMap, &kVmFreeMapped,
    &kVmFreeInUse, &kNoMemory, &kHostMap, &kProcess,
    &kNotEmulated, &kRuntimeOrder, &kQueueArguments,
    &kQueueBuffers, &kQueueSizes, &kQueueLife,
    &kQueueBusy, &kQueueLeft, &kQueueStopped, &kEventPage, &kEventId,
    &kEventMailbox, &kEventForever};
// clang-format on

}  // namespace doorbell::emu::amdgpu
