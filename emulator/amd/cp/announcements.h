// What the packets that a doorbell announced will use, as it was at the doorbell: kernel arguments
// and indirect buffers of compute queues. They belong to the GPU from the doorbell on, however far
// behind its processor is. A change by the host is found when the processor comes to the packet.
// Adversarial mode only; see look_ahead.h for how they are found.
//
// Two kinds of changes are allowed. Packets and kernels of the GPU may change them, in the order of
// its queues: written() takes note of that. The host may change what is behind a wait that does not
// hold yet: it is not noted until the processor has passed the wait. A kernel that polls memory is
// such a wait, as soon as it is seen to poll.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "emulator/amd/cp/queue_description.h"

namespace doorbell::emu::amdgpu {

// Thread safety: under the GPU's lock.
class Announcements {
 public:
  enum class Kind : u8 { Arguments, Buffer };
  struct Promise {
    Kind kind = Kind::Arguments;
    u64 va = 0;
    const u8* host = nullptr;  // the same bytes may have several addresses
    std::vector<u8> bytes;     // as announced
    u64 end = 0;               // of the packet in the ring that uses them, or calls their user
  };

  void add(QueueId queue, Promise promise);
  // The bytes that were announced for the next use of `va` by the queue, once.
  std::optional<std::vector<u8>> take(QueueId queue, Kind kind, u64 va);
  // The queue has read up to here.
  void executed(QueueId queue, u64 read);
  void forget(QueueId queue) { queues_.erase(queue); }
  // The GPU itself has changed memory. If that was a buffer of packets, everything behind it is
  // unknown.
  void written(const u8* host, u64 bytes);
  // Whether that has happened to the queue since this was asked last.
  bool take_unknown(QueueId queue);

 private:
  struct OfQueue {
    std::vector<Promise> promises;  // in the order of use
    bool unknown = false;
  };

  std::map<QueueId, OfQueue> queues_;
  const u8* first_ = nullptr;  // all promises lie in [first_, last_)
  const u8* last_ = nullptr;
};

}  // namespace doorbell::emu::amdgpu
