// Whole-file helpers on top of the doors, and what a door does unless it says otherwise.
#include "base/os/files.h"

#include <fmt/format.h>

#include "base/util/try.h"

namespace doorbell::os {

Result<MappedRegisters> File::map_registers(const MapRequest& request) {
  TRY(Mapping mapping, map(request));
  Mmio mmio(mapping.data(), mapping.size());
  return MappedRegisters{std::move(mapping), mmio};
}

Result<std::vector<u8>> read_file(Files& files, const std::string& path) {
  TRY(std::unique_ptr<File> file, files.open(path, Access::Read));
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
  TRY(std::unique_ptr<File> file, files.open(path, Access::Read));
  TRY(u64 size, file->size());
  if (size == 0) return Mapping();
  return file->map({.size = static_cast<usize>(size), .shared = false});
}

Result<void> replace_file(Files& files, const std::string& path, std::span<const u8> bytes,
                          u64 unique) {
  std::string partial = fmt::format("{}.{:016x}.partial", path, unique);
  {
    TRY(std::unique_ptr<File> file, files.open(partial, Access::Create));
    Result<void> written = file->write_at(0, bytes);
    if (!written) {
      static_cast<void>(files.remove(partial));  // the first failure is the one to tell
      return written;
    }
  }
  return files.rename(partial, path);
}

}  // namespace doorbell::os
