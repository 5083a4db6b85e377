// Devices of the driver on emulated GPUs that no kernel driver has, for the tests of this folder.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/os/forwarded_files.h"
#include "base/os/host.h"
#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/kernel/pci/pci_kernel.h"
#include "emulator/amd/bare/bare_gpu.h"
#include "emulator/amd/bare/usb_bridge.h"
#include "emulator/amd/machine.h"
#include "tests/drivers/amd/compiled_kernel.h"

namespace doorbell::amd {

// What a test changes of a driver's register writes: false leaves one out.
using WriteFilter = std::function<bool(u64 word, u32& value)>;

// Between the driver and the machine, in front of the registers.
class FilteredFiles final : public os::ForwardedFiles {
 public:
  // A process that was killed writes no register any more, and reads all ones.
  bool is_dead = false;

  FilteredFiles(os::Files& files, WriteFilter filter)
      : ForwardedFiles(files), filter_(std::move(filter)) {}
  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;

 private:
  const WriteFilter filter_;
};

// A process that uses the machine's GPUs over PCI.
struct PciProcess {
  std::unique_ptr<FilteredFiles> filtered;
  std::unique_ptr<PciKernel> kernel;
  std::shared_ptr<Kfd> kfd;

  ~PciProcess() {
    kfd.reset();
    kernel.reset();
  }
};

struct PciMachine {
  std::vector<emu::Report> reports;
  std::unique_ptr<emu::amdgpu::Machine> machine;
  std::unique_ptr<os::Files> files;
  std::unique_ptr<os::Clock> clock;

  explicit PciMachine(emu::amdgpu::MachineOptions options = {.gpus = {"gfx1100"}}) {
    options.bare = true;
    options.report = [this](const emu::Report& report) {
      std::lock_guard lock(mutex);
      reports.push_back(report);
    };
    machine = *emu::amdgpu::Machine::create(std::move(options));
    files = machine->files(os::host_files());
    clock = machine->clock(os::host_clock());
  }

  Result<std::unique_ptr<PciProcess>> start(WriteFilter filter = nullptr) {
    auto process = std::make_unique<PciProcess>();
    os::Files* door = files.get();
    if (filter) {
      process->filtered = std::make_unique<FilteredFiles>(*files, std::move(filter));
      door = process->filtered.get();
    }
    TRY(process->kernel, PciKernel::open(*door, *clock));
    TRY(std::unique_ptr<Kfd> opened, Kfd::open(*process->kernel, *clock));
    process->kfd = std::move(opened);
    return process;
  }

  // The same over USB.
  Result<std::unique_ptr<PciProcess>> start_usb() {
    auto process = std::make_unique<PciProcess>();
    TRY(process->kernel, PciKernel::open_usb(*files, machine->usb(), *clock));
    TRY(std::unique_ptr<Kfd> opened, Kfd::open(*process->kernel, *clock));
    process->kfd = std::move(opened);
    return process;
  }

  Result<std::unique_ptr<AmdDevice>> open(PciProcess& process, int ordinal = 0,
                                          Options options = {}) {
    core::DeviceSpec spec;
    spec.name = ordinal == 0 ? "AMD" : "AMD:1";
    spec.ordinal = ordinal;
    options.explain = [this](u32) { return machine->last_fault(0); };
    options.host_accesses = process.kernel->host_accesses();
    options.bridge_buffer = [kernel = process.kernel.get()](u32 id) {
      return kernel->bridge_buffer(id);
    };
    return AmdDevice::open(spec, process.kfd, options);
  }

  std::mutex mutex;  // guards reports while the machine runs
};

// Where a register of the emulated GPU lies, in words: of this instance of its block.
u64 address_of(hw::Reg reg, hw::BareChip chip = hw::BareChip::Gc11, u32 instance = 0);

// DOORBELL_SEED, by which a run chooses what it tries of too much; else 1.
u64 seed();

// b[i] = a[i] + 7 on the device, of this chip, through copies in and out, by a kernel that asks for
// this much private memory. Empty: it was so.
std::string run_kernel(AmdDevice& device, const std::string& chip = "gfx1100",
                       u32 private_bytes = 0);

}  // namespace doorbell::amd
