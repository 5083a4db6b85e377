// OpenCL devices as the rest of the program sees them: finding, opening, and compiling OpenCL C for
// them, which only the device can. No OpenCL header is needed to include this, and no library to
// link: the ICD loader (libOpenCL.so.1) is opened when devices are first asked for. codegen writes
// the text of kernels, and caches the results of build().
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hcq/software/launch_device.h"
#include "hcq/trace/trace.h"

namespace doorbell::cl {

// Properties that a device reports.
struct DeviceInfo {
  std::string platform, name, driver;  // "rusticl", "llvmpipe (LLVM 15.0.6, 256 bits)", "22.3.6"
  std::string version;                 // of the platform, for cache keys
  bool gpu = false;
  bool f16 = false, f64 = false;  // cl_khr_fp16, cl_khr_fp64
  bool fma = false;               // fused multiply-add of f32, exact
  bool rounds_division = false;   // f32 division and square root, correctly
  bool denormals = false;         // of f32
  i64 compute_units = 1;
  i64 group_items = 1;  // in a work group, and by axis
  i64 group_axis[3] = {1, 1, 1};
  i64 local_bytes = 0, max_allocation = 0, memory_bytes = 0;
  i64 argument_bytes = 1024;  // of one kernel
  i64 image_texels = 0;       // of an image over a buffer; 0: no images
};

struct Options {
  std::string platform;         // part of the platform's name, in any case; empty: all platforms
  i64 max_cached = INT64_MAX;   // bytes of released memory kept
  hcq::Trace* trace = nullptr;  // gets a span for each kernel and copy; outlives the device
};

// False if the build had no OpenCL headers.
bool is_built();

// All devices of the selected platforms: GPUs and accelerators, then others, each in the order of
// the ICD loader.
Result<std::vector<DeviceInfo>> find_devices(const std::string& platform = {});

class ClDevice : public hcq::LaunchDevice {
 public:
  using LaunchDevice::LaunchDevice;

  virtual const DeviceInfo& info() const = 0;
  // An image for load(): the program as the device compiled it, and its source, from which it is
  // compiled again if the device rejects the former. An error contains the compiler's log.
  virtual Result<std::vector<u8>> build(std::string_view name, std::string_view source) = 0;
  // The most work items of a group with which the device can run a kernel of an image from build().
  virtual Result<i64> max_workgroup_size(const std::string& name, std::span<const u8> image) = 0;
  // Everything besides the source that determines the result of build().
  virtual std::string build_key() const = 0;
};

// The spec's ordinal counts find_devices(), or the spec's indices into it where there are any.
Result<std::unique_ptr<ClDevice>> open_device(core::DeviceSpec spec, const Options& options);

}  // namespace doorbell::cl
