// Devices of the driver on the emulated CUDA driver, for the tests of this folder.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "drivers/cuda/device.h"
#include "emulator/cuda/driver.h"
#include "emulator/cuda/functions.h"
#include "hcq/queue/resident_commands.h"

namespace doorbell::cuda {

using core::Buffer;
using core::Ref;

struct EmulatedTest : ::testing::Test {
  std::unique_ptr<const Api> loaded;
  const Api* api = nullptr;

  EmulatedTest() { boot({.gpus = "sm_90,sm_90"}); }
  ~EmulatedTest() override {
    // Each broken rule is a failure.
    if (emu::cuda::driver() == nullptr) return;
    for (const emu::Report& report : emu::cuda::driver()->checks.reports())
      ADD_FAILURE() << to_string(report);
    emu::cuda::install(nullptr);
  }

  // Another driver; no device may be open.
  void boot(emu::cuda::DriverOptions options) {
    emu::cuda::install(nullptr);
    emu::cuda::install(*emu::cuda::Driver::create(std::move(options)));
    Result<std::unique_ptr<const Api>> found =
        load_api(emu::cuda::find_symbol, "the emulated driver");
    ASSERT_TRUE(found) << found.error().message;
    loaded = std::move(*found);
    api = loaded.get();
  }

  std::unique_ptr<CudaDevice> open(int ordinal, const Options& options = {}) const {
    core::DeviceSpec spec;
    spec.name = ordinal == 0 ? "CUDA" : fmt::format("CUDA:{}", ordinal);
    spec.ordinal = ordinal;
    Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(spec, *api, options);
    EXPECT_TRUE(device) << (device ? "" : device.error().message);
    return device ? std::move(*device) : nullptr;
  }
  // Runs the commands once, with the slots.
  static void run(hcq::Queue& queue, hcq::ResidentCommands& bound, std::span<const u64> slots) {
    hcq::ResidentCommands::Instance& instance = **bound.next();
    bound.patch(instance, slots);
    std::unique_lock lock(queue.mutex());
    instance.last = *queue.reserve(1) + 1;
    const auto end = queue.make_commands();
    const auto target = queue.timeline().signal_at(instance.last);
    end->signal(target.signal.address(), target.value);
    const hcq::Segment segments[] = {{{}, instance.words.get()}, hcq::Segment::of(*end)};
    const Result<void> pushed = queue.write(segments, instance.last);
    ASSERT_TRUE(pushed) << pushed.error().message;
    lock.unlock();
    const Result<void> waited = queue.wait(instance.last);
    ASSERT_TRUE(waited) << waited.error().message;
  }
};

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace doorbell::cuda
