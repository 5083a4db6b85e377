// The host as LLVM detects it, and GPUs by name.
#include "codegen/compile/llvm/target_machine.h"

#include <fmt/format.h>
#include <llvm-c/Target.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "base/util/check.h"

namespace doorbell::codegen {
namespace {

// Sets an option of LLVM's command line, if this LLVM has it.
void switch_on(const char* option) {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find(option);
  if (found == options.end()) return;
  static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

TargetNames find_host() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetDisassembler();
  // The pass X86AvoidStoreForwardingBlocks ends LLVM 22 where it meets masked vector loads of AVX2,
  // whose size in memory it takes for known.
  switch_on("x86-disable-avoid-SFB");
  TargetNames names;
  names.triple = llvm::sys::getProcessTriple();
  names.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    names.features += (names.features.empty() ? "" : ",") +
                      std::string(feature.second ? "+" : "-") + feature.first().str();
  }
  return names;
}

const TargetNames& host() {
  static const TargetNames& names = *new TargetNames(find_host());
  return names;
}

void start_amd() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUDisassembler();
    // Private arrays stay out of local memory: a kernel uses only as much as its plan says, and
    // LLVM would need the dispatch packet to find an item's part.
    switch_on("disable-promote-alloca-to-lds");
  });
}

void start_nv() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

}  // namespace

TargetNames target_names(const LlvmTarget& target) {
  if (target.family == LlvmTarget::Family::Host)
    return target.chip.empty() ? host() : TargetNames{host().triple, target.chip, ""};
  if (target.family == LlvmTarget::Family::Nv) {
    start_nv();
    return {"nvptx64-nvidia-cuda", target.chip,
            target.ptx == 0 ? "" : fmt::format("+ptx{}", target.ptx)};
  }
  start_amd();
  return {"amdgcn-amd-amdhsa", target.chip, ""};
}

Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const LlvmTarget& target) {
  const TargetNames names = target_names(target);
  std::string error;
#if LLVM_VERSION_MAJOR >= 21
  const llvm::Triple triple(names.triple);
#else
  const std::string& triple = names.triple;
#endif
#if LLVM_VERSION_MAJOR >= 22
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
#else
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(names.triple, error);
#endif
  if (found == nullptr)
    return fail(ErrorKind::Unsupported, "this LLVM ({}) has no target {}: {}", LLVM_VERSION_STRING,
                names.triple, error);
  // For an unknown chip LLVM would print to standard error and use another chip.
#if LLVM_VERSION_MAJOR >= 22
  const std::unique_ptr<llvm::MCSubtargetInfo> chips(found->createMCSubtargetInfo(triple, "", ""));
#else
  const std::unique_ptr<llvm::MCSubtargetInfo> chips(
      found->createMCSubtargetInfo(names.triple, "", ""));
#endif
  if (!chips->isCPUStringValid(names.cpu))
    return fail(ErrorKind::Unsupported, "this LLVM ({}) does not know {}", LLVM_VERSION_STRING,
                names.cpu);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, names.cpu, names.features, options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

void set_target(llvm::Module& module, const llvm::TargetMachine& machine) {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(machine.getTargetTriple());
#else
  module.setTargetTriple(machine.getTargetTriple().str());
#endif
  module.setDataLayout(machine.createDataLayout());
  // Read-only data is addressed relative to the code: the loader places both in one mapping.
  module.setPICLevel(llvm::PICLevel::SmallPIC);
}

}  // namespace doorbell::codegen
