// NvEvents: how the host waits for a device's queues beyond spinning: it looks at the signal now
// and then, and at what RM reports of the channels.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <mutex>
#include <vector>

#include "base/os/clock.h"
#include "hcq/signal/event.h"

namespace doorbell::nv {

class NvQueue;

class NvEvents final : public hcq::Event {
 public:
  explicit NvEvents(os::Clock& clock) : clock_(clock) {}

  void add(NvQueue& queue);
  void remove(NvQueue& queue);

  Result<void> block(const hcq::Signal& signal, u64 seen, u64 timeout_ns) override;
  void notify(const hcq::Signal& signal) override;

 private:
  // Queues whose channels RM ended die.
  void look();

  os::Clock& clock_;
  std::mutex mutex_;  // guards queues_
  std::vector<NvQueue*> queues_;
};

}  // namespace doorbell::nv
