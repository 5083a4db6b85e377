// Ranges by their first address. Ranges of one kind do not overlap.
#include "tools/trace/nv_memory.h"

#include <cstring>

#include "tools/trace/nv_call.h"

namespace doorbell::tools {

void NvClientMemory::prepare(int descriptor, RmKey memory, u64 offset, u64 bytes) {
  prepared_[descriptor] = {bytes, memory, offset};
}

bool NvClientMemory::map_host(int descriptor, u64 address, u64 bytes) {
  const auto found = prepared_.find(descriptor);
  if (found == prepared_.end()) return false;
  unmap_host(address, bytes);
  host_[address] = {std::min(bytes, found->second.bytes), found->second.memory,
                    found->second.offset};
  return true;
}

void NvClientMemory::add_host(RmKey memory, u64 address, u64 bytes) {
  unmap_host(address, bytes);
  host_[address] = {bytes, memory, 0};
}

void NvClientMemory::unmap_host(u64 address, u64 bytes) {
  std::erase_if(host_, [&](const auto& range) {
    return range.first < address + bytes && address < range.first + range.second.bytes;
  });
}

void NvClientMemory::map_gpu(u64 address, u64 bytes, RmKey memory, u64 offset) {
  gpu_[address] = {bytes, memory, offset};
}

void NvClientMemory::unmap_gpu(u64 address) { gpu_.erase(address); }

std::optional<u64> NvClientMemory::host_of(RmKey memory, u64 offset, u64 bytes) const {
  for (const auto& [address, part] : host_)
    if (part.memory == memory && offset >= part.offset &&
        offset + bytes <= part.offset + part.bytes)
      return address + (offset - part.offset);
  return std::nullopt;
}

std::optional<std::vector<std::byte>> NvClientMemory::read(u64 address, u64 bytes) const {
  auto range = gpu_.upper_bound(address);
  if (range != gpu_.begin()) {
    --range;
    const Part& part = range->second;
    const u64 at = address - range->first;
    if (at < part.bytes && bytes <= part.bytes - at) {
      if (const auto host = host_of(part.memory, part.offset + at, bytes))
        return read_host(*host, bytes);
    }
  }
  return read_host(address, bytes);
}

std::optional<std::vector<std::byte>> NvClientMemory::read_host(u64 address, u64 bytes) const {
  if (auto read = read_client(address, bytes)) return read;
  // The kernel copies no registers and no video memory (VM_PFNMAP): those are loaded, by words,
  // where a mapping is known to be there. [Linux mm/gup.c check_vma_flags()]
  auto range = host_.upper_bound(address);
  if (range == host_.begin() || address % sizeof(u32) != 0) return std::nullopt;
  --range;
  const u64 at = address - range->first;
  if (at >= range->second.bytes || bytes > range->second.bytes - at) return std::nullopt;
  std::vector<std::byte> into(bytes);
  const auto* words = reinterpret_cast<const volatile u32*>(address);
  for (u64 i = 0; i + sizeof(u32) <= bytes; i += sizeof(u32)) {
    const u32 word = words[i / sizeof(u32)];
    std::memcpy(into.data() + i, &word, sizeof word);
  }
  return into;
}

}  // namespace doorbell::tools
