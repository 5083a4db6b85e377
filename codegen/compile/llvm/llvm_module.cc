// The LLVM module: IR to an object in memory, through a short list of passes. Everything here is
// made anew per compile (context, module, target machine), so compiles run in parallel.
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <mutex>

#include "base/util/check.h"
#include "base/util/try.h"
#include "codegen/compile/llvm/disassemble.h"
#include "codegen/compile/llvm/drop_wraps.h"
#include "codegen/compile/llvm/llvm_api.h"
#include "codegen/compile/llvm/order_matrices.h"
#include "codegen/compile/llvm/shift_buffers.h"
#include "codegen/compile/llvm/split_masked.h"
#include "codegen/compile/llvm/target_machine.h"
#include "codegen/render/llvm/function_builder.h"

namespace doorbell::codegen {

namespace {

// LLVM ends the process on fatal errors; the library must not.
void on_fatal_error(void*, const char* reason, bool) {
  throw fail(ErrorKind::Compile, "LLVM gave up: {}", std::string(reason));
}

void catch_fatal_errors() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
}

// Collects errors that LLVM would print before ending the process.
struct Diagnostics : llvm::DiagnosticHandler {
  explicit Diagnostics(std::string* errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string* errors;
};

std::unique_ptr<KernelFrame> make_frame(const LlvmTarget& target, const LinearProgram& program) {
  switch (target.family) {
    case LlvmTarget::Family::Host: return make_cpu_frame(program, target_names(target).features);
    case LlvmTarget::Family::Amd: return make_amd_frame(program, target.chip);
    case LlvmTarget::Family::Nv: return make_nv_frame(program);
  }
  UNREACHABLE("LLVM target {}", static_cast<int>(target.family));
}

llvm::Function* build_function(llvm::Module& module, const LlvmTarget& target,
                               const LinearProgram& program) {
  const std::unique_ptr<KernelFrame> frame = make_frame(target, program);
  return FunctionBuilder(module, program, *frame).build();
}

// The linear program is optimised already. These passes turn registers into values and merge the
// address arithmetic that several accesses share.
void optimise(llvm::Function& function, llvm::TargetMachine& machine) {
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::AssumptionAnalysis(); });
  analyses.registerPass([] { return llvm::TargetLibraryAnalysis(); });
  analyses.registerPass([&] { return machine.getTargetIRAnalysis(); });
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.run(function, analyses);
}

unsigned vector_register_bits(const llvm::TargetMachine& machine, const llvm::Function& function) {
  const auto kind = llvm::TargetTransformInfo::RGK_FixedWidthVector;
  const llvm::TargetTransformInfo info = machine.getTargetTransformInfo(function);
  return static_cast<unsigned>(info.getRegisterBitWidth(kind).getFixedValue());
}

class Api : public LlvmApi {
 public:
  Result<std::vector<u8>> compile(const LlvmTarget& target,
                                  const LinearProgram& program) const override try {
    catch_fatal_errors();
    std::string errors;
    llvm::LLVMContext context;
    context.setDiagnosticHandler(std::make_unique<Diagnostics>(&errors));
    TRY(std::unique_ptr<llvm::TargetMachine> machine, make_target_machine(target));
    llvm::Module module(program.name, context);
    set_target(module, *machine);
    llvm::Function* function = build_function(module, target, program);
#ifndef NDEBUG
    llvm::raw_string_ostream complaints(errors);
    CHECK(!llvm::verifyFunction(*function, &complaints), "LLVM IR of {}: {}", program.name, errors);
#endif
    optimise(*function, *machine);
    if (target.family == LlvmTarget::Family::Host)
      split_masked(*function, vector_register_bits(*machine, *function));
    if (target.family == LlvmTarget::Family::Amd) {
      if (!target.chip.starts_with("gfx9")) drop_wraps(*function);
      shift_buffers(*function);
      order_matrices(*function);
    }
    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager emit;
    const auto kind = target.family == LlvmTarget::Family::Nv ? llvm::CodeGenFileType::AssemblyFile
                                                              : llvm::CodeGenFileType::ObjectFile;
    if (machine->addPassesToEmitFile(emit, stream, nullptr, kind, /*DisableVerify=*/true)) {
      return fail(ErrorKind::Compile, "LLVM cannot emit code for {}", target_names(target).triple);
    }
    emit.run(module);
    if (!errors.empty()) return fail(ErrorKind::Compile, "kernel {}: {}", program.name, errors);
    return std::vector<u8>(object.begin(), object.end());
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    return Error(error);
  }

  std::string print_ir(const LlvmTarget& target, const LinearProgram& program) const override {
    llvm::LLVMContext context;
    llvm::Module module(program.name, context);
    auto machine = make_target_machine(target);
    if (!machine) return "; " + to_string(machine.error());
    set_target(module, **machine);
    build_function(module, target, program);
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
  }

  Result<std::string> disassemble(const LlvmTarget& target,
                                  std::span<const u8> object) const override {
    if (target.family == LlvmTarget::Family::Nv) return std::string(object.begin(), object.end());
    const TargetNames names = target_names(target);
    return disassemble_object(object, names.triple, names.cpu, names.features);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const LlvmApi* doorbell_llvm_api_1() {
  static const Api* api = new Api;
  return api;
}

}  // namespace doorbell::codegen
