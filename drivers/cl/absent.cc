// OpenCL in a build without its headers: no devices are found.
#include "drivers/cl/device.h"

namespace doorbell::cl {
namespace {

Error absent() {
  return fail(ErrorKind::Unsupported,
              "this build has no OpenCL: its headers (CL/cl.h) were not there");
}

}  // namespace

bool is_built() { return false; }
Result<std::vector<DeviceInfo>> find_devices(const std::string&) { return absent(); }
Result<std::unique_ptr<ClDevice>> open_device(core::DeviceSpec, const Options&) { return absent(); }

}  // namespace doorbell::cl
