// Traits to Caps, and a Compiler that asks the device.
#include "runtime/cl_backend.h"

#include <algorithm>

#include "codegen/render/opencl_renderer.h"
#include "core/util/config.h"
#include "drivers/cl/device.h"

namespace doorbell::runtime {
namespace {

class OpenClCompiler final : public codegen::Compiler {
 public:
  explicit OpenClCompiler(cl::ClDevice& device) : device_(device), key_(device.build_key()) {}

  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  Result<std::vector<u8>> compile(const codegen::LinearProgram& program,
                                  std::string_view source) const override {
    return device_.build(program.name, source);
  }
  Result<i64> max_workgroup_size(const codegen::LinearProgram& program,
                                 std::span<const u8> image) const override {
    return device_.max_workgroup_size(program.name, image);
  }
  Result<std::string> disassemble(std::span<const u8>) const override {
    return fail(ErrorKind::Unsupported, "OpenCL does not tell what machine code a kernel became");
  }

 private:
  cl::ClDevice& device_;  // of the Registry, which never closes a device
  const std::string key_;
};

}  // namespace

bool has_opencl_gpu(os::Files& files, const std::string& platform) {
  // Linux' own graphics, NVIDIA's, Arm's, Qualcomm's, and Windows' in WSL.
  constexpr const char* kNodes[] = {"/dev/dri/renderD128", "/dev/nvidiactl", "/dev/mali0",
                                    "/dev/kgsl-3d0", "/dev/dxg"};
  const bool has_node = std::any_of(std::begin(kNodes), std::end(kNodes),
                                    [&](const char* node) { return files.exists(node); });
  if (!has_node) return false;
  const Result<std::vector<cl::DeviceInfo>> found = cl::find_devices(platform);
  return found && (*found)[0].gpu;
}

codegen::Caps opencl_caps_of(const core::Device& device) {
  codegen::OpenClTraits traits;
  bool is_cpu = false;
  i64 units = 0;
  if (const auto* opened = dynamic_cast<const cl::ClDevice*>(&device)) {
    const cl::DeviceInfo& info = opened->info();
    traits.f16 = info.f16;
    traits.f64 = info.f64;
    traits.fma = info.fma;
    traits.subnormals = info.denormals;
    traits.group_items = info.group_items;
    std::copy_n(info.group_axis, 3, traits.group_axis);
    traits.local_bytes = info.local_bytes;
    traits.argument_bytes = info.argument_bytes;
    if (core::config().image) traits.image_texels = info.image_texels;
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

std::unique_ptr<codegen::Compiler> make_opencl_compiler(core::Device& device) {
  auto* opened = dynamic_cast<cl::ClDevice*>(&device);
  if (opened == nullptr) return nullptr;
  return std::make_unique<OpenClCompiler>(*opened);
}

}  // namespace doorbell::runtime
