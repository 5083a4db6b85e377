// InstructionSource over LLVM's machine-code layer. The one file of the emulator that includes
// LLVM; it is built into a module of its own (docs/decisions/0060). Operands are decoded from the
// words instead: LLVM's operand lists differ per opcode, and their names are in no installed
// header.
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

#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/amd/isa/decode/instruction_source.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace doorbell::emu::amdgpu {

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

// Words of at most one instruction, with zeros behind the last byte.
using Words = std::array<u32, 5>;

// Whether the words are not an instruction and would end the process in LLVM's disassembler,
// versions 20 to 22: a literal without room for its word, as behind gfx9's eight bytes; and a
// matrix of V_MFMA_*_F8F6F4 that is not eight vector registers: the smaller formats' four and six
// are told apart afterwards. [AMDGPUDisassembler.cpp: decodeLiteralConstant;
// adjustMFMA_F6F4OpRegClass takes a register for granted]
bool crashes_on(u32 low, u32 high) {
  constexpr u32 kLiteral = 255;
  const u32 format = low >> 26, opcode = low >> 16;
  if (format == 0x38 || format == 0x3a) return high >> 24 == kLiteral;
  if (format != 0x34) return false;
  const u32 sources[] = {high & 0x1ff, high >> 9 & 0x1ff, high >> 18 & 0x1ff};
  if (std::ranges::find(sources, kLiteral) != std::end(sources)) return true;
  const auto is_matrix = [](u32 source) { return source >= 256 && source <= 512 - 8; };
  return (opcode == 0xd3ad || opcode == 0xd3ae) &&
         (!is_matrix(sources[0]) || !is_matrix(sources[1]));
}
bool crashes_gfx9(const Words& words) {
  const bool scaled = words[0] >> 16 == 0xd3ac;  // a second half has the multiplication
  return crashes_on(words[0], words[1]) || (scaled && crashes_on(words[2], words[3]));
}

class McSource final : public InstructionSource {
 public:
  McSource(const llvm::Target& target, const std::string& cpu, const std::string& features)
      : triple_(kTriple), gfx9_(cpu.starts_with("gfx9")) {
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
    Words words{};
    std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
    if (gfx9_ && crashes_gfx9(words)) return false;
    llvm::ArrayRef<u8> view(reinterpret_cast<const u8*>(words.data()), sizeof words);
    // A soft failure is a field that hardware ignores and that the newest assembler fills
    // differently: LLVM before 16 left the destination of gfx10's V_CMPX zero, and its code runs.
    return disassembler_->getInstruction(instruction, size, view, address, llvm::nulls()) !=
               llvm::MCDisassembler::Fail &&
           size != 0 && size <= bytes.size();
  }

  llvm::Triple triple_;
  bool gfx9_;
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

}  // namespace doorbell::emu::amdgpu
