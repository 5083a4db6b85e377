// Ownership of device memory, bounds of copies, and copies from device to device.
#include "core/device/buffer.h"

#include <algorithm>
#include <vector>

#include "base/util/check.h"
#include "base/util/try.h"
#include "core/device/device.h"

namespace doorbell::core {
namespace {

Result<void> check_bounds(const Buffer& buffer, i64 offset, i64 bytes) {
  if (offset < 0 || bytes < 0 || offset > buffer.bytes() - bytes)
    return fail(ErrorKind::Invalid, "{} bytes at offset {} of a buffer of {} bytes", bytes, offset,
                buffer.bytes());
  return {};
}

}  // namespace

Buffer::Buffer(Device& device, const Allocation& memory, bool owned, std::function<void()> release)
    : device_(&device), memory_(memory), owned_(owned), release_(std::move(release)) {}

Buffer::~Buffer() {
  if (owned_) device_->allocator().release(memory_);
  if (release_) release_();
}

Result<Ref<Buffer>> Buffer::allocate(Device& device, i64 bytes) {
  CHECK_GE(bytes, 0);
  TRY(Allocation memory, device.allocator().allocate(bytes));
  return Ref<Buffer>(new Buffer(device, memory, true, {}));
}

Ref<Buffer> Buffer::wrap(Device& device, const Allocation& memory, std::function<void()> release) {
  return Ref<Buffer>(new Buffer(device, memory, false, std::move(release)));
}

Result<void> Buffer::copy_in(const void* from, i64 bytes, i64 offset) {
  TRY(check_bounds(*this, offset, bytes));
  return device_->allocator().copy_in(memory_, offset, from, bytes);
}

Result<void> Buffer::copy_out(void* to, i64 bytes, i64 offset) const {
  TRY(check_bounds(*this, offset, bytes));
  return device_->allocator().copy_out(to, memory_, offset, bytes);
}

Result<void> copy_bytes(Buffer& to, i64 to_offset, const Buffer& from, i64 from_offset, i64 bytes) {
  TRY(check_bounds(to, to_offset, bytes));
  TRY(check_bounds(from, from_offset, bytes));
  if (&to.device() == &from.device())
    return to.device().allocator().copy(to.memory(), to_offset, from.memory(), from_offset, bytes);
  if (from.host() != nullptr)
    return to.copy_in(static_cast<const u8*>(from.host()) + from_offset, bytes, to_offset);
  if (to.host() != nullptr)
    return from.copy_out(static_cast<u8*>(to.host()) + to_offset, bytes, from_offset);
  // The host can access neither side: copy through host memory, piece by piece.
  constexpr i64 kPiece = i64{16} << 20;
  std::vector<u8> piece(static_cast<usize>(std::min(bytes, kPiece)));
  for (i64 done = 0; done < bytes; done += kPiece) {
    const i64 size = std::min(kPiece, bytes - done);
    TRY(from.copy_out(piece.data(), size, from_offset + done));
    TRY(to.copy_in(piece.data(), size, to_offset + done));
  }
  return {};
}

Result<void> copy_between(Buffer& to, i64 to_offset, const Buffer& from, i64 from_offset,
                          i64 bytes) {
  TRY(from.device().synchronize());
  if (&to.device() != &from.device()) TRY(to.device().synchronize());
  return copy_bytes(to, to_offset, from, from_offset, bytes);
}

}  // namespace doorbell::core
