// Builds the emulated machine with NVIDIA GPUs from the environment.
#include "runtime/emulated/emulated_nv.h"

#include <string_view>
#include <utility>

#include "base/os/host.h"
#include "base/util/try.h"
#include "emulator/core/trace_file.h"
#include "emulator/nv/machine.h"

namespace doorbell::runtime {
namespace {

emu::nvgpu::MachineOptions machine_options(const EmulatorSettings& settings,
                                           const std::string& arch) {
  emu::nvgpu::MachineOptions options;
  if (!arch.empty()) options.gpus = arch;
  if (!settings.gpus.empty()) options.gpus = settings.gpus;
  if (!settings.checks.empty()) options.checks = settings.checks;
  options.adversarial = settings.adversarial;
  options.lockstep = settings.seed.has_value();
  options.seed = settings.seed.value_or(options.seed);
  options.hang_after = settings.hang_after.value_or(options.hang_after);
  return options;
}

// Lines as they come: a crash must not take the last ones with it.
Result<void> set_trace(const EmulatorSettings& settings, emu::nvgpu::MachineOptions* options) {
  if (settings.trace.empty()) return {};
  TRY(options->trace_filter, emu::TraceFilter::parse(settings.trace_only));
  TRY(emu::TraceFile::create(settings.trace));
  TRY(std::unique_ptr<emu::TraceFile> opened,
      emu::TraceFile::open(settings.trace, settings.trace_limit.value_or(0)));
  const std::shared_ptr<emu::TraceFile> file = std::move(opened);  // by the copies of the sink
  options->trace = [file](std::string_view line) { file->write(line); };
  options->trace_format = file->format();
  return {};
}

class Emulated : public EmulatedNv {
 public:
  std::shared_ptr<nv::Nvk> nvk() override { return nvk_; }
  std::string last_fault() override {
    std::string text;
    for (u32 gpu = 0; gpu < machine_->gpu_count() && text.empty(); ++gpu)
      text = machine_->last_fault(gpu);
    return text;
  }

  Result<void> open(emu::nvgpu::MachineOptions options) {
    TRY(machine_, emu::nvgpu::Machine::create(std::move(options)));
    files_ = machine_->files(os::host_files());
    clock_ = machine_->clock(os::host_clock());
    TRY(std::unique_ptr<nv::Nvk> opened, nv::Nvk::open(*files_, *clock_));
    nvk_ = std::move(opened);
    return {};
  }

 private:
  // In the order in which they are built on each other.
  std::unique_ptr<emu::nvgpu::Machine> machine_;
  std::unique_ptr<os::Files> files_;
  std::unique_ptr<os::Clock> clock_;
  std::shared_ptr<nv::Nvk> nvk_;  // by the devices
};

}  // namespace

Result<std::unique_ptr<EmulatedNv>> open_emulated_nv(const EmulatorSettings& settings,
                                                     const std::string& arch) {
  emu::nvgpu::MachineOptions options = machine_options(settings, arch);
  TRY(set_trace(settings, &options));
  auto emulated = std::make_unique<Emulated>();
  TRY(emulated->open(std::move(options)));
  return std::unique_ptr<EmulatedNv>(std::move(emulated));
}

}  // namespace doorbell::runtime
