// AQL packets and the kernel descriptor. Words of packets: tinygrad's AMDComputeAQLQueue, dumped;
// offsets of memory structures: ROCm's headers, as tinygrad's autogen/hsa.py lists them.
#include "drivers/amd/hw/aql.h"

#include <cstddef>

#include <gtest/gtest.h>

#include "drivers/amd/hw/abi/kernel_args.h"
#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "drivers/amd/hw/pm4/flow.h"

namespace doorbell::amd::hw {
namespace {

// _pm4_pkt(0x7f1122334440, 0x21)
static_assert(encode(Pm4IbPacket{
                  .barrier = true,
                  .ib_jump = encode(IndirectBuffer{.addr = 0x7f11'2233'4440, .words = 0x21})}) ==
              Words<Pm4IbPacket>{0x11500, 0xc0023f00, 0x22334440, 0x7f11, 0x800021, 0xa});

// exec() with block 32x4x2 of grid 10x11x3
static_assert(encode(KernelDispatchPacket{.barrier = true,
                                          .workgroup_size_x = 32,
                                          .workgroup_size_y = 4,
                                          .workgroup_size_z = 2,
                                          .grid_size_x = 320,
                                          .grid_size_y = 44,
                                          .grid_size_z = 6,
                                          .private_segment_size = 0x44,
                                          .group_segment_size = 0x1000,
                                          .kernel_object = 0x7f11'2233'4440,
                                          .kernarg_address = 0x7f55'6677'8880}) ==
              Words<KernelDispatchPacket>{0x31502, 0x40020, 0x2, 0x140, 0x2c, 0x6, 0x44, 0x1000,
                                          0x22334440, 0x7f11, 0x66778880, 0x7f55});

// ROCr writes (type << 0 | barrier << 8 | acquire << 9 | release << 11); agent scope on both sides.
static_assert(encode(AqlHeader{.type = AqlType::BarrierAnd,
                               .acquire = FenceScope::Agent,
                               .release = FenceScope::Agent}) == Words<AqlHeader>{0x0a03});
// hsa_barrier_and_packet_t: dep_signal at byte 8, completion_signal at 56.
static_assert(encode(BarrierPacket{.dep = {1, 0, 0, 0, 5}, .completion_signal = 9}) ==
              Words<BarrierPacket>{3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0});

static_assert(offsetof(AmdSignal, value) == 8 && offsetof(AmdSignal, event_mailbox) == 16 &&
              offsetof(AmdSignal, event_id) == 24 && offsetof(AmdSignal, start_ts) == 32 &&
              offsetof(AmdSignal, end_ts) == 40 && offsetof(AmdSignal, queue) == 48);
static_assert(offsetof(AmdQueue, base_address) == 8 && offsetof(AmdQueue, doorbell_signal) == 16 &&
              offsetof(AmdQueue, size) == 24 && offsetof(AmdQueue, id) == 32 &&
              offsetof(AmdQueue, write_dispatch_id) == 56 &&
              offsetof(AmdQueue, group_segment_aperture_base_hi) == 64 &&
              offsetof(AmdQueue, max_cu_id) == 72 && offsetof(AmdQueue, max_wave_id) == 76 &&
              offsetof(AmdQueue, legacy_doorbell_lock) == 88 &&
              offsetof(AmdQueue, read_dispatch_id) == 128 &&
              offsetof(AmdQueue, read_dispatch_id_field_base_byte_offset) == 136 &&
              offsetof(AmdQueue, compute_tmpring_size) == 140 &&
              offsetof(AmdQueue, scratch_resource_descriptor) == 144 &&
              offsetof(AmdQueue, scratch_backing_memory_location) == 160 &&
              offsetof(AmdQueue, scratch_backing_memory_byte_size) == 168 &&
              offsetof(AmdQueue, scratch_wave64_lane_byte_size) == 176 &&
              offsetof(AmdQueue, queue_properties) == 180 &&
              offsetof(AmdQueue, queue_inactive_signal) == 192);

TEST(KernelDescriptor, LiesAsTheCodeObjectFormatSays) {
  std::array<u32, 16> words{0x100, 0x20, 0x118, 0, 0xffffff40, 0xffffffff, 0,           0,
                            0,     0,    0,     5, 0x60af0041, 0x1391,     0x0402'040b, 0};
  KernelDescriptor descriptor = decode<KernelDescriptor>(words);
  EXPECT_EQ(descriptor.group_segment_fixed_size, 0x100u);
  EXPECT_EQ(descriptor.private_segment_fixed_size, 0x20u);
  EXPECT_EQ(descriptor.kernarg_size, 0x118u);
  EXPECT_EQ(descriptor.entry_offset, -0xc0);
  EXPECT_EQ(descriptor.rsrc3, 5u);
  EXPECT_EQ(descriptor.rsrc1, 0x60af0041u);
  EXPECT_EQ(descriptor.rsrc2, 0x1391u);
  EXPECT_TRUE(descriptor.enable_sgpr_private_segment_buffer);
  EXPECT_TRUE(descriptor.enable_sgpr_dispatch_ptr);
  EXPECT_FALSE(descriptor.enable_sgpr_queue_ptr);
  EXPECT_TRUE(descriptor.enable_sgpr_kernarg_segment_ptr);
  EXPECT_TRUE(descriptor.enable_wavefront_size32);
  EXPECT_FALSE(descriptor.uses_dynamic_stack);
  EXPECT_EQ(descriptor.kernarg_preload_length, 2);
  EXPECT_EQ(descriptor.kernarg_preload_offset, 8);
}

static_assert(argument_offset(3) == 24);

}  // namespace
}  // namespace doorbell::amd::hw
