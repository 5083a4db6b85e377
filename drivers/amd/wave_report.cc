// Counting waves that stand at the same place.
#include "drivers/amd/wave_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace doorbell::amd {
namespace {

constexpr usize kMostPlaces = 8;

// Waves that execute the same instruction next, for the same reason.
struct Place {
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

std::vector<Place> places_of(const std::vector<hw::SavedWave>& waves, hw::Generation generation) {
  std::map<std::pair<u64, std::string_view>, Place> places;
  for (const hw::SavedWave& wave : waves) {
    Place& place = places[{wave.pc, state_of(wave)}];
    const std::array<u32, 3> group = wave.group(generation);
    if (place.waves++ == 0)
      place = {
          .pc = wave.pc, .state = state_of(wave), .group = group, .waves = 1, .exec = wave.exec};
    place.group = std::min(place.group, group);
    place.same_exec &= place.exec == wave.exec;
  }
  std::vector<Place> sorted;
  for (const auto& [key, place] : places) sorted.push_back(place);
  std::ranges::stable_sort(sorted,
                           [](const Place& a, const Place& b) { return a.waves > b.waves; });
  return sorted;
}

std::string text_of(const Place& place, const CodeHeap& code, hw::Generation generation,
                    bool has_groups) {
  const std::string name = code.name_at(place.pc);
  const std::string where = name.empty() ? fmt::format("{:#x}, which is no kernel", place.pc)
                                         : fmt::format("{} ({:#x})", name, place.pc);
  std::string text = fmt::format("{} at {}{}, exec {:#x}{}", place.waves, where, place.state,
                                 place.exec, place.same_exec ? "" : " and others");
  if (has_groups || generation == hw::Generation::Gfx12)
    text += fmt::format(", {}group {},{},{}", place.waves > 1 ? "first of " : "", place.group[0],
                        place.group[1], place.group[2]);
  return text;
}

}  // namespace

std::string describe_waves(KfdQueue& queue, const CodeHeap& code, hw::Generation generation,
                           bool has_groups) {
  Result<std::vector<hw::SavedWave>> waves = queue.saved_waves();
  if (!waves) return fmt::format("; where its waves are is not known: {}", waves.error().message);
  if (waves->empty()) return "; it has no waves";
  const std::vector<Place> places = places_of(*waves, generation);
  std::string text = fmt::format("; {} wave{}: ", waves->size(), waves->size() == 1 ? "" : "s");
  for (usize i = 0; i < std::min(places.size(), kMostPlaces); ++i)
    text += (i > 0 ? "; " : "") + text_of(places[i], code, generation, has_groups);
  if (places.size() > kMostPlaces)
    text += fmt::format("; and at {} places more", places.size() - kMostPlaces);
  return text;
}

std::string describe_running_waves(KfdQueue& queue, const CodeHeap& code, hw::Generation generation,
                                   bool has_groups) {
  if (Result<void> stopped = queue.stop(); !stopped)
    return fmt::format("; it cannot be taken off the hardware: {}", stopped.error().message);
  std::string text = describe_waves(queue, code, generation, has_groups);
  // Whoever waits longer may yet see it finish.
  if (Result<void> resumed = queue.resume(); !resumed)
    text += fmt::format("; it stays halted: {}", resumed.error().message);
  return text;
}

}  // namespace doorbell::amd
