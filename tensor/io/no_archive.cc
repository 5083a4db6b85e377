// Archives in a build without libarchive (-Darchive=disabled): every one is refused.
#include "tensor/io/archive.h"

namespace doorbell::io {

Result<std::vector<ArchiveEntry>> read_archive(std::span<const u8>, ArchiveFormat format, usize) {
  return fail(ErrorKind::Unsupported,
              "this build reads no {} archives: it was configured without libarchive "
              "(libarchive-dev, -Darchive=enabled)",
              format == ArchiveFormat::Zip ? "zip" : "tar");
}

}  // namespace doorbell::io
