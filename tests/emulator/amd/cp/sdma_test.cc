// Packets of copy engines: words by hand from sdma_v6_0_0_pkt_open.h and the emitters of
// sdma_v6_0.c (torvalds/linux, drivers/gpu/drm/amd/amdgpu) and from kfdtest's SDMAPacket.cpp.
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

class SdmaTest : public TestGpu {
 protected:
  void open_sdma(hw::Generation generation = hw::Generation::Gfx11, Level level = Level::Error) {
    open({.generation = generation}, QueueKind::Sdma, level);
  }
  // SDMA's doorbell counts bytes.
  void submit_bytes(const std::vector<u32>& words) {
    for (u32 word : words) {
      poke(kRing + put_ % kRingBytes, word);
      put_ += 4;
    }
    poke<u64>(kWritePointer, put_);
    gpu_->ring(queue_, put_);
    gpu_->run_until_idle();
  }
};

std::vector<u32> copy(u64 to, u64 from, u32 bytes) {
  return {1, bytes - 1, 0, lo(from), hi(from), lo(to), hi(to)};
}

// mtype 3, uncached. [sdma_v5_2_ring_emit_fence]
std::vector<u32> fence(u64 va, u32 value) { return {5 | 3 << 16, lo(va), hi(va), value}; }

std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// [SDMA_PKT_NOP_HEADER: op 7:0, sub_op 15:8, count 29:16]
TEST_F(SdmaTest, FillersHaveNoReservedBits) {
  open_sdma();
  submit_bytes({1 << 16, 0});
  EXPECT_TRUE(checks_->reports().empty()) << stopped();
  submit_bytes({1u << 30});
  EXPECT_EQ(count("AMD-RING-003"), 1u);
}

// POLL_REGMEM of memory, >=, with a bit of the mask missing.
TEST_F(SdmaTest, PollsByOrderCompareAllBits) {
  open_sdma();
  poke<u32>(kData, 9);
  submit_bytes({8 | 1u << 31 | 5u << 28, lo(kData), hi(kData), 5, ~u32{4}, 0xfffu << 16 | 4});
  EXPECT_EQ(count("AMD-WAIT-002"), 1u);
}

TEST_F(SdmaTest, PollsRestAsClientsLetThem) {
  poke<u32>(kData, 9);
  for (u32 interval : {0, 4, 5, 10, 32}) {
    open_sdma();
    put_ = 0;
    submit_bytes({8 | 1u << 31 | 5u << 28, lo(kData), hi(kData), 5, ~0u, 0xfffu << 16 | interval});
    EXPECT_EQ(count("AMD-WAIT-003"), interval == 4 || interval == 10 ? 0u : 1u) << interval;
  }
}

// CPV 19, cache policies of COPY_LINEAR's third word, CACHE_POLICY of POLL_REGMEM 20.
TEST_F(SdmaTest, EnginesOf4HaveNoCachePolicies) {
  auto words = copy(kData + 0x100, kData, 7);
  std::vector<std::vector<u32>> packets(3, words);
  packets[0][0] |= 1 << 19, packets[1][2] |= 1 << 18, packets[2][2] |= 1 << 26;
  packets.push_back(
      {8 | 1u << 31 | 5u << 28 | 1 << 20, lo(kData), hi(kData), 0, ~0u, 0xfffu << 16 | 4});
  for (const auto& packet : packets) {
    for (const auto generation : {hw::Generation::Gfx9, hw::Generation::Gfx11}) {
      open({.generation = generation}, QueueKind::Sdma);
      put_ = 0;
      submit_bytes(packet);
      EXPECT_EQ(count("AMD-RING-003"), generation == hw::Generation::Gfx9 ? 1u : 0u) << stopped();
    }
  }
}

TEST_F(SdmaTest, CopiesExactlyItsCount) {
  open_sdma();
  for (u32 i = 0; i < 16; ++i) poke<u8>(kData + i, static_cast<u8>(i + 1));
  submit_bytes(copy(kData + 0x100, kData, 7));
  EXPECT_EQ(peek<u64>(kData + 0x100), 0x00'07'06'05'04'03'02'01u);
  EXPECT_EQ(peek<u64>(kReadPointer), 28u);  // bytes
  EXPECT_EQ(checks_->errors(), 0u);
}

// SDMA0_QUEUE0_RB_RPTR_ADDR_LO has bits 31:2. [gc_11_0_0_sh_mask.h]
TEST_F(SdmaTest, TheReadPointerLosesItsLowBits) {
  open_sdma();
  gpu_->remove_queue(queue_).value();
  for (u64 low : {1, 4, 7}) {
    description_.read_pointer = kReadPointer + 0x10 + low;
    queue_ = gpu_->add_queue(description_).value();
    put_ = 0;
    submit_bytes(copy(kData + 0x100, kData, 7));
    EXPECT_EQ(peek<u32>(kReadPointer + 0x10 + low / 4 * 4), 28u);
    EXPECT_EQ(stopped(), "");
    gpu_->remove_queue(queue_).value();
    poke<u64>(kReadPointer + 0x10, 0), poke<u64>(kReadPointer + 0x18, 0);
  }
}

// POLL_REGMEM of memory (bit 31), >= (5 at bit 28), for ever. The cell is a 64-bit count that has
// passed 2^32: its lower half is behind the reference.
TEST_F(SdmaTest, PollsOfACountBeyond32BitsAreNamed) {
  for (u64 value : {u64{4}, u64{1} << 32 | 4}) {
    open_sdma();
    put_ = 0;
    poke<u64>(kData, value);
    submit_bytes({8 | 1u << 31 | 5u << 28, lo(kData), hi(kData), 5, ~u32{0}, 0xfffu << 16 | 4});
    gpu_->run_until_idle();
    EXPECT_EQ(count("AMD-WAIT-001"), value > 4 ? 1u : 0u);
    EXPECT_EQ(stopped(), "");
    EXPECT_EQ(peek<u32>(kReadPointer), 0u);  // it waits
    poke<u32>(kData, 5);
    gpu_->run_until_idle();
    EXPECT_EQ(peek<u32>(kReadPointer), 24u);
    poke<u32>(kReadPointer, 0);
  }
}

TEST_F(SdmaTest, FillsAcrossTheHostsBlocks) {
  open_sdma();
  // CONST_FILL of words, 0x8000 bytes and then of bytes, 5 of them. [sdma_v6_0_0_pkt_open.h]
  submit_bytes({11 | 2u << 30, lo(kData), hi(kData), 0x04030201, 0x7fff});
  submit_bytes({11, lo(kData + 0x8000), hi(kData + 0x8000), 0xaa, 4});
  EXPECT_EQ(peek<u32>(kData), 0x04030201u);
  EXPECT_EQ(peek<u32>(kData + 0x7ffc), 0x04030201u);
  EXPECT_EQ(peek<u64>(kData + 0x8000), 0xaaaaaaaaaau);
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(SdmaTest, FencesWriteFourBytesAfterTheCopy) {
  open_sdma();
  poke<u64>(kData + 0x200, ~u64{0});
  submit_bytes(copy(kData + 0x100, kData, 64) + fence(kData + 0x200, 5));
  EXPECT_EQ(peek<u64>(kData + 0x200), 0xffffffff'00000005u);
}

TEST_F(SdmaTest, TrapsCarryTheirContext) {
  open_sdma();
  submit_bytes({6, 0x123});
  ASSERT_EQ(interrupts_.events.size(), 1u);
  EXPECT_EQ(interrupts_.events[0].context_id, 0x123u);
  EXPECT_EQ(interrupts_.events[0].valid_bits, 28u);
}

TEST_F(SdmaTest, PollsUntilTheHostWrites) {
  open_sdma();
  // func 5 (>=), mem_poll; interval 4, retry 0xfff. [tinygrad AMDCopyQueue.wait]
  submit_bytes(std::vector<u32>{8 | 5u << 28 | 1u << 31, lo(kData), hi(kData), 3, 0xffffffff,
                                4 | 0xfff << 16} +
               fence(kData + 64, 1));
  EXPECT_EQ(peek<u32>(kData + 64), 0u);
  poke<u32>(kData, 3);
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData + 64), 1u);
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(SdmaTest, WritesWordsAndFills) {
  open_sdma();
  submit_bytes({2, lo(kData), hi(kData), 1, 0xaa, 0xbb});  // two words, less one
  EXPECT_EQ(peek<u64>(kData), 0xbb'000000aau);
  submit_bytes({11 | 2u << 30, lo(kData + 16), hi(kData + 16), 0x01020304, 8 - 1});
  EXPECT_EQ(peek<u64>(kData + 16), 0x0102030401020304u);
  EXPECT_EQ(peek<u64>(kData + 24), 0u);
  submit_bytes({11, lo(kData + 33), hi(kData + 33), 0x77, 3 - 1});  // bytes
  EXPECT_EQ(peek<u64>(kData + 32), 0x77777700u);
}

TEST_F(SdmaTest, TimestampsAdvance) {
  open_sdma();
  submit_bytes({13 | 2 << 8, lo(kData), hi(kData)});
  u64 first = peek<u64>(kData);
  submit_bytes({13 | 2 << 8, lo(kData), hi(kData)});
  EXPECT_GT(peek<u64>(kData), first);
}

TEST_F(SdmaTest, NopsSkipTheirCount) {
  open_sdma();
  submit_bytes(std::vector<u32>{3 << 16, 0xdead, 0xdead, 0xdead} + fence(kData, 1));
  EXPECT_EQ(peek<u32>(kData), 1u);
  EXPECT_EQ(peek<u64>(kReadPointer), put_);
}

// Where it is no error the engine reads on at the start. [linux amdgpu_ring.h amdgpu_ring_write()]
TEST_F(SdmaTest, PacketsOfUserQueuesDoNotGoRoundTheEnd) {
  const auto open_near_end = [&](Level level) {
    interrupts_.exceptions.clear();
    open_sdma(hw::Generation::Gfx11, level);
    put_ = 0;
    poke<u32>(kData, 0);
    while (kRingBytes - put_ > 8) submit_bytes({0});
  };
  open_near_end(Level::Error);
  submit_bytes(fence(kData, 2));
  EXPECT_EQ(count("AMD-SDMA-007"), 1u);
  EXPECT_NE(stopped().find("AMD-SDMA-007"), std::string::npos) << stopped();
  EXPECT_EQ(peek<u32>(kData), 0u);
  open_near_end(Level::Warn);
  submit_bytes(fence(kData, 2));
  EXPECT_EQ(count("AMD-SDMA-007"), 1u);
  EXPECT_EQ(stopped(), "");
  EXPECT_EQ(peek<u32>(kData), 2u);
  EXPECT_EQ(peek<u64>(kReadPointer), put_);
  // The rest is filled, as ROCr does.
  open_near_end(Level::Error);
  submit_bytes(std::vector<u32>{1 << 16, 0} + fence(kData, 3));
  EXPECT_EQ(checks_->errors(), 0u);
  EXPECT_EQ(peek<u32>(kData), 3u);
}

TEST_F(SdmaTest, IndirectBuffersRun) {
  open_sdma();
  put_words(kIb, fence(kData, 7) + std::vector<u32>{0, 0, 0, 0});
  // two NOPs, so that the packet ends at a multiple of 8 words
  submit_bytes({0, 0, 4, lo(kIb), hi(kIb), 8, 0, 0});
  EXPECT_EQ(peek<u32>(kData), 7u);
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(SdmaTest, AddsToSignals) {
  open_sdma();
  poke<u64>(kData, 5);
  submit_bytes({10 | 47u << 25, lo(kData), hi(kData), 0xffffffff, 0xffffffff, 0, 0, 0});
  EXPECT_EQ(peek<u64>(kData), 4u);
}

TEST_F(SdmaTest, TheHostDataPathIsFlushedAsRocrDoes) {
  open_sdma();
  submit_bytes(std::vector<u32>{8, 0, 0x80000000, 0, 0, 0} + fence(kData, 1));
  EXPECT_EQ(peek<u32>(kData), 1u);
}

// The kernel's sdma_v5_2_ring_emit_mem_sync(), word by word; ROCr's has sub-op 1.
TEST_F(SdmaTest, CachesActAsTheKernelAsks) {
  open_sdma(hw::Generation::Gfx10);
  submit_bytes({0x11, 0, 0xc3a10000, 0, 0});
  EXPECT_EQ(stopped(), "");
  submit_bytes({0x211, 0, 0xc3a10000, 0, 0});
  EXPECT_NE(stopped().find("0x00000211"), std::string::npos) << stopped();
}

TEST_F(SdmaTest, OldEnginesHaveNoGcr) {
  std::vector<u32> gcr{17 | 1 << 8, 0, 0xc0000000, 0, 0};
  open_sdma(hw::Generation::Gfx10);
  submit_bytes(gcr);
  EXPECT_EQ(stopped(), "");
  open_sdma(hw::Generation::Gfx9);
  put_ = 0;
  submit_bytes(gcr);
  EXPECT_NE(stopped().find("0x00000111"), std::string::npos) << stopped();
}

TEST_F(SdmaTest, CopiesFromNowhereAreAFault) {
  open_sdma();
  submit_bytes(copy(kData, kUnmapped, 4));
  ASSERT_EQ(interrupts_.faults.size(), 1u);
  EXPECT_EQ(interrupts_.faults[0].va, kUnmapped);
}

TEST_F(SdmaTest, CopiesBeyondTheEnginesCount) {
  // Two buffers of 8 MiB, apart.
  std::vector<u8> big(16 << 20);
  constexpr u64 kBig = 0x7e00'0000'0000;
  u32 buffer = space_.add_buffer({.va = kBig, .bytes = big.size(), .kind = "VRAM"});
  space_.map(kBig, big.size(), big.data(), true, false, {Place::Local, Caching::Uncached}, buffer)
      .value();
  big[0x400000] = 1;
  open_sdma(hw::Generation::Gfx9);
  submit_bytes(copy(kBig + (8 << 20), kBig, 0x400001));
  EXPECT_EQ(count("AMD-SDMA-001"), 1u);
  EXPECT_NE(stopped(), "");
  open_sdma(hw::Generation::Gfx11);
  put_ = 0;
  submit_bytes(copy(kBig + (8 << 20), kBig, 0x400001));
  EXPECT_EQ(checks_->errors(), 0u);
  EXPECT_EQ(big[0xc00000], 1);
}

TEST_F(SdmaTest, BreaksOfItsRulesAreNamed) {
  struct {
    const char* id;
    std::vector<u32> words;
  } const kCases[] = {
      {"AMD-SDMA-002", {11 | 2u << 30, lo(kData + 2), hi(kData), 0, 7}},
      {"AMD-SDMA-003", {8 | 5u << 28 | 1u << 31, lo(kData), hi(kData), 0, 0, 4 | 10 << 16}},
      {"AMD-SDMA-004", copy(kData + 4, kData, 8)},
      {"AMD-SDMA-005", {5 | 1u << 23, lo(kData), hi(kData), 0}},
      {"AMD-SDMA-006",
       {8 | 1u << 26 | 5u << 28 | 1u << 31, lo(kData), hi(kData), 0, 0, 0xfff << 16}},
      {"AMD-IB-003", {4, lo(kIb), hi(kIb), 8, 0, 0}},             // ends at word 6
      {"AMD-IB-003", {0, 0, 4, lo(kIb), hi(kIb), 7, 0, 0}},       // 7 words
      {"AMD-RING-003", {5 | 1u << 31, lo(kData), hi(kData), 0}},  // a bit that no fence has
      // Another memory type than 3, GCC, SYS, SNP, policies of the L2 and the LLC; of copies and
      // polls. [sdma_v6_0_0_pkt_open.h SDMA_PKT_FENCE_HEADER_*, SDMA_PKT_COPY_LINEAR_PARAMETER_*]
      {"AMD-RING-006", {5 | 1 << 16, lo(kData), hi(kData), 0}},
      {"AMD-RING-006", {5 | 3 << 16 | 1 << 19, lo(kData), hi(kData), 0}},
      {"AMD-RING-006", {5 | 3 << 16 | 1 << 24, lo(kData), hi(kData), 0}},
      {"AMD-RING-006", {1, 3, 1 << 18, lo(kData), hi(kData), lo(kData + 64), hi(kData + 64)}},
      {"AMD-RING-006",
       {8 | 1u << 24 | 5u << 28 | 1u << 31, lo(kData), hi(kData), 0, 0, 4 | 0xfff << 16}},
      {"AMD-RING-001", {1, 3, 0}},  // a copy without its end
  };
  for (const auto& test : kCases) {
    open_sdma();
    put_ = 0;
    submit_bytes(test.words);
    EXPECT_EQ(count(test.id), 1u) << test.id;
    EXPECT_NE(stopped().find(test.id), std::string::npos) << stopped();
  }
  open_sdma(hw::Generation::Gfx9);
  put_ = 0;
  submit_bytes(fence(kData, 1));  // 4.x has no memory type
  EXPECT_EQ(count("AMD-RING-003"), 1u);
}

TEST_F(SdmaTest, DoorbellsAreWholeWords) {
  open_sdma();
  poke<u64>(kWritePointer, 6);
  gpu_->ring(queue_, 6);
  gpu_->run_until_idle();
  EXPECT_EQ(count("AMD-DB-006"), 1u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
