// KfdEvents: how the host sleeps until a GPU interrupts, and learns of faults. One thread waits in
// the kernel, for the events of all queues and for faults.
//
// A queue raises its event by writing the event's number into its mailbox and interrupting with
// that number. [Linux kfd_events.c, kfd_signal_event_interrupt()]
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "core/device/allocator.h"
#include "drivers/amd/hw/kfd.h"
#include "hcq/signal/event.h"
#include "hcq/signal/single_waiter.h"

namespace doorbell::amd {

class Kfd;

class KfdEvents final : public hcq::Event {
 public:
  // What a queue writes and sends.
  struct Interrupt {
    u32 event_id = 0;
    u64 mailbox = 0;
  };
  // Told by whichever thread learns of it, one at a time; it may neither add nor remove listeners.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_memory_exception(const hw::KfdMemoryException& exception) = 0;
    virtual void on_hw_exception(const hw::KfdHwException& exception) = 0;
    // Some event came, maybe of a queue that cannot go on: the listener looks at its own.
    virtual void on_event() {}
  };

  explicit KfdEvents(Kfd& kfd) : kfd_(kfd) {}
  ~KfdEvents() override;

  // The event page and the events of faults; once there is shared memory. Later calls do nothing.
  Result<void> open();
  Result<Interrupt> make_interrupt();
  void release_interrupt(const Interrupt& interrupt);
  // Calls the listener for what happens on its GPU until remove_listener().
  void add_listener(u32 gpu_id, Listener& listener);
  // Returns when the listener is not called any more, and will not be.
  void remove_listener(Listener& listener);

  // What the kernel refuses names the events. Signals (EINTR) and events that are released
  // meanwhile only end the wait early.
  Result<void> block(const hcq::Signal& signal, u64 seen, u64 timeout_ns) override;
  void notify(const hcq::Signal& signal) override;
  // Tells listeners what has happened, without waiting.
  Result<void> look() { return wait_once(0); }

 private:
  struct Heard {
    u32 gpu_id;
    Listener* listener;
  };
  Result<hw::KfdCreateEvent> create(u32 type);
  void destroy(u32 event_id);
  // In the kernel, for the events of the moment.
  Result<void> wait_once(u32 timeout_ms);
  void tell(std::span<const hw::KfdEventData> events);

  Kfd& kfd_;
  hcq::SingleWaiter waiter_;
  std::mutex mutex_;  // guards what follows
  bool is_open_ = false;
  core::Allocation page_;
  u32 memory_event_ = 0, hw_event_ = 0;
  std::vector<u32> signal_events_;
  u64 released_ = 0;            // events so far
  std::mutex listeners_mutex_;  // guards listeners_; held while they are called
  std::vector<Heard> listeners_;
};

}  // namespace doorbell::amd
