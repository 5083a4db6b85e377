// The driver on the emulated Metal, for tests: a broken rule or a reference that is left fails one.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/device/buffer.h"
#include "drivers/metal/device.h"
#include "emulator/metal/metal.h"
#include "emulator/metal/rules.h"

namespace doorbell::metal::testing {

// y[i] = x[i] * n + i, in groups of four.
inline constexpr std::string_view kScale =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "[[max_total_threads_per_threadgroup(4)]] kernel void scale(device uint* p0 [[buffer(0)]], "
    "device const uint* p1 [[buffer(1)]], constant long* n [[buffer(2)]], "
    "uint3 group [[threadgroup_position_in_grid]], "
    "uint3 item [[thread_position_in_threadgroup]]) {\n"
    "  const uint i = group.x * 4 + item.x;\n  p0[i] = p1[i] * (uint)n[0] + i;\n}\n";

class MetalTest : public ::testing::Test {
 protected:
  MetalTest() {
    emu::metal::install(std::make_unique<emu::metal::Runtime>());
    api_ = *load_api(emu::metal::find_symbol, "the emulated Metal");
    device_ = open({});
  }
  ~MetalTest() override {
    device_.reset();
    // The device's own object and NSProcessInfo stay.
    emu::metal::runtime()->expect_live(2);
    for (const emu::Report& report : emu::metal::runtime()->checks.reports())
      ADD_FAILURE() << emu::to_string(report);
    emu::metal::install(nullptr);
  }

  std::unique_ptr<MetalDevice> open(const Options& options) {
    core::DeviceSpec spec;
    spec.name = "METAL";
    Result<std::unique_ptr<MetalDevice>> opened = open_device(spec, *api_, options);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  std::unique_ptr<core::Program> load_scale(MetalDevice& device) {
    core::Binary binary;
    binary.name = "scale";
    binary.image = *device.build("scale", kScale);
    binary.param_count = 2;
    binary.variable_count = 1;
    binary.grid_groups[0] = 2;
    binary.group_items[0] = 4;
    Result<std::unique_ptr<core::Program>> program = device.load(binary);
    EXPECT_TRUE(program) << program.error().message;
    return std::move(*program);
  }
  template <class T>
  core::Ref<core::Buffer> buffer(const std::vector<T>& values) {
    const i64 bytes = static_cast<i64>(values.size() * sizeof(T));
    core::Ref<core::Buffer> made = *core::Buffer::allocate(*device_, bytes);
    EXPECT_TRUE(made->copy_in(values.data(), bytes));
    return made;
  }
  template <class T>
  static std::vector<T> read(const core::Buffer& buffer) {
    std::vector<T> values(static_cast<usize>(buffer.bytes()) / sizeof(T));
    EXPECT_TRUE(buffer.copy_out(values.data(), buffer.bytes()));
    return values;
  }
  static Result<void> launch(core::Program& program, core::BufferView to, core::BufferView from,
                             i64 n) {
    const core::BufferView views[] = {to, from};
    const i64 variables[] = {n};
    return program.launch(views, variables);
  }

  std::unique_ptr<const Api> api_;
  std::unique_ptr<MetalDevice> device_;
};

}  // namespace doorbell::metal::testing
