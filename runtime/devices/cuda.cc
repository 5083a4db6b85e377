// CUDA: NVIDIA's GPUs through the CUDA driver API, libcuda's or the emulated one's.
#include "drivers/cuda/device.h"

#include <mutex>

#include "base/util/try.h"
#include "core/util/config.h"
#include "drivers/cuda/settings.h"
#include "runtime/devices/nvidia_code.h"
#include "runtime/emulated/emulated_cuda.h"

namespace doorbell::runtime {
namespace {

// The emulated driver, which is one for the process.
Result<const cuda::Api*> emulated_api(const core::Config& config, const std::string& arch) {
  static std::mutex& mutex = *new std::mutex;
  static const cuda::Api* api = nullptr;
  std::lock_guard lock(mutex);
  if (api == nullptr) {
    TRY(const EmulatorSettings settings, read_settings<EmulatorSettings>(setting_values(config)));
    TRY(const cuda::FindSymbol find, open_emulated_cuda(settings, arch));
    TRY(std::unique_ptr<const cuda::Api> loaded, cuda::load_api(find, "the emulated CUDA driver"));
    api = loaded.release();
  }
  TRY(api->check_process());
  return api;
}

Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec, const core::Config& config) {
  TRY(const cuda::Settings settings, read_settings<cuda::Settings>(setting_values(config)));
  cuda::Options options;
  options.graphs = settings.graphs;
  if (!config.lru) options.max_cached = 0;
  const cuda::Api* api = nullptr;
  if (spec.iface == "EMUCUDA") {
    TRY(api, emulated_api(config, spec.arch));
    // What takes a GPU a moment takes it minutes.
    constexpr u64 kHour_ns = 3'600'000'000'000;
    options.timeout_ns = kHour_ns;
    options.explain = emulated_cuda_fault;
  } else {
    TRY(api, cuda::load_api());
    spec.iface = "LIBCUDA";
  }
  TRY(std::unique_ptr<cuda::CudaDevice> device,
      cuda::CudaDevice::open(std::move(spec), *api, options));
  return device;
}

}  // namespace

// No default yet: no GPU has run it.
DeviceKind cuda_kind() {
  DeviceKind kind{.name = "CUDA",
                  .interfaces = {"LIBCUDA", "EMUCUDA"},
                  .open = open,
                  .settings = declared_settings<cuda::Settings>()};
  kind.renderers = nvidia_renderers();
  return kind;
}

}  // namespace doorbell::runtime
