// Context: a device with its queue, and the launches that are being collected for it. Launches and
// copies go into one command encoder until flush() submits them together; they are numbered from 1,
// and run in that order.
//
// Thread safety: Lock before anything else, and keep it until the numbers that follow from the call
// are stored: all functions, but for those that say otherwise, want it. The library's callbacks may
// come in any of its functions, on any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/util/try.h"
#include "drivers/webgpu/adapters.h"
#include "drivers/webgpu/timestamps.h"

namespace doorbell::webgpu {

class Context {
 public:
  // `name`: the device's, for errors.
  static Result<std::unique_ptr<Context>> open(const Api& api, Instance instance,
                                               FoundAdapter adapter, std::string name,
                                               hcq::Trace* trace);
  ~Context();

  using Lock = std::lock_guard<std::mutex>;
  std::mutex& mutex() { return mutex_; }
  const Api& api() const { return api_; }
  Device device() const { return device_.get(); }
  Queue queue() const { return queue_.get(); }
  const DeviceInfo& info() const { return adapter_.info; }

  // Makes an object. An error is of the library's kind and has its message.
  template <class T, class Descriptor>
  Result<Owned<T>> make(T (*Api::*create)(Device, const Descriptor*), void (*Api::*release)(T),
                        const Descriptor& descriptor) {
    const bool earlier = has_error();
    push_scopes();
    Owned<T> made(api_, (api_.*create)(device(), &descriptor), release);
    TRY(pop_scopes());
    TRY(usable());
    // What no scope takes was noted meanwhile.
    if (!earlier) {
      TRY(take_error());
    }
    if (made.get() == nullptr) return error_of(ErrorType::Unknown, "it made nothing");
    return made;
  }

  // Its number. `name` outlives the device.
  u64 launch(std::string_view name, ComputePipeline pipeline, BindGroup group,
             const u32 (&groups)[3]);
  u64 copy(BufferHandle from, u64 from_offset, BufferHandle to, u64 to_offset, u64 bytes);
  // Submits what was collected.
  void flush();
  // Whether work up to this number, and no more, was submitted.
  bool is_submitted(u64 number) const { return number <= submitted_; }
  // Lets the library make progress; never waits.
  void poll();

  // Without a lock.
  u64 last() const { return last_.load(std::memory_order_acquire); }
  u64 finished() const { return finished_.load(std::memory_order_acquire); }
  // Waits until work up to this number is done. It is an error if the thread is asked to stop
  // meanwhile (base/util/stop.h), or if the device is lost.
  Result<void> wait(u64 number);
  // Waits while more is in flight than the queue should hold.
  Result<void> wait_for_room();
  // The first error that no call got, once; always, if the device is lost.
  Result<void> take_error();
  // Of this process, and not lost.
  Result<void> usable() const;

 private:
  // Work that is recorded but not submitted, so that the GPU starts early; and submitted but not
  // done.
  static constexpr u32 kMostCollected = 256;
  static constexpr u64 kMostInFlight = 4096;

  Context(const Api& api, FoundAdapter adapter, std::string name)
      : api_(api), adapter_(std::move(adapter)), name_(std::move(name)) {}
  Result<void> request_device(Instance instance);
  Error error_of(ErrorType type, std::string_view message) const;
  bool has_error() const;
  void note(ErrorType type, std::string_view message);
  void push_scopes();
  Result<void> pop_scopes();
  CommandEncoder encoder();  // outside a pass
  ComputePass pass(std::string_view kernel);
  void end_pass();
  u64 collected();
  Result<void> wait_until(u64 number);

  const Api& api_;
  const FoundAdapter adapter_;
  const std::string name_;
  Instance instance_{};  // of the process, never released
  Owned<Device> device_;
  Owned<Queue> queue_;
  std::unique_ptr<Timestamps> timestamps_;  // where kernels are traced

  std::mutex mutex_;  // guards what follows
  Owned<CommandEncoder> encoder_;
  Owned<ComputePass> pass_;
  ComputePipeline pipeline_{};  // of the pass
  u32 collected_ = 0;
  u64 submitted_ = 0;

  std::atomic<u64> last_{0}, finished_{0};
  mutable std::mutex errors_;  // guards what follows; taken last
  std::unique_ptr<Error> error_;
  std::string lost_;  // why; empty: it is not
};

}  // namespace doorbell::webgpu
