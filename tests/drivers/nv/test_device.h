// A device on kernel modules of the test. Shared by the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include "drivers/nv/device.h"
#include "drivers/nv/program.h"
#include "tests/drivers/nv/fake_nvk.h"
#include "tests/support/golden.h"

namespace doorbell::nv {

inline std::vector<u8> cubin_file(const std::string& name) {
  const std::string bytes = testing::read_source("tests/fuzz/corpus/nv_cubin/" + name);
  return {bytes.begin(), bytes.end()};
}

struct DeviceTest : ::testing::Test {
  std::unique_ptr<testing::FakeNvk> fake;
  std::shared_ptr<Nvk> nvk;
  std::unique_ptr<NvDevice> device;

  NvDevice& open(std::string_view chip = "sm_86") {
    fake = std::make_unique<testing::FakeNvk>(chip);
    return open_fake();
  }
  // The device of `fake`.
  NvDevice& open_fake() {
    nvk = *Nvk::open(*fake);
    core::DeviceSpec spec;
    spec.name = "NV";
    Result<std::unique_ptr<NvDevice>> opened = NvDevice::open(spec, nvk, {});
    EXPECT_TRUE(opened) << opened.error().message;
    device = std::move(*opened);
    return *device;
  }
  // What a queue would do last: raise its signal.
  static void finish(hcq::Queue& queue) {
    const hcq::Timeline::SignalValue last = queue.timeline().signal_at(queue.last().position);
    last.signal.store(last.value);
  }
  // The kernel that tests/drivers/nv/hw/words.h says, with grid and block of a launch there; its
  // variable stands for a float.
  static core::Binary scale(std::string_view chip, std::array<i64, 3> grid,
                            std::array<i64, 3> block) {
    core::Binary binary;
    binary.name = "scale";
    binary.image = cubin_file("tinygrad_" + std::string(chip));
    binary.param_count = 2;
    binary.variable_count = 1;
    std::copy(grid.begin(), grid.end(), binary.grid_groups);
    std::copy(block.begin(), block.end(), binary.group_items);
    return binary;
  }
  ~DeviceTest() override {
    device.reset();
    nvk.reset();
  }
};

}  // namespace doorbell::nv
