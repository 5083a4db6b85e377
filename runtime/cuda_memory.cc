// Finding CUDA devices and ordering streams.
#include "runtime/cuda_memory.h"

#include <fmt/format.h>

#include <functional>

#include "base/util/try.h"
#include "core/device/registry.h"
#include "drivers/cuda/device.h"

namespace doorbell::runtime {
namespace {

Result<cuda::CudaDevice*> open(const std::string& name) {
  TRY(core::Device * device, core::Registry::instance().open(name));
  auto* found = dynamic_cast<cuda::CudaDevice*>(device);
  if (found == nullptr) return fail(ErrorKind::Invalid, "{} is no CUDA device", name);
  return found;
}

// The first device that `is_it`; `what` for the message.
Result<std::string> find(const std::string& what,
                         const std::function<bool(cuda::CudaDevice&)>& is_it) {
  for (int ordinal = 0;; ++ordinal) {
    const std::string name = ordinal == 0 ? "CUDA" : fmt::format("CUDA:{}", ordinal);
    Result<cuda::CudaDevice*> device = open(name);
    if (!device)
      return fail(ErrorKind::NotFound, "no device here {}: {}", what, device.error().message);
    if (is_it(**device)) return name;
  }
}

cuda::CUstream handle(u64 stream) { return reinterpret_cast<cuda::CUstream>(stream); }

}  // namespace

std::optional<int> cuda_gpu(const std::string& device) {
  if (!device.starts_with("CUDA")) return {};
  const Result<cuda::CudaDevice*> found = open(device);
  return found ? std::optional<int>((*found)->gpu()) : std::nullopt;
}

Result<std::string> cuda_device(int gpu) {
  return find(fmt::format("is GPU {} of CUDA", gpu),
              [gpu](const cuda::CudaDevice& device) { return device.gpu() == gpu; });
}

Result<std::string> cuda_device_at(u64 address) {
  return find(fmt::format("has memory at {:#x}", address), [address](cuda::CudaDevice& device) {
    return device.foreign_memory(reinterpret_cast<void*>(address), 1).has_value();
  });
}

Result<std::optional<CudaMemory>> cuda_memory(const core::Buffer& buffer) {
  auto* device = dynamic_cast<cuda::CudaDevice*>(&buffer.device());
  if (device == nullptr) return std::optional<CudaMemory>();
  // The copy queue's work, too, is before what follows on the compute queue's stream.
  TRY(device->let_stream_wait(device->compute_stream()));
  return std::optional<CudaMemory>(
      {buffer.memory().address, device->gpu(), reinterpret_cast<u64>(device->compute_stream())});
}

Result<void> wait_for_cuda_stream(const std::string& device, u64 stream) {
  TRY(cuda::CudaDevice * found, open(device));
  return found->wait_for_stream(handle(stream));
}

Result<void> let_cuda_stream_wait(const std::string& device, u64 stream) {
  TRY(cuda::CudaDevice * found, open(device));
  return found->let_stream_wait(handle(stream));
}

}  // namespace doorbell::runtime
