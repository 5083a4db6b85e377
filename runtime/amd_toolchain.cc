// By name and chip.
#include "runtime/amd_toolchain.h"

#include "base/util/try.h"
#include "codegen/compile/comgr_compiler.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/render/amd_caps.h"
#include "codegen/render/hip_renderer.h"

namespace doorbell::runtime {

bool is_amd_toolchain(std::string_view name) { return name == "AMD_LLVM" || name == "AMD_HIP"; }

Result<Toolchain> make_amd_toolchain(std::string_view name, const std::string& arch,
                                     i64 compute_units) {
  if (arch.empty())
    return fail(ErrorKind::Invalid,
                "{} compiles for a chip, as in DEV=NULL:{}:gfx1100; chips are {}", name, name,
                amd::hw::chip_names());
  const amd::hw::Chip* chip = amd::hw::find_chip(arch);
  if (chip == nullptr)
    return fail(ErrorKind::Unsupported, "no code for the chip {}; chips are {}", arch,
                amd::hw::chip_names());
  if (name == "AMD_HIP") {
    Toolchain made;
    made.renderer = codegen::make_hip_renderer(codegen::hip_caps(*chip, compute_units));
    TRY(made.compiler, codegen::make_comgr_compiler(arch));
    return made;
  }
  const codegen::LlvmTarget target{codegen::LlvmTarget::Family::Amd, arch};
  Toolchain made;
  made.renderer = codegen::make_llvm_renderer(codegen::amd_caps(*chip, compute_units), target);
  made.compiler = codegen::make_llvm_compiler(target);
  return made;
}

}  // namespace doorbell::runtime
