// CL: devices of OpenCL implementations, and code that they compile themselves.
#include <algorithm>
#include <memory>

#include "base/os/host.h"
#include "base/util/try.h"
#include "codegen/render/opencl_renderer.h"
#include "core/util/config.h"
#include "drivers/cl/device.h"
#include "drivers/cl/settings.h"
#include "runtime/device_kind.h"
#include "runtime/device_memory.h"
#include "runtime/devices/source_compiler.h"

namespace doorbell::runtime {
namespace {

// Whether a program that names no device should get OpenCL: a GPU has it; our own CPU device beats
// an OpenCL implementation on the CPU. Looks for device nodes first, because loading the drivers
// takes time. docs/decisions/0070-opencl.md says why.
bool has_gpu(const core::Config& config) {
  os::Files& files = os::host_system().files;
  // Linux' own graphics, NVIDIA's, Arm's, Qualcomm's, and Windows' in WSL.
  constexpr const char* kNodes[] = {"/dev/dri/renderD128", "/dev/nvidiactl", "/dev/mali0",
                                    "/dev/kgsl-3d0", "/dev/dxg"};
  const bool has_node = std::any_of(std::begin(kNodes), std::end(kNodes),
                                    [&](const char* node) { return files.exists(node); });
  if (!has_node) return false;
  const auto settings = read_settings<cl::Settings>(setting_values(config));
  if (!settings) return false;  // the runtime has said why
  const Result<std::vector<cl::DeviceInfo>> found = cl::find_devices(settings->platform);
  return found && (*found)[0].gpu;
}

// Of a device of ours; for NULL, those of a usual GPU.
Result<codegen::Caps> caps_of(const CodeTarget& target) {
  codegen::OpenClTraits traits;
  bool is_cpu = false;
  i64 units = 0;
  if (target.device != nullptr) {
    const cl::DeviceInfo& info = static_cast<const cl::ClDevice*>(target.device)->info();
    traits.f16 = info.f16;
    traits.f64 = info.f64;
    traits.fma = info.fma;
    traits.subnormals = info.denormals;
    traits.group_items = info.group_items;
    std::copy_n(info.group_axis, 3, traits.group_axis);
    traits.local_bytes = info.local_bytes;
    traits.argument_bytes = info.argument_bytes;
    TRY(const cl::Settings settings, read_settings<cl::Settings>(setting_values(core::config())));
    if (settings.image) traits.image_texels = info.image_texels;
    is_cpu = !info.gpu;
    units = info.compute_units;
  } else {
    traits.f64 = traits.fma = true;
    traits.group_items = 256;
    for (i64& items : traits.group_axis) items = 256;
    traits.local_bytes = 32 << 10;
  }
  codegen::Caps caps = codegen::opencl_caps(traits);
  if (is_cpu) {
    // Work items are iterations of a loop, a group's memory is memory like any other, and vectors
    // are the host's: few items with much to do each.
    caps.fast_shared = false;
    caps.busy_items = 32 * units;
    caps.vector_bytes = 64;
  } else if (units > 0) {
    caps.busy_items = std::max<i64>(2048, 256 * units);
  }
  return caps;
}

Result<Toolchain> make(const CodeTarget& target) {
  TRY(codegen::Caps caps, caps_of(target));
  Toolchain made{.renderer = codegen::make_opencl_renderer(caps)};
  if (target.device != nullptr)
    made.compiler = std::make_unique<SourceCompiler<cl::ClDevice>>(
        *target.device, static_cast<cl::ClDevice*>(target.device)->build_key(), "OpenCL");
  return made;
}

Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec, const core::Config& config) {
  cl::Options options;
  TRY(const cl::Settings settings, read_settings<cl::Settings>(setting_values(config)));
  options.platform = settings.platform;
  options.max_cached = max_cached_host_bytes(config);
  options.trace = hcq::Trace::of_process();
  TRY(std::unique_ptr<cl::ClDevice> device, cl::open_device(std::move(spec), options));
  return device;
}

}  // namespace

DeviceKind cl_kind() {
  DeviceKind kind{.name = "CL",
                  .interfaces = {"ICD"},
                  .may_be_default = has_gpu,
                  .settings = declared_settings<cl::Settings>()};
  kind.renderers = {{.name = "CL", .make = make, .caps = caps_of, .is_per_device = true}};
  if (cl::is_built()) kind.open = open;
  return kind;
}

}  // namespace doorbell::runtime
