// Notes of ELF files, and the MessagePack in that of AMDGPU: a map, whose "amdhsa.kernels" is an
// array of maps. [LLVM AMDGPUUsage "Code Object V3 Metadata", "Code Object V3 Note Records"; the
// MessagePack specification, "Formats"]
#include "drivers/amd/code_metadata.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string>

namespace doorbell::amd {
namespace {

constexpr u32 kMetadataNote = 32;  // NT_AMDGPU_METADATA
constexpr std::string_view kMetadataOwner{"AMDGPU\0", 7};

// One item after another; what is not as it should be ends it.
class MessagePack {
 public:
  explicit MessagePack(std::span<const u8> bytes) : bytes_(bytes) {}

  bool is_broken() const { return broken_; }
  usize at() const { return at_; }

  // How many pairs, or items, follow; 0 of what is no map, or no array, which is passed over.
  u64 map() { return container(Kind::Map); }
  u64 array() { return container(Kind::Array); }
  std::string_view string() {
    const Item item = next();
    if (item.kind == Kind::Text) return item.text;
    skip_inside(item);
    return {};
  }
  u64 number() {
    const Item item = next();
    if (item.kind == Kind::Number) return item.value;
    skip_inside(item);
    return 0;
  }
  void skip() { skip_inside(next()); }

 private:
  enum class Kind : u8 { Other, Number, Text, Array, Map };
  struct Item {
    Kind kind = Kind::Other;
    u64 value = 0;  // of a container: the items in it, keys and values of a map
    std::string_view text;
  };

  u64 container(Kind kind) {
    const Item item = next();
    if (item.kind == kind) return kind == Kind::Map ? item.value / 2 : item.value;
    skip_inside(item);
    return 0;
  }
  // Nesting costs no stack.
  void skip_inside(const Item& item) {
    const auto inside = [](const Item& i) {
      return i.kind == Kind::Array || i.kind == Kind::Map ? i.value : 0;
    };
    for (u64 left = inside(item); left > 0 && !broken_; --left) left += inside(next());
  }

  std::span<const u8> take(u64 count) {
    if (count > bytes_.size() - at_) {
      broken_ = true;
      at_ = bytes_.size();
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  u64 big_endian(u32 bytes) {
    u64 value = 0;
    for (u8 byte : take(bytes)) value = value << 8 | byte;
    return value;
  }
  Item text(u64 bytes) {
    const std::span<const u8> chars = take(bytes);
    return {Kind::Text, 0, {reinterpret_cast<const char*>(chars.data()), chars.size()}};
  }
  Item other(u64 bytes) {
    take(bytes);
    return {};
  }

  Item next() {
    const u64 first = big_endian(1);
    if (broken_) return {};
    if (first <= 0x7f) return {Kind::Number, first, {}};
    if (first <= 0x8f) return {Kind::Map, 2 * (first & 0xf), {}};
    if (first <= 0x9f) return {Kind::Array, first & 0xf, {}};
    if (first <= 0xbf) return text(first & 0x1f);
    switch (first) {
      case 0xc4:
      case 0xc5:
      case 0xc6: return other(big_endian(1u << (first - 0xc4)));
      case 0xc7:
      case 0xc8:
      case 0xc9: return other(1 + big_endian(1u << (first - 0xc7)));
      case 0xca: return other(4);
      case 0xcb: return other(8);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf: return {Kind::Number, big_endian(1u << (first - 0xcc)), {}};
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3: return other(1u << (first - 0xd0));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8: return other(1 + (1u << (first - 0xd4)));
      case 0xd9:
      case 0xda:
      case 0xdb: return text(big_endian(1u << (first - 0xd9)));
      case 0xdc:
      case 0xdd: return {Kind::Array, big_endian(2u << (first - 0xdc)), {}};
      case 0xde:
      case 0xdf: return {Kind::Map, 2 * big_endian(2u << (first - 0xde)), {}};
      default: return {};  // nil, false, true; negative numbers of a byte
    }
  }

  const std::span<const u8> bytes_;
  usize at_ = 0;
  bool broken_ = false;
};

// The metadata of a kernel, and the symbol of its descriptor.
KernelMetadata read_kernel(MessagePack* pack, std::string_view* symbol) {
  KernelMetadata metadata;
  for (u64 pairs = pack->map(); pairs > 0 && !pack->is_broken(); --pairs) {
    const std::string_view key = pack->string();
    if (key == ".symbol") {
      *symbol = pack->string();
    } else if (key == ".max_flat_workgroup_size") {
      metadata.max_flat_workgroup_size = pack->number();
    } else if (key == ".reqd_workgroup_size") {
      const u64 items = pack->array();
      for (u64 i = 0; i < items && !pack->is_broken(); ++i) {
        const u64 size = pack->number();
        if (i < metadata.reqd_workgroup_size.size()) metadata.reqd_workgroup_size[i] = size;
      }
    } else {
      pack->skip();
    }
  }
  return metadata;
}

Result<KernelMetadata> find_kernel(std::span<const u8> bytes, std::string_view name) {
  MessagePack pack(bytes);
  KernelMetadata found;
  const std::string wanted = std::string(name) + ".kd";
  for (u64 pairs = pack.map(); pairs > 0 && !pack.is_broken(); --pairs) {
    if (pack.string() != "amdhsa.kernels") {
      pack.skip();
      continue;
    }
    for (u64 kernels = pack.array(); kernels > 0 && !pack.is_broken(); --kernels) {
      std::string_view symbol;
      const KernelMetadata metadata = read_kernel(&pack, &symbol);
      if (symbol == wanted) found = metadata;
    }
  }
  if (pack.is_broken())
    return fail(ErrorKind::Corrupt, "the metadata of kernel {} ends within an item, at {} bytes",
                name, bytes.size());
  return found;
}

}  // namespace

Result<KernelMetadata> KernelMetadata::read(std::span<const u8> notes, std::string_view name) {
  const auto padded = [](u64 bytes) { return (bytes + 3) / 4 * 4; };
  for (u64 at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const u64 owner = at + sizeof header, data = owner + padded(header.n_namesz);
    if (data > notes.size() || header.n_descsz > notes.size() - data)
      return fail(ErrorKind::Corrupt, "a note of kernel {} of {} and {} bytes at {} of {}", name,
                  header.n_namesz, header.n_descsz, at, notes.size());
    const std::string_view told{reinterpret_cast<const char*>(notes.data() + owner),
                                header.n_namesz};
    if (header.n_type == kMetadataNote && told == kMetadataOwner)
      return find_kernel(notes.subspan(data, header.n_descsz), name);
    at = data + padded(header.n_descsz);
  }
  return KernelMetadata{};
}

}  // namespace doorbell::amd
