// Through LLVM's C interface, whose headers cost little. Assembly goes in as a module's inline
// assembly: the C interface has no other way to the assembler.
#include "tests/emulator/support/compile_amdgpu.h"

#include <fmt/format.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <memory>

#include "base/util/try.h"

namespace doorbell::testing {

namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";

template <auto dispose>
struct Dispose {
  void operator()(auto* object) const { dispose(object); }
};
using Context = std::unique_ptr<LLVMOpaqueContext, Dispose<LLVMContextDispose>>;
using Module = std::unique_ptr<LLVMOpaqueModule, Dispose<LLVMDisposeModule>>;
using Machine = std::unique_ptr<LLVMOpaqueTargetMachine, Dispose<LLVMDisposeTargetMachine>>;
using Buffer = std::unique_ptr<LLVMOpaqueMemoryBuffer, Dispose<LLVMDisposeMemoryBuffer>>;

// LLVM's messages are its own to free.
std::string take_message(char* message) {
  std::string text = message == nullptr ? "no message" : message;
  LLVMDisposeMessage(message);
  return text;
}

void collect(LLVMDiagnosticInfoRef info, void* errors) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  *static_cast<std::string*>(errors) += take_message(LLVMGetDiagInfoDescription(info)) + "\n";
}

Result<Machine> make_machine(const std::string& chip, const std::string& features) {
  static const bool initialised = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUAsmPrinter();
    return true;
  }();
  (void)initialised;
  LLVMTargetRef target = nullptr;
  char* message = nullptr;
  if (LLVMGetTargetFromTriple(kTriple, &target, &message) != 0) {
    return fail(ErrorKind::Unsupported, "target {}: {}", kTriple, take_message(message));
  }
  return Machine(LLVMCreateTargetMachine(target, kTriple, chip.c_str(), features.c_str(),
                                         LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                         LLVMCodeModelDefault));
}

Result<std::vector<u8>> emit(LLVMOpaqueModule* module, LLVMOpaqueTargetMachine* machine,
                             const std::string& errors) {
  LLVMSetTarget(module, kTriple);
  char* message = nullptr;
  LLVMMemoryBufferRef object = nullptr;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object) !=
      0) {
    return fail(ErrorKind::Compile, "emitting: {}", take_message(message));
  }
  Buffer owner(object);
  if (!errors.empty()) return fail(ErrorKind::Compile, "{}", errors);
  const auto* start = reinterpret_cast<const u8*>(LLVMGetBufferStart(object));
  return std::vector<u8>(start, start + LLVMGetBufferSize(object));
}

}  // namespace

Result<std::vector<u8>> compile_ir(std::string_view text, const std::string& chip,
                                   const std::string& features) {
  std::string errors;
  Context context(LLVMContextCreate());
  LLVMContextSetDiagnosticHandler(context.get(), collect, &errors);
  TRY(Machine machine, make_machine(chip, features));
  LLVMMemoryBufferRef source =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data(), text.size(), "kernel.ll");
  LLVMModuleRef parsed = nullptr;
  char* message = nullptr;
  if (LLVMParseIRInContext(context.get(), source, &parsed, &message) != 0) {
    return fail(ErrorKind::Compile, "parsing IR: {}", take_message(message));
  }
  Module module(parsed);
  LLVMSetTarget(parsed, kTriple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine.get());
  LLVMSetModuleDataLayout(parsed, layout);
  LLVMDisposeTargetData(layout);
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef failed = LLVMRunPasses(parsed, "default<O2>", machine.get(), options);
  LLVMDisposePassBuilderOptions(options);
  if (failed != nullptr) {
    char* what = LLVMGetErrorMessage(failed);
    std::string said = what;
    LLVMDisposeErrorMessage(what);
    return fail(ErrorKind::Compile, "optimising: {}", said);
  }
  return emit(parsed, machine.get(), errors);
}

Result<std::vector<u8>> assemble(std::string_view text, const std::string& chip,
                                 const std::string& features) {
  std::string errors;
  Context context(LLVMContextCreate());
  LLVMContextSetDiagnosticHandler(context.get(), collect, &errors);
  TRY(Machine machine, make_machine(chip, features));
  Module module(LLVMModuleCreateWithNameInContext("kernel", context.get()));
  LLVMSetModuleInlineAsm2(module.get(), text.data(), text.size());
  return emit(module.get(), machine.get(), errors);
}

std::string assembly_kernel(const std::string& chip, std::string_view body,
                            const AssemblyOptions& options) {
  const bool gfx9 = chip.starts_with("gfx9");
  const bool accumulators = chip == "gfx90a" || chip.starts_with("gfx94") || chip == "gfx950";
  std::string text = ".text\n.globl kernel\n.p2align 8\n.type kernel,@function\nkernel:\n";
  text += body;
  text += "\n.section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel kernel\n";
  auto directive = [&](std::string_view name, u32 value) {
    text += fmt::format(".amdhsa_{} {}\n", name, value);
  };
  directive("user_sgpr_kernarg_segment_ptr", 1);
  directive("next_free_vgpr", options.vgprs);
  directive("next_free_sgpr", options.sgprs);
  directive("group_segment_fixed_size", options.lds_bytes);
  directive("private_segment_fixed_size", options.scratch_bytes);
  directive("system_vgpr_workitem_id", options.work_item_dimensions - 1);
  for (const char* axis : {"x", "y", "z"}) {
    directive(fmt::format("system_sgpr_workgroup_id_{}", axis), options.group_ids ? 1 : 0);
  }
  if (!gfx9) directive("wavefront_size32", options.wave64 ? 0 : 1);
  if (accumulators) directive("accum_offset", (options.vgprs + 3) / 4 * 4);
  text += options.directives;
  text += "\n.end_amdhsa_kernel\n";
  return text;
}

}  // namespace doorbell::testing
