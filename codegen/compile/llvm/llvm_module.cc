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
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <mutex>

#include "codegen/compile/llvm/disassemble.h"
#include "codegen/compile/llvm/llvm_api.h"
#include "codegen/render/llvm/function_builder.h"

namespace doorbell::codegen {

namespace {

// LLVM ends the process on what it calls fatal; the library never does.
void on_fatal_error(void*, const char* reason, bool) {
  throw fail(ErrorKind::Compile, "LLVM gave up: {}", std::string(reason));
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

struct Host {
  std::string triple, cpu, features;
  const llvm::Target* target = nullptr;
};

const Host& host() {
  static const Host* found = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::install_fatal_error_handler(on_fatal_error);
    auto* h = new Host;
    h->triple = llvm::sys::getProcessTriple();
    h->cpu = llvm::sys::getHostCPUName().str();
    for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
      h->features += (h->features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") +
                     feature.first().str();
    }
    std::string error;
#if LLVM_VERSION_MAJOR >= 22
    h->target = llvm::TargetRegistry::lookupTarget(llvm::Triple(h->triple), error);
#else
    h->target = llvm::TargetRegistry::lookupTarget(h->triple, error);
#endif
    CHECK(h->target != nullptr, "LLVM has no target for {}: {}", h->triple, error);
    return h;
  }();
  return *found;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine() {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  const Host& h = host();
#if LLVM_VERSION_MAJOR >= 21
  llvm::Triple triple(h.triple);
#else
  const std::string& triple = h.triple;
#endif
  return std::unique_ptr<llvm::TargetMachine>(
      h.target->createTargetMachine(triple, h.cpu, h.features, options, llvm::Reloc::PIC_,
                                    llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

void set_target(llvm::Module& module, const llvm::TargetMachine& machine) {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(machine.getTargetTriple());
#else
  module.setTargetTriple(machine.getTargetTriple().str());
#endif
  module.setDataLayout(machine.createDataLayout());
  // Read-only data is reached relative to the code: the loader places both in one mapping.
  module.setPICLevel(llvm::PICLevel::SmallPIC);
}

llvm::Function* build_function(llvm::Module& module, const LinearProgram& program) {
  llvm::Function* function = FunctionBuilder(module, program).build();
  // Kernels are the place for wide registers, whatever the CPU's default is.
  function->addFnAttr("prefer-vector-width", "512");
  function->addFnAttr("no-trapping-math", "true");
  return function;
}

// The linear program comes optimised; what is left is to turn registers into values and to merge
// the address arithmetic that several accesses share.
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

class Api : public LlvmApi {
 public:
  Result<std::vector<u8>> compile(const LinearProgram& program) const override try {
    std::string errors;
    llvm::LLVMContext context;
    context.setDiagnosticHandler(std::make_unique<Diagnostics>(&errors));
    std::unique_ptr<llvm::TargetMachine> machine = make_target_machine();
    llvm::Module module(program.name, context);
    set_target(module, *machine);
    llvm::Function* function = build_function(module, program);
#ifndef NDEBUG
    llvm::raw_string_ostream complaints(errors);
    CHECK(!llvm::verifyFunction(*function, &complaints), "LLVM IR of {}: {}", program.name, errors);
#endif
    optimise(*function, *machine);
    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager emit;
    if (machine->addPassesToEmitFile(emit, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                                     /*DisableVerify=*/true)) {
      return fail(ErrorKind::Compile, "LLVM cannot emit objects for {}", host().triple);
    }
    emit.run(module);
    if (!errors.empty()) return fail(ErrorKind::Compile, "kernel {}: {}", program.name, errors);
    return std::vector<u8>(object.begin(), object.end());
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    return Error(error);
  }

  std::string print_ir(const LinearProgram& program) const override {
    llvm::LLVMContext context;
    llvm::Module module(program.name, context);
    set_target(module, *make_target_machine());
    build_function(module, program);
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
  }

  Result<std::string> disassemble(std::span<const u8> object) const override {
    return disassemble_object(object, host().triple, host().cpu, host().features);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const LlvmApi* doorbell_llvm_api_1() {
  static const Api* api = new Api;
  return api;
}

}  // namespace doorbell::codegen
