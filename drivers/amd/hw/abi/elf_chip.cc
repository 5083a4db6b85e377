// The numbers of chips.
#include "drivers/amd/hw/abi/elf_chip.h"

#include "drivers/amd/hw/isa/chip.h"

namespace doorbell::amd::hw {

namespace {

struct Row {
  u8 number;
  std::string_view chip;
};

// Chips that are only named in messages; hw/isa/chip.h has the others.
constexpr Row kOthers[] = {
    {0x2c, "gfx900"},  {0x2f, "gfx906"},  {0x30, "gfx908"},  {0x3f, "gfx90a"},  {0x33, "gfx1010"},
    {0x37, "gfx1031"}, {0x38, "gfx1032"}, {0x39, "gfx1033"}, {0x3e, "gfx1034"}, {0x3d, "gfx1035"},
    {0x45, "gfx1036"}, {0x55, "gfx1152"}, {0x58, "gfx1153"},
};

}  // namespace

std::string_view chip_of_elf_flags(u32 flags) {
  for (const Chip& chip : chips())
    if (chip.elf_machine == static_cast<u8>(flags)) return chip.name;
  for (const Row& row : kOthers)
    if (row.number == static_cast<u8>(flags)) return row.chip;
  return {};
}

bool is_xnack_on(u32 flags, u8 abi_version) {
  constexpr u8 kVersion4 = 2;  // ELFABIVERSION_AMDGPU_HSA_V4
  constexpr u32 kXnackV3 = 0x100, kXnackV4 = 0x300, kXnackOnV4 = 0x300;
  return abi_version < kVersion4 ? (flags & kXnackV3) != 0 : (flags & kXnackV4) == kXnackOnV4;
}

}  // namespace doorbell::amd::hw
