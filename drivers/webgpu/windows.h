// Windows: which bindings the params of a launch get, and which part of a buffer each shows.
// Params in one buffer share a binding while one of the adapter's size spans them; a buffer that is
// larger gets several, apart from each other. WebGPU allows that where all are read_write, and no
// two overlap [WebGPU 3.4.5 "Resource Usages"; 16.1, "encoder bind groups alias a writable
// resource"].
#pragma once

#include <span>
#include <vector>

#include "base/util/result.h"
#include "drivers/webgpu/hw/abi/bindings.h"

namespace doorbell::webgpu {

// A param's part of a buffer.
struct Use {
  u64 memory, memory_bytes;  // which buffer, by any number
  u64 begin, end;
  bool written;
};
struct BindingLimits {
  u64 bytes, alignment;  // of a binding, and of its offset
  u64 bindings;          // of a kernel
};
struct Window {
  usize param;  // one that lies in it
  u64 offset, bytes;
};
struct Windows {
  hw::Sharing sharing;
  std::vector<Window> windows;  // by binding
};

// Unsupported: a param, or two that overlap, are larger than a binding; too many bindings.
Result<Windows> place_windows(std::span<const Use> uses, const BindingLimits& limits);

}  // namespace doorbell::webgpu
