// Builds the emulated machine with NVIDIA GPUs from the environment.
#include "runtime/emulated/emulated_nv.h"

#include <string_view>
#include <utility>

#include "base/os/host.h"
#include "base/util/try.h"
#include "emulator/nv/machine.h"
#include "runtime/emulated/machine_options.h"

namespace doorbell::runtime {
namespace {

emu::nvgpu::MachineOptions machine_options(const EmulatorSettings& settings,
                                           const std::string& arch) {
  emu::nvgpu::MachineOptions options;
  if (!arch.empty()) options.gpus = arch;
  if (!settings.gpus.empty()) options.gpus = settings.gpus;
  return options;
}

class Emulated : public EmulatedNv {
 public:
  std::shared_ptr<nv::Nvk> nvk() override { return nvk_; }
  os::HostAccesses* host_accesses() override { return machine_->host_accesses(); }
  std::string explanation() override {
    std::string text;
    for (u32 gpu = 0; gpu < machine_->gpu_count() && text.empty(); ++gpu)
      text = machine_->last_fault(gpu);
    for (u32 gpu = 0; gpu < machine_->gpu_count() && text.empty(); ++gpu)
      text = machine_->waits(gpu);
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
  TRY(set_machine_options(settings, &options));
  auto emulated = std::make_unique<Emulated>();
  TRY(emulated->open(std::move(options)));
  return std::unique_ptr<EmulatedNv>(std::move(emulated));
}

}  // namespace doorbell::runtime
