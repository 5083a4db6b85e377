// Kernels on the driver's device: where their waves run, private memory, LDS, atomics.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/util/try.h"
#include "tools/amd_probe/card.h"
#include "tools/amd_probe/kernels.h"
#include "tools/amd_probe/launch.h"

namespace doorbell::tools {
namespace {

constexpr u32 kItems = 64;  // of a group
constexpr u32 kStale = 0xdbdb'dbdb;

// ---- where waves run ----------------------------------------------------------------------------

struct Place {
  u32 group, item, hw_id, xcc;
};

// The bits of HW_ID (gfx9) or HW_ID1, from bit 8 on, that tell the compute unit: shader engine,
// array, unit; from gfx10 on the upper bit of the SIMD tells the unit of a work group processor.
constexpr u32 unit_bits(amd::hw::Generation generation) {
  return generation == amd::hw::Generation::Gfx9 ? 0x7f : 0x1d3e;
}

Result<Outcome> look_at_places(Card& card) {
  const u32 units = static_cast<u32>(card.properties().compute_units() * card.properties().num_xcc);
  const u32 groups = units * 8;
  TRY(Launcher launcher, Launcher::make(card));
  std::vector<Place> places(groups * kItems, {kStale, kStale, kStale, kStale});
  TRY(const core::Ref<core::Buffer> out, launcher.buffer(std::span(places)));
  const core::BufferView views[] = {{out.get(), 0}};
  TRY(launcher.run("places", {.params = 1, .groups = groups}, views, {}));
  TRY(launcher.read(*out, std::span(places)));
  std::set<u32> xccs;
  std::set<std::pair<u32, u32>> seen_units;
  for (u32 i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (place.group != i / kItems || place.item != i % kItems)
      return differs(launcher.is_aql() ? Fact::AqlGrids : Fact::DispatchCounts,
                     fmt::format("item {} of group {} of {}", i % kItems, i / kItems, groups),
                     place.group == kStale
                         ? "it did not run"
                         : fmt::format("item {} of group {}", place.item, place.group));
    xccs.insert(place.xcc);
    seen_units.insert({place.xcc, place.hw_id & unit_bits(card.caps.generation)});
  }
  const u64 all_xccs = card.properties().num_xcc;
  if (xccs.size() != all_xccs)
    return differs(Fact::GridsOfXccs, fmt::format("groups on {} XCCs", all_xccs),
                   fmt::format("on {}", xccs.size()));
  if (seen_units.size() > units)
    return differs(Fact::HwId, fmt::format("waves on at most {} compute units", units),
                   fmt::format("{}", seen_units.size()));
  return ok(
      fmt::format("{} groups once each, on {} XCC{} and, as HW_ID has it, {} of {} compute "
                  "units",
                  groups, xccs.size(), xccs.size() == 1 ? "" : "s", seen_units.size(), units));
}

// ---- private memory -----------------------------------------------------------------------------

// On several XCCs the waves meet in the host's memory: each XCC has an L2 of its own.
Result<Outcome> spill(Card& card) {
  const u32 xccs = static_cast<u32>(card.properties().num_xcc);
  const u32 groups = 8 * xccs;
  TRY(Launcher launcher, Launcher::make(card));
  const u32 waves = groups * (card.caps.has_wave32 ? 2 : 1);
  std::vector<std::array<u32, 2>> kept(groups * kItems, {kStale, kStale});
  u64 arrived = 0;
  TRY(const core::Ref<core::Buffer> out, launcher.buffer(std::span(kept)));
  TRY(const std::unique_ptr<amd::KfdMemory> host, card.host_memory(4096));
  core::Ref<core::Buffer> meeting =
      core::Buffer::wrap(launcher.device(), {.address = host->address(), .bytes = 4096});
  if (xccs == 1) {
    TRY(meeting, launcher.buffer(std::span(&arrived, 1)));
  }
  const core::BufferView views[] = {{out.get(), 0}, {meeting.get(), 0}};
  const i64 variables[] = {waves};
  TRY(launcher.run("scratch", {.params = 2, .variables = 1, .groups = groups}, views, variables));
  TRY(launcher.read(*out, std::span(kept)));
  if (xccs == 1)
    TRY(launcher.read(*meeting, std::span(&arrived, 1)));
  else
    std::memcpy(&arrived, host->host(), sizeof arrived);
  if (arrived != waves)
    return not_tried(fmt::format("{} of {} waves met, by atomics: see those", arrived, waves));
  for (u32 i = 0; i < kept.size(); ++i)
    if (kept[i][0] != i || kept[i][1] != ~i)
      return differs(xccs > 1 ? Fact::ScratchOfXcc : Fact::ScratchWaves,
                     fmt::format("private memory of item {} to hold {:#x} and {:#x}", i, i, ~i),
                     fmt::format("{:#x} and {:#x}", kept[i][0], kept[i][1]));
  return ok(fmt::format("{} items of {} waves on {} XCC{} keep what they store", kept.size(), waves,
                        xccs, xccs == 1 ? "" : "s"));
}

// ---- LDS ----------------------------------------------------------------------------------------

Result<Outcome> fill_local(Card& card) {
  constexpr u32 kGroupItems = 256;
  const u32 bytes = static_cast<u32>(card.properties().lds_size_in_kb << 10);
  const u32 groups =
      static_cast<u32>(card.properties().compute_units() * card.properties().num_xcc) * 2;
  TRY(Launcher launcher, Launcher::make(card));
  std::vector<u32> wrong(groups * kGroupItems, kStale);
  TRY(const core::Ref<core::Buffer> out, launcher.buffer(std::span(wrong)));
  const core::BufferView views[] = {{out.get(), 0}};
  const i64 variables[] = {bytes};
  TRY(launcher.run(
      "local",
      {.params = 1, .variables = 1, .items = kGroupItems, .groups = groups, .local_bytes = bytes},
      views, variables));
  TRY(launcher.read(*out, std::span(wrong)));
  for (u32 i = 0; i < wrong.size(); ++i)
    if (wrong[i] != 0)
      return differs(
          Fact::LdsSize,
          fmt::format("group {} to find its {} bytes of LDS", i / kGroupItems, bytes),
          wrong[i] == kStale ? "it did not run" : fmt::format("wrong bits {:#x}", wrong[i]));
  return ok(fmt::format("{} groups with {} bytes each", groups, bytes));
}

// ---- atomics ------------------------------------------------------------------------------------

struct Counters {
  u32 low = 0, unused = 0;
  u64 wide = 0;
};

Result<Outcome> add(Card& card, bool on_host, Fact fact) {
  constexpr u32 kGroups = 64, kAll = kGroups * kItems;
  constexpr u64 kWide = u64{kAll} << 32 | kAll;
  TRY(Launcher launcher, Launcher::make(card));
  std::vector<u32> before(kAll, kStale);
  Counters counters;
  TRY(const core::Ref<core::Buffer> out, launcher.buffer(std::span(before)));
  TRY(const std::unique_ptr<amd::KfdMemory> host, card.host_memory(4096));
  core::Ref<core::Buffer> shared =
      core::Buffer::wrap(launcher.device(), {.address = host->address(), .bytes = 4096});
  if (!on_host) {
    TRY(shared, launcher.buffer(std::span(&counters, 1)));
  }
  const core::BufferView views[] = {{out.get(), 0}, {shared.get(), 0}};
  TRY(launcher.run("atomics", {.params = 2, .groups = kGroups}, views, {}));
  TRY(launcher.read(*out, std::span(before)));
  if (on_host)
    counters = *reinterpret_cast<const Counters*>(host->host());
  else
    TRY(launcher.read(*shared, std::span(&counters, 1)));
  if (counters.low != kAll || counters.wide != kWide)
    return differs(fact, fmt::format("sums of {:#x} and {:#x}", kAll, kWide),
                   fmt::format("{:#x} and {:#x}", counters.low, counters.wide));
  std::ranges::sort(before);
  for (u32 i = 0; i < kAll; ++i)
    if (before[i] != i)
      return differs(fact, fmt::format("each number before the sum once, {} too", i),
                     fmt::format("{:#x}", before[i]));
  return ok(fmt::format("{} additions to 32 and to 64 bits, none lost", kAll));
}

// Several XCCs share no L2: their memory must not be cached for that, as the host's is not.
Result<Outcome> add_in_vram(Card& card) {
  if (card.properties().num_xcc > 1) return not_tried("XCCs have no L2 in common for this memory");
  return add(card, false, Fact::Coherence);
}

// The flags of the link to the host: bits 2 and 3.
Result<Outcome> add_on_host(Card& card) {
  const std::string path =
      fmt::format("{}/{}/io_links/0/properties", amd::hw::kTopologyNodes, card.gpu.node().number);
  const Result<std::string> text = os::read_text(card.kfd->files(), path);
  const usize at = text ? text->find("flags ") : std::string::npos;
  constexpr u64 kNoAtomics = 0xc;
  const u64 flags = at == std::string::npos ? 0 : std::stoull(text->substr(at + 6));
  if ((flags & kNoAtomics) != 0)
    return not_tried(fmt::format("the link to the host has no atomics (flags {:#x})", flags));
  return add(card, true, Fact::LinkAtomics);
}

constexpr Fact kPlaceFacts[] = {Fact::UserSgprs, Fact::DispatchCounts, Fact::AqlGrids,
                                Fact::GridsOfXccs, Fact::HwId};
constexpr Fact kScratchFacts[] = {Fact::ScratchWaves, Fact::ScratchOfXcc};
constexpr Fact kLocalFacts[] = {Fact::LdsSize};
constexpr Fact kAtomicFacts[] = {Fact::Coherence};
constexpr Fact kHostFacts[] = {Fact::LinkAtomics};
constexpr Step kSteps[] = {
    {"kernels", kPlaceFacts, "SDMA signals", false, look_at_places},
    {"scratch", kScratchFacts, "kernels", false, spill},
    {"LDS", kLocalFacts, "kernels", false, fill_local},
    {"atomics", kAtomicFacts, "kernels", false, add_in_vram},
    {"host atomics", kHostFacts, "kernels", false, add_on_host},
};

}  // namespace

std::span<const Step> kernel_steps() { return kSteps; }

}  // namespace doorbell::tools
