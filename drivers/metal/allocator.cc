// Buffers, and bytes in and out of them.
#include "drivers/metal/allocator.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/util/try.h"

namespace doorbell::metal {

Result<core::Allocation> MetalAllocator::allocate(i64 bytes) {
  TRY(context_.usable());
  const DeviceInfo& info = context_.info();
  if (bytes > info.buffer_bytes)
    return count_.out_of_memory(bytes, fmt::format("one buffer has at most {}", info.buffer_bytes));
  const Api& api = context_.api();
  const Pool pool(api);
  const u64 length = static_cast<u64>(std::max<i64>(bytes, 16));
  Owned buffer(api, api.send<Id>(context_.device(), api.sel.new_buffer, length, kStorageShared));
  if (buffer.get() == nullptr) return count_.out_of_memory(bytes, "Metal gives no buffer");
  auto* host = api.send<u8*>(buffer.get(), api.sel.contents);
  const Id handle = buffer.get();
  count_.add(bytes);
  // release() deletes it.
  return core::Allocation{
      nullptr, 0, new Memory(std::move(buffer), handle, host, static_cast<i64>(length)), bytes};
}

void MetalAllocator::release(const core::Allocation& allocation) {
  count_.remove(allocation.bytes);
  delete &memory_of(allocation);
}

Result<void> MetalAllocator::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                     i64 bytes) {
  if (bytes == 0) return {};
  TRY(context_.usable());
  Memory& memory = memory_of(to);
  TRY(context_.wait(memory.last_use.load(std::memory_order_acquire)));
  std::memcpy(memory.host + offset, from, static_cast<usize>(bytes));
  return {};
}

Result<void> MetalAllocator::copy_out(void* to, const core::Allocation& from, i64 offset,
                                      i64 bytes) {
  if (bytes == 0) return {};
  TRY(context_.usable());
  Memory& memory = memory_of(from);
  TRY(context_.wait(memory.last_use.load(std::memory_order_acquire)));
  std::memcpy(to, memory.host + offset, static_cast<usize>(bytes));
  return {};
}

// [Apple, copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:, for macOS: offsets and size
// are multiples of 4 bytes]
Result<void> MetalAllocator::copy(const core::Allocation& to, i64 to_offset,
                                  const core::Allocation& from, i64 from_offset, i64 bytes) {
  if (bytes == 0) return {};
  TRY(context_.usable());
  Memory &target = memory_of(to), &source = memory_of(from);
  const bool overlap =
      &target == &source && to_offset < from_offset + bytes && from_offset < to_offset + bytes;
  if ((to_offset | from_offset | bytes) % 4 != 0 || overlap) {
    TRY(context_.wait(std::max(target.last_use.load(std::memory_order_acquire),
                               source.last_use.load(std::memory_order_acquire))));
    std::memmove(target.host + to_offset, source.host + from_offset, static_cast<usize>(bytes));
    return {};
  }
  TRY(context_.wait_for_room());
  const Api& api = context_.api();
  const Pool pool(api);
  Context::Lock lock(context_.mutex());
  const Id encoder = context_.blit_encoder();
  if (encoder == nullptr) return fail(ErrorKind::Os, "{}: Metal gives no encoder", count_.device());
  api.send(encoder, api.sel.copy_buffer, source.handle, static_cast<u64>(from_offset),
           target.handle, static_cast<u64>(to_offset), static_cast<u64>(bytes));
  const u64 number = context_.encoded();
  target.last_use.store(number, std::memory_order_release);
  source.last_use.store(number, std::memory_order_release);
  return {};
}

// A pointer to memory that is no object has some class too, but not the one of buffers: the runtime
// only reads the first word.
Result<core::Allocation> MetalAllocator::wrap(void* memory, i64 bytes) {
  TRY(context_.usable());
  const Api& api = context_.api();
  const Pool pool(api);
  const Id object = static_cast<Id>(memory);
  const Owned probe(api,
                    api.send<Id>(context_.device(), api.sel.new_buffer, u64{16}, kStorageShared));
  Owned owned;
  Id handle = object;
  const bool may_be_object = reinterpret_cast<u64>(memory) % 16 == 0;
  if (!may_be_object || api.object_getClass(object) != api.object_getClass(probe.get())) {
    const i64 page = sysconf(_SC_PAGESIZE);
    if (reinterpret_cast<u64>(memory) % static_cast<u64>(page) != 0 || bytes % page != 0)
      return fail(ErrorKind::Unsupported,
                  "{} bytes at {} are no MTLBuffer of {} and no whole pages of {}", bytes, memory,
                  count_.device(), page);
    owned = Owned(api, api.send<Id>(context_.device(), api.sel.new_buffer_no_copy, memory,
                                    static_cast<u64>(bytes), kStorageShared, nullptr));
    handle = owned.get();
    if (handle == nullptr)
      return count_.out_of_memory(bytes, "Metal takes no memory of the host's");
  }
  const auto length = static_cast<i64>(api.send<u64>(handle, api.sel.length));
  if (bytes > length)
    return fail(ErrorKind::Invalid, "{} bytes of an MTLBuffer that has {}", bytes, length);
  auto* host = api.send<u8*>(handle, api.sel.contents);
  if (host == nullptr)
    return fail(ErrorKind::Invalid,
                "an MTLBuffer that the host cannot see, expected one that is "
                "shared (MTLResourceStorageModeShared)");
  std::lock_guard lock(mutex_);
  std::unique_ptr<Memory>& kept = wrapped_[memory];
  if (kept == nullptr || kept->handle != handle || kept->host != host || kept->bytes != length)
    kept = std::make_unique<Memory>(std::move(owned), handle, host, length);
  return core::Allocation{nullptr, 0, kept.get(), bytes};
}

}  // namespace doorbell::metal
