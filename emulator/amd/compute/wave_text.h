// A wave's registers as text. For all waves of a grid see describe_waves() in grid.h.
#pragma once

#include <string>

#include "emulator/amd/compute/work_group.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// PC, masks and modes, then scalar registers, eight on a line, then each vector register that is
// not zero in all lanes, eight lanes on a line.
std::string to_text(const Wave& wave);
// The same of one wave of a group, which the first line names.
std::string to_text(const WorkGroup& group, usize wave);
// The work group's LDS, eight words on a line, without lines of zeros.
std::string lds_text(const Wave& wave);

}  // namespace doorbell::emu::amdgpu
