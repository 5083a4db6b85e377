// Every rule that the command processors judge, broken by hand: the report carries its id, and at
// level error the queue stops.
// Here those of doorbells, rings, packets and registers; dispatches are in dispatch_rules_test.cc.
#include "emulator/amd/cp/rules.h"

#include "tests/emulator/amd/cp/rules_test.h"

namespace doorbell::emu::amdgpu {
namespace {

// ---- doorbells

TEST_F(RulesTest, DoorbellsAreOne64BitStore) {
  open_pm4();
  poke<u64>(kWritePointer, 1);
  gpu_->ring(queue_, 1, 4);
  EXPECT_EQ(count("AMD-DB-001"), 1u);
}

TEST_F(RulesTest, DoorbellsFollowTheWritePointer) {
  open_pm4();
  poke<u64>(kWritePointer, 1);
  gpu_->ring(queue_, 2);
  EXPECT_EQ(count("AMD-DB-002"), 1u);
}

// PM4's are in words, and AQL's name the last packet. What else they could be looks like more than
// was written. [kfdtest PM4Queue::SubmitPacket; HSA runtime 1.2, 2.8.3]
TEST_F(RulesTest, DoorbellsAreInTheUnitsOfTheirQueue) {
  open_pm4();
  put_words(kRing, {0xffff1000, 0xffff1000});
  poke<u64>(kWritePointer, 2);
  gpu_->ring(queue_, 8);  // bytes
  EXPECT_EQ(count("AMD-DB-002"), 1u);

  open({.generation = hw::Generation::Gfx11}, QueueKind::Aql);
  poke<u64>(kWritePointer, 1);
  gpu_->ring(queue_, 0);  // the first packet
  EXPECT_TRUE(checks_->reports().empty());
  gpu_->ring(queue_, 1);  // how many there are
  EXPECT_EQ(count("AMD-DB-002"), 1u);
}

TEST_F(RulesTest, DoorbellsDoNotGoBack) {
  open_pm4();
  submit({0xffff1000, 0xffff1000});
  gpu_->ring(queue_, 1);
  EXPECT_EQ(count("AMD-DB-003"), 1u);
}

TEST_F(RulesTest, DoorbellsDoNotOverrunTheRing) {
  open_pm4();
  poke<u64>(kWritePointer, 1024);
  gpu_->ring(queue_, 1024);  // a full ring would look empty
  EXPECT_EQ(count("AMD-DB-004"), 1u);
}

TEST_F(RulesTest, DoorbellsOfRemovedQueues) {
  open_pm4();
  ASSERT_TRUE(gpu_->remove_queue(queue_));
  gpu_->ring(queue_, 1);
  EXPECT_EQ(count("AMD-DB-005"), 1u);
  EXPECT_FALSE(gpu_->remove_queue(queue_));
}

// ---- rings and indirect buffers

TEST_F(RulesTest, PacketsEndWithTheirAnnouncement) {
  expect_broken("AMD-RING-001", {packet3(0x37, 4), 5 << 8});
}

TEST_F(RulesTest, PacketsHaveTheirSize) {
  expect_broken("AMD-RING-002", {packet3(0x46, 2), 7 | 4 << 8, 0});
  expect_broken("AMD-RING-002", {packet3(0x49, 3), 0x14 | 5 << 8, 0, 0});
}

TEST_F(RulesTest, ReservedBitsAreZero) {
  expect_broken("AMD-RING-003", {packet3(0x46, 1), 7 | 4 << 8 | 1 << 20});
  // gfx9's CP_COHER_CNTL bits do not exist in gfx11's GCR_CNTL
  expect_broken("AMD-RING-003", {packet3(0x58, 7), 0, ~0u, 0xff, 0, 0, 0, 1 << 29});
}

// GLK_WB, GLK_INV and PWS_ENABLE came with gfx11. [Mesa sid.h S_490_GLK_WB and so on]
TEST_F(RulesTest, ReleaseMemOfGfx10HasNoBitsOfGfx11) {
  for (u32 bit : {24, 30}) {
    const std::vector<u32> release{
        packet3(0x49, 7), 0x14 | 5 << 8 | 1u << bit, 1 << 29, lo(kData), hi(kData), 1, 0, 0};
    expect_broken("AMD-RING-003", release, {.generation = hw::Generation::Gfx10});
    interrupts_.exceptions.clear();
    open({.generation = hw::Generation::Gfx11}, QueueKind::Pm4);
    put_ = 0;
    submit(release);
    EXPECT_EQ(stopped(), "") << bit;
  }
  expect_broken("AMD-RING-003", {packet3(0x49, 7), 0x14 | 5 << 8 | 1u << 31, 0, 0, 0, 0, 0, 0},
                {.generation = hw::Generation::Gfx10});
}

TEST_F(RulesTest, PredicationIsForIndirectBuffers) {
  expect_broken("AMD-RING-004", {packet3(0x23, 1), 2 | 1 << 24, 0xffff1000, 0xffff1000},
                {.generation = hw::Generation::Gfx9, .xccs = 2});
}

TEST_F(RulesTest, IndirectBuffersLieInOneMapping) {
  // A second mapping right behind the first.
  std::vector<u8> more(4096);
  u32 buffer = space_.add_buffer({.va = kBase + kBytes, .bytes = 4096, .kind = "GTT"});
  space_
      .map(kBase + kBytes, 4096, more.data(), true, true, {Place::Host, Caching::Uncached}, buffer)
      .value();
  put_words(kBase + kBytes - 4, {0xffff1000});
  std::memcpy(more.data(), "\x00\x10\xff\xff", 4);
  u64 ib = kBase + kBytes - 4;
  expect_broken("AMD-IB-001", {packet3(0x3f, 3), lo(ib), hi(ib), 2 | 1 << 23});
}

TEST_F(RulesTest, IndirectBuffersCallNoOthers) {
  put_words(kIb, {packet3(0x3f, 3), lo(kIb + 0x100), hi(kIb), 1 | 1 << 23});
  put_words(kIb + 0x100, {0xffff1000});
  expect_broken("AMD-IB-002", {packet3(0x3f, 3), lo(kIb), hi(kIb), 4 | 1 << 23});
}

TEST_F(RulesTest, IndirectBuffersStayAsTheyAre) {
  // The first packet of the buffer overwrites the second.
  put_words(kIb, {packet3(0x37, 4), 5 << 8, lo(kIb + 20), hi(kIb), 0xffff1001, 0xffff1000});
  open_pm4();
  submit({packet3(0x3f, 3), lo(kIb), hi(kIb), 6 | 1 << 23});
  EXPECT_EQ(count("AMD-IB-004"), 1u);
  EXPECT_NE(stopped(), "");
}

TEST_F(RulesTest, IndirectBuffersAreValid) {
  put_words(kIb, {0xffff1000});
  expect_broken("AMD-IB-005", {packet3(0x3f, 3), lo(kIb), hi(kIb), 1});
  expect_broken("AMD-IB-005", {packet3(0x3f, 3), lo(kIb), hi(kIb), 1 << 23});
}

TEST_F(RulesTest, IndirectBuffersAreTheUsersAndComeBack) {
  put_words(kIb, {0xffff1000});
  expect_broken("AMD-IB-006", {packet3(0x3f, 3), lo(kIb), hi(kIb), 1 | 1 << 23 | 1 << 24});
  expect_broken("AMD-IB-006", {packet3(0x3f, 3), lo(kIb), hi(kIb), 1 | 1 << 23 | 1u << 31});
  expect_broken("AMD-IB-007", {packet3(0x3f, 3), lo(kIb), hi(kIb), 1 | 1 << 23 | 1 << 20});
}

// ---- barriers, waits and registers

std::vector<u32> acquire(u64 size, u64 base, u32 coher_cntl = 0) {
  return {packet3(0x58, 7), coher_cntl, lo(size), hi(size), lo(base), hi(base), 10, 1 << 14};
}

// [radv_emit_acquire_mem: 0xffffff ffffffff; tinygrad acquire_mem: 2^64 - 1]
TEST_F(RulesTest, BarriersAreOfEverythingOrOfOneMapping) {
  constexpr u64 kMesa = 0xffffffffffffff, kTinygrad = ~u64{0};
  expect_broken("AMD-ACQ-001", acquire(kMesa, 1));
  expect_broken("AMD-ACQ-001", acquire(kMesa ^ 1 << 3, 0));
  expect_broken("AMD-ACQ-001", acquire(0, 0));
  expect_broken("AMD-ACQ-001", acquire(kBytes / 256 + 1, kBase / 256));
  expect_broken("AMD-RING-003", acquire(kMesa, 0, 1));
  open_pm4();
  put_ = 0;
  for (u64 size : {kMesa, kTinygrad}) submit(acquire(size, 0));
  submit(acquire(2, kData / 256));
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

TEST_F(RulesTest, WaitsByOrderCompareAllBits) {
  poke<u32>(kData, 9);
  const auto wait = [&](u32 function, u32 mask) {
    return std::vector<u32>{packet3(0x3c, 6), function | 1 << 4, lo(kData), hi(kData), 1, mask, 4};
  };
  constexpr u32 kNotEqual = 4, kGreaterEqual = 5;
  expect_broken("AMD-WAIT-002", wait(kGreaterEqual, ~u32{4}));
  open_pm4();
  put_ = 0;
  submit(wait(kGreaterEqual, 0xff) + wait(kNotEqual, ~u32{4}));
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

// Nobody sends a wait with a cache policy, or with OPTIMIZE_ACE_OFFLOAD_MODE. [soc15d.h
// PACKET3_WAIT_REG_MEM__CACHE_POLICY, bits 26:25; __OPTIMIZE_ACE_OFFLOAD_MODE, bit 31 of the last]
TEST_F(RulesTest, FieldsAreThoseThatClientsSet) {
  for (u32 policy : {1, 2, 3})
    expect_broken("AMD-RING-006",
                  {packet3(0x3c, 6), 3 | 1 << 4 | policy << 25, lo(kData), hi(kData), 0, ~0u, 4});
  expect_broken("AMD-RING-006",
                {packet3(0x3c, 6), 3 | 1 << 4, lo(kData), hi(kData), 0, ~0u, 4 | 1u << 31});
  // OFFLOAD_ENABLE of EVENT_WRITE, GL2_US (bit 10 of GCR_CNTL) of ACQUIRE_MEM. [soc15d.h
  // PACKET3_EVENT_WRITE__OFFLOAD_ENABLE; nvd.h PACKET3_ACQUIRE_MEM_GCR_CNTL_GL2_US]
  expect_broken("AMD-RING-006", {packet3(0x46, 1), 7 | 4 << 8 | 1u << 31});
  expect_broken("AMD-RING-006", {packet3(0x58, 7), 0, ~0u, 0xffffff, 0, 0, 10, 1 << 10});
}

TEST_F(RulesTest, WaitsRestAsClientsLetThem) {
  for (u32 interval : {0, 5, 8, 32, 0x8004})
    expect_broken("AMD-WAIT-003",
                  {packet3(0x3c, 6), 3 | 1 << 4, lo(kData), hi(kData), 0, ~0u, interval});
  for (u32 interval : {4, 11})
    expect_broken("AMD-WAIT-003", {packet3(0x58, 7), 0, ~0u, 0xffffff, 0, 0, interval, 0});
  open_pm4();
  put_ = 0;
  for (u32 interval : {0, 10}) submit({packet3(0x58, 7), 0, ~0u, 0xffffff, 0, 0, interval, 0});
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

// WRITE_DATA's ENGINE_SEL 31:30, WAIT_REG_MEM's ENGINE 8; of gfx9's COHER_CNTL CB 25, DB 26, PFP
// 31.
TEST_F(RulesTest, GraphicsIsNotNamed) {
  for (u32 engine : {1, 2})
    expect_broken("AMD-RING-005",
                  {packet3(0x37, 4), 5 << 8 | engine << 30, lo(kData), hi(kData), 0});
  expect_broken("AMD-RING-005",
                {packet3(0x3c, 6), 3 | 1 << 4 | 1 << 8, lo(kData), hi(kData), 0, ~0u, 4});
  for (u32 bit : {25, 26, 31})
    expect_broken("AMD-RING-005", {packet3(0x58, 6), 1u << bit, ~0u, 0xffffff, 0, 0, 10},
                  {.generation = hw::Generation::Gfx9});
}

// From 0x2c00: SPI_SHADER_PGM_LO_PS 0x08; COMPUTE_VMID 0x214; 0x250 is nothing, 0x22f is
// COMPUTE_DISPATCH_INTERLEAVE but on gfx9; COMPUTE_NOWHERE 0x27f is the last.
TEST_F(RulesTest, RegistersAreOfComputeAndTheChip) {
  for (u32 offset : {0x08, 0x1ff, 0x214, 0x250, 0x280, 0x3ff})
    expect_broken("AMD-REG-002", {packet3(0x76, 2), offset, 0});
  expect_broken("AMD-REG-002", {packet3(0x76, 2), 0x22f, 0}, {.generation = hw::Generation::Gfx9});
  open_pm4();
  put_ = 0;
  for (u32 offset : {0x200, 0x22f, 0x240, 0x24f, 0x27f}) submit({packet3(0x76, 2), offset, 0});
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

// Register offsets from 0x2c00: COMPUTE_PGM_LO, _HI 0x20c; COMPUTE_RESOURCE_LIMITS 0x215, whose
// bits 30:27 only gfx9 has; COMPUTE_TMPRING_SIZE 0x218 with bits 24:12 on gfx9 and 26:12 on gfx11.
TEST_F(RulesTest, RegistersHaveTheirBits) {
  expect_broken("AMD-REG-001", {packet3(0x76, 3), 0x20c, 0, 0x100});
  expect_broken("AMD-REG-001", {packet3(0x76, 2), 0x215, 1 << 27});
  expect_broken("AMD-REG-001", {packet3(0x76, 2), 0x218, 1 << 27});
  expect_broken("AMD-REG-001", {packet3(0x76, 2), 0x218, 1 << 25},
                {.generation = hw::Generation::Gfx9});
  open({.generation = hw::Generation::Gfx9}, QueueKind::Pm4);
  put_ = 0;
  submit({packet3(0x76, 2), 0x215, 1 << 27, packet3(0x76, 3), 0x20c, ~u32{0}, 0xff});
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

TEST_F(RulesTest, FillersHaveNoReservedBits) {
  expect_broken("AMD-RING-003", {packet3(0x10, 1) | 1, 0});
}

// ---- end of pipe

TEST_F(RulesTest, EndOfPipeNeedsItsBuffer) {
  open_pm4();
  description_.eop = 0;
  description_.ring = kBase + 0x10000, description_.read_pointer = kBase + 0x11000;
  description_.write_pointer = kBase + 0x11008;
  QueueId bare = gpu_->add_queue(description_).value();
  put_words(description_.ring, release(0x14, 5, 1, 0, kData));
  poke<u64>(description_.write_pointer, 8);
  gpu_->ring(bare, 8);
  gpu_->run_until_idle();
  EXPECT_EQ(count("AMD-EOP-001"), 1u);
}

TEST_F(RulesTest, EndOfPipeEventsHaveTheirIndex) {
  expect_broken("AMD-EOP-002", release(0x14, 0, 1, 0, kData));
  expect_broken("AMD-EOP-002", release(7, 5, 1, 0, kData));
  expect_broken("AMD-EOP-002", release(0x14, 6, 1, 0, kData));
}

TEST_F(RulesTest, InterruptsFitTheirData) {
  expect_broken("AMD-EOP-003", release(0x14, 5, 1, 1, kData));
  expect_broken("AMD-EOP-003", release(0x14, 5, 0, 3, kData));
  open_pm4();
  put_ = 0;
  submit(release(0x14, 5, 0, 2, kData));
  EXPECT_EQ(count("AMD-EOP-003"), 0u) << "an interrupt, and no write before it";
}

TEST_F(RulesTest, WideDataIsAligned) {
  expect_broken("AMD-EOP-004", release(0x14, 5, 2, 0, kData + 4));
  expect_broken("AMD-EOP-004", release(0x14, 5, 3, 0, kData + 4));
}

TEST_F(RulesTest, EventsHaveTheirIndex) { expect_broken("AMD-EOP-006", {packet3(0x46, 1), 7}); }

}  // namespace
}  // namespace doorbell::emu::amdgpu
