// Finding a chip's row by name.
#include "drivers/nv/hw/isa/chip.h"

#include <algorithm>

namespace doorbell::nv::hw {

std::span<const Chip> chips() { return kChips; }

const Chip* find_chip(std::string_view name) {
  const auto found = std::ranges::find(kChips, name, &Chip::name);
  return found == std::end(kChips) ? nullptr : found;
}

std::string chip_names() {
  std::string names;
  for (const Chip& chip : kChips) names.append(names.empty() ? "" : ", ").append(chip.name);
  return names;
}

}  // namespace doorbell::nv::hw
