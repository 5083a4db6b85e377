// Records of accesses, compared by their clocks (access_map.h).
#include "emulator/core/races/access_map.h"

#include <algorithm>
#include <bit>

namespace doorbell::emu {

namespace {

bool is_plain_write(AgentAccess access) {
  return access == AgentAccess::Write || access == AgentAccess::LooseWrite;
}
bool writes(AgentAccess access) {
  return is_plain_write(access) || access == AgentAccess::AtomicWrite;
}
bool is_atomic(AgentAccess access) {
  return access == AgentAccess::AtomicRead || access == AgentAccess::AtomicWrite;
}

// Whether they race where nothing orders them.
bool conflict(AgentAccess a, AgentAccess b) {
  if (!writes(a) && !writes(b)) return false;
  const auto counts_as_atomic = [](AgentAccess one, AgentAccess other) {
    return is_atomic(one) || (one == AgentAccess::LooseWrite && is_atomic(other));
  };
  return !counts_as_atomic(a, b) || !counts_as_atomic(b, a);
}

// Whether all that race with `before` race with `now`, which is behind it. A LooseWrite is taken to
// stand for the reads before it, although atomic writes race with those alone.
bool replaces(AgentAccess now, AgentAccess before) {
  switch (now) {
    case AgentAccess::Write:
    case AgentAccess::LooseWrite: return true;
    case AgentAccess::AtomicWrite: return is_atomic(before);
    case AgentAccess::Read: return before == now || before == AgentAccess::AtomicRead;
    case AgentAccess::AtomicRead: return before == now;
  }
  return false;
}

bool is_behind(const AccessSite& now, const AccessSite& before) {
  if (now.agent == before.agent) return before.time <= now.time;
  return before.time <= now.clock.of(before.agent);
}

}  // namespace

// Of the bytes, those in this word of a record.
u64 AccessMap::Part::mask(u32 word) const {
  const u32 start = word * 64;
  u64 mask = ~u64{0};
  if (from > start) mask &= ~u64{0} << (from - start);
  if (to < start + 64) mask &= ~u64{0} >> (start + 64 - to);
  return mask;
}

template <class Function>
void AccessMap::for_each_part(const u8* host, u64 bytes, Function&& function) {
  for (u64 at = reinterpret_cast<u64>(host), end = at + bytes; at < end;) {
    const u32 from = static_cast<u32>(at % kPage);
    const u32 to = static_cast<u32>(std::min<u64>(kPage, from + (end - at)));
    function(Part{.page = at / kPage, .from = from, .to = to});
    at += to - from;
  }
}

AccessMap::Record& AccessMap::record_of(Page& page, AgentAccess access,
                                        const std::shared_ptr<const AccessSite>& site) {
  for (Record& record : page) {
    if (record.access != access || record.site->agent != site->agent ||
        record.site->time != site->time)
      continue;
    record.site = site;
    return record;
  }
  std::erase_if(page, [](const Record& record) {
    return std::ranges::all_of(record.bytes, [](u64 word) { return word == 0; });
  });
  return page.emplace_back(Record{.site = site, .access = access, .bytes = {}});
}

std::optional<AccessMap::Conflict> AccessMap::judge(Page& page, const Part& part,
                                                    const Record& now) {
  std::optional<Conflict> first;
  for (Record& before : page) {
    if (&before == &now) continue;
    const bool ordered = is_behind(*now.site, *before.site);
    const bool matters = ordered ? replaces(now.access, before.access)
                                 : !first && conflict(now.access, before.access);
    if (!matters) continue;
    for (u32 word = part.from / 64; word <= (part.to - 1) / 64; ++word) {
      const u64 both = before.bytes[word] & part.mask(word);
      if (both == 0) continue;
      if (ordered) {
        before.bytes[word] &= ~both;
        continue;
      }
      const u64 at = part.page * kPage + word * 64 + static_cast<u32>(std::countr_zero(both));
      first = Conflict{before.site, before.access, reinterpret_cast<const u8*>(at)};
      break;
    }
  }
  return first;
}

std::optional<AccessMap::Conflict> AccessMap::access(
    const u8* host, u64 bytes, AgentAccess access, const std::shared_ptr<const AccessSite>& site) {
  std::optional<Conflict> first;
  for_each_part(host, bytes, [&](const Part& part) {
    std::unique_ptr<Page>& page = pages_[part.page];
    if (!page) page = std::make_unique<Page>();
    Record& now = record_of(*page, access, site);
    const std::optional<Conflict> found = judge(*page, part, now);
    if (!first) first = found;
    for (u32 word = part.from / 64; word <= (part.to - 1) / 64; ++word)
      now.bytes[word] |= part.mask(word);
  });
  return first;
}

std::vector<std::shared_ptr<const AccessSite>> AccessMap::loose_writers(
    const u8* host, u64 bytes, const SparseClock& clock) const {
  std::vector<std::shared_ptr<const AccessSite>> found;
  for_each_part(host, bytes, [&](const Part& part) {
    const auto page = pages_.find(part.page);
    if (page == pages_.end()) return;
    for (const Record& record : *page->second) {
      if (record.access != AgentAccess::LooseWrite ||
          record.site->time <= clock.of(record.site->agent))
        continue;
      const u32 word = part.from / 64;
      if ((record.bytes[word] & part.mask(word)) != 0) found.push_back(record.site);
    }
  });
  return found;
}

void AccessMap::forget(const u8* host, u64 bytes) {
  for_each_part(host, bytes, [&](const Part& part) {
    const auto page = pages_.find(part.page);
    if (page == pages_.end()) return;
    for (Record& record : *page->second)
      for (u32 word = part.from / 64; word <= (part.to - 1) / 64; ++word)
        record.bytes[word] &= ~part.mask(word);
    if (part.from == 0 && part.to == kPage) pages_.erase(page);
  });
}

usize AccessMap::records() const {
  usize count = 0;
  for (const auto& [number, page] : pages_) count += page->size();
  return count;
}

}  // namespace doorbell::emu
