// AQL: packets of 64 bytes that the command processor reads itself, and the structures of memory
// that it shares with who submits. A packet's first 16 bits are written last: they hand it over.
#pragma once

#include <array>
#include <string_view>

#include "base/bits/record.h"

namespace doorbell::amd::hw {

inline constexpr u32 kAqlPacketBytes = 64;

// [HSA Runtime 1.2 section 2.9.1; hsa.h hsa_packet_type_t]
enum class AqlType : u8 {
  VendorSpecific,
  Invalid,
  KernelDispatch,
  BarrierAnd,
  AgentDispatch,
  BarrierOr
};
std::string_view name_of(AqlType type);

// [hsa.h hsa_fence_scope_t]
enum class FenceScope : u8 { None, Agent, System };
std::string_view name_of(FenceScope scope);

// The 16 bits that all packets begin with.
// [HSA Runtime 1.2 section 2.9.2; hsa.h hsa_packet_header_t and _width_t]
struct AqlHeader {
  static constexpr u32 kWords = 1;
  AqlType type = AqlType::Invalid;
  bool barrier = false;  // begins when all packets before it have completed
  FenceScope acquire = FenceScope::None, release = FenceScope::None;
  static constexpr void fields(auto& p, auto f) {
    f("type", word(0, 7, 0), p.type);
    f("barrier", word(0, 8, 8), p.barrier);
    f("acquire", word(0, 10, 9), p.acquire);
    f("release", word(0, 12, 11), p.release);
  }
};
static_assert(sound<AqlHeader>());

// Kernel dispatch: acquire fence; for every work group of the grid, run kernel_object(*kernarg);
// release fence; completion_signal.value -= 1 when there is one.
// [HSA Runtime 1.2 section 2.9.6; hsa.h hsa_kernel_dispatch_packet_t]
struct KernelDispatchPacket {
  static constexpr u32 kWords = 16;
  AqlType type = AqlType::KernelDispatch;
  bool barrier = false;
  FenceScope acquire = FenceScope::System, release = FenceScope::System;
  u8 dimensions = 3;
  u16 workgroup_size_x = 1, workgroup_size_y = 1, workgroup_size_z = 1;
  u32 grid_size_x = 1, grid_size_y = 1, grid_size_z = 1;  // in work-items
  u32 private_segment_size = 0, group_segment_size = 0;
  u64 kernel_object = 0;  // of the kernel descriptor
  u64 kernarg_address = 0;
  u64 completion_signal = 0;
  static constexpr void fields(auto& p, auto f) {
    f("type", word(0, 7, 0), p.type);
    f("barrier", word(0, 8, 8), p.barrier);
    f("acquire", word(0, 10, 9), p.acquire);
    f("release", word(0, 12, 11), p.release);
    f("dimensions", word(0, 17, 16), p.dimensions);
    f("workgroup_size_x", word(1, 15, 0), p.workgroup_size_x);
    f("workgroup_size_y", word(1, 31, 16), p.workgroup_size_y);
    f("workgroup_size_z", word(2, 15, 0), p.workgroup_size_z);
    f("grid_size_x", word(3), p.grid_size_x);
    f("grid_size_y", word(4), p.grid_size_y);
    f("grid_size_z", word(5), p.grid_size_z);
    f("private_segment_size", word(6), p.private_segment_size);
    f("group_segment_size", word(7), p.group_segment_size);
    f("kernel_object", Bits{319, 256}, p.kernel_object);
    f("kernarg_address", Bits{383, 320}, p.kernarg_address);
    f("completion_signal", Bits{511, 448}, p.completion_signal);
  }
};
static_assert(sound<KernelDispatchPacket>());

// Barrier-and: waits until every signal of `dep` that is not 0 has the value 0; barrier-or: until
// one has. Then completion_signal.value -= 1.
// [HSA Runtime 1.2 sections 2.9.8, 2.9.9; hsa.h hsa_barrier_and_packet_t]
struct BarrierPacket {
  static constexpr u32 kWords = 16;
  AqlType type = AqlType::BarrierAnd;  // or BarrierOr
  bool barrier = false;
  FenceScope acquire = FenceScope::None, release = FenceScope::None;
  std::array<u64, 5> dep{};
  u64 completion_signal = 0;
  static constexpr void fields(auto& p, auto f) {
    f("type", word(0, 7, 0), p.type);
    f("barrier", word(0, 8, 8), p.barrier);
    f("acquire", word(0, 10, 9), p.acquire);
    f("release", word(0, 12, 11), p.release);
    f("dep_0", Bits{127, 64}, p.dep[0]);
    f("dep_1", Bits{191, 128}, p.dep[1]);
    f("dep_2", Bits{255, 192}, p.dep[2]);
    f("dep_3", Bits{319, 256}, p.dep[3]);
    f("dep_4", Bits{383, 320}, p.dep[4]);
    f("completion_signal", Bits{511, 448}, p.completion_signal);
  }
};
static_assert(sound<BarrierPacket>());

// The vendor's packet that runs an indirect buffer of PM4: words 1 to 4 are an INDIRECT_BUFFER
// packet (pm4/flow.h), remaining counts the words that follow it.
// [ROCR-Runtime src/core/inc/amd_gpu_pm4.h, amd_aql_queue.cpp ExecutePM4: amd_aql_pm4_ib_t]
struct Pm4IbPacket {
  static constexpr u32 kWords = 16;
  static constexpr u16 kPm4Ib = 1;
  AqlType type = AqlType::VendorSpecific;
  bool barrier = false;
  FenceScope acquire = FenceScope::System, release = FenceScope::System;
  u16 vendor_header = kPm4Ib;
  std::array<u32, 4> ib_jump{};  // encode(IndirectBuffer{...})
  u32 remaining = 10;
  u64 completion_signal = 0;
  static constexpr void fields(auto& p, auto f) {
    f("type", word(0, 7, 0), p.type);
    f("barrier", word(0, 8, 8), p.barrier);
    f("acquire", word(0, 10, 9), p.acquire);
    f("release", word(0, 12, 11), p.release);
    f("vendor_header", word(0, 31, 16), p.vendor_header);
    f("ib_jump_0", word(1), p.ib_jump[0]);
    f("ib_jump_1", word(2), p.ib_jump[1]);
    f("ib_jump_2", word(3), p.ib_jump[2]);
    f("ib_jump_3", word(4), p.ib_jump[3]);
    f("remaining", word(5), p.remaining);
    f("completion_signal", Bits{511, 448}, p.completion_signal);
  }
};
static_assert(sound<Pm4IbPacket>());

// A signal in memory. The command processor changes value; where event_mailbox is not 0 it also
// writes event_id there and raises an interrupt. Times are in ticks of the GPU's clock.
// [ROCR-Runtime src/inc/amd_hsa_signal.h amd_signal_t]
struct alignas(64) AmdSignal {
  i64 kind = 1;  // 1 user, -1 doorbell
  i64 value = 0;
  u64 event_mailbox = 0;
  u32 event_id = 0;
  u32 reserved1 = 0;
  u64 start_ts = 0, end_ts = 0;
  u64 queue = 0;
  u32 reserved3[2] = {0, 0};
};
static_assert(sizeof(AmdSignal) == 64);

// What the command processor needs to know of an AQL queue. It finds this structure from the read
// pointer's address that CREATE_QUEUE is given: read_dispatch_id lies in it at
// read_dispatch_id_field_base_byte_offset.
//
// The fields of an alternate area of scratch, and of indices, are those of amd_queue_v2_t: a
// processor leaves them alone unless kQueueSwAsyncReclaim is set, and tells by kQueueCpAsyncReclaim
// that it knows them. An index is the last packet's that may use the area.
// [ROCm/rocm-systems 1b1610f amd_hsa_queue.h amd_queue_v2_t; hsa.h hsa_queue_t]
struct alignas(64) AmdQueue {
  u32 queue_type = 0, features = 0;  // hsa_queue_t from here
  u64 base_address = 0;
  u64 doorbell_signal = 0;
  u32 size = 0;  // in packets
  u32 reserved_hsa = 0;
  u64 id = 0;
  u32 caps = 0;
  u32 reserved1[3] = {};
  u64 write_dispatch_id = 0;
  u32 group_segment_aperture_base_hi = 0, private_segment_aperture_base_hi = 0;
  u32 max_cu_id = 0, max_wave_id = 0;
  u64 max_legacy_doorbell_dispatch_id_plus_1 = 0;
  u32 legacy_doorbell_lock = 0;
  u32 reserved2[9] = {};
  u64 read_dispatch_id = 0;
  u32 read_dispatch_id_field_base_byte_offset = 0;
  u32 compute_tmpring_size = 0;
  u32 scratch_resource_descriptor[4] = {};
  u64 scratch_backing_memory_location = 0;
  u64 scratch_backing_memory_byte_size = 0;
  u32 scratch_wave64_lane_byte_size = 0;
  u32 queue_properties = 0;
  u64 scratch_max_use_index = 0;
  u64 queue_inactive_signal = 0;
  u64 alt_scratch_max_use_index = 0;
  u32 alt_scratch_resource_descriptor[4] = {};
  u64 alt_scratch_backing_memory_location = 0;
  u32 alt_scratch_dispatch_limit_x = 0, alt_scratch_dispatch_limit_y = 0,
      alt_scratch_dispatch_limit_z = 0;  // in work items
  u32 alt_scratch_wave64_lane_byte_size = 0;
  u32 alt_compute_tmpring_size = 0;
  u32 reserved5 = 0;
};
static_assert(sizeof(AmdQueue) == 256);

// Behind an amd_queue_v2_t, one for each XCC: the last packets that used scratch. The processor
// writes them by the time that its queue is off the hardware.
// [ROCm/rocm-systems 1b1610f amd_hsa_queue.h scratch_last_used_index_xcc_t]
struct ScratchLastUsed {
  u64 main = 0, alternate = 0;
};
static_assert(sizeof(ScratchLastUsed) == 16);

// [ROCm/rocm-systems 1b1610f amd_hsa_queue.h AMD_QUEUE_CAPS_*]
inline constexpr u32 kQueueCpAsyncReclaim = 1, kQueueSwAsyncReclaim = 2;

// What the command processor stores into queue_inactive_signal when it does not go on with a
// packet, and why. Those of scratch it takes back, when the client clears them; the others are the
// queue's end. Of waves it knows nothing: 0x20000000 (aperture), 0x40000000 (illegal instruction)
// and 0x80000000 (trap), which ROCr reads there too, are its first trap handler's; here none is
// installed. [Reads: ROCm/rocm-systems 1b1610f amd_aql_queue.cpp#1128 DynamicQueueEventsHandler();
// writes those of waves: ROCR-Runtime c7785a6 amd_trap_handler_v1.h, SIGNAL_CODE_*]
enum class QueueError : u64 {
  None = 0,
  ScratchWave64 = 1,
  Dimensions = 2,
  GroupMemory = 4,
  Code = 8,
  PacketFormat = 32,
  GroupSize = 64,
  Registers = 128,
  VendorPacket = 256,
  ScratchWave32 = 0x400,
};
// "an illegal instruction"; of several the first, empty for none that is known.
std::string_view name_of(QueueError error);

// [amd_hsa_queue.h AMD_QUEUE_PROPERTIES_*]
inline constexpr u32 kQueueEnableTrapHandler = 1, kQueueIsPtr64 = 2, kQueueEnableProfiling = 8;

}  // namespace doorbell::amd::hw
