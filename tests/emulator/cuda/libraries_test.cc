// Libraries: one image, a module of it for each context. The image is a bare ELF header; its kernel
// has 1 KiB of static shared memory and does nothing.
#include <elf.h>

#include <cstring>

#include "tests/emulator/cuda/api_test.h"

namespace doorbell::emu::cuda {
namespace {

constexpr u32 kStatic = 1 << 10, kMost = 48 << 10;

struct LibrariesTest : ApiTest {
  Elf64_Ehdr image{};
  Handle library = 0, kernel = 0;

  LibrariesTest() {
    boot({.gpus = "sm_90,sm_90", .load = [](const void*, const Chip&) {
            return Result<std::unique_ptr<Code>>(std::make_unique<IdleCode>(kStatic, 16));
          }});
    std::memcpy(image.e_ident, ELFMAG, SELFMAG);
    EXPECT_EQ(load(&image), kSuccess);
    EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "idle"), kSuccess);
  }
  int load(const void* bytes) {
    return cuLibraryLoadData(&library, bytes, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  static int launch(Handle function, Handle queue, u32 shared = 0) {
    usize none = 0;
    void* extra[] = {reinterpret_cast<void*>(kParamBufferSize), &none, nullptr};
    LaunchConfig config{};
    for (int axis = 0; axis < 3; ++axis) config.grid[axis] = config.block[axis] = 1;
    config.shared_bytes = shared;
    config.stream = queue;
    return cuLaunchKernelEx(&config, function, nullptr, extra);
  }
};

TEST_F(LibrariesTest, KernelsAreLaunchedInTheCurrentContext) {
  EXPECT_EQ(launch(kernel, stream()), kSuccess);
  Handle first = 0, again = 0, second = 0, other = 0, module = 0, modules_function = 0;
  EXPECT_EQ(cuKernelGetFunction(&first, kernel), kSuccess);
  EXPECT_EQ(cuKernelGetFunction(&again, kernel), kSuccess);
  EXPECT_EQ(first, again);
  EXPECT_EQ(cuLibraryGetModule(&module, library), kSuccess);
  EXPECT_EQ(cuModuleGetFunction(&modules_function, module, "idle"), kSuccess);
  EXPECT_EQ(modules_function, first);
  EXPECT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  EXPECT_EQ(cuKernelGetFunction(&second, kernel), kSuccess);
  EXPECT_NE(first, second);
  const Handle queue = stream();
  EXPECT_EQ(launch(kernel, queue), kSuccess);
  EXPECT_EQ(launch(first, queue), kInvalidHandle);  // of the first context
  EXPECT_EQ(count(kSameContext), 1u);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
}

TEST_F(LibrariesTest, AttributesAreOfADevice) {
  int bytes = 0;
  EXPECT_EQ(cuKernelGetAttribute(&bytes, kFunctionMaxDynamicSharedBytes, kernel, 0), kSuccess);
  EXPECT_EQ(bytes, static_cast<int>(kMost - kStatic));
  const Handle queue = stream();
  EXPECT_EQ(launch(kernel, queue, kMost), kInvalidValue);
  EXPECT_EQ(cuKernelSetAttribute(kFunctionMaxDynamicSharedBytes, 100'000, kernel, 0), kSuccess);
  EXPECT_EQ(launch(kernel, queue, 100'000), kSuccess);
  // A later context of the same GPU has it, one of another GPU does not.
  Handle other = 0;
  EXPECT_EQ(cuCtxCreate_v2(&other, 0, 0), kSuccess);
  EXPECT_EQ(launch(kernel, stream(), 100'000), kSuccess);
  EXPECT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  EXPECT_EQ(launch(kernel, stream(), 100'000), kInvalidValue);
  EXPECT_EQ(cuKernelSetAttribute(kFunctionMaxDynamicSharedBytes, 1 << 30, kernel, 1),
            kInvalidValue);
}

TEST_F(LibrariesTest, WhatIsNoCubinOrNoKernel) {
  Handle none = 0;
  EXPECT_EQ(load(".version 8.0"), kInvalidImage);
  EXPECT_EQ(load(nullptr), kInvalidValue);
  EXPECT_EQ(cuLibraryGetKernel(&none, library, "other"), kNotFound);
  EXPECT_EQ(cuLibraryGetKernel(&none, kernel, "idle"), kInvalidHandle);
  EXPECT_EQ(launch(library, stream()), kInvalidHandle);
  EXPECT_EQ(count(kHandle), 2u);
}

TEST_F(LibrariesTest, UnloadingTakesFunctionsAndMemoryAlong) {
  usize before = 0, after = 0, total = 0;
  Handle function = 0;
  EXPECT_EQ(cuKernelGetFunction(&function, kernel), kSuccess);
  EXPECT_EQ(cuMemGetInfo_v2(&before, &total), kSuccess);
  EXPECT_EQ(cuLibraryUnload(library), kSuccess);
  EXPECT_EQ(cuMemGetInfo_v2(&after, &total), kSuccess);
  EXPECT_GT(after, before);
  const Handle queue = stream();
  EXPECT_EQ(launch(kernel, queue), kInvalidHandle);
  EXPECT_EQ(launch(function, queue), kInvalidHandle);
  EXPECT_EQ(cuLibraryUnload(library), kInvalidHandle);
  EXPECT_EQ(count(kHandle), 3u);
}

TEST_F(LibrariesTest, AContextTakesItsModulesAlong) {
  Handle other = 0, function = 0;
  EXPECT_EQ(cuCtxCreate_v2(&other, 0, 1), kSuccess);
  EXPECT_EQ(cuKernelGetFunction(&function, kernel), kSuccess);
  EXPECT_EQ(cuCtxDestroy_v2(other), kSuccess);
  EXPECT_EQ(cuCtxSetCurrent(context), kSuccess);
  EXPECT_EQ(cuLibraryUnload(library), kSuccess);
}

}  // namespace
}  // namespace doorbell::emu::cuda
