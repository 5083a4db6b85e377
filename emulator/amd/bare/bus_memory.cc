// Runs of 64 KiB change places in pairs, so that what is one piece in the process is many on the
// bus. Addresses are not used again: one that was kept too long leads nowhere.
#include "emulator/amd/bare/bus_memory.h"

#include "base/util/check.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u64 kRun = u64{64} << 10;

// Where the byte at `offset` of `bytes` lies; its own inverse.
u64 scatter(u64 offset, u64 bytes) {
  const u64 other = offset ^ kRun;
  return other / kRun * kRun + kRun <= bytes && (offset / kRun * kRun + kRun) <= bytes ? other
                                                                                       : offset;
}

}  // namespace

void BusMemory::use_iommu() {
  std::lock_guard lock(mutex_);
  has_iommu_ = true;
}

void BusMemory::pin_at(u64 address, u8* host, u64 bytes) {
  std::lock_guard lock(mutex_);
  by_address_[address] = {host, bytes, false};
  by_host_[host] = address;
}

void BusMemory::pin(u8* host, u64 bytes) {
  std::lock_guard lock(mutex_);
  by_address_[next_] = {host, bytes, true};
  by_host_[host] = next_;
  next_ += (bytes + kRun - 1) / kRun * kRun + kRun;
}

void BusMemory::unpin(u8* host) {
  std::lock_guard lock(mutex_);
  const auto found = by_host_.find(host);
  CHECK(found != by_host_.end(), "memory that was never pinned");
  by_address_.erase(found->second);
  by_host_.erase(found);
}

bool BusMemory::has_pages(const u8* host, u64 bytes) const {
  std::lock_guard lock(mutex_);
  const auto page = by_host_.lower_bound(host);
  return page != by_host_.end() && page->first < host + bytes;
}

void BusMemory::unpin_pages(u8* host, u64 bytes) {
  std::lock_guard lock(mutex_);
  auto page = by_host_.lower_bound(host);
  while (page != by_host_.end() && page->first < host + bytes) {
    by_address_.erase(page->second);
    page = by_host_.erase(page);
  }
}

std::optional<u64> BusMemory::address_of(u64 host_page) const {
  std::lock_guard lock(mutex_);
  const u8* const page = reinterpret_cast<const u8*>(host_page);
  auto found = by_host_.upper_bound(page);
  if (found == by_host_.begin()) return std::nullopt;
  --found;
  const u64 bytes = by_address_.at(found->second).bytes;
  const u64 offset = static_cast<u64>(page - found->first);
  if (offset >= bytes) return std::nullopt;
  return found->second + scatter(offset, bytes);
}

void BusMemory::set_window(u64 address, u64 bytes, u8* host, u32 gpu) {
  std::lock_guard lock(mutex_);
  std::erase_if(windows_, [&](const Window& window) { return window.gpu == gpu; });
  windows_.push_back({address, bytes, host, gpu});
}

std::optional<BusMemory::Target> BusMemory::find(u64 address) const {
  std::lock_guard lock(mutex_);
  for (const Window& window : windows_)
    if (!has_iommu_ && address >= window.address && address - window.address < window.bytes)
      return Target{window.host + (address - window.address), window.gpu};
  auto found = by_address_.upper_bound(address);
  if (found == by_address_.begin()) return std::nullopt;
  --found;
  const u64 offset = address - found->first;
  const Pinned& pinned = found->second;
  if (offset >= pinned.bytes || (has_iommu_ && pinned.is_scattered)) return std::nullopt;
  return Target{pinned.host + (pinned.is_scattered ? scatter(offset, pinned.bytes) : offset),
                std::nullopt};
}

}  // namespace doorbell::emu::amdgpu
