// Finds adapters. The null backend, which computes nothing, is none.
#pragma once

#include <vector>

#include "drivers/webgpu/api.h"
#include "drivers/webgpu/device.h"

namespace doorbell::webgpu {

struct FoundAdapter {
  Owned<Adapter> adapter;
  Limits limits;
  DeviceInfo info;
};

// Those whose name has `options.adapter` in it; without one, those that are no software. If none is
// left, the error names the ones that were found.
Result<std::vector<FoundAdapter>> find_adapters(const Api& api, Instance instance,
                                                const Options& options);

}  // namespace doorbell::webgpu
