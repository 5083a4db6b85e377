// Shared memory of launches. The kernel has 4 KiB of static shared memory and does nothing.
#include "tests/emulator/cuda/api_test.h"

namespace doorbell::emu::cuda {
namespace {

constexpr u32 kStatic = 4 << 10, kMost = 48 << 10;

struct LaunchesTest : ApiTest {
  Handle function = 0, queue = 0;

  // With the chip's largest block, as the CUDA Programming Guide's table has it.
  void open(const char* gpu) {
    boot({.gpus = gpu, .load = [](const void*, const Chip&) -> Result<std::unique_ptr<Code>> {
            return std::unique_ptr<Code>(std::make_unique<IdleCode>(kStatic));
          }});
    Handle module = 0;
    ASSERT_EQ(cuModuleLoadData(&module, "image"), kSuccess);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "idle"), kSuccess);
    queue = stream();
  }
  int launch(u32 shared) const {
    usize none = 0;
    void* extra[] = {reinterpret_cast<void*>(kParamBufferSize), &none, nullptr};
    return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, shared, queue, nullptr, extra);
  }
  int allow(int bytes) const {
    return cuFuncSetAttribute(function, kFunctionMaxDynamicSharedBytes, bytes);
  }
  int allowed() const {
    int bytes = -1;
    EXPECT_EQ(cuFuncGetAttribute(&bytes, kFunctionMaxDynamicSharedBytes, function), kSuccess);
    return bytes;
  }
};

TEST_F(LaunchesTest, SharedMemoryBeyond48KiBIsAskedFor) {
  open("sm_90");
  EXPECT_EQ(allowed(), static_cast<int>(kMost - kStatic));
  EXPECT_EQ(launch(kMost - kStatic), kSuccess);
  EXPECT_EQ(launch(kMost - kStatic + 1), kInvalidValue);
  EXPECT_EQ(count(kDynamicShared), 1u);
  EXPECT_EQ(allow(100'000), kSuccess);
  EXPECT_EQ(allowed(), 100'000);
  EXPECT_EQ(launch(100'000), kSuccess);
  EXPECT_EQ(launch(100'001), kInvalidValue);
  EXPECT_EQ(count(kDynamicShared), 2u);
}

TEST_F(LaunchesTest, NoMoreThanTheChipHas) {
  for (const auto& [gpu, kib] :
       {std::pair{"sm_75", 64}, {"sm_80", 163}, {"sm_86", 99}, {"sm_89", 99}, {"sm_90", 227}}) {
    SCOPED_TRACE(gpu);
    open(gpu);
    const int most = (kib << 10) - static_cast<int>(kStatic);
    EXPECT_EQ(allow(most + 1), kInvalidValue);
    EXPECT_EQ(allow(-1), kInvalidValue);
    EXPECT_EQ(count(kDynamicShared), 2u);
    EXPECT_EQ(allow(most), kSuccess);
    EXPECT_EQ(launch(static_cast<u32>(most)), kSuccess);
  }
}

TEST_F(LaunchesTest, NodesOfGraphsToo) {
  open("sm_86");
  Handle graph = 0, node = 0;
  ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
  usize none = 0;
  void* extra[] = {reinterpret_cast<void*>(kParamBufferSize), &none, nullptr};
  KernelNodeParams params{};
  params.func = function;
  for (int axis = 0; axis < 3; ++axis) params.grid[axis] = params.block[axis] = 1;
  params.shared_bytes = 64 << 10;
  params.extra = extra;
  EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), kInvalidValue);
  EXPECT_EQ(count(kDynamicShared), 1u);
  EXPECT_EQ(allow(64 << 10), kSuccess);
  EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), kSuccess);
}

}  // namespace
}  // namespace doorbell::emu::cuda
