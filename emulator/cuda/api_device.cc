// The driver, its GPUs, and the names of results.
#include <algorithm>
#include <cstring>

#include "emulator/cuda/call.h"
#include "emulator/cuda/functions.h"

namespace doorbell::emu::cuda {
namespace {

constexpr int kVersion = 13000;  // CUDA 13.0

struct ResultText {
  int result;
  const char *name, *text;
};
constexpr ResultText kResults[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {kPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {kPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {kPeerAccessNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ResultText* find_result(int result) {
  for (const ResultText& row : kResults)
    if (row.result == result) return &row;
  return nullptr;
}

bool is_device(const Call& call, int device) {
  return device >= 0 && device < static_cast<int>(call.driver().gpus.size());
}

// What all chips of the table have alike: [CUDA Programming Guide 13, 5.1].
int common_attribute(int attribute) {
  switch (attribute) {
    case kMaxThreadsPerBlock:
    case kMaxBlockDimX:
    case kMaxBlockDimY: return 1024;
    case kMaxBlockDimZ: return 64;
    case kMaxGridDimX: return 0x7fffffff;
    case kMaxGridDimY:
    case kMaxGridDimZ: return 65535;
    case kMaxSharedMemoryPerBlock: return 48 << 10;
    case kTotalConstantMemory: return 64 << 10;
    case kWarpSize: return 32;
    case kMaxRegistersPerBlock:
    case kMaxRegistersPerMultiprocessor: return 65536;
    case kClockRate:
    case kMemoryClockRate: return 1'000'000;  // kHz
    case kMemoryBusWidth: return 384;
    case kAsyncEngineCount: return 2;
    case kCanMapHostMemory:
    case kConcurrentKernels:
    case kUnifiedAddressing:
    case kCanUse64BitStreamMemOps: return 1;
    default: return 0;
  }
}

int attribute_of(const Chip& chip, int device, int attribute) {
  switch (attribute) {
    case kMultiprocessorCount: return chip.multiprocessors;
    case kComputeCapabilityMajor: return chip.major;
    case kComputeCapabilityMinor: return chip.minor;
    case kMaxThreadsPerMultiprocessor: return chip.threads;
    case kMaxSharedMemoryPerMultiprocessor: return chip.shared_of_sm;
    case kMaxSharedMemoryPerBlockOptin: return chip.shared_of_block;
    case kL2CacheSize: return chip.l2_bytes;
    case kPciBusId: return device + 1;
    default: return common_attribute(attribute);
  }
}

}  // namespace

int cuGetErrorName(int result, const char** text) {
  const ResultText* row = find_result(result);
  *text = row == nullptr ? nullptr : row->name;
  return row == nullptr ? kInvalidValue : kSuccess;
}

int cuGetErrorString(int result, const char** text) {
  const ResultText* row = find_result(result);
  *text = row == nullptr ? nullptr : row->text;
  return row == nullptr ? kInvalidValue : kSuccess;
}

int cuInit(u32 flags) {
  if (!ensure_installed()) return kUnknown;
  Call call("cuInit", Call::Needs::Nothing);
  if (!call.ok()) return call.status();
  if (flags != 0) return kInvalidValue;
  call.driver().initialised = true;
  return kSuccess;
}

// Tables that NVIDIA does not document: there are none. NVRTC looks for one, and needs the answer.
int cuGetExportTable(const void** table, const Uuid* id) {
  return table == nullptr || id == nullptr ? kInvalidValue : kNotFound;
}

int cuDriverGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion;
  return kSuccess;
}

int cuDeviceGetCount(int* count) {
  Call call("cuDeviceGetCount", Call::Needs::Init);
  if (!call.ok()) return call.status();
  *count = static_cast<int>(call.driver().gpus.size());
  return kSuccess;
}

int cuDeviceGet(int* device, int ordinal) {
  Call call("cuDeviceGet", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (!is_device(call, ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

int cuDeviceGetName(char* name, int bytes, int device) {
  Call call("cuDeviceGetName", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (!is_device(call, device)) return kInvalidDevice;
  if (bytes <= 0) return kInvalidValue;
  const std::string_view gpu = call.driver().gpus[static_cast<usize>(device)]->chip.gpu;
  const usize length = std::min(gpu.size(), static_cast<usize>(bytes) - 1);
  std::memcpy(name, gpu.data(), length);
  name[length] = 0;
  return kSuccess;
}

int cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  Call call("cuDeviceGetUuid", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (!is_device(call, device)) return kInvalidDevice;
  *uuid = {};
  uuid->bytes[15] = static_cast<char>(device + 1);
  return kSuccess;
}

int cuDeviceTotalMem_v2(usize* bytes, int device) {
  Call call("cuDeviceTotalMem", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (!is_device(call, device)) return kInvalidDevice;
  *bytes = call.driver().gpus[static_cast<usize>(device)]->chip.memory_bytes;
  return kSuccess;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  Call call("cuDeviceGetAttribute", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (!is_device(call, device)) return kInvalidDevice;
  *value = attribute_of(call.driver().gpus[static_cast<usize>(device)]->chip, device, attribute);
  return kSuccess;
}

int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  Call call("cuDeviceCanAccessPeer", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (!is_device(call, device) || !is_device(call, peer)) return kInvalidDevice;
  *can = device == peer ? 0 : 1;
  return kSuccess;
}

}  // namespace doorbell::emu::cuda
