// Lines of eight words.
#include "emulator/amd/compute/wave_text.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emulator/amd/compute/grid.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr usize kOnALine = 8;

void add_lines(std::string& text, const std::string& name, std::span<const u32> words) {
  for (usize at = 0; at < words.size(); at += kOnALine) {
    const auto some = words.subspan(at, std::min(kOnALine, words.size() - at));
    text += fmt::format("  {:<6}{:08x}\n", at == 0 ? name : fmt::format(" +{}", at),
                        fmt::join(some, " "));
  }
}

}  // namespace

std::string to_text(const Wave& wave) {
  std::string text =
      fmt::format("  pc {:#x}, exec {:#x}, vcc {:#x}, scc {}, m0 {:#x}, mode {:#x}\n", wave.pc,
                  wave.exec(), wave.vcc(), wave.scc, wave.s[kM0], wave.mode_bits());
  add_lines(text, "s0", std::span(wave.s).first(std::min<usize>(wave.sgpr_count, kVccLo)));
  for (u32 index = 0; index < wave.vgpr_count; ++index) {
    const std::span<const u32> row(wave.v + usize{index} * wave.lanes, wave.lanes);
    if (std::ranges::any_of(row, [](u32 word) { return word != 0; }))
      add_lines(text, fmt::format("v{}", index), row);
  }
  return text;
}

std::string to_text(const WorkGroup& group, usize wave) {
  constexpr const char* kStates[] = {"ready", "at a barrier", "at the global wave sync", "ended"};
  const std::array<u32, 3>& id = group.place().id;
  const WorkGroup::Member& member = group.member(wave);
  std::string text = fmt::format("group {},{},{}, wave {}, {}\n", id[0], id[1], id[2], wave,
                                 kStates[static_cast<usize>(member.state)]);
  if (member.state != WorkGroup::State::Ended) text += to_text(*member.wave);
  return text;
}

std::string lds_text(const Wave& wave) {
  std::string text = fmt::format("  lds of {} bytes\n", wave.lds_bytes);
  std::vector<u32> words((wave.lds_bytes + 3) / 4);
  if (!words.empty()) std::memcpy(words.data(), wave.lds, wave.lds_bytes);
  for (usize at = 0; at < words.size(); at += kOnALine) {
    const auto some = std::span(words).subspan(at, std::min(kOnALine, words.size() - at));
    if (std::ranges::any_of(some, [](u32 word) { return word != 0; }))
      text += fmt::format("  {:#06x}  {:08x}\n", at * 4, fmt::join(some, " "));
  }
  return text;
}

std::string Grid::describe_waves() const {
  std::string text;
  for (const std::unique_ptr<WorkGroup>& group : resident_)
    for (usize i = 0; i < group->waves(); ++i) text += to_text(*group, i);
  return text;
}

}  // namespace doorbell::emu::amdgpu
