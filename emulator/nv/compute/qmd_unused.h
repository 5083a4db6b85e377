// What a descriptor of a grid says that nothing reads, or that is not emulated. See qmd_check.cc
// for the other rules of descriptors.
#pragma once

#include <string>
#include <vector>

#include "drivers/nv/hw/qmd/qmd.h"

namespace doorbell::emu::nvgpu {

// Fields that are not 0 although the field that turns them on is 0, each as
// "RELEASE1_PAYLOAD is 0x7, RELEASE1_ENABLE is 0".
std::vector<std::string> unused_fields(const nv::hw::Qmd& qmd);

// Fields that no open driver sets, and that are not 0: "DEBUG_ID is 0x1".
std::vector<std::string> unknown_fields(const nv::hw::Qmd& qmd);

// Fields that ask for what is not emulated: "WAIT_ON_LATCH_VALID is 0x1".
std::vector<std::string> fields_not_emulated(const nv::hw::Qmd& qmd);

}  // namespace doorbell::emu::nvgpu
