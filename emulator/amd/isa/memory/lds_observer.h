// LdsObserver: who is told of each access of LDS, before it happens: the counter of bank conflicts
// (isa/count), or the detector of races (isa/races). A wave without one (Wave::lds_observer) pays
// one branch.
#pragma once

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

struct Operation;
struct Wave;

enum class LdsAccess : u8 {
  Load,
  Store,
  Copy,          // of a load from memory to LDS, which stores at any time until it is waited for
  Atomic,        // an atomic operation
  AtomicResult,  // one that returns the value before
};
constexpr bool is_atomic(LdsAccess access) { return access >= LdsAccess::Atomic; }

class LdsObserver {
 public:
  // The lanes of `active` access [address[lane], address[lane] + bytes), all in the same way. An
  // instruction with two addresses is told twice. Addresses may be beyond the group's LDS.
  virtual void accessed(const Wave& wave, const Operation& op, u64 active, const u32* address,
                        u32 bytes, LdsAccess access) = 0;

 protected:
  ~LdsObserver() = default;
};

}  // namespace doorbell::emu::amdgpu
