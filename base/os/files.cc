// Whole-file helpers on top of the doors, and the default behaviour of doors.
#include "base/os/files.h"

#include <cerrno>

#include <fmt/format.h>

#include "base/os/regular_file.h"
#include "base/util/try.h"

namespace doorbell::os {

Result<MappedRegisters> File::map_registers(const MapRequest& request) {
  TRY(Mapping mapping, map(request));
  Mmio mmio(mapping.data(), mapping.size());
  return MappedRegisters{std::move(mapping), mmio};
}

Result<bool> File::wait_ready(u64) { return true; }

Result<void> File::sync() { return {}; }

Result<void> File::take_owner_and_mode(const FileStatus&) { return {}; }

Result<FileStatus> Files::status(const std::string& path) {
  FileStatus status{.path = path};
  if (exists(path)) status.kind = list(path) ? FileStatus::Kind::Folder : FileStatus::Kind::Regular;
  return status;
}

namespace {

std::string folder_of(const std::string& path) {
  const usize slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The status of an existing path.
Result<void> refuse_irregular(const FileStatus& status, const char* verb, const std::string& path) {
  if (status.kind == FileStatus::Kind::Folder) return fail_errno(EISDIR, "{} {}", verb, path);
  if (status.kind == FileStatus::Kind::Other)
    return fail(ErrorKind::Invalid, "{} {}: it is {}, expected a regular file", verb, path,
                status.word);
  return {};
}

}  // namespace

Result<std::unique_ptr<File>> open_regular(Files& files, const std::string& path, Access access) {
  const Result<FileStatus> status = files.status(path);
  if (status) {
    TRY(refuse_irregular(*status, access == Access::Read ? "read" : "open", path));
  }
  return files.open(path, access);  // open reports missing and unreachable paths
}

Result<std::vector<u8>> read_file(Files& files, const std::string& path) {
  TRY(std::unique_ptr<File> file, open_regular(files, path));
  // Files of /proc and /sys say size 0 and have content: read to the end whatever they say.
  TRY(u64 expected, file->size());
  std::vector<u8> bytes;
  for (usize done = 0;;) {
    usize step = done < expected ? static_cast<usize>(expected) - done : 4096;
    bytes.resize(done + step);
    TRY(usize got, file->read_at(done, std::span(bytes).subspan(done)));
    done += got;
    if (got == 0) {
      bytes.resize(done);
      return bytes;
    }
  }
}

Result<std::string> read_text(Files& files, const std::string& path) {
  TRY(std::vector<u8> bytes, read_file(files, path));
  return std::string(bytes.begin(), bytes.end());
}

Result<Mapping> map_file(Files& files, const std::string& path) {
  TRY(std::unique_ptr<File> file, open_regular(files, path));
  TRY(u64 size, file->size());
  if (size == 0) return Mapping();
  return file->map({.size = static_cast<usize>(size), .shared = false});
}

namespace {

Result<void> check_replaceable(Files& files, const std::string& path, const FileStatus& target) {
  TRY(refuse_irregular(target, "write", path));
  if (target.write_errno != 0) return fail_errno(target.write_errno, "write {}", path);
  if (target.kind == FileStatus::Kind::Regular) return {};
  const std::string folder = folder_of(target.path);
  TRY(const FileStatus above, files.status(folder));
  if (above.kind == FileStatus::Kind::Folder) return {};
  return fail_errno(above.kind == FileStatus::Kind::Missing ? ENOENT : ENOTDIR,
                    "write {}: folder {}", path, folder);
}

// Beside the target, because a rename does not cross file systems. Names have at most 255 bytes.
std::string partial_name(const std::string& target, u64 unique) {
  constexpr usize kMaxNameBytes = 200;
  const usize begin = target.rfind('/') + 1;  // 0 without one
  return fmt::format("{}.{:016x}.partial", target.substr(0, begin + kMaxNameBytes), unique);
}

Result<void> fill(File& file, const FileStatus& target, std::span<const u8> bytes) {
  if (target.kind == FileStatus::Kind::Regular) {
    TRY(file.take_owner_and_mode(target));
  }
  TRY(file.write_at(0, bytes));
  return file.sync();
}

}  // namespace

Result<void> replace_file(Files& files, const std::string& path, std::span<const u8> bytes,
                          u64 unique) {
  TRY(const FileStatus target, files.status(path));
  TRY(check_replaceable(files, path, target));
  const std::string partial = partial_name(target.path, unique);
  // Not readable by users who cannot open the old file.
  const bool is_new = target.kind == FileStatus::Kind::Missing;
  TRY(std::unique_ptr<File> file, files.open(partial, is_new ? Access::Create : Access::Private));
  Result<void> done = fill(*file, target, bytes);
  file.reset();
  if (done) done = files.rename(partial, target.path);
  if (!done) {
    static_cast<void>(files.remove(partial));  // the first failure is the one to report
    return done;
  }
  // Makes the new name durable, if the file system supports it; the file is complete in any case.
  Result<std::unique_ptr<File>> folder = files.open(folder_of(target.path), Access::Read);
  if (folder) static_cast<void>((*folder)->sync());
  return {};
}

}  // namespace doorbell::os
