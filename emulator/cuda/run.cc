// The thread that runs what streams hold.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "emulator/cuda/driver.h"
#include "emulator/cuda/rules.h"

namespace doorbell::emu::cuda {
namespace {

// How often a stream looks at a value that the host may write.
constexpr std::chrono::microseconds kLook{50};

u64 now_ns() {
  return static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// [CUDA Driver API, CUstreamWaitValue_flags: differences are signed, "cyclic"]
bool compares(u64 seen, u64 value, u32 how, u32 width) {
  if (width == 4) {
    seen = static_cast<u32>(seen);
    value = static_cast<u32>(value);
  }
  switch (how) {
    case kWaitGeq:
      return width == 4 ? static_cast<i32>(static_cast<u32>(seen - value)) >= 0
                        : static_cast<i64>(seen - value) >= 0;
    case kWaitEq: return seen == value;
    case kWaitAnd: return (seen & value) != 0;
    default: return width == 4 ? ~static_cast<u32>(seen | value) != 0 : ~(seen | value) != 0;
  }
}

u64 load(const u8* at, u32 width) {
  if (width == 4) return __atomic_load_n(reinterpret_cast<const u32*>(at), __ATOMIC_ACQUIRE);
  return __atomic_load_n(reinterpret_cast<const u64*>(at), __ATOMIC_ACQUIRE);
}

void store(u8* at, u64 value, u32 width) {
  if (width == 4)
    __atomic_store_n(reinterpret_cast<u32*>(at), static_cast<u32>(value), __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<u64*>(at), value, __ATOMIC_RELEASE);
}

}  // namespace

void Driver::work() {
  std::unique_lock lock(mutex);
  while (!stop_) {
    waits_for_memory_ = false;
    if (Stream* stream = pick()) {
      run(*stream, lock);
      std::erase_if(streams, [](const auto& entry) {
        return entry.second->destroyed && entry.second->operations.empty();
      });
      changed_.notify_all();
    } else if (waits_for_memory_) {
      changed_.wait_for(lock, kLook);
    } else {
      changed_.wait(lock);
    }
  }
}

// A stream whose first operation may run now.
Stream* Driver::pick() {
  std::vector<Stream*> ready;
  for (const auto& [handle, stream] : streams)
    if (!stream->operations.empty() && !stream->busy && !is_blocked(*stream) &&
        passes(*stream, stream->operations.front()))
      ready.push_back(stream.get());
  if (ready.empty()) return nullptr;
  return ready[(options_.adversarial ? random_() : turn_++) % ready.size()];
}

// The default stream waits for the blocking streams of its context, and they for it. [CUDA Driver
// API, "Stream synchronization behavior": legacy default stream]
bool Driver::is_blocked(const Stream& stream) {
  if ((stream.flags & kStreamNonBlocking) != 0) return false;
  const u64 sequence = stream.operations.front().sequence;
  const Stream* legacy = streams.at(contexts.at(stream.context).default_stream).get();
  return std::ranges::any_of(streams, [&](const auto& entry) {
    const Stream& other = *entry.second;
    return &other != &stream && other.context == stream.context &&
           (other.flags & kStreamNonBlocking) == 0 && (&stream == legacy || &other == legacy) &&
           !other.operations.empty() && other.operations.front().sequence < sequence;
  });
}

bool Driver::passes(const Stream& stream, const Operation& operation) {
  if (operation.kind == Operation::Kind::WaitEvent) return operation.record->done;
  if (operation.kind != Operation::Kind::Wait) return true;
  const Context& context = contexts.at(stream.context);
  const u8* at =
      gpus[static_cast<usize>(context.gpu)]->space.at(operation.to, operation.width, false);
  if (at == nullptr) return true;  // run() says so
  if (compares(load(at, operation.width), operation.value, operation.flags & ~kWaitFlush,
               operation.width))
    return true;
  waits_for_memory_ = true;
  return false;
}

void Driver::run(Stream& stream, std::unique_lock<std::mutex>& lock) {
  const Handle context = stream.context;
  const Operation operation = stream.operations.front();
  stream.busy = true;
  AddressSpace& space = gpus[static_cast<usize>(contexts.at(context).gpu)]->space;
  switch (operation.kind) {
    case Operation::Kind::Kernel: run_kernel(context, *operation.launch, lock); break;
    case Operation::Kind::Copy:
    case Operation::Kind::Fill: run_copy(context, operation); break;
    case Operation::Kind::Write:
    case Operation::Kind::Wait:
      if (u8* at = space.at(operation.to, operation.width, true); at == nullptr)
        fault(context, kIllegalAddress,
              fmt::format("a stream's value at {:#x}: {}", operation.to,
                          space.describe(operation.to)));
      else if (operation.kind == Operation::Kind::Write)
        store(at, operation.value, operation.width);
      break;
    case Operation::Kind::Record:
      operation.record->done = true;
      operation.record->time_ns = now_ns();
      break;
    case Operation::Kind::WaitEvent: break;
    case Operation::Kind::Call:
      lock.unlock();
      operation.function(operation.argument);
      lock.lock();
      break;
  }
  // A fault has dropped what the streams of its context held.
  stream.busy = false;
  if (stream.operations.empty()) return;
  count_uses(operation, -1);
  stream.operations.pop_front();
}

void Driver::run_kernel(Handle context, const KernelLaunch& launch,
                        std::unique_lock<std::mutex>& lock) {
  AddressSpace& space = gpus[static_cast<usize>(contexts.at(context).gpu)]->space;
  lock.unlock();
  const Code::Grid grid{launch.grid,       launch.block,        launch.shared_bytes,
                        launch.parameters, options_.hang_after, options_.counts.get()};
  const Result<std::string> ran = launch.code->run(*launch.kernel, grid, space, checks);
  lock.lock();
  const std::string why = ran ? *ran : ran.error().message;
  if (why.empty()) return;
  checks.report(kKernelFault, why);
  fault(context, kIllegalAddress, why);
}

void Driver::run_copy(Handle context, const Operation& operation) {
  std::string why;
  u8* to = resolve(operation.to, operation.bytes, &why);
  if (operation.kind == Operation::Kind::Fill) {
    if (to == nullptr) return fault(context, kIllegalAddress, "a fill: " + why);
    for (u64 at = 0; at < operation.bytes; at += operation.width)
      std::memcpy(to + at, &operation.value, operation.width);
    return;
  }
  const u8* from = to == nullptr ? nullptr : resolve(operation.from, operation.bytes, &why);
  if (from == nullptr) return fault(context, kIllegalAddress, "a copy: " + why);
  std::memmove(to, from, operation.bytes);
}

// The context is lost: what its streams hold never runs.
void Driver::fault(Handle context, int status, const std::string& message) {
  last_fault = message;
  contexts.at(context).status = status;
  for (auto& [handle, stream] : streams) {
    if (stream->context != context) continue;
    for (const Operation& operation : stream->operations) count_uses(operation, -1);
    stream->operations.clear();
  }
}

std::span<const Check* const> all_checks() {
  static const std::vector<const Check*>& all = *[] {
    auto* list = new std::vector<const Check*>{
#define DOORBELL_RULE(name, ...) &name,
#include "emulator/cuda/rules.def"
#undef DOORBELL_RULE
    };
    const std::span<const Check* const> more = kernel_checks();
    list->insert(list->end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

}  // namespace doorbell::emu::cuda
