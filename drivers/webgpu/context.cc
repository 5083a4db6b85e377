// Opening the device, collecting work, and its errors.
#include "drivers/webgpu/context.h"

#include <fmt/format.h>

#include "base/os/host.h"
#include "base/util/stop.h"
#include "base/util/try.h"

namespace doorbell::webgpu {
namespace {

// wgpu-native has no scope for internal errors; those go to the device's callback.
constexpr ErrorFilter kFilters[] = {ErrorFilter::Validation, ErrorFilter::OutOfMemory};

ErrorKind kind_of(ErrorType type) {
  switch (type) {
    case ErrorType::OutOfMemory: return ErrorKind::OutOfMemory;
    case ErrorType::Validation: return ErrorKind::Invalid;
    default: return ErrorKind::DeviceLost;
  }
}

}  // namespace

Result<std::unique_ptr<Context>> Context::open(const Api& api, Instance instance,
                                               FoundAdapter adapter, std::string name,
                                               hcq::Trace* trace) {
  std::unique_ptr<Context> context(new Context(api, std::move(adapter), std::move(name)));
  TRY(context->request_device(instance));
  context->queue_ = Owned<Queue>(api, api.DeviceGetQueue(context->device()), &Api::QueueRelease);
  if (trace != nullptr && context->info().timestamps) {
    TRY(context->timestamps_, Timestamps::make(api, instance, context->device(), context->queue(),
                                               {trace, context->name_, "compute"}));
  }
  return context;
}

Result<void> Context::request_device(Instance instance) {
  instance_ = instance;
  struct Answer {
    Device device{};
    std::string message;
    bool done = false;
  } answer;
  std::vector<Feature> features;
  if (info().f16) features.push_back(Feature::ShaderF16);
  if (info().timestamps) features.push_back(Feature::TimestampQuery);
  if (info().subgroups)
    features.push_back(info().native_subgroups ? Feature::NativeSubgroup : Feature::Subgroups);
  if (info().int64) features.push_back(Feature::NativeShaderInt64);
  if (info().f64) features.push_back(Feature::NativeShaderF64);
  Limits limits = adapter_.limits;
  limits.next = nullptr;
  DeviceDescriptor descriptor;
  descriptor.feature_count = features.size();
  descriptor.features = features.data();
  descriptor.limits = &limits;
  descriptor.lost.callback = [](const Device*, LostReason reason, StringView message, void* self,
                                void*) {
    if (reason == LostReason::Destroyed || reason == LostReason::CallbackCancelled) return;
    auto* context = static_cast<Context*>(self);
    std::lock_guard lock(context->errors_);
    context->lost_ = message.view().empty() ? "no reason given" : message.view();
  };
  descriptor.lost.first = this;
  descriptor.uncaptured.callback = [](const Device*, ErrorType type, StringView message, void* self,
                                      void*) {
    static_cast<Context*>(self)->note(type, message.view());
  };
  descriptor.uncaptured.first = this;
  DeviceCallback callback;
  callback.callback = [](u32 status, Device device, StringView message, void* to, void*) {
    *static_cast<Answer*>(to) = {status == kSuccess ? device : nullptr, std::string(message.view()),
                                 true};
  };
  callback.first = &answer;
  api_.AdapterRequestDevice(adapter_.adapter.get(), &descriptor, callback);
  for (u32 turn = 0; !answer.done; ++turn) {
    api_.InstanceProcessEvents(instance);
    if (!answer.done) os::host_clock().relax(turn);
  }
  if (answer.device == nullptr)
    return fail(ErrorKind::Os, "{}: {} gives no device: {}", info().name, api_.library,
                answer.message);
  device_ = Owned<Device>(api_, answer.device, &Api::DeviceRelease);
  return {};
}

// Nothing is in flight: the owner has waited.
Context::~Context() {
  if (!api_.process.is_same_process()) return;
  pass_ = {};
  encoder_ = {};
  timestamps_.reset();
  if (device_.get() != nullptr) api_.DeviceDestroy(device());
}

Error Context::error_of(ErrorType type, std::string_view message) const {
  Error error =
      fail(kind_of(type), "{}: {}", api_.library.substr(api_.library.rfind('/') + 1), message);
  error.device = name_;
  return error;
}

void Context::note(ErrorType type, std::string_view message) {
  std::lock_guard lock(errors_);
  if (error_ == nullptr) error_ = std::make_unique<Error>(error_of(type, message));
}

bool Context::has_error() const {
  std::lock_guard lock(errors_);
  return error_ != nullptr;
}

void Context::push_scopes() {
  for (ErrorFilter filter : kFilters) api_.DevicePushErrorScope(device(), filter);
}

Result<void> Context::pop_scopes() {
  struct Answer {
    ErrorType type = ErrorType::NoError;
    std::string message;
    int left = 0;
  } answer;
  ScopeCallback callback;
  callback.callback = [](u32, ErrorType type, StringView message, void* to, void*) {
    auto* all = static_cast<Answer*>(to);
    --all->left;
    if (type == ErrorType::NoError || all->type != ErrorType::NoError) return;
    all->type = type;
    all->message = message.view();
  };
  callback.first = &answer;
  answer.left = static_cast<int>(std::size(kFilters));
  for (usize i = 0; i < std::size(kFilters); ++i) api_.DevicePopErrorScope(device(), callback);
  for (u32 turn = 0; answer.left > 0; ++turn) {
    api_.InstanceProcessEvents(instance_);
    if (answer.left > 0) os::host_clock().relax(turn);
  }
  if (answer.type != ErrorType::NoError) return error_of(answer.type, answer.message);
  return {};
}

CommandEncoder Context::encoder() {
  end_pass();
  if (encoder_.get() == nullptr)
    encoder_ = Owned<CommandEncoder>(api_, api_.DeviceCreateCommandEncoder(device(), nullptr),
                                     &Api::CommandEncoderRelease);
  return encoder_.get();
}

// Traced kernels have a pass each, of which the device writes the times.
ComputePass Context::pass(std::string_view kernel) {
  if (pass_.get() != nullptr && timestamps_ == nullptr) return pass_.get();
  CommandEncoder within = encoder();
  ComputePassDescriptor descriptor;
  TimestampWrites writes;
  if (timestamps_ != nullptr) {
    writes = timestamps_->begin(kernel);
    descriptor.timestamps = &writes;
  }
  pass_ = Owned<ComputePass>(api_, api_.CommandEncoderBeginComputePass(within, &descriptor),
                             &Api::ComputePassEncoderRelease);
  pipeline_ = nullptr;
  return pass_.get();
}

void Context::end_pass() {
  if (pass_.get() == nullptr) return;
  api_.ComputePassEncoderEnd(pass_.get());
  pass_ = {};
}

u64 Context::collected() {
  const u64 number = last_.load(std::memory_order_relaxed) + 1;
  last_.store(number, std::memory_order_release);
  const bool full = timestamps_ != nullptr && timestamps_->is_full();
  if (++collected_ >= kMostCollected || full) flush();
  return number;
}

u64 Context::launch(std::string_view name, ComputePipeline pipeline, BindGroup group,
                    const u32 (&groups)[3]) {
  ComputePass within = pass(name);
  if (pipeline_ != pipeline) {
    api_.ComputePassEncoderSetPipeline(within, pipeline);
    pipeline_ = pipeline;
  }
  api_.ComputePassEncoderSetBindGroup(within, 0, group, 0, nullptr);
  api_.ComputePassEncoderDispatchWorkgroups(within, groups[0], groups[1], groups[2]);
  return collected();
}

u64 Context::copy(BufferHandle from, u64 from_offset, BufferHandle to, u64 to_offset, u64 bytes) {
  api_.CommandEncoderCopyBufferToBuffer(encoder(), from, from_offset, to, to_offset, bytes);
  return collected();
}

void Context::flush() {
  if (encoder_.get() == nullptr) return;
  end_pass();
  if (timestamps_ != nullptr) timestamps_->resolve(encoder_.get());
  const Owned<CommandBufferHandle> commands(
      api_, api_.CommandEncoderFinish(encoder_.get(), nullptr), &Api::CommandBufferRelease);
  encoder_ = {};
  const CommandBufferHandle handle = commands.get();
  api_.QueueSubmit(queue(), 1, &handle);
  submitted_ = last_.load(std::memory_order_relaxed);
  collected_ = 0;
  DoneCallback done;
  done.callback = [](u32 status, StringView message, void* self, void* number) {
    if (status == kError) static_cast<Context*>(self)->note(ErrorType::Unknown, message.view());
    std::atomic<u64>& finished = static_cast<Context*>(self)->finished_;
    const u64 now = reinterpret_cast<u64>(number);
    u64 before = finished.load(std::memory_order_relaxed);
    while (before < now && !finished.compare_exchange_weak(before, now, std::memory_order_release));
  };
  done.first = this;
  done.second = reinterpret_cast<void*>(submitted_);
  api_.QueueOnSubmittedWorkDone(queue(), done);
  if (timestamps_ != nullptr) timestamps_->read();
}

void Context::poll() {
  if (api_.DevicePoll != nullptr) api_.DevicePoll(device(), 0, nullptr);
  api_.InstanceProcessEvents(instance_);
}

Result<void> Context::wait(u64 number) {
  {
    Lock lock(mutex_);
    if (!is_submitted(number)) flush();
  }
  return wait_until(number);
}

Result<void> Context::wait_until(u64 number) {
  const auto is_done = [&] {
    return finished() >= number && (timestamps_ == nullptr || !timestamps_->is_reading());
  };
  for (u32 turn = 0; !is_done(); ++turn) {
    {
      Lock lock(mutex_);
      poll();
    }
    if (is_done()) break;
    TRY(usable());
    if (stop_asked()) return fail(ErrorKind::Timeout, "the wait for {} was stopped", name_);
    os::host_clock().relax(turn);
  }
  return {};
}

Result<void> Context::wait_for_room() {
  if (last() - finished() < kMostInFlight) [[likely]]
    return {};
  return wait(last() - kMostInFlight / 2);
}

Result<void> Context::take_error() {
  std::lock_guard lock(errors_);
  if (!lost_.empty()) {
    error_.reset();
    Error error = fail(ErrorKind::DeviceLost, "the device is lost: {}", lost_);
    error.device = name_;
    return error;
  }
  if (error_ == nullptr) return {};
  return std::move(*std::exchange(error_, nullptr));
}

Result<void> Context::usable() const {
  TRY(api_.check_process());
  std::lock_guard lock(errors_);
  if (lost_.empty()) return {};
  Error error = fail(ErrorKind::DeviceLost, "the device is lost: {}", lost_);
  error.device = name_;
  return error;
}

}  // namespace doorbell::webgpu
