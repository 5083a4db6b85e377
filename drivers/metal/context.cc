// Opening, collecting, committing and waiting.
#include "drivers/metal/context.h"

#include <time.h>

#include "base/os/host.h"
#include "base/util/stop.h"
#include "base/util/try.h"

namespace doorbell::metal {
namespace {

// Metal's times are in seconds of the clock that stands while a Mac sleeps [Apple,
// MTLCommandBuffer, "GPUStartTime"]; elsewhere an emulated Metal takes the steady one.
#ifdef CLOCK_UPTIME_RAW
constexpr clockid_t kMetalClock = CLOCK_UPTIME_RAW;
#else
constexpr clockid_t kMetalClock = CLOCK_MONOTONIC;
#endif

i64 metal_now_ns() {
  timespec now{};
  clock_gettime(kMetalClock, &now);
  return i64{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Result<std::unique_ptr<Context>> Context::open(const Api& api, usize index, std::string name,
                                               const Options& options) {
  const Pool pool(api);
  std::unique_ptr<Context> context(new Context(api, std::move(name), options));
  const Owned all(api, api.MTLCopyAllDevices());
  const u64 count = all.get() == nullptr ? 0 : api.send<u64>(all.get(), api.sel.count);
  if (index >= count)
    return fail(ErrorKind::NotFound, "{}: Metal device {} of {}", context->name_, index, count);
  context->device_ =
      Owned::retained(api, api.send<Id>(all.get(), api.sel.object_at, static_cast<u64>(index)));
  context->queue_ = Owned(api, api.send<Id>(context->device(), api.sel.new_queue, u64{kQueueRoom}));
  if (context->queue_.get() == nullptr)
    return fail(ErrorKind::Os, "{}: Metal gives no command queue", context->name_);
  context->read_info(options);
  context->clock_offset_ns_ = static_cast<i64>(os::host_clock().now_ns()) - metal_now_ns();
  return context;
}

void Context::read_info(const Options& options) {
  const auto number = [&](Sel selector) {
    return static_cast<i64>(api_.send<u64>(device(), selector));
  };
  info_.name = api_.text_of(api_.send<Id>(device(), api_.sel.name));
  info_.apple7 = api_.send<bool>(device(), api_.sel.supports_family, kFamilyApple7);
  const Id process = api_.send<Id>(api_.process_info, api_.sel.process_info);
  info_.bfloat = options.bfloat && info_.apple7 &&
                 api_.send<bool>(process, api_.sel.is_at_least, OsVersion{14, 0, 0});
  // Before M3, commands of an indirect command buffer crash the GPU unless each pipeline is set
  // outside of it too. [tinygrad/tinygrad tinygrad/runtime/graph/metal.py, "FIX_METAL_ICB", at
  // 0026097]
  info_.indirect = options.indirect && trace_ == nullptr &&
                   api_.send<bool>(device(), api_.sel.supports_family, kFamilyApple9);
  info_.unified = api_.send<bool>(device(), api_.sel.has_unified_memory);
  info_.buffer_bytes = number(api_.sel.max_buffer_length);
  info_.memory_bytes = number(api_.sel.working_set);
  info_.group_bytes = number(api_.sel.max_group_memory);
}

Context::~Context() {
  if (!api_.process.is_same_process()) return;
  const Pool pool(api_);
  Lock lock(mutex_);
  end_encoder();  // what is not committed never runs
  // Memory that work in flight uses is about to go.
  if (!in_flight_.empty()) api_.send(in_flight_.back().buffer.get(), api_.sel.wait);
}

void Context::note(const std::string& message) {
  if (error_ != nullptr) return;
  error_ = std::make_unique<Error>(fail(ErrorKind::Os, "{}", message));
  error_->device = name_;
}

void Context::end_encoder() {
  if (encoder_.get() == nullptr) return;
  api_.send(encoder_.get(), api_.sel.end_encoding);
  encoder_ = {};
}

Id Context::encoder(Sel make, bool is_compute) {
  if (encoder_.get() != nullptr && is_compute_ == is_compute) return encoder_.get();
  end_encoder();
  if (collecting_.get() == nullptr)
    collecting_ = Owned::retained(api_, api_.send<Id>(queue_.get(), api_.sel.command_buffer));
  if (collecting_.get() != nullptr)
    encoder_ = Owned::retained(api_, api_.send<Id>(collecting_.get(), make));
  if (encoder_.get() == nullptr) note("Metal gives no command buffer or encoder");
  is_compute_ = is_compute;
  return encoder_.get();
}

// A command buffer has times, a dispatch in it has none: a traced kernel gets one of its own.
Id Context::compute_encoder(std::string_view kernel) {
  if (trace_ != nullptr) flush();
  kernel_ = kernel;
  return encoder(api_.sel.compute_encoder, true);
}

Id Context::blit_encoder() {
  if (trace_ != nullptr) flush();
  kernel_ = {};
  return encoder(api_.sel.blit_encoder, false);
}

u64 Context::encoded() {
  const u64 number = last_.load(std::memory_order_relaxed) + 1;
  last_.store(number, std::memory_order_release);
  if (++collected_ >= kMostCollected) flush();
  return number;
}

void Context::flush() {
  if (collecting_.get() == nullptr) return;
  end_encoder();
  api_.send(collecting_.get(), api_.sel.commit);
  in_flight_.push_back({std::move(collecting_), last_.load(std::memory_order_relaxed), kernel_});
  collecting_ = {};
  collected_ = 0;
  buffers_in_flight_.store(in_flight_.size(), std::memory_order_relaxed);
}

void Context::add_span(const Committed& done) {
  if (trace_ == nullptr || done.kernel.empty()) return;
  const auto ns = [&](Sel selector) {
    return static_cast<u64>(static_cast<i64>(api_.send<f64>(done.buffer.get(), selector) * 1e9) +
                            clock_offset_ns_);
  };
  trace_->add({name_, "compute", std::string(done.kernel), "kernel", ns(api_.sel.gpu_start),
               ns(api_.sel.gpu_end)});
}

void Context::poll() {
  const Pool pool(api_);
  while (!in_flight_.empty()) {
    const Committed& first = in_flight_.front();
    const auto status = api_.send<Status>(first.buffer.get(), api_.sel.status);
    if (status != Status::Completed && status != Status::Error) break;
    if (status == Status::Error)
      note("the GPU did not finish its work: " +
           api_.reason(api_.send<Id>(first.buffer.get(), api_.sel.error)));
    add_span(first);
    finished_.store(first.last, std::memory_order_release);
    in_flight_.pop_front();
  }
  buffers_in_flight_.store(in_flight_.size(), std::memory_order_relaxed);
}

Result<void> Context::wait(u64 number) {
  if (finished() >= number) return {};
  const Pool pool(api_);
  {
    Lock lock(mutex_);
    if (in_flight_.empty() || in_flight_.back().last < number) flush();
  }
  for (u32 turn = 0; finished() < number; ++turn) {
    {
      Lock lock(mutex_);
      poll();
    }
    if (finished() >= number) break;
    if (stop_asked()) return fail(ErrorKind::Timeout, "the wait for {} was stopped", name_);
    os::host_clock().relax(turn);
  }
  return {};
}

// A queue without room would block in commandBuffer, under the lock.
Result<void> Context::wait_for_room() {
  while (buffers_in_flight_.load(std::memory_order_relaxed) >= kMostInFlight) {
    u64 number;
    {
      Lock lock(mutex_);
      poll();
      if (in_flight_.size() < kMostInFlight) break;
      number = in_flight_[in_flight_.size() / 2].last;
    }
    TRY(wait(number));
  }
  return {};
}

Result<void> Context::take_error() {
  Lock lock(mutex_);
  if (error_ == nullptr) return {};
  return std::move(*std::exchange(error_, nullptr));
}

}  // namespace doorbell::metal
