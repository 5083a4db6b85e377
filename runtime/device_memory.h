// The amount of released memory that a device in host memory keeps for new tensors.
#pragma once

#include "base/os/physical_memory.h"
#include "core/util/config.h"

namespace doorbell::runtime {

// A quarter of the machine's memory, or none with LRU=0.
inline i64 max_cached_host_bytes(const core::Config& config) {
  return config.lru ? static_cast<i64>(os::physical_memory_bytes() / 4) : 0;
}

}  // namespace doorbell::runtime
