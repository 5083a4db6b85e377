// What other instructions do with an mbarrier: see mbarrier.cc.
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::nvgpu {

struct Warp;

// The copy that `lane` began has written `bytes`, which the object at this shared address expects
// or will expect. False: a rule was broken, and the warp is stopped.
bool complete_bytes(Warp& warp, u32 lane, u32 address, i64 bytes);

}  // namespace doorbell::emu::nvgpu
