// What to run first on a Mac: opens its GPU, says what it is, and has Metal compile a kernel.
// A Mac's build makes it, and scripts/macos_check.py --link on Linux.
#include <cstdio>

#include "base/util/try.h"
#include "drivers/metal/device.h"

namespace doorbell::metal {
namespace {

constexpr const char* kSource = R"(
#include <metal_stdlib>
kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  x[i] *= 2;
}
)";

Result<void> run() {
  TRY(const Api* api, load_api());
  const core::DeviceSpec spec{.name = "METAL", .iface = "APPLE"};
  TRY(const std::unique_ptr<MetalDevice> device, open_device(spec, *api, {}));
  const DeviceInfo& info = device->info();
  std::printf("%s: simdgroup matrices %s, bfloat %s, indirect command buffers %s\n",
              info.name.c_str(), info.apple7 ? "yes" : "no", info.bfloat ? "yes" : "no",
              info.indirect ? "yes" : "no");
  TRY(const std::vector<u8> image, device->build("twice", kSource));
  TRY(const i64 size, device->max_workgroup_size("twice", image));
  std::printf("a kernel of at most %lld work items in a group\n", static_cast<long long>(size));
  return {};
}

}  // namespace
}  // namespace doorbell::metal

int main() {
  const doorbell::Result<void> done = doorbell::metal::run();
  if (!done) std::printf("%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
