// The kernel's door and the emulated machine's, each opened once for all devices behind it.
#include "runtime/amd_backend.h"

#include <fmt/format.h>

#include <unistd.h>

#include <charconv>
#include <map>
#include <mutex>

#include "base/os/host.h"
#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/machine.h"
#include "emulator/amd/machine_text.h"
#include "emulator/core/trace_file.h"
#include "runtime/device_table.h"

namespace doorbell::runtime {
namespace {

// "0", "1", or `otherwise` where the variable is not set.
Result<int> flag(const os::Environment& environment, const char* name, int otherwise) {
  const std::string_view text = environment.get(name);
  if (text.empty()) return otherwise;
  if (text == "0" || text == "1") return text == "1" ? 1 : 0;
  return fail(ErrorKind::Invalid, "{}={}: '{}' is neither 0 nor 1", name, text, text);
}

Result<amd::Options> driver_options(const os::Environment& environment,
                                    const core::Config& config) {
  amd::Options options;
  TRY(const int aql, flag(environment, "AMD_AQL", -1));
  if (aql >= 0)
    options.packets = aql == 1 ? amd::Options::Packets::Aql : amd::Options::Packets::Pm4;
  TRY(const int no_sdma, flag(environment, "AMD_DISABLE_SDMA", 0));
  options.sdma = no_sdma == 0;
  TRY(const int waves, flag(environment, "AMD_REPORT_WAVES", 0));
  options.report_waves = waves == 1;
  if (!config.lru) options.max_cached = 0;
  options.log_packets = config.debug >= 7;
  return options;
}

// Whether the variable is set; `value` then has its number.
Result<bool> number(const os::Environment& environment, const char* name, u64& value) {
  const std::string_view text = environment.get(name);
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorKind::Invalid, "{}={}: '{}' is not a number", name, text, text);
  return true;
}

// `arch`: the GPU that DEV asks for, or empty.
Result<emu::amdgpu::MachineOptions> machine_options(const os::Environment& environment,
                                                    const std::string& arch) {
  emu::amdgpu::MachineOptions options;
  if (!arch.empty()) options.gpus = {arch};
  if (const std::string_view gpus = environment.get("EMU_GPU"); !gpus.empty()) {
    TRY(options.gpus, emu::amdgpu::parse_gpus(gpus));
  }
  if (const std::string_view checks = environment.get("EMU_CHECKS"); !checks.empty())
    options.checks = checks;
  TRY(const int adversarial, flag(environment, "EMU_ADVERSARIAL", 0));
  options.adversarial = adversarial == 1;
  TRY(options.lockstep, number(environment, "EMU_SEED", options.seed));
  TRY(number(environment, "EMU_HANG_AFTER", options.hang_after));
  return options;
}

// Lines as they come: a crash must not take the last ones with it.
Result<void> set_trace(const os::Environment& environment, emu::amdgpu::MachineOptions* options) {
  const std::string path(environment.get("EMU_TRACE"));
  if (path.empty()) return {};
  u64 limit = 0;
  TRY(number(environment, "EMU_TRACE_LIMIT", limit));
  TRY(options->trace_filter, emu::TraceFilter::parse(environment.get("EMU_TRACE_ONLY")));
  TRY(emu::TraceFile::create(path));
  TRY(std::unique_ptr<emu::TraceFile> opened, emu::TraceFile::open(path, limit));
  const std::shared_ptr<emu::TraceFile> file = std::move(opened);  // by the copies of the sink
  options->trace = [file](std::string_view line) { file->write(line); };
  options->trace_format = file->format();
  return {};
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
  // Of the emulated machine, in the order in which they are built on each other.
  std::unique_ptr<emu::amdgpu::Machine> machine;
  std::unique_ptr<os::Files> files;
  std::unique_ptr<os::Clock> clock;
  std::shared_ptr<amd::Kfd> emulated;

  Result<std::shared_ptr<amd::Kfd>> open_emulated(const std::string& arch);
};

AmdBackend::AmdBackend(const os::Environment& environment, const core::Config& config,
                       os::Files& kernel)
    : state_(std::make_shared<State>()) {
  state_->kernel = &kernel;
  state_->environment = environment;
  state_->config = config;
}

Result<std::shared_ptr<amd::Kfd>> AmdBackend::State::open_emulated(const std::string& arch) {
  if (emulated != nullptr) return emulated;
  TRY(emu::amdgpu::MachineOptions options, machine_options(environment, arch));
  TRY(set_trace(environment, &options));
  TRY(machine, emu::amdgpu::Machine::create(std::move(options)));
  files = machine->files(os::host_files());
  clock = machine->clock(os::host_clock());
  TRY(std::unique_ptr<amd::Kfd> opened, amd::Kfd::open(*files, *clock, {.trap_registers = true}));
  emulated = std::move(opened);
  return emulated;
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
    TRY(kfd, state.open_emulated(spec.arch));
    options.explain = [machine = state.machine.get()](u32 gpu_id) {
      return machine->kfd().last_fault(gpu_id);
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
