// [torvalds/linux Documentation/ABI/testing/sysfs-bus-pci, /sys/bus/pci/drivers/.../unbind;
// drivers/base/bus.c unbind_store(): the device's name, written]
#include "base/os/pci_driver.h"

#include <fmt/format.h>

#include "base/util/try.h"

namespace doorbell::os {
namespace {

std::string folder_of(const std::string& address) { return "/sys/bus/pci/devices/" + address; }

}  // namespace

Result<std::string> driver_of_pci(Files& files, const std::string& address) {
  const std::string folder = folder_of(address);
  if (!files.exists(folder + "/vendor"))
    return fail(ErrorKind::NotFound, "there is no PCI device {}", address);
  if (!files.exists(folder + "/driver")) return std::string();
  TRY(const FileStatus driver, files.status(folder + "/driver"));
  return driver.path.substr(driver.path.rfind('/') + 1);
}

Result<std::string> unbind_pci(Files& files, const std::string& address) {
  TRY(const std::string name, driver_of_pci(files, address));
  if (name.empty()) return fail(ErrorKind::Invalid, "no kernel driver has PCI device {}", address);
  const std::string path = folder_of(address) + "/driver/unbind";
  Result<std::unique_ptr<File>> file = files.open(path, Access::ReadWrite);
  if (!file)
    return fail(file.error().kind, "PCI device {} stays with the kernel's {}: {}; it takes root",
                address, name, file.error().message);
  TRY((*file)->write_at(0, {reinterpret_cast<const u8*>(address.data()), address.size()}));
  TRY(const std::string now, driver_of_pci(files, address));
  if (!now.empty())
    return fail(ErrorKind::Busy, "PCI device {} stays with the kernel's {}", address, now);
  return name;
}

}  // namespace doorbell::os
