// Builds the emulated machine from the environment.
#include "runtime/emulated/emulated_amd.h"

#include <string_view>
#include <utility>

#include "base/os/host.h"
#include "base/util/try.h"
#include "emulator/amd/bare/usb_bridge.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/machine.h"
#include "emulator/amd/machine_text.h"
#include "runtime/emulated/machine_options.h"

namespace doorbell::runtime {
namespace {

// `arch`: the GPU that DEV asks for, or empty.
Result<emu::amdgpu::MachineOptions> machine_options(const EmulatorSettings& settings,
                                                    const std::string& arch) {
  emu::amdgpu::MachineOptions options;
  if (!arch.empty()) options.gpus = {arch};
  if (!settings.gpus.empty()) {
    TRY(options.gpus, emu::amdgpu::parse_gpus(settings.gpus));
  }
  return options;
}

class Emulated : public EmulatedAmd {
 public:
  std::shared_ptr<amd::Kfd> kfd() override { return kfd_; }
  amd::PciKernel* pci() override { return kernel_.get(); }
  std::string last_fault(u32 gpu_id) override {
    for (usize i = 0; i < kfd_->nodes().size(); ++i)
      if (kfd_->nodes()[i].gpu_id == gpu_id) return machine_->last_fault(i);
    return "";
  }
  // Behind USB, what the host accesses are copies, which the machine does not know.
  os::HostAccesses* host_accesses() override {
    os::HostAccesses* const copies = kernel_ == nullptr ? nullptr : kernel_->host_accesses();
    return copies != nullptr ? copies : machine_->host_accesses();
  }

  Result<void> open(emu::amdgpu::MachineOptions options, EmulatedDoor kind) {
    const bool is_bare = options.bare;
    TRY(machine_, emu::amdgpu::Machine::create(std::move(options)));
    files_ = machine_->files(os::host_files());
    clock_ = machine_->clock(os::host_clock());
    if (kind == EmulatedDoor::Usb) {
      TRY(kernel_, amd::PciKernel::open_usb(*files_, machine_->usb(), *clock_));
    } else if (is_bare) {
      TRY(kernel_, amd::PciKernel::open(*files_, *clock_));
    }
    os::Files& door = is_bare ? *kernel_ : *files_;
    TRY(std::unique_ptr<amd::Kfd> opened,
        amd::Kfd::open(door, *clock_, {.trap_registers = !is_bare}));
    kfd_ = std::move(opened);
    return {};
  }

 private:
  // In the order in which they are built on each other.
  std::unique_ptr<emu::amdgpu::Machine> machine_;
  std::unique_ptr<os::Files> files_;
  std::unique_ptr<os::Clock> clock_;
  std::unique_ptr<amd::PciKernel> kernel_;  // null where the machine has the kernel's
  std::shared_ptr<amd::Kfd> kfd_;           // by the devices
};

}  // namespace

Result<std::unique_ptr<EmulatedAmd>> open_emulated_amd(const EmulatorSettings& settings,
                                                       const std::string& arch, EmulatedDoor door) {
  TRY(emu::amdgpu::MachineOptions options, machine_options(settings, arch));
  options.bare = door != EmulatedDoor::Kfd;
  TRY(set_machine_options(settings, &options));
  auto emulated = std::make_unique<Emulated>();
  TRY(emulated->open(std::move(options), door));
  return std::unique_ptr<EmulatedAmd>(std::move(emulated));
}

}  // namespace doorbell::runtime
