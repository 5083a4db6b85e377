// Lines that stay until they are invalidated or written back (caches.h).
#include "emulator/amd/cp/caches.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/util/format.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

CacheShape cache_shape(hw::Generation generation, u32 xccs) {
  CacheShape shape{.xccs = xccs};
  switch (generation) {
    case hw::Generation::Gfx9: shape.gl1 = false, shape.l2_serves_sdma = false; break;
    case hw::Generation::Gfx12:
      shape.gl1 = false, shape.l2_serves_sdma = false, shape.l2_serves_cp = false;
      break;
    default: break;
  }
  return shape;
}

// each(line, first byte in it, offset in the access, bytes)
template <class Each>
void Caches::for_lines(u64 va, u64 bytes, Each&& each) {
  for (u64 done = 0; done < bytes;) {
    u32 first = static_cast<u32>((va + done) % kLine);
    u32 count = static_cast<u32>(std::min<u64>(kLine - first, bytes - done));
    each((va + done) / kLine, first, done, count);
    done += count;
  }
}

Caches::Lines& Caches::top(const Reader& reader) {
  Unit& unit = xccs_[reader.xcc].units[reader.unit % shape_.units];
  switch (reader.door) {
    case Door::Scalar: return unit.scalar;
    case Door::Instructions: return unit.instructions;
    default: return unit.vector;
  }
}

namespace {

const u8* host_of(const Range& range, u64 line, u32 first) {
  return range.host + (line * Caches::kLine + first - range.start);
}
u8* host_of_line(const Range& range, u64 line) {
  return range.host + (line * Caches::kLine - range.start);
}

}  // namespace

void Caches::truth(u32 xcc, const Range& range, u64 line, u32 first, std::span<u8> to) const {
  std::memcpy(to.data(), host_of(range, line, first), to.size());
  if (!uses_l2(range)) return;
  const Lines& l2 = xccs_[xcc].l2;
  auto found = l2.find(line);
  if (found == l2.end()) return;
  for (usize i = 0; i < to.size(); ++i)
    if (found->second.dirty >> (first + i) & 1) to[i] = found->second.bytes[first + i];
}

// A line that was there before the kernel was launched, and does not match: the bit is missing. One
// that was filled later is the kernel's own business.
void Caches::judge(const Check& check, const Reader& reader, const Line& cached, u64 va, u32 first,
                   std::span<const u8> is, std::span<const u8> should, const char* bit) {
  if (cached.filled >= reader.dispatch || std::ranges::equal(is, should)) return;
  usize at = 0;
  while (is[at] == should[at]) ++at;
  checks_.report(check, fmt::format("kernel {} loads a stale {:#04x} from {:#x}, where {:#04x} was "
                                    "written since: {} is missing before its launch",
                                    reader.kernel ? *reader.kernel : std::string("?"), is[at],
                                    va + at, should[at], bit));
  static_cast<void>(first);
}

void Caches::read_l2(const Reader& reader, const Range& range, u64 line, u32 first,
                     std::span<u8> to) {
  const u8* host = host_of(range, line, first);
  if (past_l2(reader, range)) {
    truth(reader.xcc, range, line, first, to);
    return;
  }
  Line& cached = xccs_[reader.xcc].l2[line];
  u64 wanted = mask(first, static_cast<u32>(to.size()));
  if (u64 missing = wanted & ~cached.valid) {
    for (u32 i = first; i < first + to.size(); ++i)
      if (missing >> i & 1) cached.bytes[i] = host[i - first];
    if ((cached.valid & ~cached.dirty) == 0) cached.filled = now_;
    cached.valid |= missing;
    cached.host = host_of_line(range, line);
  }
  std::memcpy(to.data(), &cached.bytes[first], to.size());
  // Bytes that were read before and are clean should still be memory's.
  std::array<u8, kLine> should;
  for (u32 i = 0; i < to.size(); ++i) should[i] = cached.dirty >> (first + i) & 1 ? to[i] : host[i];
  judge(kStaleL2, reader, cached, line * kLine + first, first, to,
        std::span(should).first(to.size()), "GL2_INV (gfx9: TC_ACTION_ENA)");
}

void Caches::read_gl1(const Reader& reader, const Range& range, u64 line, u32 first,
                      std::span<u8> to) {
  bool passes = !shape_.gl1 || reader.door == Door::Instructions || reader.reach >= Reach::Device;
  if (passes) {
    read_l2(reader, range, line, first, to);
    return;
  }
  Line& cached = xccs_[reader.xcc].gl1[reader.unit % shape_.units / shape_.units_per_array][line];
  u64 wanted = mask(first, static_cast<u32>(to.size()));
  if ((cached.valid & wanted) != wanted) {
    read_l2(reader, range, line, first, to);
    if (cached.valid == 0) cached.filled = now_;
    for (u32 i = 0; i < to.size(); ++i)
      if (!(cached.valid >> (first + i) & 1)) cached.bytes[first + i] = to[i];
    cached.valid |= wanted;
  }
  std::memcpy(to.data(), &cached.bytes[first], to.size());
  std::array<u8, kLine> should;
  truth(reader.xcc, range, line, first, std::span(should).first(to.size()));
  judge(kStaleGl1, reader, cached, line * kLine + first, first, to,
        std::span(should).first(to.size()), "GL1_INV");
}

void Caches::read_top(const Reader& reader, const Range& range, u64 line, u32 first,
                      std::span<u8> to) {
  if (reader.reach != Reach::Unit) {
    read_gl1(reader, range, line, first, to);
    return;
  }
  Line& cached = top(reader)[line];
  u64 wanted = mask(first, static_cast<u32>(to.size()));
  if ((cached.valid & wanted) != wanted) {
    std::array<u8, kLine> fill;
    read_gl1(reader, range, line, first, std::span(fill).first(to.size()));
    if (cached.valid == 0) cached.filled = now_;
    for (u32 i = 0; i < to.size(); ++i)
      if (!(cached.valid >> (first + i) & 1)) cached.bytes[first + i] = fill[i];
    cached.valid |= wanted;
  }
  std::memcpy(to.data(), &cached.bytes[first], to.size());
  std::array<u8, kLine> should;
  truth(reader.xcc, range, line, first, std::span(should).first(to.size()));
  struct Name {
    const Check& check;
    const char* bit;
  };
  const Name kNames[] = {{kStaleVector, "GLV_INV (gfx9: TCL1_ACTION_ENA)"},
                         {kStaleScalar, "GLK_INV (gfx9: SH_KCACHE_ACTION_ENA)"},
                         {kStaleInstructions, "GLI_INV (gfx9: SH_ICACHE_ACTION_ENA)"}};
  const Name& name = kNames[static_cast<usize>(reader.door)];
  judge(name.check, reader, cached, line * kLine + first, first, to,
        std::span(should).first(to.size()), name.bit);
}

void Caches::load(const Reader& reader, const Range& range, u64 va, std::span<u8> to) {
  judge_posted(reader, va, to.size());
  for_lines(va, to.size(), [&](u64 line, u32 first, u64 offset, u32 count) {
    read_top(reader, range, line, first, to.subspan(offset, count));
  });
}

void Caches::store(const Reader& reader, const Range& range, u64 va, std::span<const u8> from) {
  judge_posted(reader, va, from.size());
  for_lines(va, from.size(), [&](u64 line, u32 first, u64 offset, u32 count) {
    std::span<const u8> bytes = from.subspan(offset, count);
    Xcc& xcc = xccs_[reader.xcc];
    Lines& vector = xcc.units[reader.unit % shape_.units].vector;
    // Written through: a unit sees its own stores.
    if (auto found = vector.find(line); found != vector.end()) {
      std::memcpy(&found->second.bytes[first], bytes.data(), count);
      found->second.valid |= mask(first, count);
    }
    if (shape_.gl1) xcc.gl1[reader.unit % shape_.units / shape_.units_per_array].erase(line);
    if (!past_l2(reader, range)) {
      Line& cached = xcc.l2[line];
      std::memcpy(&cached.bytes[first], bytes.data(), count);
      cached.valid |= mask(first, count);
      cached.dirty |= mask(first, count);
      cached.of_host = range.type.place == Place::Host;
      cached.writer = reader.kernel;
      cached.host = host_of_line(range, line);
      return;
    }
    // Past the L2: its line, if any, follows.
    if (auto found = xcc.l2.find(line); found != xcc.l2.end()) {
      std::memcpy(&found->second.bytes[first], bytes.data(), count);
      found->second.valid |= mask(first, count);
      found->second.dirty &= ~mask(first, count);
    }
    announcements_.written(host_of_line(range, line) + first, count);
    std::memcpy(host_of_line(range, line) + first, bytes.data(), count);
  });
}

void Caches::atomic(const Reader& reader, const Range& range, u64 va, u32 bytes,
                    const std::function<void(u8* host)>& update) {
  judge_posted(reader, va, bytes);
  u64 line = va / kLine;
  u32 first = static_cast<u32>(va % kLine);
  Xcc& xcc = xccs_[reader.xcc];
  for (Lines* lines : {&xcc.units[reader.unit % shape_.units].vector})
    if (auto found = lines->find(line); found != lines->end())
      found->second.valid &= ~mask(first, bytes);
  if (!past_l2(reader, range)) {
    Line& cached = xcc.l2[line];
    u64 wanted = mask(first, bytes);
    for (u32 i = first; i < first + bytes; ++i)
      if (!(cached.valid >> i & 1)) cached.bytes[i] = *host_of(range, line, i);
    cached.valid |= wanted;
    cached.dirty |= wanted;
    cached.of_host = range.type.place == Place::Host;
    cached.writer = reader.kernel;
    cached.host = host_of_line(range, line);
    update(&cached.bytes[first]);
    return;
  }
  evict(range, va, bytes);
  announcements_.written(host_of_line(range, line) + first, bytes);
  update(host_of_line(range, line) + first);
}

void Caches::write_back(Line& line) {
  if (line.dirty != 0) announcements_.written(line.host, kLine);
  for (u64 dirty = line.dirty; dirty != 0; dirty &= dirty - 1) {
    int i = std::countr_zero(dirty);
    line.host[i] = line.bytes[static_cast<usize>(i)];
  }
  line.dirty = 0;
}

void Caches::drop(Lines& lines, u64 start, u64 end) {
  std::erase_if(lines, [&](const auto& entry) {
    return entry.first * kLine < end && entry.first * kLine + kLine > start;
  });
}

void Caches::act(u32 xcc, const CacheActions& actions) {
  act_l2(xccs_[xcc].l2, actions);
  for (u32 unit = 0; unit < shape_.units; ++unit) act_above(xccs_[xcc], unit, actions);
}

void Caches::act_unit(u32 xcc, u32 unit, const CacheActions& actions) {
  act_l2(xccs_[xcc].l2, actions);
  act_above(xccs_[xcc], unit, actions);
}

void Caches::act_l2(Lines& l2, const CacheActions& actions) {
  auto touches = [&](u64 line) {
    return line * kLine < actions.end && line * kLine + kLine > actions.start;
  };
  if (actions.l2_write_back)
    for (auto& [line, cached] : l2)
      if (touches(line)) write_back(cached);
  // An invalidate alone loses no dirty byte: that is another bit, DISCARD.
  if (!actions.l2_invalidate) return;
  for (auto at = l2.begin(); at != l2.end();) {
    Line& cached = at->second;
    if (touches(at->first)) cached.valid = cached.dirty;
    at = cached.valid == 0 ? l2.erase(at) : std::next(at);
  }
}

void Caches::act_above(Xcc& xcc, u32 unit, const CacheActions& actions) {
  Unit& caches = xcc.units[unit % shape_.units];
  if (actions.vector) drop(caches.vector, actions.start, actions.end);
  if (actions.scalar) drop(caches.scalar, actions.start, actions.end);
  if (actions.instructions) drop(caches.instructions, actions.start, actions.end);
  if (actions.gl1)
    drop(xcc.gl1[unit % shape_.units / shape_.units_per_array], actions.start, actions.end);
}

void Caches::client_read(Client client, const Range& range, u64 va, std::span<u8> to) {
  std::memcpy(to.data(), range.host + (va - range.start), to.size());
  if (!uses_l2(range)) return;
  for_lines(va, to.size(), [&](u64 line, u32 first, u64 offset, u32 count) {
    for (Xcc& xcc : xccs_) {
      auto found = xcc.l2.find(line);
      if (found == xcc.l2.end()) continue;
      u64 dirty = found->second.dirty & mask(first, count);
      if (dirty == 0) continue;
      // With several L2s the copy engine's and the processor's data can be in another one.
      if (serves(client) && xccs_.size() == 1) {
        for (u32 i = 0; i < count; ++i)
          if (dirty >> (first + i) & 1) to[offset + i] = found->second.bytes[first + i];
        continue;
      }
      checks_.report(kDirtyL2,
                     fmt::format("the {} reads {:#x}, where a kernel's bytes are still in the L2: "
                                 "GL2_WB (gfx9: TC_WB_ACTION_ENA) is missing",
                                 client == Client::Sdma ? "copy engine" : "command processor",
                                 line * kLine + first));
    }
  });
}

void Caches::client_write(Client client, const Range& range, u64 va, std::span<const u8> from) {
  if (!uses_l2(range)) return;
  for_lines(va, from.size(), [&](u64 line, u32 first, u64 offset, u32 count) {
    static_cast<void>(offset);
    for (Xcc& xcc : xccs_) {
      auto found = xcc.l2.find(line);
      if (found == xcc.l2.end()) continue;
      Line& cached = found->second;
      // Through the L2: the line goes along. Past it: clean bytes stay, stale; dirty ones are
      // written later over the new ones.
      if (serves(client) && xccs_.size() == 1) {
        cached.valid &= ~mask(first, count);
        cached.dirty &= ~mask(first, count);
      }
    }
  });
}

void Caches::evict(const Range& range, u64 va, u64 bytes) {
  if (!uses_l2(range)) return;
  for_lines(va, bytes, [&](u64 line, u32, u64, u32) {
    for (Xcc& xcc : xccs_)
      if (auto found = xcc.l2.find(line); found != xcc.l2.end()) {
        write_back(found->second);
        xcc.l2.erase(found);
      }
  });
}

void Caches::forget(u64 start, u64 end) {
  for (Xcc& xcc : xccs_) {
    for (auto& [line, cached] : xcc.l2)
      if (line * kLine < end && line * kLine + kLine > start) write_back(cached);
    drop(xcc.l2, start, end);
    for (Lines& lines : xcc.gl1) drop(lines, start, end);
    for (Unit& unit : xcc.units)
      for (Lines* lines : {&unit.vector, &unit.scalar, &unit.instructions})
        drop(*lines, start, end);
  }
}

template <class Which>
std::optional<Caches::Unwritten> Caches::lowest_dirty(Which&& which) const {
  std::optional<Unwritten> first;
  for (const Xcc& xcc : xccs_)
    for (const auto& [line, cached] : xcc.l2) {
      const u64 dirty = cached.dirty != 0 ? cached.dirty & which(cached) : 0;
      const u64 va = line * kLine + static_cast<u64>(std::countr_zero(dirty));
      if (dirty != 0 && (!first || va < first->va)) first = {va, cached.writer};
    }
  return first;
}

std::optional<Caches::Unwritten> Caches::dirty_host_memory() const {
  return lowest_dirty([](const Line& line) { return line.of_host ? ~u64{0} : 0; });
}

std::optional<Caches::Unwritten> Caches::find_unwritten(const u8* host, u64 bytes) const {
  return lowest_dirty([&](const Line& line) {
    u64 wanted = 0;
    for (u32 i = 0; i < kLine; ++i)
      if (line.host + i >= host && line.host + i < host + bytes) wanted |= u64{1} << i;
    return wanted;
  });
}

std::string Caches::describe(const Unwritten& left) const {
  return fmt::format(
      "kernel {}'s bytes of {:#x} are still in the L2: GL2_WB (gfx9: "
      "TC_WB_ACTION_ENA; AQL: a release fence of system scope) is missing",
      left.kernel ? *left.kernel : std::string("?"), left.va);
}

// A warning at most: which memory the host reads next is not known here.
void Caches::judge_host(const std::string& who) {
  if (auto left = dirty_host_memory())
    checks_.report(kDirtyL2,
                   fmt::format("{} tells the host, of whose memory {}", who, describe(*left)),
                   Level::Warn);
}

usize Caches::dirty_lines() const {
  usize count = 0;
  for (const Xcc& xcc : xccs_)
    count += static_cast<usize>(
        std::ranges::count_if(xcc.l2, [](const auto& entry) { return entry.second.dirty != 0; }));
  return count;
}

}  // namespace doorbell::emu::amdgpu
