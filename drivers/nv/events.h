// NvEvents: how the host waits for a device's queues beyond spinning: it blocks until a channel
// interrupts, and looks at what RM reports of the channels. Without an event of RM's it sleeps, and
// looks at the signal now and then.
//
// Thread safety: all functions may be called from any thread, but use().
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/os/clock.h"
#include "drivers/nv/kernel/nvk_interrupts.h"
#include "hcq/signal/event.h"
#include "hcq/signal/single_waiter.h"

namespace doorbell::nv {

class NvQueue;

class NvEvents final : public hcq::Event {
 public:
  explicit NvEvents(os::Clock& clock) : clock_(clock) {}

  // Before anything waits.
  void use(std::unique_ptr<NvkInterrupts> interrupts) { interrupts_ = std::move(interrupts); }
  void add(NvQueue& queue);
  void remove(NvQueue& queue);

  Result<void> block(const hcq::Signal& signal, u64 seen, u64 timeout_ns) override;
  void notify(const hcq::Signal& signal) override;

 private:
  // Queues whose channels RM ended die.
  void look();
  void sleep(const hcq::Signal& signal, u64 seen, u64 timeout_ns);

  os::Clock& clock_;
  std::unique_ptr<NvkInterrupts> interrupts_;  // null: there are none
  hcq::SingleWaiter waiter_;
  std::mutex mutex_;  // guards queues_
  std::vector<NvQueue*> queues_;
};

}  // namespace doorbell::nv
