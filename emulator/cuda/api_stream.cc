// Streams, values that they write and wait for, and events.
#include "emulator/cuda/call.h"
#include "emulator/cuda/functions.h"

namespace doorbell::emu::cuda {
namespace {

int queue_value(const char* name, Operation::Kind kind, Handle handle, u64 address, u64 value,
                u32 width, u32 flags) {
  Call call(name);
  if (!call.ok()) return call.status();
  Stream* stream = call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  Driver& driver = call.driver();
  const int gpu = driver.contexts.at(stream->context).gpu;
  const AddressSpace& space = driver.gpus[static_cast<usize>(gpu)]->space;
  if (address % width != 0)
    return call.broken(kValueAddress, kInvalidValue,
                       fmt::format("{:#x} is no multiple of {}", address, width));
  if (space.at(address, width, true) == nullptr) {
    const Allocation* of_peer = driver.find_allocation(address);
    const bool is_peer = of_peer != nullptr && of_peer->gpu != gpu;
    return call.broken(is_peer ? kPeer : kValueAddress, kInvalidValue,
                       fmt::format("GPU {} does not see {:#x}: {}", gpu, address,
                                   is_peer ? fmt::format("it is memory of GPU {}", of_peer->gpu)
                                           : space.describe(address)));
  }
  Operation operation{.kind = kind};
  operation.to = address;
  operation.value = value;
  operation.width = width;
  operation.flags = flags;
  driver.submit(*stream, std::move(operation));
  return kSuccess;
}

Event* find_event(const Call& call, Handle handle) {
  const auto found = call.driver().events.find(handle);
  if (found != call.driver().events.end()) return &found->second;
  (void)call.no_handle("event", handle);
  return nullptr;
}

}  // namespace

int cuStreamCreate(Handle* stream, u32 flags) {
  Call call("cuStreamCreate");
  if (!call.ok()) return call.status();
  if (stream == nullptr || flags > kStreamNonBlocking) return kInvalidValue;
  *stream = call.driver().next_handle();
  call.driver().streams[*stream] = std::make_unique<Stream>(Stream{call.context(), flags, {}});
  return kSuccess;
}

int cuStreamCreateWithPriority(Handle* stream, u32 flags, int /*priority*/) {
  return cuStreamCreate(stream, flags);
}

// What it holds still runs.
int cuStreamDestroy_v2(Handle handle) {
  Call call("cuStreamDestroy", Call::Needs::Init);
  if (!call.ok()) return call.status();
  Stream* stream = handle <= kStreamPerThread ? nullptr : call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  stream->destroyed = true;
  if (stream->operations.empty()) call.driver().streams.erase(handle);
  return kSuccess;
}

int cuStreamQuery(Handle handle) {
  Call call("cuStreamQuery");
  if (!call.ok()) return call.status();
  const Stream* stream = call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  return call.driver().is_idle(*stream) ? kSuccess : kNotReady;
}

int cuStreamSynchronize(Handle handle) {
  Call call("cuStreamSynchronize");
  if (!call.ok()) return call.status();
  const Stream* stream = call.stream(handle);
  return stream == nullptr ? kInvalidHandle : call.wait(*stream, handle);
}

int cuStreamWaitEvent(Handle handle, Handle event, u32 flags) {
  Call call("cuStreamWaitEvent");
  if (!call.ok()) return call.status();
  Stream* stream = call.stream(handle);
  const Event* found = find_event(call, event);
  if (stream == nullptr || found == nullptr) return kInvalidHandle;
  if (flags != 0) return kInvalidValue;
  if (found->last == nullptr) return kSuccess;  // an event that was not recorded is done
  Operation operation{.kind = Operation::Kind::WaitEvent};
  operation.record = found->last;
  call.driver().submit(*stream, std::move(operation));
  return kSuccess;
}

int cuStreamWaitValue32_v2(Handle stream, u64 address, u32 value, u32 flags) {
  return queue_value("cuStreamWaitValue32", Operation::Kind::Wait, stream, address, value, 4,
                     flags);
}

int cuStreamWaitValue64_v2(Handle stream, u64 address, u64 value, u32 flags) {
  return queue_value("cuStreamWaitValue64", Operation::Kind::Wait, stream, address, value, 8,
                     flags);
}

int cuStreamWriteValue32_v2(Handle stream, u64 address, u32 value, u32 flags) {
  return queue_value("cuStreamWriteValue32", Operation::Kind::Write, stream, address, value, 4,
                     flags);
}

int cuStreamWriteValue64_v2(Handle stream, u64 address, u64 value, u32 flags) {
  return queue_value("cuStreamWriteValue64", Operation::Kind::Write, stream, address, value, 8,
                     flags);
}

int cuLaunchHostFunc(Handle handle, void (*function)(void*), void* argument) {
  Call call("cuLaunchHostFunc");
  if (!call.ok()) return call.status();
  Stream* stream = call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (function == nullptr) return kInvalidValue;
  Operation operation{.kind = Operation::Kind::Call};
  operation.function = function;
  operation.argument = argument;
  call.driver().submit(*stream, std::move(operation));
  return kSuccess;
}

int cuEventCreate(Handle* event, u32 flags) {
  Call call("cuEventCreate");
  if (!call.ok()) return call.status();
  if (event == nullptr || (flags & ~(kEventBlockingSync | kEventDisableTiming)) != 0)
    return kInvalidValue;
  *event = call.driver().next_handle();
  call.driver().events[*event] = {call.context(), flags, nullptr};
  return kSuccess;
}

// Streams that wait for it still do.
int cuEventDestroy_v2(Handle event) {
  Call call("cuEventDestroy", Call::Needs::Init);
  if (!call.ok()) return call.status();
  return call.driver().events.erase(event) == 1 ? kSuccess : call.no_handle("event", event);
}

int cuEventRecord(Handle event, Handle handle) {
  Call call("cuEventRecord");
  if (!call.ok()) return call.status();
  Stream* stream = call.stream(handle);
  Event* found = find_event(call, event);
  if (stream == nullptr || found == nullptr) return kInvalidHandle;
  if (found->context != stream->context)
    return call.broken(kSameContext, kInvalidHandle,
                       fmt::format("event {:#x} is of context {:#x}, the stream of {:#x}", event,
                                   found->context, stream->context));
  Operation operation{.kind = Operation::Kind::Record};
  operation.record = found->last = std::make_shared<Record>();
  call.driver().submit(*stream, std::move(operation));
  return kSuccess;
}

int cuEventQuery(Handle event) {
  Call call("cuEventQuery");
  if (!call.ok()) return call.status();
  const Event* found = find_event(call, event);
  if (found == nullptr) return kInvalidHandle;
  return found->last == nullptr || found->last->done ? kSuccess : kNotReady;
}

int cuEventSynchronize(Handle event) {
  Call call("cuEventSynchronize");
  if (!call.ok()) return call.status();
  const Event* found = find_event(call, event);
  if (found == nullptr) return kInvalidHandle;
  if (found->last == nullptr) return kSuccess;
  const std::shared_ptr<Record> record = found->last;
  const Handle context = found->context;
  Driver& driver = call.driver();
  driver.wait(call.lock(),
              [&] { return record->done || driver.contexts.at(context).status != kSuccess; });
  return driver.contexts.at(context).status;
}

int cuEventElapsedTime(float* ms, Handle begin, Handle end) {
  Call call("cuEventElapsedTime");
  if (!call.ok()) return call.status();
  const Event *first = find_event(call, begin), *last = find_event(call, end);
  if (first == nullptr || last == nullptr) return kInvalidHandle;
  for (const auto& [handle, event] : {std::pair{begin, first}, {end, last}})
    if (event->last == nullptr || (event->flags & kEventDisableTiming) != 0)
      return call.broken(
          kEventTime, kInvalidHandle,
          fmt::format("event {:#x} {}", handle,
                      event->last == nullptr ? "was never recorded" : "was made without timing"));
  if (!first->last->done || !last->last->done) return kNotReady;
  const i64 ns = static_cast<i64>(last->last->time_ns - first->last->time_ns);
  *ms = static_cast<float>(static_cast<f64>(ns) / 1e6);
  return kSuccess;
}

int cuEventElapsedTime_v2(float* ms, Handle begin, Handle end) {
  return cuEventElapsedTime(ms, begin, end);
}

}  // namespace doorbell::emu::cuda
