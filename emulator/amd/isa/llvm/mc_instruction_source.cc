// InstructionSource over LLVM's machine-code layer. The one file of the emulator that includes
// LLVM; it is built into a module of its own (docs/decisions/0060). Operands are not taken from
// here but from the words themselves: LLVM's operand lists differ per opcode, and their names are
// in no installed header.
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

#include "emulator/amd/isa/instruction_source.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace doorbell::emulator::amd {

namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";

const llvm::Target* amdgpu() {
  static const llvm::Target* found = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    std::string error;
#if LLVM_VERSION_MAJOR >= 22
    return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
#else
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
#endif
  }();
  return found;
}

class McSource final : public InstructionSource {
 public:
  McSource(const llvm::Target& target, const std::string& cpu, const std::string& features)
      : triple_(kTriple) {
#if LLVM_VERSION_MAJOR >= 22
    registers_.reset(target.createMCRegInfo(triple_));
    assembly_.reset(target.createMCAsmInfo(*registers_, triple_, options_));
    subtarget_.reset(target.createMCSubtargetInfo(triple_, cpu, features));
#else
    registers_.reset(target.createMCRegInfo(kTriple));
    assembly_.reset(target.createMCAsmInfo(*registers_, kTriple, options_));
    subtarget_.reset(target.createMCSubtargetInfo(kTriple, cpu, features));
#endif
    instructions_.reset(target.createMCInstrInfo());
    context_ = std::make_unique<llvm::MCContext>(triple_, assembly_.get(), registers_.get(),
                                                 subtarget_.get());
    disassembler_.reset(target.createMCDisassembler(*subtarget_, *context_));
    printer_.reset(target.createMCInstPrinter(triple_, assembly_->getAssemblerDialect(), *assembly_,
                                              *instructions_, *registers_));
  }

  bool usable() const { return disassembler_ != nullptr && printer_ != nullptr; }

  Instruction decode(std::span<const u8> bytes, u64 address) override {
    llvm::MCInst instruction;
    u64 size = 0;
    if (!disassemble(bytes, address, instruction, size)) return {};
    return {instructions_->getName(instruction.getOpcode()), static_cast<u32>(size)};
  }

  std::string print(std::span<const u8> bytes, u64 address) override {
    llvm::MCInst instruction;
    u64 size = 0;
    if (!disassemble(bytes, address, instruction, size)) return {};
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer_->printInst(&instruction, address, "", *subtarget_, stream);
    stream.flush();
    return text.substr(std::min(text.size(), text.find_first_not_of(" \t")));
  }

 private:
  bool disassemble(std::span<const u8> bytes, u64 address, llvm::MCInst& instruction, u64& size) {
    llvm::ArrayRef<u8> view(bytes.data(), bytes.size());
    // A soft failure is a field that hardware ignores and the newest assembler fills otherwise:
    // LLVM before 16 left the destination of gfx10's V_CMPX zero, and its code runs.
    return disassembler_->getInstruction(instruction, size, view, address, llvm::nulls()) !=
               llvm::MCDisassembler::Fail &&
           size != 0;
  }

  llvm::Triple triple_;
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

class McSources final : public InstructionSources {
 public:
  Result<std::unique_ptr<InstructionSource>> open(std::string_view chip, u32 lanes) const override {
    const llvm::Target* target = amdgpu();
    if (target == nullptr) return fail(ErrorKind::Unsupported, "this LLVM has no AMD GPUs");
    const char* features =
        lanes == 64 ? "+wavefrontsize64,-wavefrontsize32" : "+wavefrontsize32,-wavefrontsize64";
    if (chip.starts_with("gfx9")) features = "";
    auto source = std::make_unique<McSource>(*target, std::string(chip), features);
    if (!source->usable()) {
      return fail(ErrorKind::Unsupported, "LLVM has no disassembler for {}", chip);
    }
    return std::unique_ptr<InstructionSource>(std::move(source));
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const InstructionSources*
doorbell_amd_decoder_1() {
  static const auto* sources = new McSources;
  return sources;
}

}  // namespace doorbell::emulator::amd
