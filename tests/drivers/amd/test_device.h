// A device on a /dev/kfd of the test. Shared by the tests of this folder.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "drivers/amd/device.h"
#include "tests/drivers/amd/compiled_kernel.h"
#include "tests/drivers/amd/fake_kfd.h"

namespace doorbell::amd {

using core::Buffer;
using testing::FakeKfd;
using Words = std::vector<u32>;

inline constexpr u32 kCompute = 1, kCopy = 2;  // the queues, in the order of making

struct DeviceTest : ::testing::Test {
  FakeKfd fake;
  std::shared_ptr<Kfd> kfd = *Kfd::open(fake);
  std::unique_ptr<AmdDevice> device;

  AmdDevice& open(Options options = {}) {
    core::DeviceSpec spec;
    spec.name = "AMD";
    Result<std::unique_ptr<AmdDevice>> opened = AmdDevice::open(spec, kfd, options);
    EXPECT_TRUE(opened) << opened.error().message;
    device = std::move(*opened);
    return *device;
  }
  // What a compute queue would do last: raise its signal.
  void finish(hcq::Queue& queue) {
    const hcq::Timeline::SignalValue last = queue.timeline().signal_at(queue.last().position);
    last.signal.store(last.value);
  }
};

// tests/drivers/amd/hw/data/make_saved_waves.py laid it out; the first byte is the fuzzer's.
inline std::string saved_area() {
  std::ifstream file(std::string(std::getenv("DOORBELL_SOURCE_ROOT")) +
                         "/tests/fuzz/corpus/amd_saved_waves/gfx1100",
                     std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {}).substr(1);
}

inline Words slice(const Words& words, usize first, usize count) {
  return {words.begin() + static_cast<i64>(first), words.begin() + static_cast<i64>(first + count)};
}

inline u32 low(u64 value) { return static_cast<u32>(value); }
inline u32 high(u64 value) { return static_cast<u32>(value >> 32); }

}  // namespace doorbell::amd
