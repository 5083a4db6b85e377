// Memory of devices, and pinned memory of the host.
#include "emulator/cuda/call.h"
#include "emulator/cuda/functions.h"

namespace doorbell::emu::cuda {
namespace {

// The wait is what NVIDIA's driver does for device memory; that a client may rely on it is written
// nowhere.
int free_memory(Call& call, u64 address, Allocation::Kind kind) {
  if (address == 0) return kSuccess;
  Driver& driver = call.driver();
  const auto find = [&] { return driver.allocations.find(address); };
  if (find() == driver.allocations.end() || find()->second.kind != kind)
    return call.broken(
        kFree, kInvalidValue,
        fmt::format("no allocation of {} begins at {:#x}, or it was freed",
                    kind == Allocation::Kind::Device ? "device memory" : "pinned memory", address));
  if (const u32 uses = find()->second.uses; uses != 0) {
    const std::string what = fmt::format("{} operations in streams use the {} bytes at {:#x}", uses,
                                         find()->second.bytes, address);
    if (driver.checks.level(kFreedInUse) == Level::Error)
      return call.broken(kFreedInUse, kInvalidValue, what);
    (void)call.broken(kFreedInUse, kSuccess, what);
  }
  // Which device memory kernels use is not known: it waits for all of the context's. [CUDA
  // Programming Guide 13, "Stream Ordered Memory Allocator": cudaFree "causes the GPU to
  // synchronize across all executing CUDA streams"]
  if (kind == Allocation::Kind::Device) (void)call.wait_for_context();
  driver.wait(call.lock(),
              [&] { return find() == driver.allocations.end() || find()->second.uses == 0; });
  if (find() != driver.allocations.end()) driver.free(address);
  return kSuccess;
}

int allocate_host(Call& call, void** memory, usize bytes) {
  if (memory == nullptr || bytes == 0) return kInvalidValue;
  Allocation* made = call.driver().allocate(Allocation::Kind::Pinned, call.gpu(), bytes);
  if (made == nullptr) return kOutOfMemory;
  *memory = made->host;
  return kSuccess;
}

}  // namespace

int cuMemGetInfo_v2(usize* free, usize* total) {
  Call call("cuMemGetInfo");
  if (!call.ok()) return call.status();
  const Gpu& gpu = *call.driver().gpus[static_cast<usize>(call.gpu())];
  *total = gpu.chip.memory_bytes;
  *free = *total - gpu.used_bytes;
  return kSuccess;
}

int cuMemAlloc_v2(u64* address, usize bytes) {
  Call call("cuMemAlloc");
  if (!call.ok()) return call.status();
  if (address == nullptr || bytes == 0) return kInvalidValue;
  const Allocation* made = call.driver().allocate(Allocation::Kind::Device, call.gpu(), bytes);
  if (made == nullptr) return kOutOfMemory;
  *address = made->start;
  return kSuccess;
}

int cuMemFree_v2(u64 address) {
  Call call("cuMemFree");
  return call.ok() ? free_memory(call, address, Allocation::Kind::Device) : call.status();
}

int cuMemHostAlloc(void** memory, usize bytes, u32 flags) {
  Call call("cuMemHostAlloc");
  if (!call.ok()) return call.status();
  if ((flags & ~(kHostPortable | kHostDeviceMap | kHostWriteCombined)) != 0) return kInvalidValue;
  return allocate_host(call, memory, bytes);
}

int cuMemAllocHost_v2(void** memory, usize bytes) {
  Call call("cuMemAllocHost");
  return call.ok() ? allocate_host(call, memory, bytes) : call.status();
}

int cuMemFreeHost(void* memory) {
  Call call("cuMemFreeHost");
  if (!call.ok()) return call.status();
  return free_memory(call, reinterpret_cast<u64>(memory), Allocation::Kind::Pinned);
}

int cuMemHostGetDevicePointer_v2(u64* address, void* memory, u32 flags) {
  Call call("cuMemHostGetDevicePointer");
  if (!call.ok()) return call.status();
  const Allocation* found = call.driver().find_allocation(reinterpret_cast<u64>(memory));
  if (flags != 0 || found == nullptr || found->kind != Allocation::Kind::Pinned)
    return kInvalidValue;
  *address = reinterpret_cast<u64>(memory);
  return kSuccess;
}

int cuPointerGetAttribute(void* value, int attribute, u64 address) {
  Call call("cuPointerGetAttribute", Call::Needs::Init);
  if (!call.ok()) return call.status();
  const Allocation* found = call.driver().find_allocation(address);
  if (value == nullptr || found == nullptr) return kInvalidValue;
  const bool is_device = found->kind == Allocation::Kind::Device;
  switch (attribute) {
    case kPointerMemoryType:
      *static_cast<u32*>(value) = is_device ? kMemoryDevice : kMemoryHost;
      return kSuccess;
    case kPointerDevicePointer: *static_cast<u64*>(value) = address; return kSuccess;
    case kPointerHostPointer:
      if (is_device) return kInvalidValue;
      *static_cast<u64*>(value) = address;
      return kSuccess;
    case kPointerDeviceOrdinal: *static_cast<int*>(value) = found->gpu; return kSuccess;
    default: return kNotSupported;
  }
}

}  // namespace doorbell::emu::cuda
