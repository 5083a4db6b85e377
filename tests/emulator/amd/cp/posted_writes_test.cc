// Writes of the command processor that nobody waits for, in adversarial mode: late, named when
// their own queue counts on them, and bounded by what orders them. WR_CONFIRM is bit 20 of the
// second word of WRITE_DATA (0x37) and COPY_DATA (0x40), CP_SYNC bit 31 of DMA_DATA's (0x50).
// [nvd.h PACKET3_WRITE_DATA__WR_CONFIRM, PACKET3_COPY_DATA__WR_CONFIRM, PACKET3_DMA_DATA_CP_SYNC]
#include "emulator/amd/cp/adversarial_memory.h"
#include "emulator/amd/cp/caches.h"
#include "tests/emulator/amd/cp/test_kernel.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u64 kSeeds = 20;

std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

constexpr u32 confirmed(bool is) { return is ? 1u << 20 : 0; }

std::vector<u32> write_data(u64 va, u32 value, bool confirm) {
  return {0xc0033700, 5 << 8 | confirmed(confirm), lo(va), hi(va), value};
}
// Source and target memory (1, 5), 32 bits.
std::vector<u32> copy_data(u64 to, u64 from, bool confirm) {
  return {0xc0044000, 1 | 5 << 8 | confirmed(confirm), lo(from), hi(from), lo(to), hi(to)};
}
// Of 4 bytes, both through the L2 (3).
std::vector<u32> dma_data(u64 to, u64 from, bool sync) {
  return {
      0xc0055000, 3u << 29 | 3 << 20 | (sync ? 1u << 31 : 0), lo(from), hi(from), lo(to), hi(to),
      4};
}
// RELEASE_MEM of 32 bits behind all that is in front.
std::vector<u32> release(u64 va, u32 value) {
  return {0xc0064900, 0x14 | 5 << 8, 1 << 29, lo(va), hi(va), value, 0, 0};
}
// WAIT_REG_MEM until the word is at least `value`.
std::vector<u32> wait(u64 va, u32 value) {
  return {0xc0053c00, 5 | 1 << 4, lo(va), hi(va), value, ~u32{0}, 4};
}

// Whose waves load the word at `watched` when they end, and store it at `seen`.
class LoadingLauncher final : public Launcher {
 public:
  explicit LoadingLauncher(const AddressSpace& space) : space_(space) {}
  std::unique_ptr<RunningGrid> launch(const Dispatch&, Caches* caches) override {
    auto memory =
        std::make_shared<AdversarialMemory>(space_, *caches, Generation::Gfx11, 0, "loader");
    auto effect = [this, memory] { EXPECT_TRUE(memory->load(watched, 4, &seen, 1)); };
    return std::make_unique<FakeGrid>(2, effect, nullptr);
  }
  u64 watched = 0;
  u32 seen = 0;

 private:
  const AddressSpace& space_;
};

class PostedWritesTest : public KernelTestGpu {
 protected:
  void open_seed(u64 seed) {
    for (u64 va = kData; va < kData + 256; va += 8) poke<u64>(va, 0);
    open_with_kernel({.adversarial = true, .seed = seed}, Level::Warn);
  }
  void run(const std::vector<u32>& words) {
    write_and_ring(words);
    gpu_->run_until_idle();
  }
};

TEST_F(PostedWritesTest, ALaterPacketMayComeBeforeThem) {
  constexpr u64 kTo = kData + 64, kFrom = kData + 128;
  struct {
    const char* what;
    std::vector<u32> (*make)(bool);
  } const kCases[] = {
      {"WRITE_DATA", [](bool is) { return write_data(kData, 7, is); }},
      {"COPY_DATA", [](bool is) { return copy_data(kData, kFrom, is); }},
      {"DMA_DATA", [](bool is) { return dma_data(kData, kFrom, is); }},
  };
  for (const auto& test : kCases)
    for (bool confirm : {false, true}) {
      u64 early = 0;
      for (u64 seed = 1; seed <= kSeeds; ++seed) {
        open_seed(seed);
        poke<u32>(kFrom, 7);
        run(test.make(confirm) + copy_data(kTo, kData, true));
        const bool missed = peek<u32>(kTo) == 0;
        early += missed;
        EXPECT_EQ(count("AMD-WRITE-001"), missed ? 1u : 0u) << test.what << " seed " << seed;
        EXPECT_EQ(peek<u32>(kData), 7u) << "it comes in the end";
        const std::string report = missed ? checks_->reports().at(0).message : test.what;
        EXPECT_NE(report.find(test.what), std::string::npos) << report;
      }
      EXPECT_EQ(early > 0, !confirm) << test.what;
    }
}

TEST_F(PostedWritesTest, SoMayTheWavesOfAKernel) {
  LoadingLauncher launcher(space_);
  launcher.watched = kData;
  for (bool confirm : {false, true}) {
    u64 early = 0;
    for (u64 seed = 1; seed <= kSeeds; ++seed) {
      open_seed(seed);
      gpu_.reset();
      gpu_ = std::make_unique<Gpu>(GpuOptions{.memory = &space_,
                                              .interrupts = &interrupts_,
                                              .checks = checks_.get(),
                                              .launcher = &launcher,
                                              .lockstep = true,
                                              .adversarial = true,
                                              .seed = seed});
      queue_ = gpu_->add_queue(description_).value();
      run(write_data(kData, 7, confirm) + dispatch());
      early += launcher.seen == 0;
      EXPECT_EQ(count("AMD-WRITE-001"), launcher.seen == 0 ? 1u : 0u) << "seed " << seed;
      // A kernel before the write does not depend on it.
      checks_->clear();
      poke<u32>(kData, 0);
      run(dispatch() + write_data(kData, 8, false));
      EXPECT_EQ(count("AMD-WRITE-001"), 0u);
    }
    EXPECT_EQ(early > 0, !confirm);
  }
}

TEST_F(PostedWritesTest, AnEndOfPipeAndAConfirmedWriteComeBehindThem) {
  constexpr u64 kSignal = kData + 64;
  for (bool end_of_pipe : {false, true})
    for (u64 seed = 1; seed <= kSeeds; ++seed) {
      open_seed(seed);
      write_and_ring(write_data(kData, 7, false) + write_data(kData + 8, 8, false) +
                     (end_of_pipe ? release(kSignal, 1) : write_data(kSignal, 1, true)));
      for (int turn = 0; turn < 1000 && peek<u32>(kSignal) == 0; ++turn) gpu_->run_once();
      ASSERT_EQ(peek<u32>(kSignal), 1u);
      EXPECT_EQ(peek<u32>(kData), 7u) << "seed " << seed;
      EXPECT_EQ(peek<u32>(kData + 8), 8u) << "seed " << seed;
      EXPECT_TRUE(checks_->reports().empty());
    }
}

TEST_F(PostedWritesTest, WritesToOnePlaceKeepTheirOrderAndOthersNeedNot) {
  u64 overtaken = 0;
  for (u64 seed = 1; seed <= kSeeds; ++seed) {
    open_seed(seed);
    write_and_ring(write_data(kData + 8, 1, false) + write_data(kData, 1, false) +
                   write_data(kData, 2, false));
    for (int turn = 0; turn < 1000 && peek<u32>(kData) != 2; ++turn) gpu_->run_once();
    overtaken += peek<u32>(kData + 8) == 0;
    gpu_->run_until_idle();
    EXPECT_EQ(peek<u32>(kData), 2u) << "seed " << seed;
    EXPECT_EQ(peek<u32>(kData + 8), 1u);
  }
  EXPECT_GT(overtaken, 0u);
}

TEST_F(PostedWritesTest, WhoPollsForThemIsRight) {
  for (u64 seed = 1; seed <= kSeeds; ++seed) {
    open_seed(seed);
    run(write_data(kData, 7, false) + wait(kData, 7) + copy_data(kData + 64, kData, true));
    EXPECT_EQ(peek<u32>(kData + 64), 7u);
    EXPECT_TRUE(checks_->reports().empty());
  }
}

TEST_F(PostedWritesTest, TheyOutliveTheirQueueAndMapping) {
  for (bool removed : {false, true})
    for (u64 seed = 1; seed <= kSeeds; ++seed) {
      open_seed(seed);
      write_and_ring(write_data(kData, 7, false));
      for (int turn = 0; turn < 100 && peek<u32>(kReadPointer) == 0; ++turn) gpu_->run_once();
      if (removed)
        gpu_->remove_queue(queue_).value();
      else
        gpu_->unmapped(kData, kData + 4096);
      EXPECT_EQ(peek<u32>(kData), 7u) << "seed " << seed;
      poke<u32>(kReadPointer, 0);
    }
}

TEST_F(PostedWritesTest, TheFastModeWaitsForAll) {
  open_with_kernel();
  run(write_data(kData, 7, false) + copy_data(kData + 64, kData, false));
  EXPECT_EQ(peek<u32>(kData + 64), 7u);
  EXPECT_TRUE(checks_->reports().empty());
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
