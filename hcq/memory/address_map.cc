// The map, and the words for an address.
#include "hcq/memory/address_map.h"

#include <fmt/format.h>

#include <cstring>

namespace doorbell::hcq {
namespace {

constexpr usize kRemembered = 256;

}  // namespace

void AddressMap::note_mapped(u64 va, u64 bytes, std::string what, const u8* host) {
  std::lock_guard lock(mutex_);
  mapped_[va] = {bytes, std::move(what), host};
}

void AddressMap::note_unmapped(u64 va) {
  std::lock_guard lock(mutex_);
  const auto found = mapped_.find(va);
  if (found == mapped_.end()) return;
  if (unmapped_.size() < kRemembered) unmapped_.emplace_back();
  unmapped_[next_unmapped_ % kRemembered] = {va, std::move(found->second)};
  ++next_unmapped_;
  mapped_.erase(found);
}

std::optional<std::vector<u32>> AddressMap::peek(u64 va, u32 words) const {
  std::lock_guard lock(mutex_);
  const auto after = mapped_.upper_bound(va);
  if (after == mapped_.begin()) return std::nullopt;
  const auto& [start, span] = *std::prev(after);
  const u64 offset = va - start, bytes = words * u64{4};
  if (span.host == nullptr || offset > span.bytes || bytes > span.bytes - offset)
    return std::nullopt;
  std::vector<u32> read(words);
  std::memcpy(read.data(), span.host + offset, bytes);
  return read;
}

std::string AddressMap::describe(u64 va) const {
  const auto line = [&](const char* state, u64 start, const Span& span) {
    return fmt::format("{} {} ({:#x}, {} bytes), {} bytes in", state, span.what, start, span.bytes,
                       va - start);
  };
  std::lock_guard lock(mutex_);
  auto after = mapped_.upper_bound(va);
  const bool has_before = after != mapped_.begin();
  const auto before = has_before ? std::prev(after) : mapped_.end();
  if (has_before && va - before->first < before->second.bytes)
    return line("in", before->first, before->second);
  // The youngest of those that are gone.
  for (usize i = 0; i < unmapped_.size(); ++i) {
    const auto& [start, span] = unmapped_[(next_unmapped_ - 1 - i) % kRemembered];
    if (va >= start && va - start < span.bytes) return line("in what was", start, span);
  }
  if (has_before)
    return fmt::format("{} bytes behind the end of {} ({:#x}, {} bytes)",
                       va - before->first - before->second.bytes, before->second.what,
                       before->first, before->second.bytes);
  return "where nothing ever was";
}

}  // namespace doorbell::hcq
