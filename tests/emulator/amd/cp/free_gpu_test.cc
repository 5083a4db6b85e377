// A GPU that is not in lockstep with its tests: a thread of its own runs it and polls doorbells.
#include <thread>

#include "tests/emulator/amd/cp/rules_test.h"

namespace doorbell::emu::amdgpu {
namespace {

class FreeGpuTest : public TestGpu {
 protected:
  FreeGpuTest() {
    checks_ = std::make_unique<Checks>(Level::Error);
    GpuOptions options{.generation = hw::Generation::Gfx11};
    options.memory = &space_, options.interrupts = &interrupts_, options.checks = checks_.get();
    options.launcher = &launcher_;
    gpu_ = std::make_unique<Gpu>(options);
  }
};

TEST_F(FreeGpuTest, RunsByItself) {
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

TEST_F(FreeGpuTest, PollsDoorbellsThatNobodyTraps) {
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
