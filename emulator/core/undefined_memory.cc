// Runs of pages that were never written, and a mask for each page that was written in part.
#include "emulator/core/undefined_memory.h"

#include <algorithm>

namespace doorbell::emu {

namespace {

u64 address(const u8* host) { return reinterpret_cast<u64>(host); }

}  // namespace

bool UndefinedMemory::is_fresh(u64 page) const {
  auto next = fresh_.upper_bound(page);
  return next != fresh_.begin() && std::prev(next)->second > page;
}

// Removes pages [first, last) from the runs.
void UndefinedMemory::take_out(u64 first, u64 last) {
  auto run = fresh_.upper_bound(first);
  if (run != fresh_.begin()) --run;
  while (run != fresh_.end() && run->first < last) {
    const u64 start = run->first, end = run->second;
    if (end <= first) {
      ++run;
      continue;
    }
    run = fresh_.erase(run);
    if (start < first) fresh_[start] = first;
    if (end > last) fresh_[last] = end;
  }
}

void UndefinedMemory::allocate(const u8* host, u64 bytes) {
  static constexpr auto kUndefined = [] {
    std::array<u8, kPage> mask{};
    mask.fill(0xff);
    return mask;
  }();
  std::lock_guard lock(mutex_);
  u64 at = address(host);
  const u64 end = at + bytes;
  while (at < end) {
    if (at % kPage == 0 && end - at >= kPage) {
      const u64 first = at / kPage, last = end / kPage;
      take_out(first, last);
      for (u64 page = first; page < last && !pages_.empty(); ++page) pages_.erase(page);
      fresh_[first] = last;
      at = last * kPage;
      continue;
    }
    const u64 part = std::min(end - at, kPage - at % kPage);
    write_locked(at, std::span(kUndefined).first(part));
    at += part;
  }
  note_any();
}

void UndefinedMemory::define_locked(u64 at, u64 bytes) {
  static constexpr std::array<u8, kPage> kDefined{};
  while (bytes > 0) {
    const u64 page = at / kPage;
    if (at % kPage == 0 && bytes >= kPage) {
      // Whole pages at once: buffers are large.
      const u64 count = bytes / kPage;
      take_out(page, page + count);
      for (u64 i = page; i < page + count && !pages_.empty(); ++i) pages_.erase(i);
      at += count * kPage;
      bytes -= count * kPage;
      continue;
    }
    const u64 part = std::min(bytes, kPage - at % kPage);
    write_locked(at, std::span(kDefined).first(part));
    at += part;
    bytes -= part;
  }
}

void UndefinedMemory::define(const u8* host, u64 bytes) {
  if (!any()) return;
  std::lock_guard lock(mutex_);
  define_locked(address(host), bytes);
  note_any();
}

bool UndefinedMemory::read_locked(u64 at, std::span<u8> mask) const {
  bool found = false;
  while (!mask.empty()) {
    const u64 page = at / kPage, in_page = at % kPage;
    const std::span<u8> part = mask.first(std::min<u64>(mask.size(), kPage - in_page));
    if (auto known = pages_.find(page); known != pages_.end()) {
      std::copy_n(known->second->mask.begin() + in_page, part.size(), part.begin());
      found |= std::ranges::any_of(part, [](u8 bits) { return bits != 0; });
    } else {
      const bool fresh = is_fresh(page);
      std::ranges::fill(part, fresh ? u8{0xff} : u8{0});
      found |= fresh;
    }
    at += part.size();
    mask = mask.subspan(part.size());
  }
  return found;
}

bool UndefinedMemory::read(const u8* host, std::span<u8> mask) const {
  if (!any()) {
    std::ranges::fill(mask, u8{0});
    return false;
  }
  std::lock_guard lock(mutex_);
  return read_locked(address(host), mask);
}

void UndefinedMemory::write_locked(u64 at, std::span<const u8> mask) {
  while (!mask.empty()) {
    const u64 page = at / kPage, in_page = at % kPage;
    const std::span<const u8> part = mask.first(std::min<u64>(mask.size(), kPage - in_page));
    at += part.size();
    mask = mask.subspan(part.size());
    auto known = pages_.find(page);
    if (known == pages_.end()) {
      const bool fresh = is_fresh(page);
      if (!fresh && std::ranges::all_of(part, [](u8 bits) { return bits == 0; })) continue;
      auto made = std::make_unique<Page>();
      made->mask.fill(fresh ? 0xff : 0);
      made->undefined = fresh ? kPage : 0;
      if (fresh) take_out(page, page + 1);
      known = pages_.emplace(page, std::move(made)).first;
    }
    Page& to = *known->second;
    for (usize i = 0; i < part.size(); ++i) {
      to.undefined += (part[i] != 0 ? 1 : 0) - (to.mask[in_page + i] != 0 ? 1 : 0);
      to.mask[in_page + i] = part[i];
    }
    if (to.undefined == 0) pages_.erase(known);
  }
}

void UndefinedMemory::write(const u8* host, std::span<const u8> mask) {
  if (!any() && std::ranges::all_of(mask, [](u8 bits) { return bits == 0; })) return;
  std::lock_guard lock(mutex_);
  write_locked(address(host), mask);
  note_any();
}

std::optional<u64> UndefinedMemory::copy(const u8* from, const u8* to, u64 bytes) {
  std::optional<u64> first;
  if (!any()) return first;
  std::lock_guard lock(mutex_);
  std::array<u8, kPage> mask;
  for (u64 done = 0; done < bytes;) {
    const std::span<u8> part = std::span(mask).first(std::min<u64>(bytes - done, kPage));
    if (read_locked(address(from) + done, part)) {
      write_locked(address(to) + done, part);
      const auto found = std::ranges::find_if(part, [](u8 bits) { return bits != 0; });
      if (!first) first = done + static_cast<u64>(found - part.begin());
    } else {
      define_locked(address(to) + done, part.size());
    }
    done += part.size();
  }
  note_any();
  return first;
}

}  // namespace doorbell::emu
