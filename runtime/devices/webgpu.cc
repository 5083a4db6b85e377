// WEBGPU: adapters of a WebGPU library, and WGSL, which it compiles itself.
#include <memory>

#include "base/util/try.h"
#include "codegen/render/wgsl_renderer.h"
#include "core/util/config.h"
#include "drivers/webgpu/device.h"
#include "drivers/webgpu/settings.h"
#include "runtime/device_kind.h"
#include "runtime/device_memory.h"
#include "runtime/devices/source_compiler.h"
#include "runtime/wheels.h"

namespace doorbell::runtime {
namespace {

// Of a device of ours; for NULL, what every implementation has.
Result<codegen::Caps> caps_of(const CodeTarget& target) {
  codegen::WgslTraits traits;
  if (target.device == nullptr) return codegen::wgsl_caps(traits);
  const webgpu::DeviceInfo& info = static_cast<const webgpu::WebGpuDevice*>(target.device)->info();
  traits.f16 = info.f16;
  traits.f64 = info.f64;
  traits.subgroups = info.subgroups;
  traits.group_items = info.group_items;
  std::copy_n(info.group_axis, 3, traits.group_axis);
  traits.groups = info.groups;
  traits.local_bytes = info.local_bytes;
  traits.storage_buffers = info.storage_buffers;
  codegen::Caps caps = codegen::wgsl_caps(traits);
  if (info.is_software) {
    // A group's memory is memory like any other, and a few items keep the processor busy.
    caps.fast_shared = false;
    caps.busy_items = 1024;
  }
  return caps;
}

Result<Toolchain> make(const CodeTarget& target) {
  TRY(codegen::Caps caps, caps_of(target));
  if (target.device == nullptr) return Toolchain{.renderer = codegen::make_wgsl_renderer(caps)};
  const webgpu::DeviceInfo& info = static_cast<const webgpu::WebGpuDevice&>(*target.device).info();
  Toolchain made{.renderer = codegen::make_wgsl_renderer(
                     caps, {info.int64, info.subgroups && !info.native_subgroups})};
  made.compiler = std::make_unique<SourceCompiler<webgpu::WebGpuDevice>>(
      *target.device, "WGSL; " + info.library + (info.int64 ? "; 64-bit integers" : ""), "WebGPU");
  return made;
}

// The setting's, or those of Python's package wgpu, or what the system finds.
std::vector<std::string> libraries(const webgpu::Settings& settings) {
  if (!settings.library.empty()) return {settings.library};
  std::vector<std::string> names;
  for (const std::string& folder : wheel_folders_with_path("wgpu"))
    names.push_back(folder + "/resources/libwgpu_native-release.so");
  names.insert(names.end(), {"libwgpu_native.so", "libwebgpu_dawn.so"});
  return names;
}

Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec, const core::Config& config) {
  webgpu::Options options;
  TRY(const webgpu::Settings settings, read_settings<webgpu::Settings>(setting_values(config)));
  options.libraries = libraries(settings);
  options.adapter = settings.adapter;
  options.native = settings.native;
  options.max_cached = max_cached_host_bytes(config);
  options.trace = hcq::Trace::of_process();
  TRY(std::unique_ptr<webgpu::WebGpuDevice> device, webgpu::open_device(std::move(spec), options));
  return device;
}

}  // namespace

DeviceKind webgpu_kind() {
  DeviceKind kind{
      .name = "WEBGPU", .open = open, .settings = declared_settings<webgpu::Settings>()};
  kind.renderers = {{.name = "WGSL", .make = make, .caps = caps_of, .is_per_device = true}};
  return kind;
}

}  // namespace doorbell::runtime
