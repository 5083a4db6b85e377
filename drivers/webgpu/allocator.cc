// Buffers, and transfers by way of the queue.
#include "drivers/webgpu/allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/os/host.h"
#include "base/util/try.h"

namespace doorbell::webgpu {
namespace {

constexpr u64 kWord = 4;
// Of one transfer: its copy takes as much memory again.
constexpr u64 kTransferBytes = 16 << 20;

constexpr u64 down(u64 n) { return n / kWord * kWord; }
constexpr u64 up(u64 n) { return down(n + kWord - 1); }

}  // namespace

Result<Owned<BufferHandle>> WebGpuAllocator::make_buffer(u64 bytes, u64 usage) {
  BufferDescriptor descriptor;
  descriptor.size = bytes;
  descriptor.usage = usage;
  return context_.make(&Api::DeviceCreateBuffer, &Api::BufferRelease, descriptor);
}

Result<core::Allocation> WebGpuAllocator::allocate(i64 bytes) {
  TRY(context_.usable());
  const DeviceInfo& info = context_.info();
  // Kernels number words by 32 bits.
  const i64 most = std::min<i64>(info.buffer_bytes, i64{4} << 32);
  if (bytes > most)
    return count_.out_of_memory(bytes,
                                fmt::format("a buffer has at most {} on {}", most, info.name));
  const u64 size = std::max(kWord, up(static_cast<u64>(bytes)));
  Context::Lock lock(context_.mutex());
  Result<Owned<BufferHandle>> buffer =
      make_buffer(size, kUsageStorage | kUsageCopyFrom | kUsageCopyTo);
  if (!buffer) return count_.out_of_memory(bytes, buffer.error().message);
  count_.add(bytes);
  // release() deletes it.
  return core::Allocation{nullptr, 0, new Memory{std::move(*buffer), ++ids_, size}, bytes};
}

void WebGpuAllocator::release(const core::Allocation& allocation) {
  Memory& memory = memory_of(allocation);
  count_.remove(allocation.bytes);
  if (!context_.usable()) return delete &memory;
  Context::Lock lock(context_.mutex());
  // What is submitted keeps the memory until it is done; what is not would fail.
  if (!context_.is_submitted(memory.last_use)) context_.flush();
  forget_(memory.id);
  context_.api().BufferDestroy(memory.buffer.get());
  delete &memory;
}

Result<void> WebGpuAllocator::write_words(Memory& memory, u64 offset, const void* from, u64 bytes) {
  Context::Lock lock(context_.mutex());
  // The queue writes before work that is submitted later.
  if (!context_.is_submitted(memory.last_use)) context_.flush();
  for (u64 at = 0; at < bytes; at += kTransferBytes)
    context_.api().QueueWriteBuffer(context_.queue(), memory.buffer.get(), offset + at,
                                    static_cast<const u8*>(from) + at,
                                    std::min(kTransferBytes, bytes - at));
  return {};
}

Result<void> WebGpuAllocator::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                      i64 bytes) {
  if (bytes == 0) return {};
  TRY(context_.usable());
  Memory& memory = memory_of(to);
  const u64 begin = static_cast<u64>(offset), end = begin + static_cast<u64>(bytes);
  if (begin % kWord == 0 && end % kWord == 0)
    return write_words(memory, begin, from, static_cast<u64>(bytes));
  const u64 first = down(begin), last = up(end);
  std::vector<u8> words(last - first);
  // What is behind the allocation is nobody's.
  const bool to_the_end = end == static_cast<u64>(to.bytes);
  if (begin % kWord != 0) {
    TRY(read_words(memory, first, words.data(), kWord));
  }
  if (end % kWord != 0 && !to_the_end) {
    TRY(read_words(memory, last - kWord, words.data() + words.size() - kWord, kWord));
  }
  std::memcpy(words.data() + (begin - first), from, static_cast<usize>(bytes));
  return write_words(memory, first, words.data(), words.size());
}

Result<void> WebGpuAllocator::map_out(void* to, u64 bytes) {
  struct Answer {
    u32 status = 0;
    std::string message;
    std::atomic<bool> done{false};
  } answer;
  DoneCallback callback;
  callback.callback = [](u32 status, StringView message, void* self, void*) {
    auto* all = static_cast<Answer*>(self);
    all->status = status;
    all->message = message.view();
    all->done.store(true, std::memory_order_release);
  };
  callback.first = &answer;
  const Api& api = context_.api();
  {
    Context::Lock lock(context_.mutex());
    api.BufferMapAsync(readback_.get(), kMapRead, 0, bytes, callback);
  }
  // The library calls back even if the device is lost.
  for (u32 turn = 0; !answer.done.load(std::memory_order_acquire); ++turn) {
    {
      Context::Lock lock(context_.mutex());
      context_.poll();
    }
    if (!answer.done.load(std::memory_order_acquire)) os::host_clock().relax(turn);
  }
  TRY(context_.usable());
  Context::Lock lock(context_.mutex());
  const void* mapped = answer.status == kSuccess
                           ? api.BufferGetConstMappedRange(readback_.get(), 0, bytes)
                           : nullptr;
  if (mapped == nullptr) {
    Error error = fail(ErrorKind::DeviceLost, "mapping {} bytes: {}", bytes, answer.message);
    error.device = count_.device();
    return error;
  }
  std::memcpy(to, mapped, bytes);
  api.BufferUnmap(readback_.get());
  return {};
}

Result<void> WebGpuAllocator::read_words(Memory& memory, u64 offset, void* to, u64 bytes) {
  std::lock_guard transfers(transfers_);
  for (u64 at = 0; at < bytes; at += kTransferBytes) {
    const u64 part = std::min(kTransferBytes, bytes - at);
    {
      Context::Lock lock(context_.mutex());
      if (readback_bytes_ < part) {
        const u64 size = std::max<u64>(part, 64 << 10);
        TRY(readback_, make_buffer(size, kUsageMapRead | kUsageCopyTo));
        readback_bytes_ = size;
      }
      context_.copy(memory.buffer.get(), offset + at, readback_.get(), 0, part);
      context_.flush();
    }
    TRY(map_out(static_cast<u8*>(to) + at, part));
  }
  return context_.take_error();
}

Result<void> WebGpuAllocator::copy_out(void* to, const core::Allocation& from, i64 offset,
                                       i64 bytes) {
  if (bytes == 0) return {};
  TRY(context_.usable());
  Memory& memory = memory_of(from);
  const u64 begin = static_cast<u64>(offset), end = begin + static_cast<u64>(bytes);
  if (begin % kWord == 0 && end % kWord == 0)
    return read_words(memory, begin, to, static_cast<u64>(bytes));
  const u64 first = down(begin);
  std::vector<u8> words(up(end) - first);
  TRY(read_words(memory, first, words.data(), words.size()));
  std::memcpy(to, words.data() + (begin - first), static_cast<usize>(bytes));
  return {};
}

Result<void> WebGpuAllocator::copy(const core::Allocation& to, i64 to_offset,
                                   const core::Allocation& from, i64 from_offset, i64 bytes) {
  if (bytes == 0) return {};
  TRY(context_.usable());
  Memory &target = memory_of(to), &source = memory_of(from);
  const u64 begin = static_cast<u64>(to_offset), start = static_cast<u64>(from_offset);
  u64 count = static_cast<u64>(bytes);
  // Behind the end of an allocation is nobody's.
  if (to_offset + bytes == to.bytes && start + up(count) <= source.bytes) count = up(count);
  if (begin % kWord != 0 || start % kWord != 0 || count % kWord != 0) {
    std::vector<u8> words(static_cast<usize>(bytes));
    TRY(copy_out(words.data(), from, from_offset, bytes));
    return copy_in(to, to_offset, words.data(), bytes);
  }
  Context::Lock lock(context_.mutex());
  if (&target != &source) {
    target.last_use = source.last_use =
        context_.copy(source.buffer.get(), start, target.buffer.get(), begin, count);
    return {};
  }
  TRY(const Owned<BufferHandle> between, make_buffer(count, kUsageCopyFrom | kUsageCopyTo));
  context_.copy(source.buffer.get(), start, between.get(), 0, count);
  target.last_use = context_.copy(between.get(), 0, target.buffer.get(), begin, count);
  context_.flush();  // while it exists
  return {};
}

}  // namespace doorbell::webgpu
