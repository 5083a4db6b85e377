// The amount of released memory that a device in host memory keeps for new tensors.
#pragma once

#include <unistd.h>

#include "core/util/config.h"

namespace doorbell::runtime {

// A quarter of the machine's memory, or none with LRU=0.
inline i64 max_cached_host_bytes(const core::Config& config) {
  const i64 pages = static_cast<i64>(sysconf(_SC_PHYS_PAGES));
  return config.lru ? pages * static_cast<i64>(sysconf(_SC_PAGE_SIZE)) / 4 : 0;
}

}  // namespace doorbell::runtime
