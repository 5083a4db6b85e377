// Finding a chip's row by name.
#include "drivers/nv/hw/isa/chip.h"

#include "base/util/named.h"

namespace doorbell::nv::hw {

std::span<const Chip> chips() { return kChips; }
const Chip* find_chip(std::string_view name) { return find_named(kChips, name); }
std::string chip_names() { return names_of(kChips); }

}  // namespace doorbell::nv::hw
