// Files inside zip and tar archives, by libarchive, into memory: names are only names, nothing is
// written anywhere. For files that hold archives see files.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::io {

struct ArchiveEntry {
  std::string name;
  std::vector<u8> bytes;
};

enum class ArchiveFormat : u8 {
  Zip,
  Tar,  // plain or packed by gzip, bzip2 or xz
};

// The regular files in the order of the archive; at most `most` bytes of them.
Result<std::vector<ArchiveEntry>> read_archive(std::span<const u8> archive, ArchiveFormat format,
                                               usize most);

}  // namespace doorbell::io
