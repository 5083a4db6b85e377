// Compares the emulated driver's functions and numbers with NVIDIA's cuda.h: compiled by
// abi_test.py, never run. The macro lets cuda.h declare each version by its own name.
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

#include <cstddef>

#include "emulator/cuda/functions.h"
#include "tests/emulator/cuda/client/same_abi.h"

namespace doorbell::emu::cuda {

#define FUNCTION(name, parameters, arguments) \
  static_assert(same_abi<decltype(&::name), decltype(&cuda::name)>, #name);
#include "emulator/cuda/functions.def"
#undef FUNCTION

static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(KernelNodeParams));
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v2, blockDimX) == offsetof(KernelNodeParams, block));
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes) ==
              offsetof(KernelNodeParams, shared_bytes));
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v2, ctx) == offsetof(KernelNodeParams, ctx));
static_assert(sizeof(CUlaunchConfig) == sizeof(LaunchConfig));
static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(LaunchConfig, block));
static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == offsetof(LaunchConfig, shared_bytes));
static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(LaunchConfig, stream));
static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(LaunchConfig, attribute_count));

#define SAME(ours, theirs) static_assert(static_cast<long>(ours) == static_cast<long>(theirs))
SAME(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
SAME(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(kNotFound, CUDA_ERROR_NOT_FOUND);
SAME(kNotReady, CUDA_ERROR_NOT_READY);
SAME(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME(kPeerAccessNotEnabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
SAME(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(kMaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(kMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(kMaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(kTotalConstantMemory, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
SAME(kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(kMaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
SAME(kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(kCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(kConcurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
SAME(kPciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(kPciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(kMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(kMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(kAsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(kMaxSharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(kMaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(kCanUse64BitStreamMemOps, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
SAME(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(kPointerDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME(kPointerHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(kMemoryHost, CU_MEMORYTYPE_HOST);
SAME(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
SAME(kFunctionMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(kFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(kFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(kHostPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(kHostDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(kHostWriteCombined, CU_MEMHOSTALLOC_WRITECOMBINED);
SAME(kWaitGeq, CU_STREAM_WAIT_VALUE_GEQ);
SAME(kWaitEq, CU_STREAM_WAIT_VALUE_EQ);
SAME(kWaitAnd, CU_STREAM_WAIT_VALUE_AND);
SAME(kWaitNor, CU_STREAM_WAIT_VALUE_NOR);
SAME(kWaitFlush, CU_STREAM_WAIT_VALUE_FLUSH);
SAME(kParamBufferPointer, CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
SAME(kParamBufferSize, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);

}  // namespace doorbell::emu::cuda
