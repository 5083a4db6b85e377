// A driver with two GPUs, initialised, with a context of the first current, and each rule an error.
#pragma once

#include <gtest/gtest.h>

#include "emulator/cuda/driver.h"
#include "emulator/cuda/functions.h"
#include "emulator/cuda/rules.h"

namespace doorbell::emu::cuda {

// Of one kernel, `idle`, which has static shared memory and does nothing.
class IdleCode final : public Code {
 public:
  explicit IdleCode(u32 shared_bytes, usize global_bytes = 0)
      : kernels_{{.name = "idle", .shared_bytes = shared_bytes}}, values_(global_bytes) {}

  const std::vector<KernelFacts>& kernels() const override { return kernels_; }
  u64 global_bytes() const override { return values_.size(); }
  std::span<const u8> place(u64) override { return values_; }
  Result<std::string> run(const KernelFacts&, const Grid&, AddressSpace&, Checks&) const override {
    return std::string();
  }

 private:
  const std::vector<KernelFacts> kernels_;
  const std::vector<u8> values_;
};

struct ApiTest : ::testing::Test {
  Handle context = 0;

  ApiTest() { boot({.gpus = "sm_90,sm_86"}); }
  ~ApiTest() override { shut(); }

  void boot(DriverOptions options) {
    shut();
    install(*Driver::create(std::move(options)));
    EXPECT_EQ(cuInit(0), kSuccess);
    EXPECT_EQ(cuCtxCreate_v2(&context, 0, 0), kSuccess);
  }
  void shut() {
    while (driver() != nullptr && cuCtxPopCurrent_v2(nullptr) == kSuccess) {
    }
    install(nullptr);
  }
  // How often it was broken.
  static u64 count(const Check& rule) { return driver()->checks.count(rule); }

  static u64 device_memory(usize bytes) {
    u64 address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), kSuccess);
    return address;
  }
  static u64* pinned_memory(usize numbers) {
    void* memory = nullptr;
    EXPECT_EQ(cuMemHostAlloc(&memory, numbers * sizeof(u64), kHostPortable), kSuccess);
    return static_cast<u64*>(memory);
  }
  static u64 number(const void* address) { return reinterpret_cast<u64>(address); }
  static Handle stream(u32 flags = kStreamNonBlocking) {
    Handle made = 0;
    EXPECT_EQ(cuStreamCreate(&made, flags), kSuccess);
    return made;
  }
  static Handle event(u32 flags = 0) {
    Handle made = 0;
    EXPECT_EQ(cuEventCreate(&made, flags), kSuccess);
    return made;
  }
};

}  // namespace doorbell::emu::cuda
