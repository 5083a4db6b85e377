// Placing sections one behind the other, and resolving relocations between them.
#include "drivers/amd/code_object.h"

#include <algorithm>
#include <cstring>

#include "base/elf/elf_file.h"
#include "base/util/try.h"

namespace doorbell::amd {

class CodeObjectLoader {
 public:
  static constexpr u64 kNotPlaced = ~u64{0};
  // What a chip fetches ahead of the last instruction must be mapped: 16 cache lines of 64 bytes on
  // gfx90a and its successors, fewer on others. [llvm AMDGPUTargetStreamer.cpp EmitCodeEnd(); Mesa
  // ac_binary.c ac_align_shader_binary_for_prefetch()]
  static constexpr u64 kPrefetchBytes = 1024;
  static constexpr u64 kMaxBytes = u64{1} << 26;

  CodeObjectLoader(const elf::ElfFile& file, const std::string& name) : file_(file), name_(name) {}

  Result<CodeObject> load() {
    if (file_.machine() != hw::kElfMachine)
      return fail(ErrorKind::Invalid, "kernel {} is for ELF machine {}, expected {} (AMDGPU)",
                  name_, file_.machine(), hw::kElfMachine);
    object_.elf_flags = file_.flags();
    object_.abi_version = file_.abi_version();
    places_.assign(file_.sections().size(), kNotPlaced);
    TRY(place());
    TRY(relocate());
    TRY(find_descriptor());
    for (const elf::Section& section : file_.sections())
      if (section.type == SHT_NOTE) {
        TRY(object_.metadata, KernelMetadata::read(section.data, name_));
      }
    object_.image.resize(object_.image.size() + kPrefetchBytes);
    return std::move(object_);
  }

 private:
  bool is_linked() const { return file_.type() == ET_DYN || file_.type() == ET_EXEC; }

  // A linked file says where its sections lie; those of a relocatable one come one behind the
  // other.
  Result<void> place() {
    object_.alignment = hw::kCodeAlignment;
    for (usize i = 0; i < file_.sections().size(); ++i) {
      const elf::Section& section = file_.sections()[i];
      if ((section.flags & SHF_ALLOC) == 0) continue;
      const u64 alignment = std::max<u64>(section.align, 1);
      if ((alignment & (alignment - 1)) != 0 || alignment > kMaxBytes)
        return fail(ErrorKind::Corrupt, "section {} of kernel {} is aligned to {}", section.name,
                    name_, alignment);
      object_.alignment = std::max(object_.alignment, alignment);
      const u64 end = object_.image.size();
      const u64 at = is_linked() ? section.address : (end + alignment - 1) / alignment * alignment;
      if (at > kMaxBytes || section.size > kMaxBytes - at)
        return fail(ErrorKind::Corrupt, "section {} of kernel {} is {} bytes at {:#x}",
                    section.name, name_, section.size, at);
      places_[i] = at;
      if (at + section.size > end) object_.image.resize(at + section.size);
      std::copy(section.data.begin(), section.data.end(),
                object_.image.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return {};
  }

  // Where a symbol lies in the image.
  Result<u64> value_of(const elf::Symbol& symbol) const {
    if (is_linked() && symbol.section != SHN_UNDEF) return symbol.value;
    if (symbol.section >= places_.size() || places_[symbol.section] == kNotPlaced)
      return fail(ErrorKind::Corrupt,
                  "symbol '{}' of kernel {} is in section {}, which has no "
                  "place",
                  symbol.name, name_, symbol.section);
    return places_[symbol.section] + symbol.value;
  }

  Result<void> relocate() {
    for (const elf::Section& section : file_.sections()) {
      if (section.type != SHT_RELA) continue;
      // Of debug information, say.
      if (!is_linked() && (section.info >= places_.size() || places_[section.info] == kNotPlaced))
        continue;
      if (section.link >= file_.sections().size())
        return fail(ErrorKind::Corrupt, "relocations of kernel {} name section {} of {}", name_,
                    section.link, file_.sections().size());
      TRY(const std::vector<elf::Symbol> symbols, file_.symbols(file_.sections()[section.link]));
      TRY(const std::vector<elf::Relocation> relocations, file_.relocations(section));
      const u64 base = is_linked() ? 0 : places_[section.info];
      for (const elf::Relocation& relocation : relocations) TRY(resolve(relocation, symbols, base));
    }
    return {};
  }

  Result<void> resolve(const elf::Relocation& relocation, const std::vector<elf::Symbol>& symbols,
                       u64 base) {
    const u64 offset = base + relocation.offset;
    const bool wide = relocation.type == hw::kRelocationAbs64 ||
                      relocation.type == hw::kRelocationRel64 ||
                      relocation.type == hw::kRelocationRelative64;
    const u64 size = wide ? 8 : 4;
    if (offset < base || offset > object_.image.size() || size > object_.image.size() - offset)
      return fail(ErrorKind::Corrupt, "relocation of kernel {} at {:#x} of {} bytes", name_, offset,
                  object_.image.size());
    u64 target = static_cast<u64>(relocation.addend);
    if (relocation.type != hw::kRelocationRelative64) {
      if (relocation.symbol >= symbols.size())
        return fail(ErrorKind::Corrupt, "relocation of kernel {} with symbol {} of {}", name_,
                    relocation.symbol, symbols.size());
      TRY(const u64 value, value_of(symbols[relocation.symbol]));
      target += value;
    }
    const u64 distance = target - offset;
    switch (relocation.type) {
      case hw::kRelocationRel64: store(offset, distance, 8); return {};
      case hw::kRelocationRel32:
      case hw::kRelocationRel32Lo: store(offset, distance, 4); return {};
      case hw::kRelocationRel32Hi: store(offset, distance >> 32, 4); return {};
      case hw::kRelocationAbs64:
      case hw::kRelocationRelative64:
      case hw::kRelocationAbs32:
      case hw::kRelocationAbs32Lo:
      case hw::kRelocationAbs32Hi:
        object_.absolutes_.push_back({offset, target, relocation.type});
        return {};
      default:
        return fail(ErrorKind::Unsupported, "kernel {} has a relocation of type {}", name_,
                    relocation.type);
    }
  }

  void store(u64 offset, u64 value, usize bytes) {
    std::memcpy(object_.image.data() + offset, &value, bytes);
  }

  Result<void> find_descriptor() {
    const std::string wanted = name_ + ".kd";
    for (const elf::Section& section : file_.sections()) {
      if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
      TRY(const std::vector<elf::Symbol> symbols, file_.symbols(section));
      for (const elf::Symbol& symbol : symbols) {
        if (symbol.name != wanted || symbol.section == SHN_UNDEF) continue;
        TRY(object_.descriptor_offset, value_of(symbol));
        return read_descriptor();
      }
    }
    return fail(ErrorKind::Corrupt, "the code object has no symbol {}", wanted);
  }

  Result<void> read_descriptor() {
    const u64 at = object_.descriptor_offset, size = object_.image.size();
    if (at % hw::kKernelDescriptorBytes != 0 || at > size || hw::kKernelDescriptorBytes > size - at)
      return fail(ErrorKind::Corrupt, "the descriptor of kernel {} is at {:#x} of {} bytes", name_,
                  at, size);
    Words<hw::KernelDescriptor> words;
    std::memcpy(words.data(), object_.image.data() + at, sizeof words);
    object_.descriptor = decode<hw::KernelDescriptor>(words);
    object_.entry_offset = at + static_cast<u64>(object_.descriptor.entry_offset);
    if (object_.entry_offset >= size || object_.entry_offset % hw::kCodeAlignment != 0)
      return fail(ErrorKind::Corrupt,
                  "kernel {} begins at {:#x} of {} bytes, expected a multiple "
                  "of {}",
                  name_, object_.entry_offset, size, hw::kCodeAlignment);
    return {};
  }

  const elf::ElfFile& file_;
  const std::string& name_;
  std::vector<u64> places_;  // by section
  CodeObject object_;
};

Result<CodeObject> CodeObject::load(std::span<const u8> bytes, const std::string& name) {
  TRY(const elf::ElfFile file, elf::ElfFile::parse(bytes));
  return CodeObjectLoader(file, name).load();
}

void CodeObject::relocate(u64 address) {
  for (const Absolute& absolute : absolutes_) {
    u64 value = address + absolute.target;
    usize bytes = sizeof(u32);
    if (absolute.type == hw::kRelocationAbs32Hi) value >>= 32;
    if (absolute.type == hw::kRelocationAbs64 || absolute.type == hw::kRelocationRelative64)
      bytes = sizeof(u64);
    std::memcpy(image.data() + absolute.offset, &value, bytes);
  }
}

}  // namespace doorbell::amd
