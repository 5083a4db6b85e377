// Finding a chip's row by name.
#include "drivers/amd/hw/isa/chip.h"

#include "base/util/named.h"

namespace doorbell::amd::hw {

std::span<const Chip> chips() { return kChips; }
const Chip* find_chip(std::string_view name) { return find_named(kChips, name); }
std::string chip_names() { return names_of(kChips); }

}  // namespace doorbell::amd::hw
