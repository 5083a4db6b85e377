// Reads a cubin's sections, attributes and relocations.
#include "drivers/nv/cubin.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/elf/elf_file.h"
#include "base/util/try.h"

namespace doorbell::nv {
namespace {

using hw::CubinAttribute;
using hw::CubinFormat;
using hw::CubinRelocation;

constexpr u64 kMaxImage = u64{1} << 26, kTextAlignment = 128;
constexpr u32 kMaxBank = 64 << 10;

// How many bytes a relocation changes; nothing for a type that is not known.
std::optional<u64> size_of(CubinRelocation type) {
  if (type >= CubinRelocation::R8_0 && type <= CubinRelocation::G8_56) return 1;
  switch (type) {
    case CubinRelocation::R32:
    case CubinRelocation::G32:
    case CubinRelocation::R32Lo:
    case CubinRelocation::R32Hi: return 4;
    case CubinRelocation::R64:
    case CubinRelocation::G64: return 8;
    case CubinRelocation::Abs32_32:
    case CubinRelocation::Abs32Lo_32:
    case CubinRelocation::Abs32Hi_32:
    case CubinRelocation::Abs47_34:
    case CubinRelocation::Abs55_16_34:
    case CubinRelocation::Abs56_16_34: return 16;
    default: return std::nullopt;
  }
}

// Replaces bits [low, low + count) of the bytes at `at`.
void put_bits(u8* at, unsigned low, unsigned count, u64 value) {
  for (unsigned i = 0; i < count; ++i) {
    u8& byte = at[(low + i) / 8];
    const unsigned bit = (low + i) % 8;
    byte = static_cast<u8>((byte & ~(1u << bit)) | ((value >> i & 1) << bit));
  }
}

void apply(u8* at, CubinRelocation type, u64 value) {
  if (type >= CubinRelocation::R8_0 && type <= CubinRelocation::G8_56) {
    const u32 byte = (static_cast<u32>(type) - static_cast<u32>(CubinRelocation::R8_0)) % 8;
    return put_bits(at, 0, 8, value >> (8 * byte));
  }
  switch (type) {
    case CubinRelocation::R32:
    case CubinRelocation::G32:
    case CubinRelocation::R32Lo: return put_bits(at, 0, 32, value);
    case CubinRelocation::R32Hi: return put_bits(at, 0, 32, value >> 32);
    case CubinRelocation::R64:
    case CubinRelocation::G64: return put_bits(at, 0, 64, value);
    case CubinRelocation::Abs32_32:
    case CubinRelocation::Abs32Lo_32: return put_bits(at, 32, 32, value);
    case CubinRelocation::Abs32Hi_32: return put_bits(at, 32, 32, value >> 32);
    case CubinRelocation::Abs47_34: return put_bits(at, 34, 47, value >> 2);
    case CubinRelocation::Abs55_16_34:
    case CubinRelocation::Abs56_16_34:
      put_bits(at, 16, 8, value >> 2);
      return put_bits(at, 34, type == CubinRelocation::Abs55_16_34 ? 47 : 48, value >> 10);
    default: return;  // load() let none of these pass
  }
}

class Reader {
 public:
  Reader(const elf::ElfFile& file, const std::string& kernel, Cubin& cubin)
      : file_(file), kernel_(kernel), cubin_(cubin), starts_(file.sections().size()) {}

  Result<void> read() {
    if (file_.find_section(".text." + kernel_) == nullptr ||
        file_.find_section(".nv.constant0." + kernel_) == nullptr)
      return fail(ErrorKind::NotFound, "the cubin has no kernel {}", kernel_);
    for (const elf::Section& section : file_.sections())
      if (section.type == SHT_SYMTAB) {
        TRY(symbols_, file_.symbols(section));
      }
    // The kernel first: hardware runs code anywhere, the emulator from a grid's entry on.
    const auto own = file_.find_section(".text." + kernel_) - file_.sections().data();
    TRY(place(static_cast<usize>(own)));
    for (usize i = 0; i < file_.sections().size(); ++i)
      if (i != static_cast<usize>(own)) TRY(place(i));
    for (const elf::Section& section : file_.sections()) {
      if (section.name == ".nv.info") TRY(read_attributes(section, false));
      if (section.name == ".nv.info." + kernel_) TRY(read_attributes(section, true));
    }
    for (const elf::Section& section : file_.sections())
      if (section.type == SHT_REL || section.type == SHT_RELA) TRY(read_relocations(section));
    return check();
  }

 private:
  Result<u64> append(const elf::Section& section, u64 alignment) {
    std::vector<u8>& image = cubin_.image;
    const u64 start = (image.size() + alignment - 1) / alignment * alignment;
    if (section.size > kMaxImage || start > kMaxImage - section.size)
      return fail(ErrorKind::Corrupt, "section {} has {} bytes, at most {} are loaded",
                  section.name, section.size, kMaxImage);
    image.resize(start + section.size);
    if (!section.data.empty())
      std::memcpy(image.data() + start, section.data.data(), section.data.size());
    return start;
  }

  // Code of all functions, variables, and the banks that this kernel sees.
  Result<void> place(usize index) {
    const elf::Section& section = file_.sections()[index];
    if (section.name.starts_with(".text.")) {
      TRY(starts_[index], append(section, kTextAlignment));
      if (section.name.substr(6) != kernel_) return {};
      cubin_.entry_offset = *starts_[index];
      cubin_.code_bytes = section.size;
    } else if (section.name == ".nv.global" || section.name == ".nv.global.init") {
      TRY(starts_[index], append(section, Cubin::kAlignment));
    } else if (section.name == ".nv.shared." + kernel_) {
      if (section.size > kMaxImage)
        return fail(ErrorKind::Corrupt, "{} has {} bytes", section.name, section.size);
      cubin_.shared_bytes = static_cast<u32>(section.size);
    } else if (section.name.starts_with(kBankPrefix)) {
      return place_bank(index);
    }
    return {};
  }

  // ".nv.constant3", or ".nv.constant2.KERNEL". Bank 0 holds what each launch says.
  Result<void> place_bank(usize index) {
    const elf::Section& section = file_.sections()[index];
    const std::string_view rest = section.name.substr(kBankPrefix.size());
    u32 bank = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), bank);
    const std::string_view owner = rest.substr(static_cast<usize>(end - rest.data()));
    if (error != std::errc() || (!owner.empty() && owner.substr(1) != kernel_)) return {};
    if (bank == 0) {
      cubin_.parameter_base = static_cast<u32>(std::min<u64>(section.size, kMaxBank));
      return {};
    }
    if (bank >= Cubin::kBanks || section.size > kMaxBank)
      return fail(ErrorKind::Unsupported, "{} has {} bytes; there are {} banks of at most {}",
                  section.name, section.size, Cubin::kBanks, kMaxBank);
    TRY(starts_[index], append(section, Cubin::kAlignment));
    cubin_.banks[bank] = {*starts_[index], static_cast<u32>(section.size)};
    return {};
  }

  static u32 word(std::span<const u8> bytes, usize index) {
    u32 value = 0;
    if (index * 4 + 4 <= bytes.size()) std::memcpy(&value, bytes.data() + index * 4, 4);
    return value;
  }

  Result<void> read_attributes(const elf::Section& section, bool own) {
    const std::span<const u8> bytes = section.data;
    for (usize at = 0; at + 4 <= bytes.size();) {
      const auto format = static_cast<CubinFormat>(bytes[at]);
      const auto attribute = static_cast<CubinAttribute>(bytes[at + 1]);
      const u32 value = bytes[at + 2] | bytes[at + 3] << 8;
      at += 4;
      if (format != CubinFormat::Sized) {
        if (own && attribute == CubinAttribute::CbankParamSize) cubin_.parameter_bytes = value;
        if (own && attribute == CubinAttribute::NumBarriers) cubin_.barriers = value & 0xff;
        continue;
      }
      if (value > bytes.size() - at)
        return fail(ErrorKind::Corrupt, "an attribute of {} has {} bytes, {} are left",
                    section.name, value, bytes.size() - at);
      const std::span<const u8> sized = bytes.subspan(at, value);
      own ? read_own(attribute, sized) : read_shared(attribute, sized);
      at += value;
    }
    return {};
  }

  // Attributes of the whole file name their function by its symbol.
  void read_shared(CubinAttribute attribute, std::span<const u8> value) {
    const u32 symbol = word(value, 0), number = word(value, 1);
    if (symbol >= symbols_.size() || symbols_[symbol].name != kernel_) return;
    if (attribute == CubinAttribute::RegCount) cubin_.registers = number;
    if (attribute == CubinAttribute::FrameSize || attribute == CubinAttribute::MinStackSize)
      cubin_.stack_bytes = std::max(cubin_.stack_bytes, number);
  }

  void read_own(CubinAttribute attribute, std::span<const u8> value) {
    const std::array<u32, 3> three = {word(value, 0), word(value, 1), word(value, 2)};
    if (attribute == CubinAttribute::ParamCbank) bank_ = {three[1] & 0xffff, three[1] >> 16};
    if (attribute == CubinAttribute::KParamInfo) {
      const usize ordinal = three[1] & 0xffff;
      if (ordinal >= cubin_.parameters.size()) cubin_.parameters.resize(ordinal + 1);
      cubin_.parameters[ordinal] = {three[1] >> 16, three[2] >> kParameterSizeBit};
    }
    if (attribute == CubinAttribute::MaxThreads) cubin_.most_threads = three;
    if (attribute == CubinAttribute::ReqNTid) cubin_.required_block = three;
  }

  Result<void> read_relocations(const elf::Section& section) {
    if (section.info >= starts_.size() || !starts_[section.info]) return {};  // of debuggers'
    if (section.type == SHT_RELA) {
      TRY(const std::vector<elf::Relocation> all, file_.relocations(section));
      for (const elf::Relocation& one : all) TRY(add(section, one));
      return {};
    }
    // Without addends; NVIDIA's compilers leave none in place.
    for (usize at = 0; at + sizeof(Elf64_Rel) <= section.data.size(); at += sizeof(Elf64_Rel)) {
      Elf64_Rel entry;
      std::memcpy(&entry, section.data.data() + at, sizeof entry);
      TRY(add(section, {entry.r_offset, static_cast<u32>(ELF64_R_TYPE(entry.r_info)),
                        static_cast<u32>(ELF64_R_SYM(entry.r_info)), 0}));
    }
    return {};
  }

  Result<void> add(const elf::Section& section, const elf::Relocation& one) {
    if (one.symbol >= symbols_.size())
      return fail(ErrorKind::Corrupt, "{} names symbol {} of {}", section.name, one.symbol,
                  symbols_.size());
    const elf::Symbol& symbol = symbols_[one.symbol];
    const auto type = static_cast<CubinRelocation>(one.type);
    const std::optional<u64> bytes = size_of(type);
    if (!bytes)
      return fail(ErrorKind::Unsupported, "relocation type {:#x} of {} is not known", one.type,
                  symbol.name);
    const u64 size = file_.sections()[section.info].size;
    if (one.offset > size || *bytes > size - one.offset)
      return fail(ErrorKind::Corrupt, "a relocation of {} at {:#x} is beyond its section of {}",
                  symbol.name, one.offset, size);
    if (symbol.section >= starts_.size() || !starts_[symbol.section])
      return fail(ErrorKind::Unsupported, "kernel {} needs {}, which is not in the cubin", kernel_,
                  symbol.name);
    cubin_.relocations.push_back(
        {*starts_[section.info] + one.offset, type,
         *starts_[symbol.section] + symbol.value + static_cast<u64>(one.addend)});
    return {};
  }

  Result<void> check() {
    // The section of bank 0 ends with the parameters.
    if (bank_.bytes != 0) {
      cubin_.parameter_base = bank_.offset;
      cubin_.parameter_bytes = bank_.bytes;
    } else {
      cubin_.parameter_base -= std::min(cubin_.parameter_base, cubin_.parameter_bytes);
    }
    for (const Cubin::Parameter& one : cubin_.parameters)
      if (one.bytes > cubin_.parameter_bytes || one.offset > cubin_.parameter_bytes - one.bytes)
        return fail(ErrorKind::Corrupt, "kernel {} has a parameter of {} bytes at {} of {}",
                    kernel_, one.bytes, one.offset, cubin_.parameter_bytes);
    const hw::ConstantBank0& bank = hw::bank0_of_chip(cubin_.chip);
    if (cubin_.parameter_base < bank.parameters ||
        cubin_.parameter_base + cubin_.parameter_bytes > kMaxBank)
      return fail(ErrorKind::Unsupported,
                  "kernel {} has parameters at {:#x} to {:#x} of constant bank 0, expected them at "
                  "{:#x} on sm_{}",
                  kernel_, cubin_.parameter_base, cubin_.parameter_base + cubin_.parameter_bytes,
                  bank.parameters, cubin_.chip);
    if (cubin_.chip < 90) cubin_.shared_bytes += hw::kSharedReserved;
    cubin_.shared_bytes = std::max(cubin_.shared_bytes, hw::kSharedReserved);
    return {};
  }

  static constexpr u32 kParameterSizeBit = 18;
  static constexpr std::string_view kBankPrefix = ".nv.constant";
  struct Parameters {
    u32 offset = 0, bytes = 0;
  };

  const elf::ElfFile& file_;
  const std::string& kernel_;
  Cubin& cubin_;
  std::vector<elf::Symbol> symbols_;
  std::vector<std::optional<u64>> starts_;  // by section: where it lies in the image
  Parameters bank_;
};

}  // namespace

Result<Cubin> Cubin::load(std::span<const u8> file, const std::string& kernel) {
  TRY(const elf::ElfFile elf, elf::ElfFile::parse(file));
  if (elf.machine() != hw::kElfMachineCuda)
    return fail(ErrorKind::Invalid, "kernel {} is for ELF machine {}, NVIDIA's is {}", kernel,
                elf.machine(), hw::kElfMachineCuda);
  Cubin cubin;
  cubin.chip = hw::chip_of_elf_flags(elf.flags(), elf.abi_version());
  TRY(Reader(elf, kernel, cubin).read());
  return cubin;
}

void Cubin::relocate(u64 address) {
  for (const Relocation& one : relocations)
    apply(image.data() + one.offset, one.type, address + one.target);
}

}  // namespace doorbell::nv
