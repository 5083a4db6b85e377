// What the packets that a doorbell announced will use, as it was then: kernel arguments and
// indirect buffers of compute queues. From the doorbell on they are the GPU's, however far behind
// its processor is; who changes them meanwhile is found when the processor comes to the packet.
// Adversarial mode only; look_ahead.cc finds what is announced.
//
// Not everybody who changes them is wrong. The GPU's own packets and kernels may, as its queues
// order them: written() excuses what they wrote. So may the host while the queue waits for it:
// nothing behind a wait that does not hold yet is noted, until the processor has passed it. A
// kernel that polls memory is such a wait too, as soon as it is seen to poll.
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
    u64 end = 0;               // of the packet in the ring that uses them, or calls who does
  };

  void add(QueueId queue, Promise promise);
  // The bytes that were announced for the next use of `va` by the queue, once.
  std::optional<std::vector<u8>> take(QueueId queue, Kind kind, u64 va);
  // The queue has read up to here.
  void executed(QueueId queue, u64 read);
  void forget(QueueId queue) { queues_.erase(queue); }
  // The GPU itself has changed memory. What it changed of a buffer of packets makes everything
  // behind unknown.
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
