// Query sets, and the one measurement that relates the clocks.
#include "drivers/webgpu/timestamps.h"

#include "base/os/host.h"
#include "base/util/try.h"

namespace doorbell::webgpu {

// What a map's callback gets; it deletes it.
struct Timestamps::Batch {
  Timestamps* owner;
  std::vector<std::string_view> kernels;
  Owned<BufferHandle> buffer;
  u64* raw = nullptr;  // gets the times of the first kernel instead of the trace
};

Timestamps::Timestamps(const Api& api, Device device, Target target)
    : api_(api), device_(device), target_(std::move(target)) {}

Timestamps::~Timestamps() = default;

Owned<BufferHandle> Timestamps::make_buffer(u64 usage) const {
  BufferDescriptor descriptor;
  descriptor.usage = usage;
  descriptor.size = 2 * kKernels * sizeof(u64);
  return Owned<BufferHandle>(api_, api_.DeviceCreateBuffer(device_, &descriptor),
                             &Api::BufferRelease);
}

Result<std::unique_ptr<Timestamps>> Timestamps::make(const Api& api, Instance instance,
                                                     Device device, Queue queue, Target target) {
  std::unique_ptr<Timestamps> made(new Timestamps(api, device, std::move(target)));
  QuerySetDescriptor descriptor;
  descriptor.count = 2 * kKernels;
  made->set_ =
      Owned<QuerySet>(api, api.DeviceCreateQuerySet(device, &descriptor), &Api::QuerySetRelease);
  made->resolved_ = made->make_buffer(kUsageQueryResolve | kUsageCopyFrom);
  // The standard's are nanoseconds; wgpu-native's are the device's ticks.
  if (api.QueueGetTimestampPeriod != nullptr) made->tick_ns_ = api.QueueGetTimestampPeriod(queue);
  // A pass without work ends just before the host sees it.
  Owned<CommandEncoder> encoder(api, api.DeviceCreateCommandEncoder(device, nullptr),
                                &Api::CommandEncoderRelease);
  const TimestampWrites writes = made->begin("");
  ComputePassDescriptor pass;
  pass.timestamps = &writes;
  {
    Owned<ComputePass> empty(api, api.CommandEncoderBeginComputePass(encoder.get(), &pass),
                             &Api::ComputePassEncoderRelease);
    api.ComputePassEncoderEnd(empty.get());
  }
  made->resolve(encoder.get());
  u64 times[2] = {};
  made->pending_->raw = times;
  const Owned<CommandBufferHandle> commands(api, api.CommandEncoderFinish(encoder.get(), nullptr),
                                            &Api::CommandBufferRelease);
  const CommandBufferHandle handle = commands.get();
  api.QueueSubmit(queue, 1, &handle);
  made->read();
  for (u32 turn = 0; made->is_reading(); ++turn) {
    if (api.DevicePoll != nullptr) api.DevicePoll(device, 0, nullptr);
    api.InstanceProcessEvents(instance);
    if (made->is_reading()) os::host_clock().relax(turn);
  }
  made->offset_ns_ = static_cast<i64>(os::host_clock().now_ns()) -
                     static_cast<i64>(static_cast<f64>(times[1]) * made->tick_ns_);
  return made;
}

TimestampWrites Timestamps::begin(std::string_view kernel) {
  const u32 first = 2 * static_cast<u32>(kernels_.size());
  kernels_.push_back(kernel);
  return {nullptr, set_.get(), first, first + 1};
}

void Timestamps::resolve(CommandEncoder encoder) {
  if (kernels_.empty()) return;
  const u32 count = 2 * static_cast<u32>(kernels_.size());
  pending_ = std::make_unique<Batch>();
  pending_->owner = this;
  pending_->kernels = std::exchange(kernels_, {});
  pending_->buffer = make_buffer(kUsageMapRead | kUsageCopyTo);
  api_.CommandEncoderResolveQuerySet(encoder, set_.get(), 0, count, resolved_.get(), 0);
  api_.CommandEncoderCopyBufferToBuffer(encoder, resolved_.get(), 0, pending_->buffer.get(), 0,
                                        count * sizeof(u64));
}

void Timestamps::read() {
  if (pending_ == nullptr) return;
  const usize bytes = 2 * pending_->kernels.size() * sizeof(u64);
  const BufferHandle buffer = pending_->buffer.get();
  DoneCallback callback;
  callback.callback = [](u32 status, StringView, void* self, void*) {
    const std::unique_ptr<Batch> batch(static_cast<Batch*>(self));
    if (status == kSuccess) {
      const Api& api = batch->owner->api_;
      const usize size = 2 * batch->kernels.size() * sizeof(u64);
      const auto* times =
          static_cast<const u64*>(api.BufferGetConstMappedRange(batch->buffer.get(), 0, size));
      if (times != nullptr) batch->owner->add(*batch, times);
      api.BufferUnmap(batch->buffer.get());
    }
    batch->owner->reading_.fetch_sub(1, std::memory_order_release);
  };
  reading_.fetch_add(1, std::memory_order_relaxed);
  callback.first = pending_.release();
  api_.BufferMapAsync(buffer, kMapRead, 0, bytes, callback);
}

void Timestamps::add(const Batch& batch, const u64* times) {
  if (batch.raw != nullptr) {
    batch.raw[0] = times[0], batch.raw[1] = times[1];
    return;
  }
  const auto host_ns = [&](u64 tick) {
    return static_cast<u64>(static_cast<i64>(static_cast<f64>(tick) * tick_ns_) + offset_ns_);
  };
  for (usize i = 0; i < batch.kernels.size(); ++i)
    target_.trace->add({target_.device, target_.queue, std::string(batch.kernels[i]), "kernel",
                        host_ns(times[2 * i]), host_ns(times[2 * i + 1])});
}

}  // namespace doorbell::webgpu
