// External ranges, and the mappings in them.
#include <fmt/format.h>

#include <algorithm>

#include "base/util/try.h"
#include "emulator/nv/uvm/uvm.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u64 kPage = 4096;
constexpr u64 kAddressLimit = u64{1} << 47;  // of ranges in host's addresses and beyond: 48 bits

bool is_pages(u64 base, u64 bytes) {
  return bytes != 0 && base % kPage == 0 && bytes % kPage == 0 && base + bytes > base &&
         base + bytes <= 2 * kAddressLimit;
}

MemoryType type_of(const Memory& memory, u32 gpu) {
  switch (memory.kind()) {
    case Memory::Kind::Video:
      return {memory.gpu() == gpu ? Place::Local : Place::Peer, Caching::Cached};
    case Memory::Kind::Usermode: return {Place::Io, Caching::Uncached};
    default: return {Place::Host, Caching::Coherent};
  }
}

// [okm uvm_map_external.c uvm_api_caching_type_invalid(), uvm_api_kind_type_invalid()]
bool are_valid(const hw::UvmMappingAttributes& how) {
  constexpr u32 kForceCached = 2, kBlockLinear = 1, kBits24 = 3, kBits128 = 6, kCompressions = 2;
  return how.mapping_type <= hw::kUvmMappingReadOnly && how.caching_type <= kForceCached &&
         how.format_type <= kBlockLinear && how.element_bits <= kBits128 &&
         how.element_bits != kBits24 && how.compression_type < kCompressions &&
         (how.format_type == 0) == (how.element_bits == 0);
}

std::string kind_of(const Memory& memory) {
  switch (memory.kind()) {
    case Memory::Kind::Video: return "video memory";
    case Memory::Kind::System: return "system memory";
    case Memory::Kind::User: return "the process's memory";
    case Memory::Kind::Usermode: break;
  }
  return "the doorbell";
}

}  // namespace

UvmSpace::ExternalRange* Uvm::find_range(UvmSpace& space, u64 base, u64 bytes) const {
  auto found = space.ranges.upper_bound(base);
  if (found == space.ranges.begin()) return nullptr;
  --found;
  return found->second.contains(base, bytes) ? &found->second : nullptr;
}

u32 Uvm::create_range(OpenFile& file, hw::UvmCreateExternalRange& given) {
  if (!is_pages(given.base, given.length))
    return refuse(
        RmStatus::InvalidAddress, kUvmRange,
        fmt::format("a range of {:#x} bytes at {:#x}: not whole pages", given.length, given.base));
  const auto next = file.uvm->ranges.lower_bound(given.base);
  const UvmSpace::ExternalRange* other = nullptr;
  if (next != file.uvm->ranges.end() && next->second.base < given.base + given.length)
    other = &next->second;
  if (next != file.uvm->ranges.begin()) {
    const auto& before = std::prev(next)->second;
    if (before.base + before.bytes > given.base) other = &before;
  }
  if (other != nullptr)
    return refuse(RmStatus::UvmAddressInUse, kUvmRange,
                  fmt::format("a range of {:#x} bytes at {:#x} overlaps that of {:#x} bytes at "
                              "{:#x}",
                              given.length, given.base, other->bytes, other->base));
  file.uvm->ranges[given.base] = {given.base, given.length, {}};
  return 0;
}

// [okm uvm_map_external.c uvm_map_external_allocation()]
u32 Uvm::map(OpenFile& file, hw::UvmMapExternalAllocation& given) {
  UvmSpace& space = *file.uvm;
  const std::shared_ptr<OpenFile> control = rm_.nodes().find(given.rm_ctrl_fd);
  if (!control || control->kind != NodeKind::Control)
    return refuse(RmStatus::InvalidArgument, kUvmMap,
                  "UVM_MAP_EXTERNAL_ALLOCATION needs the file of /dev/nvidiactl");
  const Object* object =
      rm_.find(given.client, given.memory, ObjectKind::Memory, "UVM_MAP_EXTERNAL_ALLOCATION");
  if (object == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
  if (given.gpu_attributes_count == 0 || given.gpu_attributes_count > given.gpu_attributes.size())
    return refuse(
        RmStatus::InvalidArgument, kUvmMap,
        fmt::format("UVM_MAP_EXTERNAL_ALLOCATION for {} GPUs", given.gpu_attributes_count));
  UvmSpace::ExternalRange* range =
      is_pages(given.base, given.length) ? find_range(space, given.base, given.length) : nullptr;
  if (range == nullptr)
    return refuse(RmStatus::InvalidAddress, kUvmMap,
                  fmt::format("UVM_MAP_EXTERNAL_ALLOCATION of {:#x} bytes at {:#x}: no external "
                              "range has them",
                              given.length, given.base));
  const u64 bytes = object->memory->bytes();
  if (given.offset % kPage != 0 || given.offset > bytes || given.length > bytes - given.offset)
    return refuse(RmStatus::InvalidOffset, kUvmMap,
                  fmt::format("UVM_MAP_EXTERNAL_ALLOCATION of {:#x} bytes from {:#x} of {:#x}",
                              given.length, given.offset, bytes));
  for (u64 i = 0; i < given.gpu_attributes_count; ++i)
    if (const u32 status = map_for(space, *range, given, given.gpu_attributes[i], object->memory);
        status != 0)
      return status;
  return 0;
}

u32 Uvm::map_for(UvmSpace& space, UvmSpace::ExternalRange& range,
                 const hw::UvmMapExternalAllocation& given, const hw::UvmMappingAttributes& how,
                 const std::shared_ptr<Memory>& memory) {
  const std::optional<u32> gpu = find_gpu(how.gpu_uuid);
  const auto va_space = gpu ? space.va_spaces.find(*gpu) : space.va_spaces.end();
  if (va_space == space.va_spaces.end())
    return refuse(RmStatus::InvalidDevice, kUvmGpu,
                  "UVM_MAP_EXTERNAL_ALLOCATION for a GPU without a registered address space");
  if (given.base < va_space->second->base || given.base + given.length > va_space->second->end)
    return refuse(
        RmStatus::InvalidAddress, kUvmMap,
        fmt::format("UVM_MAP_EXTERNAL_ALLOCATION of {:#x} bytes at {:#x}: the address "
                    "space has {:#x} to {:#x}",
                    given.length, given.base, va_space->second->base, va_space->second->end));
  if (!are_valid(how))
    return refuse(RmStatus::InvalidArgument, kUvmMap,
                  fmt::format("UVM_MAP_EXTERNAL_ALLOCATION of mapping type {}, caching {}, format "
                              "{} of element {}, compression {}: not all of them exist",
                              how.mapping_type, how.caching_type, how.format_type, how.element_bits,
                              how.compression_type));
  // What was mapped there before is replaced.
  std::erase_if(range.mappings, [&](const UvmSpace::Mapping& old) {
    const bool is_same = old.gpu == *gpu && old.base < given.base + given.length &&
                         given.base < old.base + old.bytes;
    if (is_same) old.va_space->space.unmap(old.range);
    return is_same;
  });
  AddressSpace& pages = va_space->second->space;
  const u32 buffer = pages.add_buffer({given.base, given.length, kind_of(*memory), space.calls});
  const auto mapped =
      pages.map(given.base, given.length, memory->host() + given.offset,
                how.mapping_type != hw::kUvmMappingReadOnly, true, type_of(*memory, *gpu), buffer);
  if (!mapped)
    return refuse(RmStatus::InvalidAddress, kUvmMap,
                  fmt::format("UVM_MAP_EXTERNAL_ALLOCATION: {}", mapped.error().message));
  range.mappings.push_back({given.base, given.length, *gpu, va_space->second, *mapped, memory});
  return 0;
}

u32 Uvm::unmap(OpenFile& file, hw::UvmUnmapExternal& given) {
  const std::optional<u32> gpu = find_gpu(given.gpu_uuid);
  UvmSpace::ExternalRange* range = find_range(*file.uvm, given.base, given.length);
  const auto unmapped =
      range == nullptr || !gpu
          ? 0
          : std::erase_if(range->mappings, [&](const UvmSpace::Mapping& mapping) {
              const bool is_it = mapping.gpu == *gpu && mapping.base >= given.base &&
                                 mapping.base + mapping.bytes <= given.base + given.length;
              if (is_it) {
                mapping.va_space->space.note_unmapped(mapping.range->buffer, file.uvm->calls);
                mapping.va_space->space.unmap(mapping.range);
              }
              return is_it;
            });
  if (unmapped != 0) return 0;
  return refuse(RmStatus::InvalidAddress, kUvmFree,
                fmt::format("UVM_UNMAP_EXTERNAL of {:#x} bytes at {:#x}: the GPU has no mapping "
                            "there",
                            given.length, given.base));
}

u32 Uvm::free(OpenFile& file, hw::UvmFree& given) {
  const auto found = file.uvm->ranges.find(given.base);
  const bool tells_length = rm_.abi() < hw::DriverAbi::R590;
  if (found == file.uvm->ranges.end() || (tells_length && given.length != found->second.bytes))
    return refuse(RmStatus::InvalidAddress, kUvmFree,
                  fmt::format("UVM_FREE of {:#x} bytes at {:#x}: {}", given.length, given.base,
                              found == file.uvm->ranges.end() ? "no range begins there"
                                                              : "the range has another length"));
  for (const UvmSpace::Mapping& mapping : found->second.mappings) {
    mapping.va_space->space.note_unmapped(mapping.range->buffer, file.uvm->calls);
    mapping.va_space->space.note_freed(mapping.range->buffer, file.uvm->calls);
    mapping.va_space->space.unmap(mapping.range);
  }
  file.uvm->ranges.erase(found);
  return 0;
}

}  // namespace doorbell::emu::nvgpu
