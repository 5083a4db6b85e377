// PciSink: an emulated GPU that Doorbell starts itself, without an ear for doorbells: see sink.h.
// What remains of a submission over PCI is what it costs on hardware, but for the doorbell's way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/support/sink.h"
#include "drivers/amd/device.h"
#include "drivers/amd/kernel/pci/pci_kernel.h"
#include "emulator/amd/machine.h"

namespace doorbell::bench {

// A machine with one GPU that no kernel driver has, as `DEV=EMUPCI+AMD` makes it.
std::unique_ptr<emu::amdgpu::Machine> make_bare_machine(const std::string& gpu);

class PciSink final : public Sink<amd::AmdDevice> {
 public:
  PciSink();
  ~PciSink() override;

  // Starts the GPU and opens the device on it; it lives as long as the sink.
  amd::AmdDevice& open();

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  const std::unique_ptr<emu::amdgpu::Machine> machine_;
  const std::unique_ptr<os::Files> files_;
  std::unique_ptr<amd::PciKernel> kernel_;
};

}  // namespace doorbell::bench
