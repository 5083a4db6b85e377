// NVIDIA's compilers: NVRTC for CUDA C++, nvJitLink for PTX. They need no GPU.
#include "runtime/devices/nvidia_code.h"

#include <algorithm>

#include "base/os/host.h"
#include "base/util/try.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/compile/nvjitlink_compiler.h"
#include "codegen/compile/nvrtc_compiler.h"
#include "codegen/render/cuda_renderer.h"
#include "codegen/render/nv_caps.h"
#include "core/util/config.h"
#include "drivers/cuda/device.h"
#include "drivers/nv/device.h"
#include "drivers/nv/settings.h"
#include "runtime/wheels.h"

namespace doorbell::runtime {
namespace {

// CUDA_PATH, the wheels beside the Python module, those of the virtual environment.
codegen::CudaFolders cuda_folders() {
  codegen::CudaFolders where{&os::host_files(), {}};
  const auto settings = read_settings<nv::Settings>(setting_values(core::config()));
  if (settings && !settings->cuda_path.empty()) where.folders.push_back(settings->cuda_path);
  for (std::string& folder : wheel_folders("nvidia")) where.folders.push_back(std::move(folder));
  return where;
}

// `renderer` as DEV=NULL names it, for the message.
Result<const nv::hw::Chip*> chip_of(const CodeTarget& target, std::string_view renderer) {
  if (target.arch.empty())
    return fail(ErrorKind::Invalid, "{} compiles for a chip, as in DEV=NULL:{}:sm_90; chips are {}",
                renderer, renderer, nv::hw::chip_names());
  const nv::hw::Chip* chip = nv::hw::find_chip(target.arch);
  if (chip == nullptr)
    return fail(ErrorKind::Unsupported, "no code for the chip {}; chips are {}", target.arch,
                nv::hw::chip_names());
  return chip;
}

// 0 where code is made for NULL, whose GPU nobody has seen.
i64 multiprocessors(const CodeTarget& target) {
  if (const auto* device = dynamic_cast<const cuda::CudaDevice*>(target.device))
    return device->multiprocessors();
  if (const auto* device = dynamic_cast<const nv::NvDevice*>(target.device))
    return device->multiprocessors();
  return 0;
}

Result<codegen::NvTarget> code_target(const CodeTarget& target, int ptx) {
  TRY(const nv::Settings settings, read_settings<nv::Settings>(setting_values(core::config())));
  return codegen::NvTarget{
      .multiprocessors = multiprocessors(target),
      .ptx = ptx,
      .allow_tf32 = settings.allow_tf32,
      .warp_groups = settings.warp_groups,
      // NV does not write maps.
      .tensor_maps = dynamic_cast<const nv::NvDevice*>(target.device) == nullptr};
}

Result<codegen::Caps> cuda_caps(const CodeTarget& target, int ptx) {
  TRY(const nv::hw::Chip* chip, chip_of(target, "NV_CUDA"));
  TRY(const codegen::NvTarget code, code_target(target, ptx));
  return codegen::cuda_caps(*chip, code);
}

Result<codegen::Caps> ptx_caps(const CodeTarget& target, int ptx) {
  TRY(const nv::hw::Chip* chip, chip_of(target, "NV_PTX"));
  TRY(const codegen::NvTarget code, code_target(target, ptx));
  return codegen::nv_caps(*chip, code);
}

Result<Toolchain> make_cuda(const CodeTarget& target) {
  TRY(const nv::hw::Chip* chip, chip_of(target, "NV_CUDA"));
  TRY(const int ptx, codegen::ptx_of_nvrtc(cuda_folders()));
  TRY(const codegen::Caps caps, cuda_caps(target, ptx));
  Toolchain made{.renderer = codegen::make_cuda_renderer(caps)};
  TRY(made.compiler, codegen::make_nvrtc_compiler(std::string(chip->architecture), cuda_folders()));
  return made;
}

Result<Toolchain> make_ptx(const CodeTarget& target) {
  TRY(const nv::hw::Chip* chip, chip_of(target, "NV_PTX"));
  TRY(const int ptx, codegen::ptx_of_nvjitlink(cuda_folders()));
  TRY(const codegen::Caps caps, ptx_caps(target, ptx));
  const std::string architecture(chip->architecture);
  const codegen::LlvmTarget code{codegen::LlvmTarget::Family::Nv, architecture,
                                 std::min(chip->ptx, ptx)};
  Toolchain made{.renderer = codegen::make_llvm_renderer(caps, code)};
  TRY(made.compiler, codegen::make_nvjitlink_compiler(architecture, cuda_folders(),
                                                      codegen::make_llvm_compiler(code)));
  return made;
}

Result<std::string> describe_cuda() { return codegen::describe_nvrtc(cuda_folders()); }

Result<std::string> describe_ptx() {
  if (!codegen::has_llvm())
    return fail(ErrorKind::Unsupported,
                "NV_PTX is LLVM's: this build leaves LLVM out (-Dllvm=disabled); use NV_CUDA");
  return codegen::describe_nvjitlink(cuda_folders());
}

}  // namespace

std::vector<RendererKind> nvidia_renderers() {
  const auto ptx = codegen::has_llvm() ? make_ptx : nullptr;
  // These tell devices apart, before any compiler is opened.
  constexpr int kAnyPtx = codegen::NvTarget::kAnyPtx;
  return {
      {.name = "CUDA",
       .make = make_cuda,
       .caps = [](const CodeTarget& target) { return cuda_caps(target, kAnyPtx); },
       .null_name = "NV_CUDA",
       .describe = describe_cuda},
      {.name = "PTX",
       .make = ptx,
       .caps = [](const CodeTarget& target) { return ptx_caps(target, kAnyPtx); },
       .null_name = "NV_PTX",
       .describe = describe_ptx},
  };
}

}  // namespace doorbell::runtime
