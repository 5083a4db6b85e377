// Reads and writes parts of files, checking their size each time.
#include "drivers/disk/device.h"

#include <algorithm>
#include <vector>

#include "base/util/try.h"
#include "core/device/stored_file.h"

namespace doorbell::disk {

Result<core::Allocation> DiskAllocator::allocate(i64 bytes) {
  return fail(ErrorKind::Unsupported,
              "{} bytes on DISK without a file: name one, as in \"DISK:/path\"", bytes);
}

Result<void> DiskAllocator::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                    i64 bytes) {
  core::StoredFile& file = core::stored_file(to);
  if (!file.is_writable)
    return fail(ErrorKind::Permission, "file {} is open for reading only", file.path);
  const u64 begin = to.address + static_cast<u64>(offset), end = begin + static_cast<u64>(bytes);
  TRY(const u64 size, file.file->size());
  // Writing there would extend the file with zeros.
  if (size < end)
    return fail(ErrorKind::Corrupt, "file {} has {} bytes now, expected at least {}", file.path,
                size, end);
  return file.file->write_at(begin, {static_cast<const u8*>(from), static_cast<usize>(bytes)});
}

Result<void> DiskAllocator::copy_out(void* to, const core::Allocation& from, i64 offset,
                                     i64 bytes) {
  core::StoredFile& file = core::stored_file(from);
  std::span<u8> into(static_cast<u8*>(to), static_cast<usize>(bytes));
  u64 at = from.address + static_cast<u64>(offset);
  while (!into.empty()) {
    TRY(const usize got, file.file->read_at(at, into));
    if (got == 0)
      return fail(ErrorKind::Corrupt, "file {} ends at byte {} now, expected at least {} bytes",
                  file.path, at, at + into.size());
    into = into.subspan(got);
    at += got;
  }
  return {};
}

Result<void> DiskAllocator::copy(const core::Allocation& to, i64 to_offset,
                                 const core::Allocation& from, i64 from_offset, i64 bytes) {
  std::vector<u8> piece(static_cast<usize>(std::min(bytes, i64{16} << 20)));
  for (i64 done = 0; done < bytes;) {
    const i64 size = std::min(static_cast<i64>(piece.size()), bytes - done);
    TRY(copy_out(piece.data(), from, from_offset + done, size));
    TRY(copy_in(to, to_offset + done, piece.data(), size));
    done += size;
  }
  return {};
}

Result<std::unique_ptr<core::Program>> DiskDevice::load(const core::Binary& binary) {
  return fail(ErrorKind::Unsupported, "{} keeps files and runs no kernel: {}", name(), binary.name);
}

}  // namespace doorbell::disk
