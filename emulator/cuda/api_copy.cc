// Copies and fills. With unified addressing, an address says where its memory is.
#include "emulator/cuda/call.h"
#include "emulator/cuda/functions.h"

namespace doorbell::emu::cuda {
namespace {

u64 number(const void* address) { return reinterpret_cast<u64>(address); }

// Of an operation that touches these bytes, or null after a report.
bool may_touch(Call& call, u64 address, u64 bytes) {
  std::string why;
  if (call.driver().resolve(address, bytes, &why) != nullptr) return true;
  (void)call.broken(kRange, kInvalidValue, why);
  return false;
}

// `waits`: the synchronous functions.
int queue(const char* name, Handle handle, Operation operation, bool waits) {
  Call call(name);
  if (!call.ok()) return call.status();
  if (operation.bytes == 0) return kSuccess;
  const bool is_copy = operation.kind == Operation::Kind::Copy;
  if (!may_touch(call, operation.to, operation.bytes) ||
      (is_copy && !may_touch(call, operation.from, operation.bytes)))
    return kInvalidValue;
  Stream* stream = call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  call.driver().submit(*stream, std::move(operation));
  return waits ? call.wait(*stream, handle) : kSuccess;
}

int copy(const char* name, u64 to, u64 from, usize bytes, Handle stream, bool waits = false) {
  Operation operation{.kind = Operation::Kind::Copy};
  operation.to = to;
  operation.from = from;
  operation.bytes = bytes;
  return queue(name, stream, std::move(operation), waits);
}

int fill(const char* name, u64 to, u64 value, u32 width, usize count, Handle stream,
         bool waits = false) {
  if (to % width != 0) return kInvalidValue;
  Operation operation{.kind = Operation::Kind::Fill};
  operation.to = to;
  operation.value = value;
  operation.width = width;
  operation.bytes = count * width;
  return queue(name, stream, std::move(operation), waits);
}

}  // namespace

int cuMemcpy(u64 to, u64 from, usize bytes) {
  return copy("cuMemcpy", to, from, bytes, kStreamDefault, true);
}

int cuMemcpyHtoD_v2(u64 to, const void* from, usize bytes) {
  return copy("cuMemcpyHtoD", to, number(from), bytes, kStreamDefault, true);
}

int cuMemcpyDtoH_v2(void* to, u64 from, usize bytes) {
  return copy("cuMemcpyDtoH", number(to), from, bytes, kStreamDefault, true);
}

int cuMemcpyDtoD_v2(u64 to, u64 from, usize bytes) {
  return copy("cuMemcpyDtoD", to, from, bytes, kStreamDefault, true);
}

int cuMemcpyAsync(u64 to, u64 from, usize bytes, Handle stream) {
  return copy("cuMemcpyAsync", to, from, bytes, stream);
}

int cuMemcpyHtoDAsync_v2(u64 to, const void* from, usize bytes, Handle stream) {
  return copy("cuMemcpyHtoDAsync", to, number(from), bytes, stream);
}

int cuMemcpyDtoHAsync_v2(void* to, u64 from, usize bytes, Handle stream) {
  return copy("cuMemcpyDtoHAsync", number(to), from, bytes, stream);
}

int cuMemcpyDtoDAsync_v2(u64 to, u64 from, usize bytes, Handle stream) {
  return copy("cuMemcpyDtoDAsync", to, from, bytes, stream);
}

int cuMemcpyPeerAsync(u64 to, Handle /*to_context*/, u64 from, Handle /*from_context*/, usize bytes,
                      Handle stream) {
  return copy("cuMemcpyPeerAsync", to, from, bytes, stream);
}

int cuMemsetD8_v2(u64 to, unsigned char value, usize count) {
  return fill("cuMemsetD8", to, value, 1, count, kStreamDefault, true);
}

int cuMemsetD32_v2(u64 to, u32 value, usize count) {
  return fill("cuMemsetD32", to, value, 4, count, kStreamDefault, true);
}

int cuMemsetD8Async(u64 to, unsigned char value, usize count, Handle stream) {
  return fill("cuMemsetD8Async", to, value, 1, count, stream);
}

int cuMemsetD32Async(u64 to, u32 value, usize count, Handle stream) {
  return fill("cuMemsetD32Async", to, value, 4, count, stream);
}

}  // namespace doorbell::emu::cuda
