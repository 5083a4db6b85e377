// Placing an object's sections in one mapping, applying its relocations, and making it executable.
//
// The mapping: the sections with SHF_ALLOC in file order, then one 16-byte jump per outside
// function, since those may be more than 2 GiB away. Written first, executable afterwards, never
// both. [x86-64 psABI, table 4.10 "Relocation Types"]
#include "codegen/compile/load_object.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/elf/elf_file.h"
#include "base/util/try.h"

namespace doorbell::codegen {

namespace {

using elf::ElfFile;

// The functions that compiled code may call. Compilers emit calls to these for large copies and
// fills even when freestanding.
struct Import {
  std::string_view name;
  void* address;
};
const Import* find_import(std::string_view name) {
  static const Import kImports[] = {
      {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
      {"memmove", reinterpret_cast<void*>(&std::memmove)},
      {"memset", reinterpret_cast<void*>(&std::memset)},
  };
  for (const Import& import : kImports) {
    if (import.name == name) return &import;
  }
  return nullptr;
}

constexpr u64 kJumpBytes = 16, kMaxImage = u64{64} << 20, kNotPlaced = ~u64{0};

class Mapping {
 public:
  static Result<std::shared_ptr<Mapping>> make(usize bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return fail_errno(errno, "map {} bytes for code", bytes);
    return std::make_shared<Mapping>(base, bytes);
  }
  Mapping(void* base, usize bytes) : base_(static_cast<u8*>(base)), bytes_(bytes) {}
  ~Mapping() { munmap(base_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  u8* base() const { return base_; }
  Result<void> make_executable() {
    if (mprotect(base_, bytes_, PROT_READ | PROT_EXEC) != 0) {
      return fail_errno(errno, "make {} bytes of code executable", bytes_);
    }
    return {};
  }

 private:
  u8* base_;
  usize bytes_;
};

class Loader {
 public:
  explicit Loader(const ElfFile& file) : file_(file) {}

  Result<core::LoadedCode> load(std::string_view entry) {
    TRY(place());
    TRY(mapping_, Mapping::make(image_bytes_));
    for (usize i = 0; i < offsets_.size(); ++i) {
      const elf::Section& s = file_.sections()[i];
      if (offsets_[i] != kNotPlaced && !s.data.empty()) {
        std::memcpy(mapping_->base() + offsets_[i], s.data.data(), s.data.size());
      }
    }
    for (const elf::Section& s : file_.sections()) {
      if (s.type == SHT_REL) {
        return fail(ErrorKind::Unsupported, "relocations without addends in section {}", s.name);
      }
      if (s.type == SHT_RELA) TRY(relocate(s));
    }
    TRY(mapping_->make_executable());
    return find_entry(entry);
  }

 private:
  // Skips unwind tables: kernels neither throw nor call back.
  static bool is_wanted(const elf::Section& s) {
    return (s.flags & SHF_ALLOC) != 0 && s.type != SHT_X86_64_UNWIND && s.name != ".eh_frame" &&
           s.type != SHT_NOTE;
  }

  Result<void> place() {
    if (file_.type() != ET_REL || file_.machine() != EM_X86_64) {
      return fail(ErrorKind::Unsupported, "ELF type {} for machine {}, expected {} for {}",
                  file_.type(), file_.machine(), ET_REL, EM_X86_64);
    }
    u64 end = 0;
    for (const elf::Section& s : file_.sections()) {
      offsets_.push_back(kNotPlaced);
      if (!is_wanted(s)) continue;
      if ((s.flags & SHF_WRITE) != 0 && s.size > 0) {
        return fail(ErrorKind::Unsupported, "a kernel with {} bytes of writable data in {}", s.size,
                    s.name);
      }
      u64 align = s.align > 1 ? s.align : 1;
      if (s.size > kMaxImage || align > 4096) {
        return fail(ErrorKind::Unsupported, "section {} of {} bytes, aligned to {}", s.name, s.size,
                    align);
      }
      offsets_.back() = (end + align - 1) & ~(align - 1);
      end = offsets_.back() + s.size;
      if (end > kMaxImage) return fail(ErrorKind::Unsupported, "code of more than {} bytes", end);
    }
    for (const elf::Section& s : file_.sections()) {
      if (s.type != SHT_SYMTAB) continue;
      TRY(symbols_, file_.symbols(s));
      break;
    }
    jumps_ = (end + kJumpBytes - 1) & ~(kJumpBytes - 1);
    jump_of_.assign(symbols_.size(), kNotPlaced);
    u64 undefined = 0;
    for (const elf::Symbol& s : symbols_) undefined += s.section == SHN_UNDEF;
    u64 page = static_cast<u64>(sysconf(_SC_PAGESIZE));
    image_bytes_ = (jumps_ + undefined * kJumpBytes + page - 1) & ~(page - 1);
    return {};
  }

  Result<void> relocate(const elf::Section& table) {
    if (table.info >= offsets_.size()) {
      return fail(ErrorKind::Corrupt, "relocations {} are for section {} of {}", table.name,
                  table.info, offsets_.size());
    }
    if (offsets_[table.info] == kNotPlaced) return {};
    const elf::Section& target = file_.sections()[table.info];
    TRY(std::vector<elf::Relocation> relocations, file_.relocations(table));
    for (const elf::Relocation& r : relocations) {
      if (r.type == R_X86_64_NONE) continue;
      u64 width = r.type == R_X86_64_64 || r.type == R_X86_64_PC64 ? 8 : 4;
      if (target.data.size() < width || r.offset > target.data.size() - width) {
        return fail(ErrorKind::Corrupt, "relocation at {} of section {} with {} bytes", r.offset,
                    target.name, target.data.size());
      }
      TRY(u64 symbol, address_of(r.symbol));
      TRY(apply(r, mapping_->base() + offsets_[table.info] + r.offset, symbol));
    }
    return {};
  }

  Result<void> apply(const elf::Relocation& r, u8* place, u64 symbol) {
    u64 absolute = symbol + static_cast<u64>(r.addend);
    u64 relative = absolute - reinterpret_cast<u64>(place);
    switch (r.type) {
      case R_X86_64_64: std::memcpy(place, &absolute, 8); return {};
      case R_X86_64_PC64: std::memcpy(place, &relative, 8); return {};
      case R_X86_64_PC32:
      case R_X86_64_PLT32: {
        auto distance = static_cast<i64>(relative);
        if (distance != static_cast<i32>(distance)) {
          return fail(ErrorKind::Corrupt, "relocation at {} reaches {} bytes far, 32 bits cannot",
                      r.offset, distance);
        }
        auto word = static_cast<i32>(distance);
        std::memcpy(place, &word, 4);
        return {};
      }
      default:
        return fail(ErrorKind::Unsupported, "x86-64 relocation type {} at {}", r.type, r.offset);
    }
  }

  Result<u64> address_of(u32 index) {
    if (index >= symbols_.size()) {
      return fail(ErrorKind::Corrupt, "relocation against symbol {} of {}", index, symbols_.size());
    }
    const elf::Symbol& s = symbols_[index];
    if (s.section == SHN_UNDEF) return jump_to(index);
    if (s.section >= offsets_.size() || offsets_[s.section] == kNotPlaced) {
      return fail(ErrorKind::Unsupported, "symbol {} in section {}, which is not loaded", s.name,
                  s.section);
    }
    if (s.value > file_.sections()[s.section].size) {
      return fail(ErrorKind::Corrupt, "symbol {} at {} of a section of {} bytes", s.name, s.value,
                  file_.sections()[s.section].size);
    }
    return reinterpret_cast<u64>(mapping_->base()) + offsets_[s.section] + s.value;
  }

  // jmp *0(%rip); .quad target
  Result<u64> jump_to(u32 index) {
    if (jump_of_[index] == kNotPlaced) {
      const Import* import = find_import(symbols_[index].name);
      if (import == nullptr) {
        return fail(ErrorKind::Unsupported, "the code calls {}, which kernels may not",
                    symbols_[index].name);
      }
      static constexpr u8 kJump[] = {0xff, 0x25, 0, 0, 0, 0};
      jump_of_[index] = jumps_;
      std::memcpy(mapping_->base() + jumps_, kJump, sizeof kJump);
      std::memcpy(mapping_->base() + jumps_ + sizeof kJump, &import->address, 8);
      jumps_ += kJumpBytes;
    }
    return reinterpret_cast<u64>(mapping_->base()) + jump_of_[index];
  }

  Result<core::LoadedCode> find_entry(std::string_view entry) {
    for (u32 i = 0; i < symbols_.size(); ++i) {
      if (symbols_[i].name != entry || symbols_[i].type != STT_FUNC) continue;
      if (symbols_[i].section == SHN_UNDEF) break;
      TRY(u64 address, address_of(i));
      const elf::Section& section = file_.sections()[symbols_[i].section];
      if ((section.flags & SHF_EXECINSTR) == 0 || symbols_[i].value >= section.size) {
        return fail(ErrorKind::Corrupt, "function {} at {} of section {} with {} bytes", entry,
                    symbols_[i].value, section.name, section.size);
      }
      return core::LoadedCode{reinterpret_cast<void*>(address), mapping_};
    }
    return fail(ErrorKind::NotFound, "the object has no function {}", entry);
  }

  const ElfFile& file_;
  std::shared_ptr<Mapping> mapping_;
  std::vector<u64> offsets_;  // by section: offset in the mapping, or kNotPlaced
  std::vector<elf::Symbol> symbols_;
  std::vector<u64> jump_of_;  // by symbol: offset of its jump, or kNotPlaced
  u64 jumps_ = 0, image_bytes_ = 0;
};

}  // namespace

Result<core::LoadedCode> load_object(std::span<const u8> object, std::string_view entry) {
  TRY(ElfFile file, ElfFile::parse(object));
  return Loader(file).load(entry);
}

}  // namespace doorbell::codegen
