// The emulated machine behind EMUKFD, EMUPCI and EMUUSB, as the composition root sees it. A program
// links one of two definitions: emulated_amd.cc has the emulator in it, no_emulator.cc, for
// programs that are to be built quickly, refuses.
#pragma once

#include <memory>
#include <string>

#include "base/os/host_accesses.h"
#include "base/util/result.h"
#include "drivers/amd/kernel/kfd.h"
#include "drivers/amd/kernel/pci/pci_kernel.h"
#include "runtime/emulated/emulator_settings.h"

namespace doorbell::runtime {

// Owns what its Kfd stands on.
class EmulatedAmd {
 public:
  virtual ~EmulatedAmd() = default;
  virtual std::shared_ptr<amd::Kfd> kfd() = 0;
  // What stands behind the Kfd where the GPUs have no kernel driver; null: the kernel's.
  virtual amd::PciKernel* pci() = 0;
  // What stopped this GPU last; empty: nothing did.
  virtual std::string last_fault(u32 gpu_id) = 0;
  // Is told what drivers copy by the host; null: nobody asks.
  virtual os::HostAccesses* host_accesses() = 0;
};

// What stands between the driver and the emulated GPUs: the kernel's driver, PCI alone, or USB.
enum class EmulatedDoor : u8 { Kfd, Pci, Usb };
// `arch`: the GPU that DEV asks for, or empty.
Result<std::unique_ptr<EmulatedAmd>> open_emulated_amd(const EmulatorSettings& settings,
                                                       const std::string& arch,
                                                       EmulatedDoor door = EmulatedDoor::Kfd);

}  // namespace doorbell::runtime
