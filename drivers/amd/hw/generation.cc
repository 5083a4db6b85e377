// Chips by name: which generation each is of.
#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

// The last two characters are minor version and stepping, in hex. [LLVM AMDGPUUsage "Processors"]
std::optional<Generation> generation_of(std::string_view chip) {
  constexpr std::string_view kPrefix = "gfx";
  if (!chip.starts_with(kPrefix) || chip.size() < kPrefix.size() + 3) return std::nullopt;
  const std::string_view major = chip.substr(kPrefix.size(), chip.size() - kPrefix.size() - 2);
  if (major == "9") return Generation::Gfx9;
  if (major == "10") return Generation::Gfx10;
  if (major == "11") return Generation::Gfx11;
  if (major == "12") return Generation::Gfx12;
  return std::nullopt;
}

// [torvalds/linux kfd_device.c gfx_target_version: major * 10000 + minor * 100 + stepping]
std::optional<Generation> generation_of_version(u64 version) {
  switch (version / 10000) {
    case 9: return Generation::Gfx9;
    case 10: return Generation::Gfx10;
    case 11: return Generation::Gfx11;
    case 12: return Generation::Gfx12;
    default: return std::nullopt;
  }
}

}  // namespace doorbell::amd::hw
