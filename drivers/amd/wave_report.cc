// Counting waves that stand at the same instruction.
#include "drivers/amd/wave_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace doorbell::amd {
namespace {

constexpr usize kMaxLocations = 8;

// Waves that execute the same instruction next, for the same reason.
struct Location {
  u64 pc = 0;
  const char* state = "";
  std::array<u32, 3> group{};  // the lowest
  usize waves = 0;
  u64 exec = 0;
  bool same_exec = true;
};

const char* state_of(const hw::SavedWave& wave) {
  if (wave.memory_violation) return ", which faulted";
  if (wave.illegal_instruction) return ", stopped by an illegal instruction";
  return wave.in_barrier ? ", waiting at a barrier" : "";
}

std::vector<Location> locations_of(const std::vector<hw::SavedWave>& waves,
                                   hw::Generation generation) {
  std::map<std::pair<u64, std::string_view>, Location> locations;
  for (const hw::SavedWave& wave : waves) {
    Location& location = locations[{wave.pc, state_of(wave)}];
    const std::array<u32, 3> group = wave.group(generation);
    if (location.waves++ == 0)
      location = {
          .pc = wave.pc, .state = state_of(wave), .group = group, .waves = 1, .exec = wave.exec};
    location.group = std::min(location.group, group);
    location.same_exec &= location.exec == wave.exec;
  }
  std::vector<Location> sorted;
  for (const auto& [key, location] : locations) sorted.push_back(location);
  std::ranges::stable_sort(sorted,
                           [](const Location& a, const Location& b) { return a.waves > b.waves; });
  return sorted;
}

std::string text_of(const Location& location, const CodeHeap& code, hw::Generation generation,
                    bool has_groups) {
  const std::string name = code.name_at(location.pc);
  const std::string where = name.empty() ? fmt::format("{:#x}, which is no kernel", location.pc)
                                         : fmt::format("{} ({:#x})", name, location.pc);
  std::string text = fmt::format("{} at {}{}, exec {:#x}{}", location.waves, where, location.state,
                                 location.exec, location.same_exec ? "" : " and others");
  if (has_groups || generation == hw::Generation::Gfx12)
    text += fmt::format(", {}group {},{},{}", location.waves > 1 ? "first of " : "",
                        location.group[0], location.group[1], location.group[2]);
  return text;
}

}  // namespace

std::string describe_waves(KfdQueue& queue, const CodeHeap& code, hw::Generation generation,
                           bool has_groups) {
  Result<std::vector<hw::SavedWave>> waves = queue.saved_waves();
  if (!waves) return fmt::format("; where its waves stand is unknown: {}", waves.error().message);
  if (waves->empty()) return "; it has no waves";
  const std::vector<Location> locations = locations_of(*waves, generation);
  std::string text = fmt::format("; {} wave{}: ", waves->size(), waves->size() == 1 ? "" : "s");
  for (usize i = 0; i < std::min(locations.size(), kMaxLocations); ++i)
    text += (i > 0 ? "; " : "") + text_of(locations[i], code, generation, has_groups);
  if (locations.size() > kMaxLocations)
    text += fmt::format("; and at {} more locations", locations.size() - kMaxLocations);
  return text;
}

std::string describe_running_waves(KfdQueue& queue, const CodeHeap& code, hw::Generation generation,
                                   bool has_groups) {
  if (Result<void> stopped = queue.stop(); !stopped)
    return fmt::format("; it cannot be taken off the hardware: {}", stopped.error().message);
  std::string text = describe_waves(queue, code, generation, has_groups);
  // It may still finish if the caller waits longer.
  if (Result<void> resumed = queue.resume(); !resumed)
    text += fmt::format("; it stays halted: {}", resumed.error().message);
  return text;
}

}  // namespace doorbell::amd
