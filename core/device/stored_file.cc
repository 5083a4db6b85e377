// Opens files and makes buffers of their parts.
#include "core/device/stored_file.h"

#include "base/os/regular_file.h"
#include "base/util/try.h"

namespace doorbell::core {
namespace {

Result<std::unique_ptr<os::File>> make_file(os::Files& files, const std::string& path, i64 bytes) {
  TRY(std::unique_ptr<os::File> file, files.open(path, os::Access::Create));
  if (bytes == 0) return file;
  const u8 last = 0;
  const Result<void> grown = file->write_at(static_cast<u64>(bytes) - 1, std::span(&last, 1));
  if (grown) return file;
  static_cast<void>(files.remove(path));  // the first failure is the one to report
  return grown.error();
}

}  // namespace

Result<std::shared_ptr<StoredFile>> open_stored(os::Files& files, const std::string& path,
                                                FileUse use, i64 bytes) {
  auto stored = std::make_shared<StoredFile>();
  stored->path = path;
  TRY(const os::FileStatus status, files.status(path));
  stored->is_writable = use != FileUse::Read && status.write_errno == 0;
  if (use == FileUse::Make && status.kind == os::FileStatus::Kind::Missing) {
    stored->is_writable = true;
    TRY(stored->file, make_file(files, path, bytes));
    return stored;
  }
  const os::Access access = stored->is_writable ? os::Access::ReadWrite : os::Access::Read;
  TRY(stored->file, os::open_regular(files, path, access));
  return stored;
}

Result<Ref<Buffer>> part_of_file(Device& disk, std::shared_ptr<StoredFile> file, i64 offset,
                                 i64 bytes) {
  TRY(const u64 size, file->file->size());
  if (offset < 0 || bytes < 0 || static_cast<u64>(offset) > size ||
      static_cast<u64>(bytes) > size - static_cast<u64>(offset))
    return fail(ErrorKind::Invalid, "file {} has {} bytes, expected {} from byte {} on", file->path,
                size, bytes, offset);
  const Allocation memory{
      .address = static_cast<u64>(offset), .opaque = file.get(), .bytes = bytes};
  return Buffer::wrap(disk, memory, [file = std::move(file)] {});
}

}  // namespace doorbell::core
