// IbStack: the indirect buffers that a command processor is executing: the one that the ring called
// first, the innermost last. Where the rule that there is only one is a warning, others nest.
#pragma once

#include <utility>
#include <vector>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

class IbStack {
 public:
  // A ring calls IB1; IB2 is the graphics engine's. [pal gfxCmdStream.cpp Call(); AMD-IB-002]
  static constexpr usize kDeepest = 1;

  struct Buffer {
    u64 base = 0;
    std::vector<u32> words;    // as they were when the buffer was called
    u32 next = 0;              // the word after the packet at hand
    u32 predicated_until = 0;  // PRED_EXEC reaches so far
    u32 predicate = 0;         // and leaves these XCCs

    u32 left() const { return static_cast<u32>(words.size()) - next; }
    // Of the XCCs `own`, those that execute the packet at `next`.
    u32 xccs(u32 own) const { return next < predicated_until ? predicate : own; }
  };

  bool empty() const { return buffers_.empty(); }
  usize depth() const { return buffers_.size(); }
  Buffer& innermost() { return buffers_.back(); }
  void push(Buffer buffer) { buffers_.push_back(std::move(buffer)); }
  void pop() { buffers_.pop_back(); }

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace doorbell::emu::amdgpu
