// Opening: drivers that are too old or lack functions, GPUs that are not there, errors.
#include <cstring>

#include "tests/drivers/cuda_emulated/emulated_test.h"

namespace doorbell::cuda {
namespace {

struct OpeningTest : EmulatedTest {};

TEST_F(OpeningTest, ADriverThatIsTooOldIsToldWithBothVersions) {
  const FindSymbol old = [](const char* name) -> void* {
    if (std::strcmp(name, "cuDriverGetVersion") != 0) return nullptr;
    return reinterpret_cast<void*>(+[](int* version) {
      *version = 11080;
      return 0;
    });
  };
  const auto loaded = load_api(old, "libcuda.so.1");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            "libcuda.so.1 is a driver for CUDA 11.8, at least 12.0 is needed: install an NVIDIA "
            "driver of version 525.60 or later");
}

TEST_F(OpeningTest, AMissingFunctionIsNamed) {
  const FindSymbol without = [](const char* name) -> void* {
    return std::strcmp(name, "cuGraphLaunch") == 0 ? nullptr : emu::cuda::find_symbol(name);
  };
  const auto loaded = load_api(without, "libcuda.so.1");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "libcuda.so.1 has no function cuGraphLaunch");
}

TEST_F(OpeningTest, AGpuThatIsNotThere) {
  core::DeviceSpec spec;
  spec.name = "CUDA:2";
  spec.ordinal = 2;
  const auto device = CudaDevice::open(spec, *api, {});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "CUDA:2: GPU index 2 out of range (2 present)");
}

TEST_F(OpeningTest, AnotherChipThanDevAsksFor) {
  core::DeviceSpec spec;
  spec.name = "CUDA";
  spec.arch = "sm_80";
  const auto device = CudaDevice::open(spec, *api, {});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "GPU 0 is a sm_90, DEV asks for sm_80");
}

TEST_F(OpeningTest, ADeviceDescribesItself) {
  const auto device = open(0);
  EXPECT_TRUE(contains(device->description(), "Emulated H100, sm_90, 132 multiprocessors, "))
      << device->description();
  EXPECT_TRUE(contains(device->description(), "driver for CUDA 13.0")) << device->description();
}

// The name, number and text of cuda.h, and advice.
TEST_F(OpeningTest, ErrorsNameTheCallAndTheResult) {
  const Error error = api->refusal(700, "cuLaunchKernel of kernel sum");
  EXPECT_EQ(error.kind, ErrorKind::DeviceLost);
  EXPECT_EQ(error.message,
            "cuLaunchKernel of kernel sum: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory "
            "access was encountered; all work of the process on the device is lost; start it "
            "again");
  EXPECT_EQ(api->refusal(12345, "cuInit").message,
            "cuInit: an unknown result (12345): no explanation");
  EXPECT_TRUE(is_sticky(719));
  EXPECT_FALSE(is_sticky(2));
}

TEST_F(OpeningTest, MemoryRunsOutWithAnErrorThatSaysHowMuch) {
  const auto device = open(0);
  const auto buffer = Buffer::allocate(*device, i64{81} << 30);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::OutOfMemory);
  EXPECT_TRUE(contains(buffer.error().message, "CUDA_ERROR_OUT_OF_MEMORY (2)"))
      << buffer.error().message;
}

TEST_F(OpeningTest, ACubinThatIsNoneIsRefused) {
  const auto device = open(0);
  core::Binary binary;
  binary.name = "sum";
  binary.image.resize(16);
  EXPECT_TRUE(contains(device->load(binary).error().message, "is 16 bytes"));
  binary.image.resize(4096);
  const auto program = device->load(binary);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, ErrorKind::Corrupt);
  EXPECT_TRUE(contains(program.error().message,
                       "cuModuleLoadData of kernel sum: "
                       "CUDA_ERROR_INVALID_IMAGE (200)"))
      << program.error().message;
}

TEST_F(OpeningTest, ForeignMemoryIsLookedAt) {
  const auto device = open(0), other = open(1);
  const Ref<Buffer> ours = *Buffer::allocate(*device, 64), theirs = *Buffer::allocate(*other, 64);
  const auto at = [](u64 address) { return reinterpret_cast<void*>(address); };
  const auto taken = device->foreign_memory(at(ours->memory().address + 8), 56);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->address, ours->memory().address + 8);
  EXPECT_EQ(taken->host, nullptr);
  EXPECT_TRUE(contains(device->foreign_memory(at(theirs->memory().address), 8).error().message,
                       "is memory of GPU 1, CUDA is GPU 0"));
  u64 pageable = 0;
  EXPECT_TRUE(contains(device->foreign_memory(&pageable, 8).error().message,
                       "is no memory of a GPU, so CUDA cannot use it in place"));
}

}  // namespace
}  // namespace doorbell::cuda
