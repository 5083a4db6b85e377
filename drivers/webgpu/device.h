// WebGPU devices as the rest of the program sees them: finding, opening, and checking WGSL, which
// the library does. No header or library of it is needed to build. codegen writes the text of
// kernels.
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

namespace doorbell::webgpu {

// What an adapter reports.
struct DeviceInfo {
  std::string name, driver, backend;  // "llvmpipe (LLVM 15.0.6, 256 bits)", "...", "Vulkan"
  std::string library;                // that offers it
  bool is_software = false;           // runs on the CPU
  bool f16 = false;                   // shader-f16
  bool int64 = false, f64 = false;    // of wgpu-native alone; f64 with int64
  bool timestamps = false;            // timestamp-query
  bool subgroups = false;             // subgroups
  bool native_subgroups = false;      // by wgpu-native's feature: kernels enable no extension
  i64 storage_buffers = 8;            // of a kernel
  i64 buffer_bytes = 0, binding_bytes = 0;
  i64 uniform_bytes = 0, uniform_alignment = 256, storage_alignment = 256;
  i64 group_items = 256;  // in a work group, and by axis
  i64 group_axis[3] = {256, 256, 64};
  i64 groups = 65535;  // by axis
  i64 local_bytes = 16384;
};

struct Options {
  std::vector<std::string> libraries;  // the first that opens is used
  std::string adapter;          // part of the name, in any case; empty: any that is no software
  bool native = true;           // uses what is wgpu-native's alone, where an adapter has it
  i64 max_cached = INT64_MAX;   // bytes of released memory kept
  hcq::Trace* trace = nullptr;  // gets a span for each kernel; outlives the device
};

class WebGpuDevice : public hcq::LaunchDevice {
 public:
  using LaunchDevice::LaunchDevice;

  virtual const DeviceInfo& info() const = 0;
  // An image for load(): the source, after the library has checked it. An error has its message.
  virtual Result<std::vector<u8>> build(std::string_view name, std::string_view source) = 0;
};

// Of the adapters that `options` allow: GPUs first, else in the order of the library.
Result<std::unique_ptr<WebGpuDevice>> open_device(core::DeviceSpec spec, const Options& options);

}  // namespace doorbell::webgpu
