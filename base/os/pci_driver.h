// Which of the kernel's drivers has a PCI device, and taking it from there, which Doorbell does by
// its user's word only: what the driver does for others, a screen perhaps, ends.
#pragma once

#include <string>

#include "base/os/pci.h"

namespace doorbell::os {

// Empty: none has it.
Result<std::string> driver_of_pci(Files& files, const std::string& address);

// The driver lets go of the device; its name. A device that none has is an error, and one that the
// driver keeps. May block for as long as the driver takes.
Result<std::string> unbind_pci(Files& files, const std::string& address);

}  // namespace doorbell::os
