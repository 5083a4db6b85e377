// The configuration space of an emulated card, as its bus shows it: a header of type 0 without
// capabilities.
#pragma once

#include <array>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

class BareGpu;

using ConfigSpace = std::array<u8, 256>;

ConfigSpace make_config_space(const BareGpu& gpu, u16 device_id);

}  // namespace doorbell::emu::amdgpu
