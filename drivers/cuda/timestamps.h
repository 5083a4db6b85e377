// Timestamps: the times of a stream, taken with events, since CUDA has no call that writes a time
// into memory. A timestamp in memory is the number of an event, written at submission; its time is
// asked for when a trace is read. The last kEvents numbers have a time.
//
// Thread safety: record() by one thread at a time; to_ns() from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/os/clock.h"
#include "drivers/cuda/context.h"

namespace doorbell::cuda {

class Timestamps {
 public:
  static constexpr u64 kEvents = 1 << 14;

  // shared_ptr: see context.h.
  Timestamps(std::shared_ptr<Context> context, os::Clock& clock)
      : context_(std::move(context)), clock_(clock) {}
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  // The number, above 0, of the time at which everything before on the stream is done. Once a
  // second it blocks until the device has taken a time to compare with. The context is current.
  Result<u64> record(CUstream stream);
  // Nanoseconds of the host's clock; 0 where the event was used again or has not happened.
  u64 to_ns(u64 number) const;

 private:
  // The same moment, by the device and by the host.
  struct Base {
    CUevent event;
    u64 ns;
  };
  struct Stamp {
    CUevent event;
    usize base;  // of bases_
  };
  Result<CUevent> make_event();
  Result<void> take_base();

  const std::shared_ptr<Context> context_;
  os::Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Stamp> stamps_;
  u64 last_ = 0;
  CUstream idle_ = nullptr;  // without other work, so that a base is taken at once
  std::vector<Base> bases_;
};

}  // namespace doorbell::cuda
