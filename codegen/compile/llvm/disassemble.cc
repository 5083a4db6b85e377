// Disassembly through LLVM's C interface, which has been stable across versions.
#include "codegen/compile/llvm/disassemble.h"

#include <fmt/format.h>
#include <llvm-c/Disassembler.h>

#include <algorithm>
#include <vector>

#include "base/elf/elf_file.h"
#include "base/util/try.h"

namespace doorbell::codegen {

namespace {

// The end of the section's functions; padding follows.
Result<usize> end_of_code(const elf::ElfFile& file, const elf::Section& text) {
  const elf::Section* table = file.find_section(".symtab");
  if (table == nullptr) return text.data.size();
  TRY(const std::vector<elf::Symbol> symbols, file.symbols(*table));
  usize end = 0;
  for (const elf::Symbol& symbol : symbols) {
    if (symbol.type != STT_FUNC || symbol.section >= file.sections().size()) continue;
    if (&file.sections()[symbol.section] != &text) continue;
    if (symbol.value > text.data.size() || symbol.size > text.data.size() - symbol.value) continue;
    end = std::max<usize>(end, symbol.value + symbol.size);
  }
  return end > 0 ? end : text.data.size();
}

}  // namespace

Result<std::string> disassemble_object(std::span<const u8> object, const std::string& triple,
                                       const std::string& cpu, const std::string& features) {
  TRY(elf::ElfFile file, elf::ElfFile::parse(object));
  const elf::Section* text = file.find_section(".text");
  if (text == nullptr) return fail(ErrorKind::Corrupt, "the object has no .text");
  TRY(const usize end, end_of_code(file, *text));
  LLVMDisasmContextRef context = LLVMCreateDisasmCPUFeatures(
      triple.c_str(), cpu.c_str(), features.c_str(), nullptr, 0, nullptr, nullptr);
  if (context == nullptr) return fail(ErrorKind::Unsupported, "no disassembler for {}", triple);
  LLVMSetDisasmOptions(
      context, LLVMDisassembler_Option_AsmPrinterVariant | LLVMDisassembler_Option_PrintImmHex);
  std::vector<u8> bytes(text->data.begin(), text->data.begin() + static_cast<i64>(end));
  std::string result;
  for (usize at = 0; at < bytes.size();) {
    char line[256];
    usize length =
        LLVMDisasmInstruction(context, bytes.data() + at, bytes.size() - at, at, line, sizeof line);
    if (length == 0) {
      result += fmt::format("{:6x}: .byte {:#04x}\n", at, bytes[at]);
      ++at;
      continue;
    }
    result += fmt::format("{:6x}:{}\n", at, line);
    at += length;
  }
  LLVMDisasmDispose(context);
  return result;
}

}  // namespace doorbell::codegen
