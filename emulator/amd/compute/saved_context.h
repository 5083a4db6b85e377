// SavedContext: the contents of one XCC's part of the save area while the waves of a preempted
// queue are saved: the control stack and the waves' state. See drivers/amd/hw/context_save.h for
// the layout and wave_save.h for the waves; emulator/amd/kfd copies both into the area.
#pragma once

#include <vector>

#include "base/util/types.h"
#include "drivers/amd/hw/context_save.h"

namespace doorbell::emu::amdgpu {

struct SavedContext {
  // The room in the area. Hardware never has more waves than that; an emulated grid may.
  u64 stack_room = 0, state_room = 0;  // bytes
  std::vector<u32> pushed;             // the control stack, first word first
  std::vector<u8> state;

  bool has_room(usize words, usize bytes) const {
    const usize header = amd::hw::kStackHeaderWords;
    return (pushed.size() + words + header) * sizeof(u32) <= stack_room &&
           state.size() + bytes <= state_room;
  }
  // The stack as it lies in memory: it grew down, and the command processor's own words are last.
  // Their meaning is not known; readers skip them.
  std::vector<u32> stack() const {
    if (pushed.empty()) return {};
    constexpr u32 kNop = 0xffff1000;  // of one word
    std::vector<u32> words(amd::hw::kStackHeaderWords, kNop);
    words.insert(words.end(), pushed.rbegin(), pushed.rend());
    return words;
  }
};

// Properties of a saved wave that do not follow from its launch.
struct SaveOptions {
  bool trap_registers = false;  // RUNTIME_ENABLE: the SPI left the group's ids there
};

}  // namespace doorbell::emu::amdgpu
