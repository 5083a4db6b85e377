// The functions of the CUDA driver API that the driver calls, and their errors. Nothing of NVIDIA's
// is included or linked: the declarations are our own, with the ABI of cuda.h 12.0 to 13.2
// [nvidia-cuda-runtime on PyPI, include/cuda.h], and libcuda.so.1, which comes with NVIDIA's kernel
// driver, is opened when a device is first asked for. An emulated one gives a table instead.
//
// Thread safety: the driver API may be called from any thread; the current context is the thread's
// [CUDA Driver API, "Context Management"], see context.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/os/fork.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = u64;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;

inline constexpr CUresult kSuccess = 0, kNotReady = 600, kPeerAccessAlreadyEnabled = 704;
inline constexpr int kLeastVersion = 12000;  // of the driver: CUDA 12.0

// CUdevice_attribute.
enum class Attribute : int {
  MultiprocessorCount = 16,
  UnifiedAddressing = 41,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  CanUse64BitStreamMemOps = 122,
};
// CUpointer_attribute.
enum class PointerAttribute : int { MemoryType = 2, DeviceOrdinal = 9 };
inline constexpr u32 kMemoryTypeDevice = 2;  // CU_MEMORYTYPE_DEVICE
// CUfunction_attribute.
enum class FunctionAttribute : int { MaxThreadsPerBlock = 0, MaxDynamicSharedSizeBytes = 8 };

inline constexpr u32 kStreamNonBlocking = 1;                          // CU_STREAM_NON_BLOCKING
inline constexpr u32 kEventDefault = 0, kEventDisableTiming = 2;      // CU_EVENT_...
inline constexpr u32 kHostPortable = 1, kHostDeviceMap = 2;           // CU_MEMHOSTALLOC_...
inline constexpr u32 kWaitAtLeast = 0, kWaitEqual = 1, kWaitAny = 2;  // CU_STREAM_WAIT_VALUE_...
inline constexpr u32 kWriteDefault = 0;                               // CU_STREAM_WRITE_VALUE_...

// CUtensorMap.
inline constexpr usize kTensorMapBytes = 128, kTensorMapAlignment = 128;

// Keys of the `extra` array of a launch: CU_LAUNCH_PARAM_...
inline void* const kParamEnd = nullptr;
inline void* const kParamBufferPointer = reinterpret_cast<void*>(u64{1});
inline void* const kParamBufferSize = reinterpret_cast<void*>(u64{2});

// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  CUfunction func;
  u32 grid_x, grid_y, grid_z, block_x, block_y, block_z;
  u32 shared_bytes;
  void** kernel_params;
  void** extra;
  void* kern;     // CUkernel; unused where there is a func
  CUcontext ctx;  // null: the current one
};
static_assert(sizeof(KernelNodeParams) == 72);

struct Api {
  // Name, version of its ABI as libcuda exports it, arguments. cuda.h maps the name without a
  // version to one with it.
  // clang-format off: a list, not calls
#define DOORBELL_CUDA_FUNCTIONS(F)                                                                 \
  F(cuGetErrorName, "", (CUresult, const char**))                                                  \
  F(cuGetErrorString, "", (CUresult, const char**))                                                \
  F(cuInit, "", (u32 flags))                                                                       \
  F(cuDriverGetVersion, "", (int*))                                                                \
  F(cuDeviceGetCount, "", (int*))                                                                  \
  F(cuDeviceGet, "", (CUdevice*, int ordinal))                                                     \
  F(cuDeviceGetName, "", (char*, int bytes, CUdevice))                                             \
  F(cuDeviceGetUuid, "_v2", (void* uuid, CUdevice))                                                \
  F(cuDeviceGetAttribute, "", (int*, Attribute, CUdevice))                                         \
  F(cuDeviceCanAccessPeer, "", (int*, CUdevice, CUdevice peer))                                    \
  F(cuDevicePrimaryCtxRetain, "", (CUcontext*, CUdevice))                                          \
  F(cuDevicePrimaryCtxRelease, "_v2", (CUdevice))                                                  \
  F(cuCtxPushCurrent, "_v2", (CUcontext))                                                          \
  F(cuCtxPopCurrent, "_v2", (CUcontext*))                                                          \
  F(cuCtxEnablePeerAccess, "", (CUcontext peer, u32 flags))                                        \
  F(cuMemGetInfo, "_v2", (usize* free, usize* total))                                              \
  F(cuMemAlloc, "_v2", (CUdeviceptr*, usize bytes))                                                \
  F(cuMemFree, "_v2", (CUdeviceptr))                                                               \
  F(cuMemHostAlloc, "", (void**, usize bytes, u32 flags))                                          \
  F(cuMemFreeHost, "", (void*))                                                                    \
  F(cuMemcpyAsync, "", (CUdeviceptr to, CUdeviceptr from, usize bytes, CUstream))                  \
  F(cuPointerGetAttribute, "", (void*, PointerAttribute, CUdeviceptr))                             \
  F(cuStreamCreate, "", (CUstream*, u32 flags))                                                    \
  F(cuStreamDestroy, "_v2", (CUstream))                                                            \
  F(cuStreamQuery, "", (CUstream))                                                                 \
  F(cuStreamSynchronize, "", (CUstream))                                                           \
  F(cuStreamWaitEvent, "", (CUstream, CUevent, u32 flags))                                         \
  F(cuStreamWaitValue64, "_v2", (CUstream, CUdeviceptr, u64 value, u32 flags))                     \
  F(cuStreamWriteValue64, "_v2", (CUstream, CUdeviceptr, u64 value, u32 flags))                    \
  F(cuEventCreate, "", (CUevent*, u32 flags))                                                      \
  F(cuEventDestroy, "_v2", (CUevent))                                                              \
  F(cuEventRecord, "", (CUevent, CUstream))                                                        \
  F(cuEventSynchronize, "", (CUevent))                                                             \
  F(cuEventElapsedTime, "", (float* ms, CUevent begin, CUevent end))                               \
  F(cuModuleLoadData, "", (CUmodule*, const void* image))                                          \
  F(cuModuleUnload, "", (CUmodule))                                                                \
  F(cuModuleGetFunction, "", (CUfunction*, CUmodule, const char* name))                            \
  F(cuFuncGetAttribute, "", (int*, FunctionAttribute, CUfunction))                                 \
  F(cuFuncSetAttribute, "", (CUfunction, FunctionAttribute, int value))                            \
  F(cuLaunchKernel, "",                                                                            \
    (CUfunction, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y, u32 block_z,        \
     u32 shared_bytes, CUstream, void** params, void** extra))                                     \
  F(cuTensorMapEncodeTiled, "",                                                                    \
    (void* map, int type, u32 rank, void* address, const u64* sizes, const u64* strides,           \
     const u32* box, const u32* steps, int interleave, int swizzle, int promotion, int fill))      \
  F(cuGraphCreate, "", (CUgraph*, u32 flags))                                                      \
  F(cuGraphDestroy, "", (CUgraph))                                                                 \
  F(cuGraphAddEmptyNode, "", (CUgraphNode*, CUgraph, const CUgraphNode* after, usize count))       \
  F(cuGraphAddKernelNode, "_v2",                                                                   \
    (CUgraphNode*, CUgraph, const CUgraphNode* after, usize count, const KernelNodeParams*))       \
  F(cuGraphInstantiateWithFlags, "", (CUgraphExec*, CUgraph, unsigned long long flags))            \
  F(cuGraphExecKernelNodeSetParams, "_v2", (CUgraphExec, CUgraphNode, const KernelNodeParams*))    \
  F(cuGraphLaunch, "", (CUgraphExec, CUstream))                                                    \
  F(cuGraphExecDestroy, "", (CUgraphExec))
// clang-format on
#define F(name, version, arguments) CUresult(*name) arguments = nullptr;
  DOORBELL_CUDA_FUNCTIONS(F)
#undef F

  // Success, or an error with the call, the result's name and number, and what to do.
  Result<void> check(CUresult result, std::string_view call) const {
    if (result == kSuccess) [[likely]]
      return {};
    return refusal(result, call);
  }
  Error refusal(CUresult result, std::string_view call) const;

  // The driver's threads and mappings are not those of a forked child.
  os::ForkGuard process;
  Result<void> check_process() const { return process.check("CUDA's devices"); }
};

// Whether the context is lost: this call and all later ones fail [CUDA Driver API, CUresult: "the
// context ... must be destroyed", "terminated and relaunched"].
bool is_sticky(CUresult result);

// Where a symbol of the driver API is; null for one that is missing.
using FindSymbol = std::function<void*(const char* symbol)>;

// The functions that `find` finds in `library`, after cuInit(). Fails where one is missing, where
// the driver is older than kLeastVersion, and where cuInit() does.
Result<std::unique_ptr<const Api>> load_api(const FindSymbol& find, std::string_view library);
// The same of libcuda.so.1, once for the process and never freed; an error where there is none, or
// where it was opened before a fork.
Result<const Api*> load_api();

}  // namespace doorbell::cuda
