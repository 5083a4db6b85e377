// The kernel's door and the emulated machine's, each opened once for all devices behind it.
#include "runtime/amd_backend.h"

#include <fmt/format.h>

#include <unistd.h>

#include <map>
#include <mutex>

#include "base/os/host.h"
#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "runtime/device_table.h"
#include "runtime/emulated/emulated_amd.h"
#include "runtime/environment.h"

namespace doorbell::runtime {
namespace {

Result<amd::Options> driver_options(const os::Environment& environment,
                                    const core::Config& config) {
  amd::Options options;
  TRY(const int aql, read_flag(environment, "AMD_AQL", -1));
  if (aql >= 0)
    options.packets = aql == 1 ? amd::Options::Packets::Aql : amd::Options::Packets::Pm4;
  TRY(const int no_sdma, read_flag(environment, "AMD_DISABLE_SDMA", 0));
  options.sdma = no_sdma == 0;
  TRY(const int waves, read_flag(environment, "AMD_REPORT_WAVES", 0));
  options.report_waves = waves == 1;
  if (!config.lru) options.max_cached = 0;
  options.log_packets = config.debug >= 7;
  return options;
}

// The one Kfd of this process and the kernel behind `files`, for all backends there are and will
// be. A child that was forked is another process, which cannot use its parent's.
Result<std::shared_ptr<amd::Kfd>> kfd_of_process(os::Files& files, const amd::KfdOptions& options) {
  struct All {
    std::mutex mutex;
    std::map<std::pair<const os::Files*, pid_t>, std::shared_ptr<amd::Kfd>> opened;
  };
  static All& all = *new All;
  std::lock_guard lock(all.mutex);
  std::shared_ptr<amd::Kfd>& kfd = all.opened[{&files, getpid()}];
  if (kfd == nullptr) {
    TRY(std::unique_ptr<amd::Kfd> opened, amd::Kfd::open(files, os::host_clock(), options));
    kfd = std::move(opened);
  }
  return kfd;
}

}  // namespace

struct AmdBackend::State {
  os::Environment environment;
  core::Config config;
  os::Files* kernel = nullptr;
  std::mutex mutex;  // guards what follows
  std::unique_ptr<EmulatedAmd> emulated;
};

AmdBackend::AmdBackend(const os::Environment& environment, const core::Config& config,
                       os::Files& kernel)
    : state_(std::make_shared<State>()) {
  state_->kernel = &kernel;
  state_->environment = environment;
  state_->config = config;
}

Result<std::unique_ptr<core::Device>> AmdBackend::open(core::DeviceSpec spec) {
  State& state = *state_;
  std::lock_guard lock(state.mutex);
  TRY(amd::Options options, driver_options(state.environment, state.config));
  std::shared_ptr<amd::Kfd> kfd;
  if (spec.iface.empty() || spec.iface == "KFD") {
    TRY(kfd, kfd_of_process(*state.kernel, {.trap_registers = options.report_waves}));
    spec.iface = "KFD";
  } else if (spec.iface == "EMUKFD") {
    if (state.emulated == nullptr) {
      TRY(state.emulated, open_emulated_amd(state.environment, spec.arch));
    }
    kfd = state.emulated->kfd();
    options.explain = [machine = state.emulated.get()](u32 gpu_id) {
      return machine->last_fault(gpu_id);
    };
    // What takes a GPU a moment takes it minutes.
    constexpr u64 kHour_ns = 3'600'000'000'000;
    options.timeout_ns = kHour_ns;
    // Nobody's screen hangs on it.
    options.report_waves = true;
  } else {
    return fail(ErrorKind::Unsupported, "AMD's interface {} is {}", spec.iface, kNotBuilt);
  }
  TRY(std::unique_ptr<amd::AmdDevice> device,
      amd::AmdDevice::open(std::move(spec), std::move(kfd), options));
  return device;
}

i64 amd_compute_units(const core::Device& device) {
  const auto* opened = dynamic_cast<const amd::AmdDevice*>(&device);
  return opened == nullptr ? 0 : static_cast<i64>(opened->compute_units());
}

}  // namespace doorbell::runtime
