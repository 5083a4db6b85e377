// Which family of AMD graphics cores a layout belongs to, and Register: where one register lies in
// each. Tables are indexed by the family, so that no sequence asks for a version. What a chip can
// do is for drivers/amd/caps.h and the emulator's own chip tables.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::amd::hw {

// Gfx9 stands for CDNA3 and CDNA4 (gfx942, gfx950), Gfx10 for RDNA2 (gfx103x), Gfx11 for RDNA3 and
// 3.5, Gfx12 for RDNA4.
enum class Generation : u8 { Gfx9, Gfx10, Gfx11, Gfx12 };
inline constexpr usize kGenerations = 4;

constexpr std::string_view name_of(Generation generation) {
  constexpr std::array<std::string_view, kGenerations> kNames{"gfx9", "gfx10", "gfx11", "gfx12"};
  return kNames[static_cast<usize>(generation)];
}

// Which generations have a packet in the form of a record.
enum class Generations : u8 { All, Gfx9, Gfx10Up };
constexpr bool includes(Generations generations, Generation generation) {
  return generations == Generations::All ||
         (generations == Generations::Gfx9) == (generation == Generation::Gfx9);
}

// Of a chip's name as LLVM and the kernel have it: "gfx942" is Gfx9, "gfx1100" Gfx11. Nothing for a
// family that this project does not know.
std::optional<Generation> generation_of(std::string_view chip);
// Of the kernel's gfx_target_version: 110003 is gfx1103, 90402 gfx942.
std::optional<Generation> generation_of_version(u64 version);

// Absolute addresses in 32-bit words, as the command processor counts them.
struct Register {
  std::string_view name;
  u32 gfx9 = 0, gfx10 = 0, gfx11 = 0, gfx12 = 0;  // 0: the generation has none

  constexpr u32 at(Generation generation) const {
    const std::array<u32, kGenerations> addresses{gfx9, gfx10, gfx11, gfx12};
    return addresses[static_cast<usize>(generation)];
  }
};

// A register at the same place everywhere.
constexpr Register everywhere(std::string_view name, u32 address) {
  return {name, address, address, address, address};
}

}  // namespace doorbell::amd::hw
