// Metal devices as the rest of the program sees them: finding, opening, and compiling MSL, which
// Metal does. Nothing of Apple's is needed to build. codegen writes the text of kernels.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/metal/objc.h"
#include "hcq/software/launch_device.h"
#include "hcq/trace/trace.h"

namespace doorbell::metal {

// What a device reports.
struct DeviceInfo {
  std::string name;         // "Apple M2"
  bool apple7 = false;      // M1 or later: simdgroup matrices
  bool bfloat = false;      // MSL 3.1, macOS 14
  bool indirect = false;    // replays are indirect command buffers
  bool unified = false;     // one memory with the host
  i64 buffer_bytes = 0;     // of one
  i64 memory_bytes = 0;     // that the GPU uses without loss of speed
  i64 group_bytes = 32768;  // threadgroup memory
};

struct Options {
  i64 max_cached = INT64_MAX;   // bytes of released memory kept
  bool bfloat = true;           // where there is
  bool indirect = true;         // indirect command buffers where they are sound
  hcq::Trace* trace = nullptr;  // gets a span for each kernel; outlives the device
};

class MetalDevice : public hcq::LaunchDevice {
 public:
  using LaunchDevice::LaunchDevice;

  virtual const DeviceInfo& info() const = 0;
  // An image for load(): the source, after Metal has compiled it. An error has its message.
  virtual Result<std::vector<u8>> build(std::string_view name, std::string_view source) = 0;
  // The most work items of a group with which a kernel of an image from build() runs.
  virtual Result<i64> max_workgroup_size(std::string_view name, std::span<const u8> image) = 0;
};

// In the order of MTLCopyAllDevices. `api` outlives the device.
Result<std::unique_ptr<MetalDevice>> open_device(core::DeviceSpec spec, const Api& api,
                                                 const Options& options);

}  // namespace doorbell::metal
