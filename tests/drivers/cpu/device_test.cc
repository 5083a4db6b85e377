// Memory, loading and launching on the CPU device, with kernels written here.
#include "drivers/cpu/device.h"

#include <gtest/gtest.h>

namespace doorbell::cpu {
namespace {

using core::Buffer;
using core::BufferView;
using core::Ref;

core::DeviceSpec cpu_spec() {
  core::DeviceSpec spec;
  spec.name = "CPU";
  return spec;
}

// out[i] = in[i] * factor + thread, each thread its own half.
void scale(void* const* buffers, const i64* variables, i64 thread) {
  auto* out = static_cast<i64*>(buffers[0]);
  auto* in = static_cast<const i64*>(buffers[1]);
  for (i64 i = thread * 4; i < thread * 4 + 4; ++i) out[i] = in[i] * variables[0] + thread;
}

core::Binary scale_binary(i64 threads) {
  core::Binary binary;
  binary.name = "scale";
  binary.code.entry = reinterpret_cast<void*>(&scale);
  binary.param_count = 2;
  binary.variable_count = 1;
  binary.threads = threads;
  return binary;
}

TEST(CpuDevice, RunsAKernelOverItsThreads) {
  CpuDevice device(cpu_spec(), {.threads = 2});
  EXPECT_EQ(device.threads(), 2);
  EXPECT_EQ(device.description().substr(0, 11), "2 threads, ");
  auto program = *device.load(scale_binary(2));
  Ref<Buffer> in = *Buffer::allocate(device, 64), out = *Buffer::allocate(device, 128);
  const i64 values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(in->copy_in(values, 64));
  const BufferView views[2] = {{out.get(), 64}, {in.get(), 0}};
  const i64 factor = 10;
  ASSERT_TRUE(program->launch(views, {&factor, 1}));
  ASSERT_TRUE(device.synchronize());
  i64 got[8];
  ASSERT_TRUE(out->copy_out(got, 64, 64));
  const i64 expected[8] = {10, 20, 30, 40, 51, 61, 71, 81};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(got[i], expected[i]) << i;
}

TEST(CpuDevice, RefusesWhatIsNotLoadedCode) {
  CpuDevice device(cpu_spec(), {.threads = 1});
  core::Binary binary = scale_binary(1);
  binary.code.entry = nullptr;
  auto refused = device.load(binary);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "kernel scale is not loaded code, which is all that CPU runs");
}

TEST(CpuDevice, KeepsCodeAliveWhileAProgramIs) {
  CpuDevice device(cpu_spec(), {.threads = 1});
  auto module = std::make_shared<int>(0);
  core::Binary binary = scale_binary(1);
  binary.code.keep_alive = module;
  auto program = *device.load(binary);
  binary = {};
  EXPECT_EQ(module.use_count(), 2);
  program.reset();
  EXPECT_EQ(module.use_count(), 1);
}

TEST(CpuDevice, CountsOfArgumentsAreChecked) {
  CpuDevice device(cpu_spec(), {.threads = 1});
  auto program = *device.load(scale_binary(1));
  Ref<Buffer> buffer = *Buffer::allocate(device, 64);
  const BufferView views[1] = {{buffer.get(), 0}};
  const i64 factor = 1;
  EXPECT_THROW((void)program->launch(views, {&factor, 1}), InternalError);
}

TEST(CpuDevice, MemoryIsAlignedAndReused) {
  CpuDevice device(cpu_spec(), {.threads = 1});
  for (i64 bytes : {i64{0}, i64{1}, i64{100}, i64{4} << 20, (i64{2} << 20) + 1}) {
    Ref<Buffer> buffer = *Buffer::allocate(device, bytes);
    void* host = buffer->host();
    ASSERT_NE(host, nullptr);
    EXPECT_EQ(reinterpret_cast<u64>(host) % (bytes >= (2 << 20) ? 2 << 20 : 64), 0u) << bytes;
    if (bytes > 0) {
      static_cast<u8*>(host)[bytes - 1] = 1;
    }
    buffer = {};
    EXPECT_EQ((*Buffer::allocate(device, bytes))->host(), host) << bytes;
  }
}

TEST(CpuDevice, SaysHowMuchIsHeldWhenMemoryIsOut) {
  CpuDevice device(cpu_spec(), {.threads = 1});
  Ref<Buffer> held = *Buffer::allocate(device, 1000);
  auto refused = Buffer::allocate(device, i64{1} << 60);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::OutOfMemory);
  EXPECT_EQ(refused.error().message,
            "CPU has no memory for 1152921504606846976 bytes: 1000 bytes are in use, 0 cached (the "
            "host refuses)");
}

}  // namespace
}  // namespace doorbell::cpu
