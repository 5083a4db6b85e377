// Whether the emulator has a handler for every instruction of the compiled kernels in a cache:
//
//   kernel_opcodes CHIP PATH_OF_KERNELS_DB
//
// prints how many instructions and opcodes it met, and fails for one that it does not know.
#include <elf.h>
#include <sqlite3.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/elf/elf_file.h"
#include "base/util/try.h"
#include "codegen/compile/kernel_binary.h"
#include "emulator/amd/isa/decode/decode.h"

namespace doorbell::emu::amdgpu {
namespace {

// The cache's entries, whole.
Result<std::vector<std::vector<u8>>> entries_of(const char* path) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  std::vector<std::vector<u8>> entries;
  if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
      sqlite3_prepare_v2(database, "SELECT entry FROM kernels", -1, &statement, nullptr) ==
          SQLITE_OK) {
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const u8* bytes = static_cast<const u8*>(sqlite3_column_blob(statement, 0));
      entries.emplace_back(bytes, bytes + sqlite3_column_bytes(statement, 0));
    }
  }
  const std::string words = sqlite3_errmsg(database);
  sqlite3_finalize(statement);
  sqlite3_close(database);
  if (entries.empty()) return fail(ErrorKind::NotFound, "{} has no kernels: {}", path, words);
  return entries;
}

struct Met {
  u64 kernels = 0, instructions = 0;
  std::set<std::string> opcodes;
  std::map<std::string, std::string> unknown;  // opcode: kernel
};

// Lanes of the kernel's waves, by its descriptor's ENABLE_WAVEFRONT_SIZE32.
// [LLVM docs/AMDGPUUsage.rst, "Kernel Descriptor"]
Result<u32> lanes_of(const elf::ElfFile& file, const std::vector<elf::Symbol>& symbols) {
  for (const elf::Symbol& symbol : symbols) {
    if (!symbol.name.ends_with(".kd")) continue;
    const elf::Section& section = file.sections()[symbol.section];
    u16 properties = 0;
    std::memcpy(&properties, section.data.data() + (symbol.value - section.address) + 56, 2);
    return properties >> 10 & 1 ? 32u : 64u;
  }
  return fail(ErrorKind::NotFound, "no kernel descriptor");
}

Result<void> scan(const codegen::KernelBinary& kernel, Decoder* const (&decoders)[2], Met& met) {
  TRY(const elf::ElfFile file, elf::ElfFile::parse(kernel.image));
  const elf::Section* table = file.find_section(".symtab");
  if (table == nullptr) return fail(ErrorKind::NotFound, "{}: no symbols", kernel.name);
  TRY(const std::vector<elf::Symbol> symbols, file.symbols(*table));
  TRY(const u32 lanes, lanes_of(file, symbols));
  Decoder& decoder = *decoders[lanes == 64 ? 1 : 0];
  ++met.kernels;
  for (const elf::Symbol& symbol : symbols) {
    if (symbol.type != STT_FUNC || symbol.size == 0) continue;
    const elf::Section& section = file.sections()[symbol.section];
    const std::span<const u8> code =
        section.data.subspan(symbol.value - section.address, symbol.size);
    std::vector<Operation> operations;
    for (usize at = 0; at < code.size();) {
      operations.clear();
      at += decoder.decode(code.subspan(at), at, operations);
      ++met.instructions;
      for (const Operation& op : operations) {
        met.opcodes.emplace(op.name);
        if (op.entry == nullptr) met.unknown.emplace(op.name, kernel.name);
      }
    }
  }
  return {};
}

Result<void> check(const char* chip_name, const char* path) {
  const Chip* chip = find_chip(chip_name);
  if (chip == nullptr) return fail(ErrorKind::NotFound, "no chip {}", chip_name);
  TRY(const InstructionSources* sources, instruction_sources());
  std::unique_ptr<Decoder> decoders[2];
  for (u32 i = 0; i < 2; ++i) {
    if (i == 0 ? !chip->wave32 : !chip->wave64) continue;
    TRY(auto source, sources->open(chip->name, i == 0 ? 32 : 64));
    decoders[i] =
        std::make_unique<Decoder>(*chip, i == 0 ? 32u : 64u, handler_set(), std::move(source));
  }
  TRY(const auto entries, entries_of(path));
  Met met;
  for (const std::vector<u8>& entry : entries) {
    TRY(const codegen::KernelBinary kernel, codegen::decode(entry));
    TRY(scan(kernel, {decoders[0].get(), decoders[1].get()}, met));
  }
  std::printf("%s: %llu kernels of %llu instructions, %zu opcodes, %zu without a handler\n",
              chip_name, static_cast<unsigned long long>(met.kernels),
              static_cast<unsigned long long>(met.instructions), met.opcodes.size(),
              met.unknown.size());
  for (const auto& [name, kernel] : met.unknown) {
    std::printf("no handler for %s in %s\n", name.c_str(), kernel.c_str());
  }
  if (!met.unknown.empty()) return fail(ErrorKind::Unsupported, "opcodes without a handler");
  return {};
}

}  // namespace
}  // namespace doorbell::emu::amdgpu

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: kernel_opcodes CHIP PATH_OF_KERNELS_DB\n");
    return 2;
  }
  const auto checked = doorbell::emu::amdgpu::check(argv[1], argv[2]);
  if (!checked) std::fprintf(stderr, "%s\n", checked.error().message.c_str());
  return checked ? 0 : 1;
}
