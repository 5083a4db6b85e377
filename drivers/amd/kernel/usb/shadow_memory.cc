// Comparing, sending, fetching.
#include "drivers/amd/kernel/usb/shadow_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/os/touched_pages.h"
#include "base/util/check.h"
#include "base/util/log.h"
#include "base/util/try.h"

namespace doorbell::amd {
namespace {

constexpr u64 kPage = 4096, kPageWords = kPage / sizeof(u64);

std::vector<u64> copy_words(const u8* from, u64 bytes) {
  std::vector<u64> words(bytes / sizeof(u64));
  auto* const cells = reinterpret_cast<u64*>(const_cast<u8*>(from));
  for (usize i = 0; i < words.size(); ++i)
    words[i] = std::atomic_ref<u64>(cells[i]).load(std::memory_order_acquire);
  return words;
}

}  // namespace

struct ShadowMemory::Region {
  enum class Page : u8 {
    Unknown,    // nothing was sent yet
    Known,      // the GPU has what `sent` has
    Announced,  // moved only as access() says
  };
  os::Mapping host;
  os::DeviceMemory remote;
  std::vector<u64> sent;  // what the GPU's memory was known to hold
  std::vector<Page> pages;
  bool is_small = false, is_ignored = false;

  u64 bytes() const { return remote.size(); }
  u64* words() const { return reinterpret_cast<u64*>(host.data()); }
  void write(u64 word, std::span<const u64> words_to_send) {
    remote.write_bytes(word * sizeof(u64), {reinterpret_cast<const u8*>(words_to_send.data()),
                                            words_to_send.size_bytes()});
    std::ranges::copy(words_to_send, sent.begin() + static_cast<i64>(word));
  }
};

ShadowMemory::ShadowMemory(os::Files& files) : files_(files) {}

ShadowMemory::~ShadowMemory() = default;

Result<u8*> ShadowMemory::add(os::DeviceMemory remote, bool is_executable) {
  CHECK(remote.size() % kPage == 0, "a copy of {:#x} bytes", remote.size());
  auto region = std::make_unique<Region>();
  os::MapRequest request;
  request.size = remote.size();
  request.writable = true;
  request.shared = false;
  TRY(region->host, files_.map_anonymous(request));
  TRY(os::forbid_huge_pages(region->host.data(), remote.size()));
  region->remote = remote;
  region->sent.resize(remote.size() / sizeof(u64));
  region->is_small = !is_executable && remote.size() <= kSmallBytes;
  region->pages.assign(remote.size() / kPage,
                       region->is_small ? Region::Page::Known : Region::Page::Unknown);
  if (region->is_small) region->write(0, std::vector<u64>(region->sent.size()));
  u8* const host = region->host.data();
  std::lock_guard lock(mutex_);
  regions_.emplace(host, std::move(region));
  return host;
}

void ShadowMemory::remove(const u8* host) {
  std::lock_guard lock(mutex_);
  const auto found = regions_.find(host);
  if (found == regions_.end()) return;
  std::erase_if(announced_,
                [&](const Announced& one) { return one.region == found->second.get(); });
  regions_.erase(found);
}

void ShadowMemory::ignore(const u8* host) {
  std::lock_guard lock(mutex_);
  if (const auto found = regions_.find(host); found != regions_.end())
    found->second->is_ignored = true;
}

ShadowMemory::Region* ShadowMemory::find(const void* at, u64 bytes) {
  const u8* const first = static_cast<const u8*>(at);
  auto after = regions_.upper_bound(first);
  if (after == regions_.begin()) return nullptr;
  Region& region = *std::prev(after)->second;
  const u64 offset = static_cast<u64>(first - region.host.data());
  return offset < region.bytes() && bytes <= region.bytes() - offset ? &region : nullptr;
}

Result<void> ShadowMemory::access(const void* at, u64 bytes, bool is_write) {
  if (bytes == 0) return {};
  std::lock_guard lock(mutex_);
  Region* const region = find(at, bytes);
  if (region == nullptr || region->is_small) return {};
  const u64 offset = static_cast<u64>(static_cast<const u8*>(at) - region->host.data());
  for (u64 page = offset / kPage; page <= (offset + bytes - 1) / kPage; ++page)
    region->pages[page] = Region::Page::Announced;
  if (is_write) {
    announced_.push_back({std::this_thread::get_id(), region, offset, bytes});
    return {};
  }
  // Whole words of 4, of which the host has no newer ones.
  const u64 first = offset / sizeof(u32) * sizeof(u32);
  const u64 end = (offset + bytes + sizeof(u32) - 1) / sizeof(u32) * sizeof(u32);
  region->remote.read_bytes(first, {region->host.data() + first, end - first});
  return region->remote.state();
}

void ShadowMemory::send_announced() {
  const std::thread::id self = std::this_thread::get_id();
  for (const Announced& one : announced_) {
    if (one.thread != self) continue;
    const u64 first = one.offset / sizeof(u32) * sizeof(u32);
    const u64 end = (one.offset + one.bytes + sizeof(u32) - 1) / sizeof(u32) * sizeof(u32);
    one.region->remote.write_bytes(first, {one.region->host.data() + first, end - first});
  }
  std::erase_if(announced_, [&](const Announced& one) { return one.thread == self; });
}

// The words of a page that changed.
void ShadowMemory::send_page(Region& region, u64 page, std::span<const u64> now) {
  const u64 first = page * kPageWords;
  if (region.pages[page] == Region::Page::Unknown) {
    region.write(first, now);
    region.pages[page] = Region::Page::Known;
    return;
  }
  for (u64 i = 0; i < kPageWords; ++i) {
    if (now[i] == region.sent[first + i]) continue;
    u64 end = i + 1;
    while (end < kPageWords && now[end] != region.sent[first + end]) ++end;
    region.write(first + i, now.subspan(i, end - i));
    i = end;
  }
}

// Signals are copied first and sent last: what was written before one is then sent before it.
void ShadowMemory::push() {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<Region*, std::vector<u64>>> small;
  for (const auto& [host, region] : regions_)
    if (region->is_small && !region->is_ignored)
      small.emplace_back(region.get(), copy_words(host, region->bytes()));
  send_announced();
  for (const auto& [host, region] : regions_) {
    if (region->is_small || region->is_ignored) continue;
    const Result<std::vector<bool>> touched = os::touched_pages(host, region->bytes());
    for (usize page = 0; page < region->pages.size(); ++page) {
      if (region->pages[page] == Region::Page::Announced) continue;
      if (touched && !(*touched)[page]) continue;
      const u8* const now = host + page * kPage;
      if (region->pages[page] == Region::Page::Known &&
          std::memcmp(now, region->sent.data() + page * kPageWords, kPage) == 0)
        continue;
      send_page(*region, page, copy_words(now, kPage));
    }
  }
  for (auto& [region, words] : small)
    for (usize page = 0; page < region->pages.size(); ++page)
      send_page(*region, page, std::span(words).subspan(page * kPageWords, kPageWords));
}

void ShadowMemory::pull() {
  std::lock_guard lock(mutex_);
  for (const auto& [host, region] : regions_) {
    if (!region->is_small || region->is_ignored) continue;
    std::vector<u64> now(region->sent.size());
    region->remote.read_bytes(0, {reinterpret_cast<u8*>(now.data()), now.size() * sizeof(u64)});
    // All ones would be taken for values of signals.
    if (!region->remote.state()) return;
    for (usize i = 0; i < now.size(); ++i) {
      if (now[i] == region->sent[i]) continue;
      region->sent[i] = now[i];
      std::atomic_ref<u64>(region->words()[i]).store(now[i], std::memory_order_release);
    }
  }
}

}  // namespace doorbell::amd
