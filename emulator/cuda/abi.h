// The ABI of the CUDA driver API, as far as the emulated driver has it: numbers and structs of
// cuda.h [nvidia-cuda-runtime 13.0 on PyPI, include/cuda.h; CUDA Driver API reference]. Written
// from there and not from drivers/cuda, which declares what it calls by itself;
// tests/emulator/cuda/client_test.c compares both with NVIDIA's header.
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::cuda {

// CUresult.
enum Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kPeerAccessUnsupported = 217,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kLaunchFailed = 719,
  kNotSupported = 801,
  kUnknown = 999,
};

// Handles are numbers of our own, which are never used twice; 0 is none.
using Handle = u64;

// CUdevice_attribute.
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxBlockDimY = 3,
  kMaxBlockDimZ = 4,
  kMaxGridDimX = 5,
  kMaxGridDimY = 6,
  kMaxGridDimZ = 7,
  kMaxSharedMemoryPerBlock = 8,
  kTotalConstantMemory = 9,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kCanMapHostMemory = 19,
  kConcurrentKernels = 31,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kMemoryClockRate = 36,
  kMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kAsyncEngineCount = 40,
  kUnifiedAddressing = 41,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kMaxSharedMemoryPerBlockOptin = 97,
  kCanUse64BitStreamMemOps = 122,
};

// CUpointer_attribute, CUmemorytype.
enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerDeviceOrdinal = 9,
};
enum PointerMemory : u32 { kMemoryHost = 1, kMemoryDevice = 2 };

// CUfunction_attribute.
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,
  kFunctionConstBytes = 2,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
};

// Flags.
inline constexpr u32 kStreamNonBlocking = 1;
inline constexpr u32 kEventBlockingSync = 1, kEventDisableTiming = 2, kEventInterprocess = 4;
inline constexpr u32 kHostPortable = 1, kHostDeviceMap = 2, kHostWriteCombined = 4;
enum WaitFlag : u32 { kWaitGeq = 0, kWaitEq = 1, kWaitAnd = 2, kWaitNor = 3 };
inline constexpr u32 kWaitFlush = u32{1} << 30;

// Streams that are not made: the default stream, by its old and its two new names. The one per
// thread is the default stream here.
inline constexpr Handle kStreamDefault = 0, kStreamLegacy = 1, kStreamPerThread = 2;

// CU_LAUNCH_PARAM_...
inline constexpr u64 kParamEnd = 0, kParamBufferPointer = 1, kParamBufferSize = 2;

struct KernelNodeParams {  // CUDA_KERNEL_NODE_PARAMS_v2
  Handle func;
  u32 grid[3];
  u32 block[3];
  u32 shared_bytes;
  void** kernel_params;
  void** extra;
  Handle kern;
  Handle ctx;
};
static_assert(sizeof(KernelNodeParams) == 72 && offsetof(KernelNodeParams, kernel_params) == 40);

struct LaunchConfig {  // CUlaunchConfig
  u32 grid[3];
  u32 block[3];
  u32 shared_bytes;
  Handle stream;
  const void* attributes;
  u32 attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, attribute_count) == 48);

struct Uuid {  // CUuuid
  char bytes[16];
};

}  // namespace doorbell::emu::cuda
