// NV: NVIDIA's GPUs by a driver of our own over NVIDIA's kernel modules.
#include <unistd.h>

#include <map>
#include <mutex>

#include "base/os/host.h"
#include "base/util/try.h"
#include "core/util/config.h"
#include "drivers/nv/device.h"
#include "drivers/nv/settings.h"
#include "runtime/device_table.h"
#include "runtime/devices/nvidia_code.h"
#include "runtime/emulated/emulated_nv.h"

namespace doorbell::runtime {
namespace {

// The one Nvk of this process. A child that was forked is another process, which cannot use its
// parent's.
Result<std::shared_ptr<nv::Nvk>> nvk_of_process() {
  struct All {
    std::mutex mutex;
    std::map<pid_t, std::shared_ptr<nv::Nvk>> opened;
  };
  static All& all = *new All;
  std::lock_guard lock(all.mutex);
  std::shared_ptr<nv::Nvk>& nvk = all.opened[getpid()];
  if (nvk == nullptr) {
    TRY(std::unique_ptr<nv::Nvk> opened, nv::Nvk::open(os::host_files()));
    nvk = std::move(opened);
  }
  return nvk;
}

// The emulated machine, which is one for the process.
Result<EmulatedNv*> emulated_machine(const core::Config& config, const std::string& arch) {
  struct One {
    std::mutex mutex;
    std::unique_ptr<EmulatedNv> machine;
  };
  static One& one = *new One;
  std::lock_guard lock(one.mutex);
  if (one.machine == nullptr) {
    TRY(const EmulatorSettings settings, read_settings<EmulatorSettings>(setting_values(config)));
    TRY(one.machine, open_emulated_nv(settings, arch));
  }
  return one.machine.get();
}

Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec, const core::Config& config) {
  nv::Options options;
  if (!config.lru) options.max_cached = 0;
  options.log_packets = config.debug >= 7;
  std::shared_ptr<nv::Nvk> nvk;
  if (spec.iface.empty() || spec.iface == "NVK") {
    TRY(nvk, nvk_of_process());
    spec.iface = "NVK";
  } else if (spec.iface == "EMUNVK") {
    TRY(EmulatedNv * machine, emulated_machine(config, spec.arch));
    nvk = machine->nvk();
    options.explain = [machine] { return machine->explanation(); };
    options.host_accesses = machine->host_accesses();
    // What takes a GPU a moment takes it minutes.
    constexpr u64 kHour_ns = 3'600'000'000'000;
    options.timeout_ns = kHour_ns;
  } else {
    return fail(ErrorKind::Unsupported, "NV's interface {} is {}", spec.iface, kNotBuilt);
  }
  TRY(std::unique_ptr<nv::NvDevice> device,
      nv::NvDevice::open(std::move(spec), std::move(nvk), options));
  return device;
}

}  // namespace

// No default yet: no GPU has run it.
DeviceKind nv_kind() {
  DeviceKind kind{.name = "NV",
                  .interfaces = {"NVK", "PCI", "EMUNVK", "EMUPCI"},
                  .open = open,
                  .settings = declared_settings<nv::Settings>()};
  kind.renderers = nvidia_renderers();
  return kind;
}

}  // namespace doorbell::runtime
