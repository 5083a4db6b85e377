// Relocation types: [LLVM AMDGPUUsage "Relocation Records"].
#include "tests/emulator/support/code_object.h"

#include <cstring>
#include <string>

#include "base/elf/elf_file.h"
#include "base/util/try.h"

namespace doorbell::testing {

namespace {

using elf::ElfFile;

constexpr u64 kUnplaced = ~u64{0};

enum RelocationType : u32 {
  kAbs32Lo = 1,
  kAbs32Hi = 2,
  kAbs64 = 3,
  kRel32 = 4,
  kRel64 = 5,
  kAbs32 = 6,
  kRel32Lo = 10,
  kRel32Hi = 11,
};

Result<void> apply(u8* place, u32 type, u64 value, u64 place_address) {
  u64 relative = value - place_address;
  auto put = [&](u64 bits, usize bytes) { std::memcpy(place, &bits, bytes); };
  switch (type) {
    case kAbs32:
    case kAbs32Lo: put(value, 4); return {};
    case kAbs32Hi: put(value >> 32, 4); return {};
    case kAbs64: put(value, 8); return {};
    case kRel32:
    case kRel32Lo: put(relative, 4); return {};
    case kRel32Hi: put(relative >> 32, 4); return {};
    case kRel64: put(relative, 8); return {};
    default: return fail(ErrorKind::Unsupported, "relocation type {} in a code object", type);
  }
}

class Placer {
 public:
  Placer(const ElfFile& file, u64 address) : file_(file), address_(address) {}

  Result<PlacedCode> place(std::string_view kernel) {
    for (const elf::Section& section : file_.sections()) {
      offsets_.push_back(kUnplaced);
      if ((section.flags & SHF_ALLOC) == 0) continue;
      u64 align = std::max<u64>(section.align, 256);
      u64 offset = (code_.image.size() + align - 1) / align * align;
      offsets_.back() = offset;
      code_.image.resize(offset + section.size);
      std::memcpy(code_.image.data() + offset, section.data.data(), section.data.size());
    }
    // Instruction fetch runs ahead of the last instruction.
    code_.image.resize((code_.image.size() + 4095) / 4096 * 4096);
    for (const elf::Section& section : file_.sections()) {
      if (section.type == SHT_RELA && offsets_[section.info] != kUnplaced) TRY(relocate(section));
    }
    TRY(code_.descriptor, find(std::string(kernel) + ".kd"));
    return std::move(code_);
  }

 private:
  Result<void> relocate(const elf::Section& table) {
    TRY(std::vector<elf::Symbol> symbols, file_.symbols(file_.sections()[table.link]));
    TRY(std::vector<elf::Relocation> relocations, file_.relocations(table));
    for (const elf::Relocation& relocation : relocations) {
      const elf::Symbol& symbol = symbols.at(relocation.symbol);
      if (symbol.section >= offsets_.size() || offsets_[symbol.section] == kUnplaced) {
        return fail(ErrorKind::Unsupported, "the code object wants \"{}\" from outside",
                    symbol.name);
      }
      u64 at = offsets_[table.info] + relocation.offset;
      u64 value = address_ + offsets_[symbol.section] + symbol.value + relocation.addend;
      TRY(apply(code_.image.data() + at, relocation.type, value, address_ + at));
    }
    return {};
  }

  Result<u64> find(const std::string& name) const {
    const elf::Section* table = file_.find_section(".symtab");
    if (table == nullptr) return fail(ErrorKind::Corrupt, "the code object has no symbols");
    TRY(std::vector<elf::Symbol> symbols, file_.symbols(*table));
    for (const elf::Symbol& symbol : symbols) {
      if (symbol.name == name && offsets_.at(symbol.section) != kUnplaced) {
        return offsets_[symbol.section] + symbol.value;
      }
    }
    return fail(ErrorKind::NotFound, "the code object has no \"{}\"", name);
  }

  const ElfFile& file_;
  u64 address_;
  std::vector<u64> offsets_;  // of each section in the image
  PlacedCode code_;
};

}  // namespace

Result<PlacedCode> place_code(std::span<const u8> object, std::string_view kernel, u64 address) {
  TRY(ElfFile file, ElfFile::parse(object));
  return Placer(file, address).place(kernel);
}

}  // namespace doorbell::testing
