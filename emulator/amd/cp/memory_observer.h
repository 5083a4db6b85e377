// MemoryObserver: whoever has memory that a GPU's processors reach and looks at how they do: the
// buffer of a bridge from USB.
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// Thread safety: called from the GPU's thread, before the access.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  // By the host's address; a poll reads a word again and again.
  virtual void read(const u8* at, u64 bytes, bool is_poll) = 0;
  virtual void written(const u8* at, u64 bytes) = 0;
};

}  // namespace doorbell::emu::amdgpu
