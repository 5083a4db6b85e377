// The table of chips.
#include "emulator/amd/isa/chip.h"

#include "base/util/named.h"

namespace doorbell::emu::amdgpu {

namespace {

using enum Generation;

// clang-format off
constexpr Chip kChips[] = {
  // name, version, set, 32 and 64 lanes, vgprs, granules, sgprs, lds, its unit, packed, scratch
  {"gfx942",   9, 4, 2,  Gfx9,  false, true, 512,  8,     8,     102,  65536, 512, true,  true},
  {"gfx950",   9, 5, 0,  Gfx9,  false, true, 512,  8,     8,     102, 163840, 1280, true,  true},
  {"gfx1030", 10, 3, 0,  Gfx10, true,  true, 256,  16,    8,     106,  65536, 512, false, false},
  {"gfx1100", 11, 0, 0,  Gfx11, true,  true, 256,  24,    12,    106,  65536, 512, true,  true},
  {"gfx1101", 11, 0, 1,  Gfx11, true,  true, 256,  24,    12,    106,  65536, 512, true,  true},
  {"gfx1102", 11, 0, 2,  Gfx11, true,  true, 256,  16,    8,     106,  65536, 512, true,  true},
  {"gfx1103", 11, 0, 3,  Gfx11, true,  true, 256,  16,    8,     106,  65536, 512, true,  true},
  {"gfx1150", 11, 5, 0,  Gfx11, true,  true, 256,  16,    8,     106,  65536, 512, true,  true},
  {"gfx1151", 11, 5, 1,  Gfx11, true,  true, 256,  24,    12,    106,  65536, 512, true,  true},
  {"gfx1200", 12, 0, 0,  Gfx12, true,  true, 256,  24,    12,    106,  65536, 512, true,  true},
  {"gfx1201", 12, 0, 1,  Gfx12, true,  true, 256,  24,    12,    106,  65536, 512, true,  true},
};
// clang-format on

}  // namespace

std::span<const Chip> chips() { return kChips; }
const Chip* find_chip(std::string_view name) { return find_named(kChips, name); }

}  // namespace doorbell::emu::amdgpu
