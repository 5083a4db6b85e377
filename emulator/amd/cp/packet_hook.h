// Where a test stands between a queue's memory and its processor: each packet passes here after it
// was fetched and before it is read, so that a driver's every barrier, wait and bit can be dropped
// or corrupted without touching the driver.
#pragma once

#include <vector>

#include "emulator/amd/cp/queue_description.h"
#include "emulator/core/hook_verdict.h"

namespace doorbell::emu::amdgpu {

// Thread safety: called from the GPU's thread.
class PacketHook {
 public:
  using Verdict = HookVerdict;

  virtual ~PacketHook() = default;
  // A PM4 or SDMA packet with its header, or the 16 words of an AQL packet. `words` may be changed:
  // a packet whose header has become that of a longer or shorter one has as many words of the
  // stream as that says. `ib_depth` is 0 in the ring. Later is for packets of indirect buffers that
  // are not the last.
  virtual Verdict packet(QueueId queue, QueueKind kind, unsigned ib_depth,
                         std::vector<u32>& words) = 0;
  // A value that the client stored at the doorbell; Skip: the store is lost.
  virtual Verdict doorbell(QueueId queue, u64& value) {
    static_cast<void>(queue), static_cast<void>(value);
    return Verdict::Take;
  }
};

}  // namespace doorbell::emu::amdgpu
