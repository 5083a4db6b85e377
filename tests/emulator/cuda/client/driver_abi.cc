// Compares what drivers/cuda/api.h declares with NVIDIA's cuda.h: compiled by abi_test.py, never
// run. cuda.h comes first: it maps names to those with a version, ours too.
#include <cuda.h>

#include "drivers/cuda/api.h"
#include "tests/emulator/cuda/client/same_abi.h"

namespace doorbell::cuda {

#define F(name, version, arguments) \
  static_assert(same_abi<decltype(&::name), decltype(Api::name)>, #name);
DOORBELL_CUDA_FUNCTIONS(F)
#undef F

static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == sizeof(KernelNodeParams));
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) ==
              offsetof(KernelNodeParams, shared_bytes));
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, extra) == offsetof(KernelNodeParams, extra));
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, ctx) == offsetof(KernelNodeParams, ctx));

static_assert(static_cast<int>(kSuccess) == CUDA_SUCCESS && kNotReady == CUDA_ERROR_NOT_READY &&
              kPeerAccessAlreadyEnabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(static_cast<int>(Attribute::MultiprocessorCount) ==
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(static_cast<int>(Attribute::UnifiedAddressing) ==
              CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
static_assert(static_cast<int>(Attribute::ComputeCapabilityMajor) ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(static_cast<int>(Attribute::ComputeCapabilityMinor) ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(static_cast<int>(Attribute::CanUse64BitStreamMemOps) ==
              CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
static_assert(static_cast<int>(PointerAttribute::MemoryType) == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(static_cast<int>(PointerAttribute::DeviceOrdinal) ==
              CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kMemoryTypeDevice == CU_MEMORYTYPE_DEVICE);
static_assert(static_cast<int>(FunctionAttribute::MaxThreadsPerBlock) ==
              CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(static_cast<int>(FunctionAttribute::MaxDynamicSharedSizeBytes) ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING && kEventDefault == CU_EVENT_DEFAULT &&
              kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kHostPortable == CU_MEMHOSTALLOC_PORTABLE &&
              kHostDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(kWaitAtLeast == CU_STREAM_WAIT_VALUE_GEQ && kWaitEqual == CU_STREAM_WAIT_VALUE_EQ &&
              kWaitAny == CU_STREAM_WAIT_VALUE_AND &&
              kWriteDefault == CU_STREAM_WRITE_VALUE_DEFAULT);

}  // namespace doorbell::cuda
