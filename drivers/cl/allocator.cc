// Buffers, and transfers on their own queue.
#include "drivers/cl/allocator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/try.h"

namespace doorbell::cl {
namespace {

// OpenCL has no buffers without bytes.
constexpr i64 kLeastBytes = 16;

}  // namespace

Result<core::Allocation> ClAllocator::allocate(i64 bytes) {
  TRY(api_.check_process());
  // Implementations may take any size and fail when a kernel runs.
  if (bytes > info_.max_allocation)
    return count_.out_of_memory(bytes, fmt::format("one allocation has at most {} on {}",
                                                   info_.max_allocation, info_.name));
  if (bytes > info_.memory_bytes - count_.in_use())
    return count_.out_of_memory(bytes, fmt::format("{} has {}", info_.name, info_.memory_bytes));
  const usize size = static_cast<usize>(std::max(bytes, kLeastBytes));
  cl_int code = CL_SUCCESS;
  cl_mem mem = api_.clCreateBuffer(queues_.context, CL_MEM_READ_WRITE, size, nullptr, &code);
  if (code != CL_SUCCESS) return count_.out_of_memory(bytes, "clCreateBuffer: " + error_name(code));
  count_.add(bytes);
  // release() deletes it.
  auto* memory =
      new Memory{Owned<cl_mem>(mem, api_.clReleaseMemObject), ++ids_, static_cast<i64>(size)};
  return core::Allocation{nullptr, 0, memory, bytes};
}

void ClAllocator::release(const core::Allocation& allocation) {
  count_.remove(allocation.bytes);
  // OpenCL keeps the memory until what was enqueued on it is done.
  delete &memory_of(allocation);
}

Owned<cl_event> ClAllocator::before(const Memory& memory) {
  Owned<cl_event> event =
      queues_.computing->pending(memory.last_use.load(std::memory_order_acquire));
  // Work that another queue waits for must have been flushed [OpenCL 3.0 5.15].
  if (event.get() != nullptr) api_.clFlush(queues_.compute);
  return event;
}

Result<void> ClAllocator::finish(cl_int code, cl_event event, bool in, i64 bytes) {
  if (code == CL_SUCCESS) {
    queues_.transferring->add(event, in ? "copy in" : "copy out", "copy");
    return queues_.transferring->collect();
  }
  // If work that a transfer waited for failed, its own error says more.
  TRY(queues_.computing->collect());
  Error error = refusal(code, in ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer",
                        fmt::format("{} bytes", bytes));
  error.device = count_.device();
  return error;
}

Result<void> ClAllocator::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                  i64 bytes) {
  if (bytes == 0) return {};
  TRY(api_.check_process());
  const Memory& memory = memory_of(to);
  const Owned<cl_event> wait = before(memory);
  const cl_event first = wait.get();
  cl_event event = nullptr;
  const cl_int code = api_.clEnqueueWriteBuffer(
      queues_.transfer, memory.mem.get(), CL_TRUE, static_cast<usize>(offset),
      static_cast<usize>(bytes), from, first ? 1 : 0, first ? &first : nullptr, &event);
  return finish(code, event, true, bytes);
}

Result<void> ClAllocator::copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) {
  if (bytes == 0) return {};
  TRY(api_.check_process());
  const Memory& memory = memory_of(from);
  const Owned<cl_event> wait = before(memory);
  const cl_event first = wait.get();
  cl_event event = nullptr;
  const cl_int code = api_.clEnqueueReadBuffer(
      queues_.transfer, memory.mem.get(), CL_TRUE, static_cast<usize>(offset),
      static_cast<usize>(bytes), to, first ? 1 : 0, first ? &first : nullptr, &event);
  return finish(code, event, false, bytes);
}

Result<void> ClAllocator::copy(const core::Allocation& to, i64 to_offset,
                               const core::Allocation& from, i64 from_offset, i64 bytes) {
  if (bytes == 0) return {};
  TRY(api_.check_process());
  std::lock_guard lock(*queues_.order);
  cl_event event = nullptr;
  const cl_int code =
      api_.clEnqueueCopyBuffer(queues_.compute, memory_of(from).mem.get(), memory_of(to).mem.get(),
                               static_cast<usize>(from_offset), static_cast<usize>(to_offset),
                               static_cast<usize>(bytes), 0, nullptr, &event);
  if (code != CL_SUCCESS) {
    Error error = refusal(code, "clEnqueueCopyBuffer",
                          fmt::format("{} bytes from {} to {}", bytes, from_offset, to_offset));
    error.device = count_.device();
    return error;
  }
  const u64 number = queues_.computing->add(event, "copy", "copy");
  memory_of(to).last_use.store(number, std::memory_order_release);
  memory_of(from).last_use.store(number, std::memory_order_release);
  return {};
}

}  // namespace doorbell::cl
