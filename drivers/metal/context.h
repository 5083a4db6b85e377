// Context: a device, its queue, and what was given to it. Launches are collected in one command
// buffer until a submission ends: a command buffer and its encoder cost more than a dispatch.
// Dispatches of an encoder run one after another, and so do command buffers of a queue [Apple,
// MTLDispatchType: "serial"; "Setting up a command structure"].
//
// Thread safety: what takes a Lock is called with it; the rest from any thread.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "drivers/metal/device.h"

namespace doorbell::metal {

class Context {
 public:
  static Result<std::unique_ptr<Context>> open(const Api& api, usize index, std::string name,
                                               const Options& options);
  ~Context();

  using Lock = std::lock_guard<std::mutex>;
  std::mutex& mutex() { return mutex_; }
  const Api& api() const { return api_; }
  Id device() const { return device_.get(); }
  const DeviceInfo& info() const { return info_; }

  // An encoder of the command buffer that is collected, for compute or for copies. Null with an
  // error that take_error() has, where Metal gives none.
  Id compute_encoder(std::string_view kernel);
  Id blit_encoder();
  // The number of what was encoded last.
  u64 encoded();
  // Commits what was collected.
  void flush();
  // Looks which command buffers are done; never waits.
  void poll();

  // Without a lock.
  u64 last() const { return last_.load(std::memory_order_acquire); }
  u64 finished() const { return finished_.load(std::memory_order_acquire); }
  // Until work up to this number is done. An error if the thread is asked to stop meanwhile
  // (base/util/stop.h).
  Result<void> wait(u64 number);
  // Waits while more is in flight than the queue holds.
  Result<void> wait_for_room();
  // The first error that no call got, once.
  Result<void> take_error();
  Result<void> usable() const { return api_.check_process(); }

 private:
  // Work that is encoded but not committed, so that the GPU starts early; command buffers that are
  // committed but not done, of which the queue has room for kQueueRoom.
  static constexpr u32 kMostCollected = 256;
  static constexpr u64 kQueueRoom = 64, kMostInFlight = 48;

  struct Committed {
    Owned buffer;
    u64 last;                 // number of its last work
    std::string_view kernel;  // where kernels are traced: the one that is in it
  };

  Context(const Api& api, std::string name, const Options& options)
      : api_(api), name_(std::move(name)), trace_(options.trace) {}
  void read_info(const Options& options);
  Id encoder(Sel make, bool is_compute);
  void end_encoder();
  void note(const std::string& message);
  void add_span(const Committed& done);

  const Api& api_;
  const std::string name_;
  hcq::Trace* const trace_;
  i64 clock_offset_ns_ = 0;  // the host's clock minus Metal's
  DeviceInfo info_;
  Owned device_, queue_;

  std::mutex mutex_;  // guards what follows
  Owned collecting_, encoder_;
  bool is_compute_ = false;
  u32 collected_ = 0;
  std::string_view kernel_;
  std::deque<Committed> in_flight_;
  std::unique_ptr<Error> error_;

  std::atomic<u64> last_{0}, finished_{0}, buffers_in_flight_{0};
};

}  // namespace doorbell::metal
