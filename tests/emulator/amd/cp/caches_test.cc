// The adversarial mode's caches: what stays stale, what stays dirty, and which bit of which packet
// ends that. Bits: nvd.h PACKET3_ACQUIRE_MEM_GCR_CNTL_*, PACKET3_RELEASE_MEM_GCR_*; soc15d.h
// CP_COHER_CNTL and EOP_*. Which cache sees what: LLVM AMDGPUUsage, memory models.
#include "emulator/amd/cp/caches.h"

#include "emulator/amd/cp/adversarial_memory.h"
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u32 packet3(u32 opcode, u32 payload) {
  return 0xc0000000u | (payload - 1) << 16 | opcode << 8;
}

class CachesTest : public TestGpu {
 protected:
  // Memory that the L2 keeps.
  static constexpr u64 kVram = 0x7d00'0000'0000, kVramBytes = 1 << 16;
  std::vector<u8> vram_ = std::vector<u8>(kVramBytes);

  CachesTest() {
    u32 buffer = space_.add_buffer({.va = kVram, .bytes = kVramBytes, .kind = "VRAM"});
    space_.map(kVram, kVramBytes, vram_.data(), true, true, {Place::Local, Caching::Cached}, buffer)
        .value();
  }
  void open_adversarial(hw::Generation generation, QueueKind kind = QueueKind::Pm4, u32 xccs = 1) {
    put_ = 0;
    generation_ = generation;
    open({.generation = generation, .xccs = xccs, .adversarial = true, .seed = 1}, kind,
         Level::Warn);
  }
  std::unique_ptr<AdversarialMemory> kernel(u32 unit = 0, u32 xcc = 0) {
    auto memory = std::make_unique<AdversarialMemory>(
        space_, *gpu_->caches(), static_cast<Generation>(generation_), xcc, "k");
    memory->select(unit);
    return memory;
  }
  u32& cell(u64 offset) { return *reinterpret_cast<u32*>(vram_.data() + offset); }
  static u32 load(Memory& memory, u64 va, CachePolicy policy = 0) {
    u32 value = 0;
    EXPECT_TRUE(memory.load(va, 4, &value, policy));
    return value;
  }
  static u32 scalar(Memory& memory, u64 va) {
    u32 value = 0;
    EXPECT_TRUE(memory.scalar_load(va, 4, &value, 0));
    return value;
  }
  static void store(Memory& memory, u64 va, u32 value, CachePolicy policy = 0) {
    EXPECT_TRUE(memory.store(va, 4, &value, policy));
  }

  // ACQUIRE_MEM of gfx10 and later, whole range.
  void acquire(u32 gcr_cntl) { submit({packet3(0x58, 7), 0, ~0u, 0xff, 0, 0, 0, gcr_cntl}); }
  void acquire_gfx9(u32 coher_cntl) { submit({packet3(0x58, 6), coher_cntl, ~0u, 0xff, 0, 0, 10}); }
  static constexpr u32 kGli = 1, kGlk = 1 << 7, kGlv = 1 << 8, kGl1 = 1 << 9, kGl2Inv = 1 << 14,
                       kGl2Wb = 1 << 15;
  hw::Generation generation_ = hw::Generation::Gfx11;
};

TEST_F(CachesTest, EachMissingInvalidateIsNamed) {
  struct {
    const char* id;
    u32 missing;
    u32 (*read)(Memory&, u64);
  } const kCases[] = {
      {"AMD-CACHE-001", kGlv, [](Memory& m, u64 va) { return load(m, va); }},
      {"AMD-CACHE-002", kGl1, [](Memory& m, u64 va) { return load(m, va); }},
      {"AMD-CACHE-003", kGlk, [](Memory& m, u64 va) { return scalar(m, va); }},
      {"AMD-CACHE-002", kGl1, [](Memory& m, u64 va) { return scalar(m, va); }},
      {"AMD-CACHE-004", kGli,
       [](Memory& m, u64 va) {
         u32 value = 0;
         EXPECT_TRUE(m.fetch(va, 4, &value));
         return value;
       }},
      {"AMD-CACHE-005", kGl2Inv, [](Memory& m, u64 va) { return load(m, va); }},
  };
  constexpr u32 kAll = kGli | kGlk | kGlv | kGl1 | kGl2Inv | kGl2Wb;
  for (hw::Generation generation : {hw::Generation::Gfx10, hw::Generation::Gfx11})
    for (const auto& test : kCases)
      for (bool dropped : {false, true}) {
        open_adversarial(generation);
        cell(0) = 1;
        EXPECT_EQ(test.read(*kernel(), kVram), 1u);
        cell(0) = 2;  // the host, behind all caches
        acquire(dropped ? kAll & ~test.missing : kAll);
        EXPECT_EQ(test.read(*kernel(), kVram), dropped ? 1u : 2u) << test.id;
        EXPECT_EQ(count(test.id), dropped ? 1u : 0u) << test.id;
        EXPECT_EQ(checks_->reports().size(), dropped ? 1u : 0u) << test.id;
      }
}

TEST_F(CachesTest, Gfx9NamesItsCachesOtherwise) {
  // TCL1 22, TC 23, KCACHE 27, ICACHE 29
  constexpr u32 kAll = 1 << 18 | 1 << 22 | 1 << 23 | 1 << 27 | 1 << 29;
  struct {
    const char* id;
    u32 missing;
    bool scalar;
  } const kCases[] = {{"AMD-CACHE-001", 1 << 22, false},
                      {"AMD-CACHE-005", 1 << 23, false},
                      {"AMD-CACHE-003", 1 << 27, true}};
  for (const auto& test : kCases)
    for (bool dropped : {false, true}) {
      open_adversarial(hw::Generation::Gfx9);
      cell(0) = 1;
      auto read = [&] { return test.scalar ? scalar(*kernel(), kVram) : load(*kernel(), kVram); };
      EXPECT_EQ(read(), 1u);
      cell(0) = 2;
      acquire_gfx9(dropped ? kAll & ~test.missing : kAll);
      EXPECT_EQ(read(), dropped ? 1u : 2u) << test.id;
      EXPECT_EQ(count(test.id), dropped ? 1u : 0u) << test.id;
    }
}

TEST_F(CachesTest, AKernelsOwnLinesAreItsOwnBusiness) {
  open_adversarial(hw::Generation::Gfx11);
  auto k = kernel();
  cell(0) = 1;
  EXPECT_EQ(load(*k, kVram), 1u);
  cell(0) = 2;
  EXPECT_EQ(load(*k, kVram), 1u);  // stale, and legal: nothing ordered the two
  EXPECT_TRUE(checks_->reports().empty());
  EXPECT_EQ(load(*k, kVram + 64), 0u);
}

TEST_F(CachesTest, UncachedMemoryPassesTheL2ByOnly) {
  open_adversarial(hw::Generation::Gfx11);
  poke<u32>(kData, 1);
  EXPECT_EQ(scalar(*kernel(), kData), 1u);
  poke<u32>(kData, 2);
  acquire(kGlk | kGl1);
  EXPECT_EQ(scalar(*kernel(), kData), 2u);  // no GL2_INV needed
  poke<u32>(kData, 3);
  acquire(kGl2Inv);
  EXPECT_EQ(scalar(*kernel(), kData), 2u);
  EXPECT_EQ(count("AMD-CACHE-003"), 1u);
}

TEST_F(CachesTest, StoresStayInTheL2UntilTheyAreWrittenBack) {
  open_adversarial(hw::Generation::Gfx11);
  auto k = kernel();
  store(*k, kVram + 8, 7);
  EXPECT_EQ(cell(8), 0u);
  EXPECT_EQ(load(*kernel(3), kVram + 8), 7u);  // another unit of the same L2
  acquire(kGl2Inv);                            // loses nothing that is dirty
  EXPECT_EQ(cell(8), 0u);
  // RELEASE_MEM with GL2_WB 21 and SEQ 22
  submit({packet3(0x49, 7), 0x14 | 5 << 8 | 1 << 21 | 1 << 22, 1 << 29, lo(kData), hi(kData), 1, 0,
          0});
  EXPECT_EQ(cell(8), 7u);
  EXPECT_TRUE(checks_->reports().empty());
}

TEST_F(CachesTest, ReleaseWithoutWriteBackLeavesTheHostWithTheOldValue) {
  open_adversarial(hw::Generation::Gfx9);
  store(*kernel(), kVram, 7);
  submit({packet3(0x49, 7), 0x14 | 5 << 8, 1 << 29, lo(kData), hi(kData), 1, 0, 0});
  EXPECT_EQ(peek<u32>(kData), 1u);
  EXPECT_EQ(cell(0), 0u);
  // EOP_TC_WB_ACTION_EN 15, EOP_TC_NC_ACTION_EN 19
  submit({packet3(0x49, 7), 0x14 | 5 << 8 | 1 << 15 | 1 << 19, 1 << 29, lo(kData), hi(kData), 2, 0,
          0});
  EXPECT_EQ(cell(0), 7u);
}

TEST_F(CachesTest, RangesLimitWhatActs) {
  open_adversarial(hw::Generation::Gfx11);
  store(*kernel(), kVram, 1);
  store(*kernel(), kVram + 0x400, 2);
  // GL2_RANGE 2 at bit 11: base and size in 256 bytes
  submit({packet3(0x58, 7), 0, 1, 0, lo((kVram + 0x400) >> 8), hi((kVram + 0x400) >> 8), 0,
          kGl2Wb | 2 << 11});
  EXPECT_EQ(cell(0), 0u);
  EXPECT_EQ(cell(0x400), 2u);
}

// RELEASE_MEM with an interrupt (INT_SEL 1 at bit 24), event 0x14 with index 5; GL2_WB is bit 21 of
// its second word. [nvd.h PACKET3_RELEASE_MEM]
TEST_F(CachesTest, TheHostIsToldAfterItsMemoryIsWritten) {
  static constexpr u64 kHostMemory = 0x7c00'0000'0000;
  std::vector<u8> bytes(4096);
  u32 buffer = space_.add_buffer({.va = kHostMemory, .bytes = 4096, .kind = "GTT"});
  space_.map(kHostMemory, 4096, bytes.data(), true, true, {Place::Host, Caching::Cached}, buffer)
      .value();
  for (bool written_back : {false, true})
    for (u64 va : {kHostMemory + 0x44, kVram}) {
      open_adversarial(hw::Generation::Gfx11);
      store(*kernel(), va, 7);
      submit({packet3(0x49, 7), 0x14 | 5 << 8 | (written_back ? 1u << 21 : 0), 1 << 24, 0, 0, 0, 0,
              1});
      bool missing = !written_back && va != kVram;
      EXPECT_EQ(count("AMD-CACHE-006"), missing ? 1u : 0u) << va;
      if (missing) {
        const std::string message = checks_->reports()[0].message;
        EXPECT_NE(message.find("0x7c0000000044"), std::string::npos) << message;
        EXPECT_NE(message.find("GL2_WB"), std::string::npos) << message;
      }
      ASSERT_EQ(interrupts_.events.size(), 1u);
      interrupts_.events.clear();
    }
}

TEST_F(CachesTest, CopyEnginesSeeTheL2OrNot) {
  struct {
    hw::Generation generation;
    bool served;
  } const kCases[] = {{hw::Generation::Gfx9, false},
                      {hw::Generation::Gfx10, true},
                      {hw::Generation::Gfx11, true},
                      {hw::Generation::Gfx12, false}};
  for (const auto& test : kCases) {
    open_adversarial(test.generation, QueueKind::Sdma);
    cell(0) = 5;
    store(*kernel(), kVram, 6);
    std::vector<u32> copy{1, 3, 0, lo(kVram), hi(kVram), lo(kData), hi(kData)};
    put_words(kRing, copy);
    poke<u64>(kWritePointer, 28);
    gpu_->ring(queue_, 28);
    gpu_->run_until_idle();
    EXPECT_EQ(peek<u32>(kData), test.served ? 6u : 5u);
    EXPECT_EQ(count("AMD-CACHE-006"), test.served ? 0u : 1u);
  }
}

TEST_F(CachesTest, CopiesIntoCachedMemoryNeedAnInvalidate) {
  for (bool served : {false, true}) {
    open_adversarial(served ? hw::Generation::Gfx11 : hw::Generation::Gfx9, QueueKind::Sdma);
    cell(0) = 1;
    EXPECT_EQ(load(*kernel(), kVram), 1u);
    poke<u32>(kData, 2);
    put_words(kRing, {1, 3, 0, lo(kData), hi(kData), lo(kVram), hi(kVram)});
    poke<u64>(kWritePointer, 28);
    gpu_->ring(queue_, 28);
    gpu_->run_until_idle();
    EXPECT_EQ(load(*kernel(3), kVram), served ? 2u : 1u);
    EXPECT_EQ(count("AMD-CACHE-005"), served ? 0u : 1u);
  }
}

TEST_F(CachesTest, InstructionsReachAsFarAsTheirBitsSay) {
  struct {
    hw::Generation generation;
    CachePolicy policy;
    bool sees;  // what another unit of the same L2 stored
  } const kCases[] = {
      {hw::Generation::Gfx9, 0, false},      {hw::Generation::Gfx9, 1, false},
      {hw::Generation::Gfx9, 16, true},      {hw::Generation::Gfx10, 0, false},
      {hw::Generation::Gfx10, 1, false},     {hw::Generation::Gfx10, 1 | 4, true},
      {hw::Generation::Gfx11, 1, true},      {hw::Generation::Gfx12, 1 << 3, false},
      {hw::Generation::Gfx12, 2 << 3, true},
  };
  for (const auto& test : kCases) {
    open_adversarial(test.generation);
    cell(0) = 1;
    auto a = kernel(0), b = kernel(3);  // of another array
    EXPECT_EQ(load(*a, kVram), 1u);
    store(*b, kVram, 2);
    EXPECT_EQ(load(*a, kVram, test.policy), test.sees ? 2u : 1u)
        << static_cast<int>(test.generation) << " " << int{test.policy};
  }
}

TEST_F(CachesTest, AtomicsMeetInTheL2) {
  open_adversarial(hw::Generation::Gfx11);
  auto a = kernel(0), b = kernel(3);
  EXPECT_EQ(load(*a, kVram), 0u);
  u64 before = 0;
  auto add = [](u64 old, u64 operand, u64) { return old + operand; };
  EXPECT_TRUE(a->atomic(kVram, 4, add, 3, 0, before, 0));
  EXPECT_TRUE(b->atomic(kVram, 4, add, 4, 0, before, 1));
  EXPECT_EQ(before, 3u);
  EXPECT_EQ(load(*a, kVram, 1), 7u);
  EXPECT_EQ(cell(0), 0u);  // written back when somebody asks
  // Where the host is too, at once.
  EXPECT_TRUE(a->atomic(kData, 4, add, 5, 0, before, 0));
  EXPECT_EQ(peek<u32>(kData), 5u);
}

TEST_F(CachesTest, InstructionsOnCachesActOnTheirOwnUnit) {
  open_adversarial(hw::Generation::Gfx11);
  auto a = kernel(0), b = kernel(1);
  EXPECT_EQ(load(*a, kVram), 0u);
  EXPECT_EQ(load(*b, kVram), 0u);
  store(*kernel(3), kVram, 9);
  a->cache(CacheOperation::Gl0Invalidate, 0);
  EXPECT_EQ(load(*a, kVram), 0u);  // GL1 still has it
  a->cache(CacheOperation::Gl0Invalidate, 0);
  a->cache(CacheOperation::Gl1Invalidate, 0);
  EXPECT_EQ(load(*a, kVram), 9u);
  EXPECT_EQ(load(*b, kVram), 0u);  // its own line
}

TEST_F(CachesTest, SeveralL2sMeetInMemory) {
  open_adversarial(hw::Generation::Gfx9, QueueKind::Pm4, 2);
  auto a = kernel(0, 0), b = kernel(0, 1);
  store(*a, kVram, 3);
  EXPECT_EQ(load(*b, kVram, 16), 0u);  // dirty in the other XCC's L2
  a->cache(CacheOperation::WriteBack, 16);
  EXPECT_EQ(load(*b, kVram, 16), 3u);
}

TEST_F(CachesTest, UnmappedMemoryIsWrittenBackAndForgotten) {
  open_adversarial(hw::Generation::Gfx11);
  store(*kernel(), kVram, 3);
  gpu_->unmapped(kVram, kVram + kVramBytes);
  EXPECT_EQ(cell(0), 3u);
  EXPECT_EQ(gpu_->caches()->dirty_lines(), 0u);
}

TEST_F(CachesTest, FaultsAreNamedAsTheKernelDoes) {
  open_adversarial(hw::Generation::Gfx11);
  auto k = kernel();
  u32 value = 0;
  EXPECT_FALSE(k->load(kUnmapped, 4, &value, 0));
  EXPECT_EQ(k->fault().kind, AccessFault::Kind::NotPresent);
  EXPECT_EQ(k->fault().address, kUnmapped);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
