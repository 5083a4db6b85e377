// The rules that the command processors judge, each with where it is written. `trapped` and
// `polled` say how surely the two doors to a doorbell see it broken.
#pragma once

#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

// ---- doorbells: what a client announces
inline constexpr Check kDoorbellStore{
    "AMD-DB-001", "a doorbell is rung with one 64-bit store",
    "linux kfd_doorbell.c kfd_doorbell_process_slice (8 bytes each since gfx9); ROCr kfdtest "
    "PM4Queue::SubmitPacket",
    Power::Full, Power::None};
inline constexpr Check kDoorbellWritePointer{
    "AMD-DB-002",
    "the write pointer in memory holds what the doorbell announces, written before it",
    "ROCr amd_blit_sdma.cpp UpdateWriteAndDoorbellRegister; kfdtest PM4Queue::SubmitPacket; the "
    "scheduler reads the pointer in memory when it maps the queue again "
    "(linux kfd_mqd_manager_v11.c, cp_hqd_pq_wptr_poll_addr)",
    Power::Full, Power::Partial};
inline constexpr Check kDoorbellBackwards{"AMD-DB-003", "doorbell values do not go back",
                                          "HSA runtime 1.2, 2.8.3 User Mode Queue", Power::Full,
                                          Power::Partial};
inline constexpr Check kDoorbellOverrun{
    "AMD-DB-004", "packets not yet read are not overwritten",
    "kfdtest BaseQueue::PlacePacket; ROCr amd_blit_sdma.cpp CanWriteUpto (full when all but one "
    "byte is written); HSA runtime 1.2, 2.8.3"};
inline constexpr Check kDoorbellOfNobody{"AMD-DB-005",
                                         "a doorbell that is rung belongs to a queue that lives",
                                         "linux kfd_doorbell.c: the doorbell belongs to the queue "
                                         "until DESTROY_QUEUE; under MES and HWS "
                                         "the range of a queue is the queue's alone",
                                         Power::Full, Power::None};
inline constexpr Check kDoorbellUnits{
    "AMD-DB-006", "a copy queue's doorbell is in bytes, whole words of them",
    "kfdtest SDMAQueue::SubmitPacket (write pointers are saved in bytes)"};

// ---- rings and indirect buffers
inline constexpr Check kPacketCut{"AMD-RING-001",
                                  "a packet ends within what the doorbell announced",
                                  "nvd.h PACKET3: count is the words after the header, less one"};
inline constexpr Check kPacketSize{"AMD-RING-002", "a packet has the words that its opcode needs",
                                   "nvd.h, soc15d.h: the lists of words beside the opcodes"};
inline constexpr Check kReservedBits{
    "AMD-RING-003", "reserved bits are zero",
    "nvd.h, soc15d.h, sdma_v6_0_0_pkt_open.h: the fields; all else is reserved"};
inline constexpr Check kPredInRing{
    "AMD-RING-004", "PRED_EXEC stands in indirect buffers only",
    "tinygrad ops_amd.py AMDComputeQueue._submit; ROCr amd_aql_queue.cpp ExecutePM4"};
inline constexpr Check kIbMapping{"AMD-IB-001", "an indirect buffer lies in one mapping",
                                  "linux amdgpu_cs.c amdgpu_cs_p2_ib, amdgpu_cs_patch_ibs"};
inline constexpr Check kIbNesting{
    "AMD-IB-002", "indirect buffers nest once: a ring calls IB1, IB1 calls IB2",
    "Mesa src/amd/common/ac_cmdbuf; kfd_mqd: CP_HQD_IB_CONTROL has one level below"};
inline constexpr Check kIbSdmaSize{
    "AMD-IB-003",
    "an SDMA indirect buffer has a multiple of 8 words, and so has where it is called",
    "linux sdma_v6_0.c sdma_v6_0_ring_emit_ib (IB packet must end on a 8 DW boundary), "
    "sdma_v6_0_ring_pad_ib"};
inline constexpr Check kIbChanged{
    "AMD-IB-004",
    "an indirect buffer stays as it is from the doorbell until the packets behind it have run",
    "linux amdgpu_ib.c: an IB is reused after its fence. Between doorbell and call in adversarial "
    "mode (announcements.h)"};
inline constexpr Check kIbValid{"AMD-IB-005", "INDIRECT_BUFFER has its VALID bit and a size",
                                "nvd.h INDIRECT_BUFFER_VALID"};
inline constexpr Check kIbUser{
    "AMD-IB-006", "a user queue's indirect buffer names no VMID and no privilege",
    "linux gfx_v11_0.c gfx_v11_0_ring_emit_ib_compute (the VMID is for the kernel's own rings; a "
    "user queue's is CP_HQD_VMID); ROCr amd_aql_queue.cpp ExecutePM4 leaves both 0"};
inline constexpr Check kIbChain{
    "AMD-IB-007", "CHAIN stands in indirect buffers only: who jumps from a ring comes back",
    "Mesa radv_amdgpu_cs.c radv_amdgpu_cs_chain, sid.h S_3F3_CHAIN; ROCr ExecutePM4"};
inline constexpr Check kIbExecutable{
    "AMD-IB-008", "an indirect buffer lies in memory that may be executed",
    "ROCr amd_aql_queue.cpp pm4_ib_buf_, amd_blit_sdma.cpp queue_start_addr_ (AllocateExecutable); "
    "Mesa radv_amdgpu_bo.c (AMDGPU_VM_PAGE_EXECUTABLE)"};

// ---- end of pipe
inline constexpr Check kEopBuffer{
    "AMD-EOP-001", "a queue that releases memory has an end-of-pipe buffer",
    "linux kfd_queue.c kfd_queue_acquire_buffers; tinygrad ops_amd.py AMDComputeQueue.signal"};
inline constexpr Check kEopEvent{
    "AMD-EOP-002", "RELEASE_MEM has a timestamp event with index 5, or CS_DONE with index 6",
    "kfd_pm4_headers_ai.h mec_release_mem_event_index_enum; Mesa sid.h EVENT_INDEX"};
inline constexpr Check kEopSelect{
    "AMD-EOP-003", "an interrupt only has DATA_SEL 0; data that waits for a confirmation is data",
    "nvd.h PACKET3_RELEASE_MEM_INT_SEL (1: interrupt only, DATA_SEL = 0); kfd_pm4_headers_ai.h "
    "mec_release_mem_int_sel_enum (3: data after write confirm)"};
inline constexpr Check kEopAlignment{
    "AMD-EOP-004", "data of 4 bytes goes to a multiple of 4, of 8 bytes to one of 8",
    "kfd_pm4_headers_ai.h pm4_mec_release_mem address_lo_32b, address_lo_64b"};
inline constexpr Check kEopOncePerXcc{
    "AMD-EOP-005", "a partition of several XCCs releases once, under PRED_EXEC",
    "tinygrad ops_amd.py AMDComputeQueue.signal (pred_exec); soc15d.h "
    "PACKET3_PRED_EXEC__VIRTUAL_XCC_ID_SELECT"};
inline constexpr Check kEventIndex{"AMD-EOP-006", "an event has the index that its kind needs",
                                   "nvd.h EVENT_INDEX (4: *S_PARTIAL_FLUSH)"};

// ---- what is in flight
inline constexpr Check kQueueInFlight{
    "AMD-QUE-008", "a queue's waves have retired before it is destroyed",
    "linux kfd_device_queue_manager.c destroy_queue_cpsch(), unmap_queues_cpsch(): the waves are "
    "preempted, and never go on"};
inline constexpr Check kMemoryInFlight{
    "AMD-VM-006", "code, arguments and scratch of a kernel in flight stay mapped",
    "HSA runtime 1.2, 2.10 kernarg_address, kernel_object: until the dispatch completes"};
inline constexpr Check kEndless{
    "AMD-LIVE-001", "waves come to their end",
    "linux kfd_device_queue_manager.c reset_queues_on_hws_hang(), kfd_events.c "
    "kfd_signal_reset_event(): the GPU is reset, KFD_EVENT_TYPE_HW_EXCEPTION"};

// ---- copy engines
inline constexpr Check kSdmaCount{
    "AMD-SDMA-001", "a copy or fill is not longer than the engine's count allows",
    "vega10_sdma_pkt_open.h COPY_LINEAR_COUNT (22 bits, 4.x), sdma_v6_0_0_pkt_open.h (30 bits); "
    "tinygrad ops_amd.py max_copy_size (0x400000 before 5.0)"};
inline constexpr Check kSdmaAlignment{
    "AMD-SDMA-002", "fences, polls and writes go to whole words, timestamps to 8 bytes",
    "sdma_v6_0_0_pkt_open.h FENCE_ADDR_LO, POLL_REGMEM_ADDR_LO"};
inline constexpr Check kSdmaPoll{
    "AMD-SDMA-003", "a poll waits as long as it takes: its retry count is 0xfff",
    "linux sdma_v6_0.c sdma_v6_0_wait_reg_mem; sdma_v6_0_0_pkt_open.h POLL_REGMEM_DW5"};
inline constexpr Check kSdmaOverlap{"AMD-SDMA-004", "source and target of a copy do not overlap",
                                    "linux amdgpu_ttm_copy_mem_to_mem: buffers differ; the "
                                    "engine's order within a copy is its own"};
inline constexpr Check kSdmaPhysical{
    "AMD-SDMA-005", "a user queue's fence has a virtual address: GPA is 0",
    "sdma_v6_0_0_pkt_open.h SDMA_PKT_FENCE_HEADER; linux sdma_v6_0.c sdma_v6_0_ring_emit_fence"};
inline constexpr Check kSdmaFlush{
    "AMD-SDMA-006", "a poll of memory is no flush of the host data path",
    "sdma_v6_0_0_pkt_open.h SDMA_PKT_POLL_REGMEM_HEADER; linux sdma_v6_0.c "
    "sdma_v6_0_ring_emit_hdp_flush (MEM_POLL 0), sdma_v6_0_ring_emit_pipeline_sync (HDP_FLUSH 0)"};
inline constexpr Check kSdmaWrap{
    "AMD-SDMA-007", "a packet of a user queue does not go round the end of the ring",
    "ROCr amd_blit_sdma.cpp AcquireWriteAddress, PadRingToEnd; kfdtest BaseQueue::PlacePacket; "
    "tinygrad ops_amd.py AMDCopyQueue._submit: all fill the rest with NOPs. Engines do read on at "
    "the start, as the kernel's own rings have it (linux amdgpu_ring.h amdgpu_ring_write)"};

// ---- dispatches
inline constexpr Check kDispatchEntry{
    "AMD-DISP-001", "a kernel starts at a multiple of 256",
    "COMPUTE_PGM_LO holds address >> 8; LLVM AMDGPUUsage kernel_code_entry_byte_offset"};
inline constexpr Check kDispatchGroup{
    "AMD-DISP-002", "a work group has 1 to 1024 items in each dimension and in all",
    "HSA PRM 1.2, 4.2.5 workgroup size; Mesa radv max_workgroup_invocations"};
inline constexpr Check kDispatchRsrc{
    "AMD-DISP-003", "RSRC1, 2 and 3 are the kernel descriptor's, but for LDS size and PRIV",
    "LLVM AMDGPUUsage, compute_pgm_rsrc1/2/3"};
inline constexpr Check kDispatchUserData{
    "AMD-DISP-004", "the user SGPRs of another kernel than the last were written for it",
    "COMPUTE_USER_DATA_* persist: what is not written is the previous kernel's"};
inline constexpr Check kDispatchWave{
    "AMD-DISP-005", "CS_W32_EN is what the kernel descriptor enables",
    "LLVM AMDGPUUsage ENABLE_WAVEFRONT_SIZE32; gc_11_0_0_sh_mask.h COMPUTE_DISPATCH_INITIATOR"};
inline constexpr Check kDispatchInherited{
    "AMD-DISP-006", "program, resources and group size were written before the first dispatch",
    "the queue's registers start as zeros: linux kfd_mqd_manager_v11.c init_mqd"};
inline constexpr Check kDispatchScratch{
    "AMD-DISP-007", "a kernel with private memory has a scratch ring that covers it",
    "COMPUTE_TMPRING_SIZE WAVESIZE, WAVES; ROCr amd_aql_queue.cpp FillComputeTmpRingSize, "
    "FillComputeTmpRingSize_Gfx11 (WAVES of each shader engine)"};
inline constexpr Check kDispatchEnable{"AMD-DISP-008", "DISPATCH_INITIATOR has COMPUTE_SHADER_EN",
                                       "gc_11_0_0_sh_mask.h COMPUTE_DISPATCH_INITIATOR"};
inline constexpr Check kDispatchLds{
    "AMD-DISP-009", "LDS is at least what the descriptor says",
    "LLVM AMDGPUUsage group_segment_fixed_size, GRANULATED_LDS_SIZE"};
inline constexpr Check kDispatchLdsLimit{
    "AMD-DISP-010", "LDS is at most what a compute unit gives a work group",
    "LLVM AMDGPUUsage GRANULATED_LDS_SIZE: units of 512 bytes, 1280 on gfx950; "
    "AMDGPU.td FeatureAddressableLocalMemorySize"};

// ---- AQL packets
inline constexpr Check kAqlHeader{
    "AMD-AQL-001", "a packet has a known type, defined fence scopes and zero reserved fields",
    "HSA runtime 1.2, 2.9 AQL packets"};
inline constexpr Check kAqlSetup{"AMD-AQL-002",
                                 "a dispatch has 1 to 3 dimensions, unused sizes are 1",
                                 "HSA runtime 1.2, hsa_kernel_dispatch_packet_t"};
inline constexpr Check kAqlSegments{
    "AMD-AQL-003", "private and group segments are at least what the descriptor says",
    "LLVM AMDGPUUsage kernel descriptor; HSA runtime 1.2, hsa_kernel_dispatch_packet_t"};
inline constexpr Check kAqlSignal{
    "AMD-AQL-004", "a signal lies at a multiple of 64, and its event mailbox at one of 8",
    "ROCr amd_hsa_signal.h AMD_SIGNAL_ALIGN_BYTES, event_mailbox_ptr"};
inline constexpr Check kAqlVendor{
    "AMD-AQL-005", "a vendor packet counts the 10 words behind its jump",
    "ROCr amd_aql_queue.cpp ExecutePM4 (dw_cnt_remain = 0xa); tinygrad ops_amd.py "
    "AMDComputeAQLQueue"};
inline constexpr Check kAqlPacketReused{
    "AMD-AQL-006", "a packet stays as it is while its kernel may read it by the dispatch pointer",
    "LLVM AMDGPUUsage, Dispatch Ptr (the packet of the kernel that executes). A warning at most: "
    "the read index has given the slot back, HSA runtime 1.2, 2.8"};

// ---- waits
inline constexpr Check kNarrowWait{
    "AMD-WAIT-001", "a count that is waited for by 32 bits has not passed 2^32: a warning at most",
    "nvd.h PACKET3_WAIT_REG_MEM, sdma_v6_0_0_pkt_open.h POLL_REGMEM_DW3: reference and value have "
    "32 bits"};

inline constexpr Check kAqlQueueChanged{
    "AMD-AQL-007",
    "a queue's scratch changes only before its first doorbell, or while the queue is off the "
    "hardware",
    "ROCr amd_aql_queue.cpp AsyncReclaimMainScratch: \"CP FW only updates its copy of amd_queue_ "
    "(scratch_copy) on queue_connect\"; AqlQueue(): InitScratchSRD() behind CreateQueue()"};

// ---- writes of the command processor, judged in adversarial mode (posted_writes.h)
inline constexpr Check kUnconfirmed{
    "AMD-WRITE-001",
    "what WRITE_DATA, COPY_DATA or DMA_DATA wrote without a confirmation is used by its queue only "
    "behind a confirmed write or an end of pipe",
    "soc15d.h PACKET3_WRITE_DATA__WR_CONFIRM__DO_NOT_WAIT_FOR_WRITE_CONFIRMATION, "
    "PACKET3_COPY_DATA__WR_CONFIRM__DO_NOT_WAIT_FOR_CONFIRMATION; GPUOpen-Drivers/pal "
    "gfx12Barrier.cpp WriteTimestampSync (a confirmed write is behind all before it)"};

// ---- kernel arguments
inline constexpr Check kArgumentAlignment{"AMD-ARG-001",
                                          "kernel arguments start at a multiple of 16",
                                          "HSA runtime 1.2, kernarg_address (at least 16); LLVM "
                                          "AMDGPUUsage .kernarg_segment_align: compilers count on "
                                          "it, however the kernel is launched"};
inline constexpr Check kArgumentMapped{
    "AMD-ARG-002", "kernel arguments are mapped as far as the descriptor's kernarg_size",
    "LLVM AMDGPUUsage kernarg_size"};
inline constexpr Check kArgumentChanged{
    "AMD-ARG-003", "kernel arguments stay as they are from the doorbell until the dispatch retires",
    "HSA runtime 1.2, hsa.h kernarg_address: not modified once the packet is enqueued until the "
    "dispatch has completed. From doorbell to launch in adversarial mode, but for what the GPU "
    "writes and what stands behind a wait of the queue that does not hold yet (announcements.h)"};

// ---- what a kernel was given, judged where waves run (compute/grid.h)
inline constexpr Check kBeyondRegisters{
    "AMD-RES-001", "a kernel names only registers that its descriptor allocates",
    "RDNA3 ISA 3.3.2.2, CDNA3 ISA 3.6.1: what is out of range reads VGPR0 or is not executed; LLVM "
    "AMDGPUUsage GRANULATED_WORKITEM_VGPR_COUNT, GRANULATED_WAVEFRONT_SGPR_COUNT"};
inline constexpr Check kBeyondLds{
    "AMD-RES-002", "a kernel stays within its group's LDS",
    "RDNA3 ISA 3.3.4.1, RDNA4 ISA 3.3.5.1, CDNA3 ISA 3.6.1: reads are 0, writes are dropped, a "
    "memory violation where LDS_CONFIG reports it"};
inline constexpr Check kBeyondScratch{
    "AMD-RES-003", "a work item stays within its private segment",
    "LLVM AMDGPUUsage private_segment_fixed_size, COMPUTE_TMPRING_SIZE WAVESIZE: the next wave's "
    "is behind it"};
inline constexpr Check kAtomicAlignment{
    "AMD-RES-004",
    "an atomic operation's address is a multiple of its size: at every level the wave stops",
    "RDNA3 ISA 3.3.3, 3.3.4.1, RDNA4 ISA 9.5: else a memory violation"};
inline constexpr Check kBarrierDeadlock{
    "AMD-BAR-001",
    "the waves of a group come to the barriers that others wait at: at every level the queue stops",
    "RDNA4 ISA, Work-group barriers: a wait ends when all waves that live have signalled; linux "
    "kfd_device_queue_manager.c reset_queues_on_hws_hang()"};

// ---- undefined values, judged where they are asked for (isa/shadow/twin.h)
inline constexpr Check kUndefinedAddress{
    "AMD-INI-001",
    "the addresses that a kernel accesses are made of values that were written",
    "LLVM AMDGPUUsage \"Initial Kernel Execution State\": registers that it does not list, LDS and "
    "scratch hold anything; LangRef: an access through undef or poison",
    Power::Full,
    Power::Full,
    true};
inline constexpr Check kUndefinedBranch{
    "AMD-INI-002",
    "where a kernel goes is decided by values that were written",
    "LLVM LangRef: a branch on undef or poison; AMDGPUUsage \"Initial Kernel Execution State\"",
    Power::Full,
    Power::Full,
    true};
inline constexpr Check kUndefinedLanes{
    "AMD-INI-003",
    "which lanes are active is decided by values that were written",
    "LLVM LangRef: a branch on undef or poison, of which EXEC is the divergent form",
    Power::Full,
    Power::Full,
    true};
inline constexpr Check kUndefinedOperand{
    "AMD-INI-004",
    "indices of registers and lanes, messages and modes are values that were written",
    "RDNA3 ISA, v_readlane, v_movrels, s_sendmsg, s_setreg: the operand that is not data",
    Power::Full,
    Power::Full,
    true};

inline constexpr Check kUndefinedResult{
    "AMD-INI-005",
    "what a copy engine brings to the host's memory was written",
    "LLVM LangRef, undef: what is read of it may be anything, each time anew; valgrind's memcheck, "
    "parameters of write()",
    Power::Full,
    Power::Full,
    true};

// ---- caches, judged in adversarial mode (caches.h)
inline constexpr Check kStaleVector{
    "AMD-CACHE-001", "a kernel invalidates the vector cache before it loads what others wrote",
    "LLVM AMDGPUUsage memory model; Mesa si_gfx_cs/radv gfx10_cs_emit_cache_flush GLV_INV, "
    "TCL1_ACTION_ENA"};
inline constexpr Check kStaleGl1{"AMD-CACHE-002",
                                 "a kernel invalidates GL1 before it loads what others wrote",
                                 "Mesa gfx10_cs_emit_cache_flush GL1_INV"};
inline constexpr Check kStaleScalar{
    "AMD-CACHE-003", "a kernel invalidates the scalar cache before it loads what others wrote",
    "Mesa gfx10_cs_emit_cache_flush GLK_INV, SH_KCACHE_ACTION_ENA"};
inline constexpr Check kStaleInstructions{
    "AMD-CACHE-004", "new code is run after the instruction cache is invalidated",
    "Mesa gfx10_cs_emit_cache_flush GLI_INV, SH_ICACHE_ACTION_ENA"};
inline constexpr Check kStaleL2{
    "AMD-CACHE-005",
    "the L2 is invalidated before a kernel loads what host, copy engine or another "
    "GPU wrote behind it",
    "Mesa gfx10_cs_emit_cache_flush GL2_INV, TC_ACTION_ENA"};
inline constexpr Check kDirtyL2{
    "AMD-CACHE-006", "the L2 is written back before another client reads what a kernel wrote",
    "Mesa gfx10_cs_emit_cache_flush GL2_WB, TC_WB_ACTION_ENA"};

}  // namespace doorbell::emu::amdgpu
