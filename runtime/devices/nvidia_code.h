// The renderers of NVIDIA's GPUs, which the devices CUDA and NV share.
#pragma once

#include <vector>

#include "runtime/device_kind.h"

namespace doorbell::runtime {

std::vector<RendererKind> nvidia_renderers();

}  // namespace doorbell::runtime
