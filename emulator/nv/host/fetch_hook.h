// FetchHook: sees what a GPU reads from its channels, as it reads it, and may change it: for tests
// that send a GPU what no driver sends.
#pragma once

#include <span>

#include "base/util/types.h"
#include "drivers/nv/hw/class_id.h"
#include "emulator/core/hook_verdict.h"

namespace doorbell::emu::nvgpu {

struct Fetched {
  enum class Kind : u8 {
    Doorbell,    // a token
    Entry,       // two words of a ring
    Header,      // a header of methods
    Data,        // what one method is given
    Descriptor,  // as many words as the newest version has
    Constants,   // a constant buffer of a grid, which is always taken
  };
  Kind kind;
  u32 channel = 0;                            // from 1, in the order in which they were made
  nv::hw::ClassId bound = nv::hw::ClassId();  // of a header's or method's subchannel
  u32 method = 0;                             // of data; of constants the buffer's number
  bool is_last = false;                       // of an entry: none is behind it yet
};

class FetchHook {
 public:
  // Headers are always taken; of the kinds only entries and data come later.
  using Verdict = HookVerdict;

  virtual ~FetchHook() = default;
  virtual Verdict fetched(const Fetched& what, std::span<u32> words) = 0;
};

}  // namespace doorbell::emu::nvgpu
