// Devices of the driver on the emulated CUDA driver, for the tests of this folder.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "drivers/cuda/device.h"
#include "emulator/cuda/driver.h"
#include "emulator/cuda/functions.h"

namespace doorbell::cuda {

using core::Buffer;
using core::Ref;

struct EmulatedTest : ::testing::Test {
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
    Result<const Api*> loaded = load_api(emu::cuda::find_symbol, "the emulated driver");
    ASSERT_TRUE(loaded) << loaded.error().message;
    api = *loaded;
  }

  std::unique_ptr<CudaDevice> open(int ordinal, const Options& options = {}) const {
    core::DeviceSpec spec;
    spec.name = ordinal == 0 ? "CUDA" : fmt::format("CUDA:{}", ordinal);
    spec.ordinal = ordinal;
    Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(spec, *api, options);
    EXPECT_TRUE(device) << (device ? "" : device.error().message);
    return device ? std::move(*device) : nullptr;
  }
};

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace doorbell::cuda
