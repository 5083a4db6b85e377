// Reads a cubin's sections, symbols, attributes and relocations.
#include "emulator/nv/compute/cubin.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/elf/elf_file.h"
#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u16 kMachine = 190;  // EM_CUDA [elf.h]
constexpr u64 kCodeAlignment = 128, kVariableAlignment = 256;

// Attributes of .nv.info sections, with the names that nvdisasm prints.
enum Attribute : u8 {
  kMaxThreads = 0x05,      // EIATTR_MAX_THREADS
  kParamCbank = 0x0a,      // EIATTR_PARAM_CBANK
  kReqntid = 0x10,         // EIATTR_REQNTID
  kFrameSize = 0x11,       // EIATTR_FRAME_SIZE
  kMinStackSize = 0x12,    // EIATTR_MIN_STACK_SIZE
  kKparamInfo = 0x17,      // EIATTR_KPARAM_INFO
  kCbankParamSize = 0x19,  // EIATTR_CBANK_PARAM_SIZE
  kRegcount = 0x2f,        // EIATTR_REGCOUNT
};

// Relocations. Those of instructions: the bits that hold the address, as a branch's offset is held.
// Jump targets count words of four bytes.
enum Relocation : u32 {
  kR32 = 1,        // the address's low 32 bits
  kR64 = 2,        // all of it
  kG64 = 4,        // "generic": the same for global memory
  kLow32 = 0x38,   // the low 32 bits, in bits 32 to 63 of an instruction
  kHigh32 = 0x39,  // the high 32 bits, there
  kAbs47 = 0x3a,   // words, in bits 34 to 80
  kAbs55 = 0x4b,   // words: the low byte in bits 16 to 23, 47 more from bit 34 (sm_90)
};

u32 load_u32(std::span<const u8> bytes, usize at) {
  u32 value = 0;
  if (at + 4 <= bytes.size()) std::memcpy(&value, bytes.data() + at, 4);
  return value;
}
u64 load_u64(std::span<const u8> bytes, usize at) {
  return load_u32(bytes, at) | u64{load_u32(bytes, at + 4)} << 32;
}

// Replaces bits [low, low + count) of the 16 bytes at `at`.
void put_bits(std::vector<u8>& bytes, u64 at, unsigned low, unsigned count, u64 value) {
  for (unsigned i = 0; i < count; ++i) {
    u8& byte = bytes[at + (low + i) / 8];
    const u8 mask = static_cast<u8>(1u << ((low + i) % 8));
    byte = static_cast<u8>(value >> i & 1 ? byte | mask : byte & ~mask);
  }
}

}  // namespace

// One pass over a file.
class CubinReader {
 public:
  CubinReader(const elf::ElfFile& file, Cubin& cubin) : file_(file), cubin_(cubin) {}

  Result<void> read() {
    for (const elf::Section& section : file_.sections())
      if (section.type == SHT_SYMTAB) {
        TRY(symbols_, file_.symbols(section));
      }
    starts_.resize(file_.sections().size());
    for (usize i = 0; i < file_.sections().size(); ++i) add_section(i);
    // Banks 0 and 2 belong to a kernel: they are found by its name, which is now known.
    for (usize i = 0; i < file_.sections().size(); ++i) TRY(add_bank(i));
    add_shared();
    add_symbols();
    for (const elf::Section& section : file_.sections()) {
      if (section.name.starts_with(".nv.info")) TRY(add_attributes(section));
    }
    for (const elf::Section& section : file_.sections()) {
      if (section.type == SHT_REL || section.type == SHT_RELA) TRY(add_relocations(section));
    }
    return {};
  }

 private:
  // Where a section's bytes went.
  struct Start {
    std::vector<u8>* bytes = nullptr;
    Cubin::Base base = Cubin::Base::Absolute;
    u64 offset = 0;
  };

  u64 append(std::vector<u8>& bytes, const elf::Section& section, u64 alignment) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    const u64 start = bytes.size();
    bytes.resize(start + section.size);
    if (!section.data.empty())
      std::memcpy(bytes.data() + start, section.data.data(), section.data.size());
    return start;
  }

  void add_section(usize index) {
    const elf::Section& section = file_.sections()[index];
    if (section.name.starts_with(".text.")) {
      const u64 start = append(cubin_.code_, section, kCodeAlignment);
      starts_[index] = {&cubin_.code_, Cubin::Base::Code, start};
    } else if (section.name == ".nv.global" || section.name == ".nv.global.init") {
      const u64 start = append(cubin_.globals_, section, kVariableAlignment);
      starts_[index] = {&cubin_.globals_, Cubin::Base::Globals, start};
    }
    // A kernel is a text section with constants of its own.
    const std::string bank = ".nv.constant0." + std::string(name_of_kernel(section));
    if (!section.name.starts_with(".text.") || file_.find_section(bank) == nullptr) return;
    CubinKernel& kernel = cubin_.kernels_.emplace_back();
    kernel.name = name_of_kernel(section);
    kernel.entry = Cubin::kCodeStart + starts_[index].offset;
    kernel.code_bytes = section.size;
  }

  static std::string_view name_of_kernel(const elf::Section& section) {
    return section.name.substr(std::min(section.name.size(), std::string_view(".text.").size()));
  }

  CubinKernel* kernel_named(std::string_view name) {
    for (CubinKernel& kernel : cubin_.kernels_)
      if (kernel.name == name) return &kernel;
    return nullptr;
  }

  Result<void> add_bank(usize index) {
    constexpr std::string_view kPrefix = ".nv.constant";
    const elf::Section& section = file_.sections()[index];
    if (!section.name.starts_with(kPrefix) || section.name.size() == kPrefix.size()) return {};
    std::string_view rest = section.name.substr(kPrefix.size());
    u32 bank = 0;
    while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      bank = bank * 10 + static_cast<u32>(rest[0] - '0');
      rest.remove_prefix(1);
    }
    std::vector<u8>* bytes = &cubin_.banks_[bank];
    if (rest.starts_with('.')) {
      CubinKernel* kernel = kernel_named(rest.substr(1));
      if (kernel == nullptr)
        return fail(ErrorKind::Corrupt, "section {} belongs to no kernel",
                    std::string(section.name));
      bytes = &kernel->banks[bank];
    }
    bytes->assign(section.data.begin(), section.data.end());
    bytes->resize(section.size);
    starts_[index] = {bytes, Cubin::Base::Absolute, 0};
    return {};
  }

  void add_shared() {
    constexpr std::string_view kPrefix = ".nv.shared.";
    for (const elf::Section& section : file_.sections()) {
      if (!section.name.starts_with(kPrefix)) continue;
      if (CubinKernel* kernel = kernel_named(section.name.substr(kPrefix.size())))
        kernel->shared_bytes = static_cast<u32>(section.size);
    }
  }

  void add_symbols() {
    for (const elf::Symbol& symbol : symbols_) {
      if (symbol.type != STT_OBJECT || symbol.section >= file_.sections().size()) continue;
      const std::string_view section = file_.sections()[symbol.section].name;
      const bool constant = section == ".nv.constant3";
      if (!constant && starts_[symbol.section].base != Cubin::Base::Globals) continue;
      cubin_.variables_.push_back({std::string(symbol.name),
                                   starts_[symbol.section].offset + symbol.value, symbol.size,
                                   constant});
    }
  }

  // An attribute is a format, a number and a value: formats 1 to 3 have it in the next two bytes,
  // format 4 has its size there and the value behind.
  Result<void> add_attributes(const elf::Section& section) {
    constexpr std::string_view kPrefix = ".nv.info.";
    CubinKernel* own = section.name.starts_with(kPrefix)
                           ? kernel_named(section.name.substr(kPrefix.size()))
                           : nullptr;
    const std::span<const u8> bytes = section.data;
    for (usize at = 0; at + 4 <= bytes.size();) {
      const u32 head = load_u32(bytes, at);
      const u32 value = head >> 16;
      at += 4;
      if ((head & 0xff) != 4) {
        if (own != nullptr && (head >> 8 & 0xff) == kCbankParamSize) own->parameter_bytes = value;
        continue;
      }
      if (value > bytes.size() - at)
        return fail(ErrorKind::Corrupt, "an attribute of {} has {} bytes, {} are left",
                    std::string(section.name), value, bytes.size() - at);
      add_attribute(head >> 8 & 0xff, bytes.subspan(at, value), own);
      at += value;
    }
    return {};
  }

  void add_attribute(u32 number, std::span<const u8> value, CubinKernel* own) {
    // Attributes of the whole file name their kernel by its symbol.
    const u32 first = load_u32(value, 0), second = load_u32(value, 4);
    CubinKernel* named = first < symbols_.size() ? kernel_named(symbols_[first].name) : nullptr;
    if (number == kRegcount && named != nullptr) named->registers = second;
    if ((number == kFrameSize || number == kMinStackSize) && named != nullptr)
      named->local_bytes = std::max(named->local_bytes, second);
    if (own == nullptr) return;
    if (number == kParamCbank) own->parameter_base = second & 0xffff;
    if (number == kMaxThreads) own->most_threads = first * second * load_u32(value, 8);
    if (number == kReqntid) own->required_block = {first, second, load_u32(value, 8)};
    if (number == kKparamInfo) {  // index, ordinal and offset, size in bits 18 to 31
      const usize ordinal = second & 0xffff;
      if (ordinal >= own->parameters.size()) own->parameters.resize(ordinal + 1);
      own->parameters[ordinal] = {second >> 16, load_u32(value, 8) >> 18};
    }
  }

  Result<void> add_relocations(const elf::Section& section) {
    if (section.info >= starts_.size()) return {};
    const Start& where = starts_[section.info];
    if (where.bytes == nullptr) return {};  // debug information
    const bool has_addend = section.type == SHT_RELA;
    const usize entry = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (usize at = 0; at + entry <= section.data.size(); at += entry) {
      const u64 offset = load_u64(section.data, at);
      const u32 type = load_u32(section.data, at + 8), symbol = load_u32(section.data, at + 12);
      const u64 addend = has_addend ? load_u64(section.data, at + 16) : 0;
      if (symbol >= symbols_.size())
        return fail(ErrorKind::Corrupt, "{} names symbol {} of {}", std::string(section.name),
                    symbol, symbols_.size());
      TRY(add_fix(where, offset, type, symbols_[symbol], addend));
    }
    return {};
  }

  Result<void> add_fix(const Start& where, u64 offset, u32 type, const elf::Symbol& symbol,
                       u64 addend) {
    constexpr std::array<u32, 7> kKnown = {kR32, kR64, kG64, kLow32, kHigh32, kAbs47, kAbs55};
    if (std::ranges::find(kKnown, type) == kKnown.end())
      return fail(ErrorKind::Unsupported, "relocation type {:#x} of symbol {} is not known", type,
                  std::string(symbol.name));
    const u64 bytes = type == kR32 ? 4 : type == kR64 || type == kG64 ? 8 : 16;
    if (where.offset + offset + bytes > where.bytes->size())
      return fail(ErrorKind::Corrupt, "a relocation of {} at {:#x} is beyond its section",
                  std::string(symbol.name), offset);
    const Start target = symbol.section < starts_.size() ? starts_[symbol.section] : Start{};
    cubin_.fixes_.push_back({where.bytes, where.offset + offset, type, target.base,
                             target.offset + symbol.value + addend});
    return {};
  }

  const elf::ElfFile& file_;
  Cubin& cubin_;
  std::vector<elf::Symbol> symbols_;
  std::vector<Start> starts_;  // by section
};

Result<std::unique_ptr<Cubin>> Cubin::parse(std::span<const u8> image) {
  TRY(elf::ElfFile file, elf::ElfFile::parse(image));
  if (file.machine() != kMachine)
    return fail(ErrorKind::Unsupported, "machine {} is not NVIDIA's, which is {}", file.machine(),
                kMachine);
  auto cubin = std::make_unique<Cubin>();
  cubin->chip_ = file.flags() >> 8 & 0xff;
  // Kernels are found by pointer while the file is read.
  cubin->kernels_.reserve(file.sections().size());
  TRY(CubinReader(file, *cubin).read());
  return cubin;
}

const CubinKernel* Cubin::find_kernel(std::string_view name) const {
  const auto found = std::ranges::find(kernels_, name, &CubinKernel::name);
  return found == kernels_.end() ? nullptr : &*found;
}

std::span<u8> Cubin::constant_variables() {
  const auto found = banks_.find(3);
  return found == banks_.end() ? std::span<u8>() : std::span<u8>(found->second);
}

void Cubin::apply(const Fix& fix, u64 globals) {
  const u64 base = fix.base == Base::Code ? kCodeStart : fix.base == Base::Globals ? globals : 0;
  const u64 value = base + fix.target;
  std::vector<u8>& bytes = *fix.bytes;
  switch (fix.type) {
    case kR32: return put_bits(bytes, fix.offset, 0, 32, value);
    case kR64:
    case kG64: return put_bits(bytes, fix.offset, 0, 64, value);
    case kLow32: return put_bits(bytes, fix.offset, 32, 32, value);
    case kHigh32: return put_bits(bytes, fix.offset, 32, 32, value >> 32);
    case kAbs47: return put_bits(bytes, fix.offset, 34, 47, value >> 2);
    default:
      put_bits(bytes, fix.offset, 16, 8, value >> 2);
      put_bits(bytes, fix.offset, 34, 47, value >> 10);
  }
}

std::span<const u8> Cubin::place(u64 globals) {
  for (const Fix& fix : fixes_) apply(fix, globals);
  program_ = decode(code_, kCodeStart, chip_);
  uses_ = nvgpu::register_uses(program_);
  return globals_;
}

}  // namespace doorbell::emu::nvgpu
