// Every rule that the command processors judge, broken by hand: the report carries its id, and at
// level error the queue stops. Packets as in pm4_test.cc, registers from gc_11_0_0_offset.h.
// Long because each rule has a test, and all share what is set up here.
#include "emulator/amd/cp/rules.h"

#include <thread>

#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u32 packet3(u32 opcode, u32 payload) {
  return 0xc0000000u | (payload - 1) << 16 | opcode << 8;
}

std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<u32> release(u32 event, u32 index, u32 data_sel, u32 int_sel, u64 va) {
  return {packet3(0x49, 7),
          event | index << 8,
          data_sel << 29 | int_sel << 24,
          lo(va),
          hi(va),
          1,
          0,
          0};
}

class RulesTest : public TestGpu {
 protected:
  static constexpr u64 kCode = kBase + 0x6000, kDescriptor = kCode - 0x40;
  static constexpr u64 kArguments = kBase + 0x7000;

  // Submits `words` at level error; the rule of `id` is broken once, and the queue has stopped.
  void expect_broken(const char* id, const std::vector<u32>& words,
                     GpuOptions options = {.generation = hw::Generation::Gfx11}) {
    open(options, QueueKind::Pm4);
    put_ = 0;
    submit(words);
    EXPECT_EQ(count(id), 1u) << id;
    EXPECT_NE(stopped().find(id), std::string::npos) << id << ": " << stopped();
    // At level warn the queue continues as on hardware, or stops for another reason.
    checks_.reset();
    open(options, QueueKind::Pm4, Level::Warn);
    put_ = 0;
    submit(words);
    EXPECT_EQ(count(id), 1u) << id << " as a warning";
  }
};

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

// ---- dispatches

class DispatchRulesTest : public RulesTest {
 protected:
  struct State {
    u32 rsrc1 = 0x600f0000, rsrc2 = 2 << 1, rsrc3 = 0;
    u32 threads = 32;
    u32 initiator = 1 | 1 << 2 | 1 << 15;
    u32 tmpring = 0;
    u64 arguments = kArguments;
    std::vector<u32> dispatch(u64 entry = kCode) const {
      return std::vector<u32>{packet3(0x76, 4), 0x207, threads, 1, 1} +
             std::vector<u32>{packet3(0x76, 3), 0x20c, lo(entry >> 8), hi(entry >> 8)} +
             std::vector<u32>{packet3(0x76, 3), 0x212, rsrc1, rsrc2} +
             std::vector<u32>{packet3(0x76, 2), 0x228, rsrc3} +
             std::vector<u32>{packet3(0x76, 2), 0x218, tmpring} +
             std::vector<u32>{packet3(0x76, 3), 0x210, lo(kData >> 8), hi(kData >> 8)} +
             std::vector<u32>{packet3(0x76, 3), 0x240, lo(arguments), hi(arguments)} + go();
    }
    std::vector<u32> go() const { return {packet3(0x15, 4), 1, 1, 1, initiator}; }
  };

  DispatchRulesTest() {
    poke<u32>(kDescriptor + 8, 16);
    poke<u64>(kDescriptor + 16, 0x40);
    poke<u32>(kDescriptor + 48, 0x600f0000);
    poke<u32>(kDescriptor + 52, 2 << 1);
    poke<u16>(kDescriptor + 56, 1 << 3 | 1 << 10);
  }
};

TEST_F(DispatchRulesTest, ASoundDispatchBreaksNone) {
  open_pm4();
  submit(State{}.dispatch());
  submit(State{}.go());  // a kernel may follow itself with the arguments it had
  // PRIV and the LDS are the driver's.
  submit(State{.rsrc1 = 0x601f0000, .rsrc2 = 2 << 1 | 1 << 15}.dispatch());
  EXPECT_EQ(launcher_.dispatches.size(), 3u);
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

TEST_F(DispatchRulesTest, GroupsHaveTheirLimits) {
  expect_broken("AMD-DISP-002", State{.threads = 0}.dispatch());
  expect_broken("AMD-DISP-002", State{.threads = 1025}.dispatch());
}

TEST_F(DispatchRulesTest, ResourcesAreTheDescriptors) {
  expect_broken("AMD-DISP-003", State{.rsrc1 = 0x600f0001}.dispatch());
  expect_broken("AMD-DISP-003", State{.rsrc2 = 2 << 1 | 1 << 7}.dispatch());
  expect_broken("AMD-DISP-003", State{.rsrc3 = 1}.dispatch());
}

TEST_F(DispatchRulesTest, AnotherKernelsArgumentsAreWritten) {
  // A second kernel, whose user data are not written.
  poke<u64>(kDescriptor + 0x400 + 16, 0x40);
  poke<u32>(kDescriptor + 0x400 + 48, 0x600f0000);
  poke<u32>(kDescriptor + 0x400 + 52, 2 << 1);
  poke<u16>(kDescriptor + 0x400 + 56, 1 << 3 | 1 << 10);
  u64 other = kCode + 0x400;
  expect_broken("AMD-DISP-004",
                State{}.dispatch() +
                    std::vector<u32>{packet3(0x76, 3), 0x20c, lo(other >> 8), hi(other >> 8)} +
                    State{}.go());
}

TEST_F(DispatchRulesTest, WaveSizeIsTheDescriptors) {
  expect_broken("AMD-DISP-005", State{.initiator = 1 | 1 << 2}.dispatch());
  // gfx9 has no such bit.
  expect_broken("AMD-RING-003", State{}.dispatch(), {.generation = hw::Generation::Gfx9});
}

TEST_F(DispatchRulesTest, NothingIsInheritedFromNobody) {
  open_pm4();
  submit(State{}.go());
  EXPECT_EQ(count("AMD-DISP-006"), 1u);
  EXPECT_NE(stopped().find("COMPUTE_PGM_LO"), std::string::npos) << stopped();
}

TEST_F(DispatchRulesTest, ScratchCoversItsWaves) {
  poke<u32>(kDescriptor + 4, 64);                                           // 64 bytes a work item
  expect_broken("AMD-DISP-007", State{}.dispatch());                        // none
  expect_broken("AMD-DISP-007", State{.tmpring = 8 | 7 << 12}.dispatch());  // 1792 of 2048
  expect_broken("AMD-DISP-007", State{.tmpring = 0x400 | 8 << 12}.dispatch());  // beyond the buffer
  open_pm4();
  put_ = 0;
  submit(State{.tmpring = 8 | 8 << 12}.dispatch());
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

// From gfx11 on WAVES counts for each shader engine: an area for 82 waves of 2 KiB, six times, fits
// behind kData (0xf8000 bytes), for 83 it does not. [ROCr FillComputeTmpRingSize_Gfx11]
TEST_F(DispatchRulesTest, ScratchCoversEveryShaderEngine) {
  poke<u32>(kDescriptor + 4, 64);
  for (u32 waves : {82u, 83u}) {
    open({.generation = hw::Generation::Gfx11, .engines = 6}, QueueKind::Pm4);
    put_ = 0;
    submit(State{.tmpring = waves | 8 << 12}.dispatch());
    EXPECT_EQ(count("AMD-DISP-007"), waves == 83 ? 1u : 0u) << stopped();
  }
  EXPECT_EQ(launcher_.dispatches.at(0).scratch_waves, 492u);
}

// gfx10 counts all waves and has no register for the area's place: it stands in user SGPRs 0 and 1.
TEST_F(DispatchRulesTest, ScratchOfGfx10IsWhereItsSgprsSay) {
  poke<u32>(kDescriptor + 4, 64);
  poke<u32>(kDescriptor + 52, 6 << 1);
  poke<u16>(kDescriptor + 56, 1 | 1 << 3 | 1 << 10);
  for (u32 waves : {248u, 249u, 8u}) {
    open({.generation = hw::Generation::Gfx10, .engines = 4}, QueueKind::Pm4);
    put_ = 0;
    u64 area = waves == 8 ? kUnmapped : kData;
    State state{.rsrc2 = 6 << 1, .tmpring = waves | 4 << 12};
    std::vector<u32> words = state.dispatch();
    words.resize(words.size() - 9);  // its arguments and the launch
    words = words +
            std::vector<u32>{packet3(0x76, 7), 0x240,         lo(area), hi(area) | 0xa0000, 0, 0,
                             lo(kArguments),   hi(kArguments)};
    submit(words + state.go());
    EXPECT_EQ(count("AMD-DISP-007"), waves == 248 ? 0u : 1u) << waves << stopped();
  }
}

TEST_F(DispatchRulesTest, TheShaderIsEnabled) {
  expect_broken("AMD-DISP-008", State{.initiator = 1 << 2 | 1 << 15}.dispatch());
}

// Offsets from 0x2c00: COMPUTE_START_X 0x204, COMPUTE_NUM_THREAD_X 0x207, COMPUTE_RESTART_X 0x21b.
TEST_F(DispatchRulesTest, WhatALaunchDoesNotReadIsZero) {
  const std::vector<u32> sound = State{}.dispatch();
  const auto with = [&](std::vector<u32> more, u32 initiator) {
    std::vector<u32> words = sound;
    words.resize(words.size() - 5);
    return words + more + State{.initiator = initiator}.go();
  };
  constexpr u32 kSound = 1 | 1 << 2 | 1 << 15;
  expect_broken("AMD-DISP-011", with({packet3(0x76, 4), 0x204, 0, 1, 0}, kSound));
  expect_broken("AMD-DISP-011", with({packet3(0x76, 4), 0x21b, 0, 0, 1}, kSound));
  expect_broken("AMD-DISP-011", with({packet3(0x76, 4), 0x207, 32 | 8 << 16, 1, 1}, kSound));
  open_pm4();
  put_ = 0;
  submit(with({packet3(0x76, 4), 0x207, 32 | 8 << 16, 1, 1}, kSound | 1 << 1));
  submit(with({packet3(0x76, 4), 0x204, 0, 0, 0}, kSound ^ 1 << 2));
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

TEST_F(DispatchRulesTest, LdsCoversTheDescriptors) {
  poke<u32>(kDescriptor, 1024);
  expect_broken("AMD-DISP-009", State{.rsrc2 = 2 << 1 | 1 << 15}.dispatch());
  open_pm4();
  put_ = 0;
  submit(State{.rsrc2 = 2 << 1 | 2 << 15}.dispatch());
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
}

// 100,000 bytes are 79 units of gfx950, which are 196 of other chips.
TEST_F(DispatchRulesTest, LdsIsWhatAComputeUnitHas) {
  expect_broken("AMD-DISP-010", State{.rsrc2 = 2 << 1 | 129 << 15}.dispatch());
  const GpuOptions kGfx950{
      .generation = hw::Generation::Gfx9, .lds_unit = 1280, .lds_bytes = 160 * 1024};
  poke<u16>(kDescriptor + 56, 1 << 3);
  poke<u32>(kDescriptor, 100'000);
  for (const auto& [units, id] :
       {std::pair{79u, ""}, {196u, "AMD-DISP-010"}, {78u, "AMD-DISP-009"}}) {
    open(kGfx950, QueueKind::Pm4);
    put_ = 0;
    State state{.rsrc2 = 2 << 1 | units << 15, .initiator = 1 | 1 << 2};
    std::vector<u32> words = state.dispatch();
    for (u32& word : words)
      if (word == 0x228) word = 0x22d;  // COMPUTE_PGM_RSRC3 of gfx9
    submit(words);
    const bool sound = id[0] == 0;
    EXPECT_EQ(checks_->reports().size(), sound ? 0u : 1u) << units << ": " << stopped();
    EXPECT_EQ(count(id), sound ? 0u : 1u) << units << ": " << stopped();
  }
}

// SCALAR_L1_INV_VOL, VECTOR_L1_INV_VOL, DISABLE_DISP_PREMPT_EN. [gc_11_0_0_sh_mask.h
// COMPUTE_DISPATCH_INITIATOR]
TEST_F(DispatchRulesTest, LaunchesInvalidateNothingThemselves) {
  for (u32 bit : {10, 11, 17})
    expect_broken("AMD-RING-006", State{.initiator = 1 | 1 << 2 | 1 << 15 | 1u << bit}.dispatch());
}

TEST_F(DispatchRulesTest, ArgumentsAreAlignedAndMapped) {
  expect_broken("AMD-ARG-001", State{.arguments = kArguments + 8}.dispatch());
  expect_broken("AMD-ARG-002", State{.arguments = kBase + kBytes}.dispatch());
}

TEST_F(DispatchRulesTest, ArgumentsStayUntilTheDispatchRetires) {
  launcher_.slices = 3;
  launcher_.effect = [this] { poke<u32>(kArguments, peek<u32>(kArguments) + 1); };
  open_pm4(hw::Generation::Gfx11, Level::Warn);
  submit(State{}.dispatch());
  EXPECT_EQ(count("AMD-ARG-003"), 1u);
}

// ---- the hook of the mutation suite

class DropEvents final : public PacketHook {
 public:
  Verdict packet(QueueId, QueueKind, unsigned depth, std::vector<u32>& words) override {
    ++seen;
    deepest = std::max(deepest, depth);
    if ((words[0] >> 8 & 0xff) == 0x46) return Verdict::Skip;
    if ((words[0] >> 8 & 0xff) == 0x37) words[4] ^= 1;
    return Verdict::Take;
  }
  Verdict doorbell(QueueId, u64&) override { return deaf ? Verdict::Skip : Verdict::Take; }
  int seen = 0;
  unsigned deepest = 0;
  bool deaf = false;
};

TEST_F(DispatchRulesTest, HooksDropAndCorruptPackets) {
  DropEvents hook;
  put_words(kIb, {packet3(0x46, 1), 7 | 4 << 8, packet3(0x37, 4), 5 << 8, lo(kData), hi(kData), 6});
  open({.generation = hw::Generation::Gfx11, .hook = &hook}, QueueKind::Pm4);
  submit({packet3(0x3f, 3), lo(kIb), hi(kIb), 7 | 1 << 23});
  EXPECT_EQ(peek<u32>(kData), 7u);
  EXPECT_EQ(hook.seen, 3);
  EXPECT_EQ(hook.deepest, 1u);
  EXPECT_EQ(peek<u32>(kReadPointer), 4u);
  hook.deaf = true;
  submit({0xffff1000});
  EXPECT_EQ(peek<u32>(kReadPointer), 4u);
}

// WRITE_DATA of 1 and 2 to one place, an atomic add behind them.
class Reorder final : public PacketHook {
 public:
  explicit Reorder(Verdict verdict) : verdict_(verdict) {}
  Verdict packet(QueueId, QueueKind, unsigned, std::vector<u32>& words) override {
    const bool is_it = words.size() > 4 && words[4] == 1 && (words[0] >> 8 & 0xff) != 0x3f;
    return is_it && seen_++ == 0 ? verdict_ : Verdict::Take;
  }

 private:
  const Verdict verdict_;
  int seen_ = 0;
};

TEST_F(DispatchRulesTest, HooksRepeatAndReorderPackets) {
  const auto write = [&](u32 value) {
    return std::vector<u32>{packet3(0x37, 4), 5 << 8 | 1 << 20, lo(kData), hi(kData), value};
  };
  // An add of 64 bits (0x2f) of 1.
  const std::vector<u32> add{packet3(0x1e, 8), 0x2f, lo(kData), hi(kData), 1, 0, 0, 0, 0};
  for (const auto& [verdict, is_add, wanted] : {std::tuple{HookVerdict::Take, false, 2u},
                                                {HookVerdict::Later, false, 1u},
                                                {HookVerdict::Skip, false, 2u},
                                                {HookVerdict::Again, true, 4u}}) {
    Reorder hook(verdict);
    put_words(kIb, is_add ? write(2) + add : write(1) + write(2));
    poke<u64>(kData, 0), put_ = 0, poke<u32>(kReadPointer, 0);
    open({.generation = hw::Generation::Gfx11, .hook = &hook}, QueueKind::Pm4);
    submit({packet3(0x3f, 3), lo(kIb), hi(kIb), (is_add ? 14u : 10u) | 1 << 23});
    EXPECT_EQ(peek<u32>(kData), wanted) << static_cast<int>(verdict) << stopped();
  }
}

// A filler of two words becomes one of three, which takes the next packet along.
class Longer final : public PacketHook {
 public:
  Verdict packet(QueueId, QueueKind, unsigned, std::vector<u32>& words) override {
    if ((words[0] >> 8 & 0xff) == 0x10 && words.size() == 2) words[0] += 1 << 16;
    return Verdict::Take;
  }
};

TEST_F(DispatchRulesTest, HooksChangeHowLongAPacketIs) {
  Longer hook;
  for (const bool in_buffer : {false, true}) {
    put_ = 0, poke<u32>(kReadPointer, 0);
    open({.generation = hw::Generation::Gfx11, .hook = &hook}, QueueKind::Pm4);
    const std::vector<u32> words{packet3(0x10, 1), 0, 0xdead, 0xffff1000};
    put_words(kIb, words);
    if (in_buffer)
      submit({packet3(0x3f, 3), lo(kIb), hi(kIb), 4 | 1 << 23});
    else
      submit(words);
    EXPECT_EQ(stopped(), "");
    EXPECT_EQ(peek<u32>(kReadPointer), 4u);
  }
}

// ---- the GPU's own thread

TEST_F(RulesTest, AFreeGpuRunsByItself) {
  checks_ = std::make_unique<Checks>(Level::Error);
  GpuOptions options{.generation = hw::Generation::Gfx11};
  options.memory = &space_, options.interrupts = &interrupts_, options.checks = checks_.get();
  options.launcher = &launcher_;
  gpu_ = std::make_unique<Gpu>(options);
  description_ = {.kind = QueueKind::Pm4,
                  .ring = kRing,
                  .ring_bytes = kRingBytes,
                  .read_pointer = kReadPointer,
                  .write_pointer = kWritePointer,
                  .eop = kEop};
  queue_ = gpu_->add_queue(description_).value();
  auto at = [&](u64 va) { return std::atomic_ref<u32>(*reinterpret_cast<u32*>(host(va))); };
  for (u32 i = 1; i <= 200; ++i) {
    // Waits for the host, then answers.
    u64 start = put_;
    for (u32 word :
         std::vector<u32>{packet3(0x3c, 6), 3 | 1 << 4, lo(kData), hi(kData), i, ~0u, 4} +
             std::vector<u32>{packet3(0x37, 4), 5 << 8, lo(kData + 64), hi(kData + 64), i})
      poke(kRing + put_++ % (kRingBytes / 4) * 4, word);
    EXPECT_EQ(put_ - start, 12u);
    std::atomic_ref<u64>(*reinterpret_cast<u64*>(host(kWritePointer))).store(put_);
    gpu_->ring(queue_, put_);
    at(kData).store(i);
    while (at(kData + 64).load() != i) std::this_thread::yield();
  }
  gpu_.reset();
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(RulesTest, AFreeGpuPollsDoorbellsThatNobodyTraps) {
  checks_ = std::make_unique<Checks>(Level::Error);
  GpuOptions options{.generation = hw::Generation::Gfx11};
  options.memory = &space_, options.interrupts = &interrupts_, options.checks = checks_.get();
  options.launcher = &launcher_;
  gpu_ = std::make_unique<Gpu>(options);
  u64 doorbell = 0;
  description_ = {.kind = QueueKind::Sdma,
                  .ring = kRing,
                  .ring_bytes = kRingBytes,
                  .read_pointer = kReadPointer,
                  .write_pointer = kWritePointer,
                  .polled_doorbell = &doorbell};
  queue_ = gpu_->add_queue(description_).value();
  put_words(kRing, {5 | 3 << 16, lo(kData), hi(kData), 9});
  std::atomic_ref<u64>(*reinterpret_cast<u64*>(host(kWritePointer))).store(16);
  std::atomic_ref<u64>(doorbell).store(16);
  while (std::atomic_ref<u32>(*reinterpret_cast<u32*>(host(kData))).load() != 9)
    std::this_thread::yield();
  gpu_.reset();
  EXPECT_EQ(checks_->errors(), 0u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
