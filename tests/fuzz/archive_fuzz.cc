// Any bytes as an archive of either kind: refused, or no more bytes than allowed.
#include <cstdlib>
#include <span>

#include "tensor/io/archive.h"

extern "C" int LLVMFuzzerTestOneInput(const doorbell::u8* data, doorbell::usize size) {
  using namespace doorbell;
  constexpr usize kMax = usize{1} << 20;
  for (const io::ArchiveFormat format : {io::ArchiveFormat::Zip, io::ArchiveFormat::Tar}) {
    const auto entries = io::read_archive(std::span(data, size), format, kMax);
    if (!entries) continue;
    usize bytes = 0;
    for (const io::ArchiveEntry& entry : *entries) bytes += entry.bytes.size();
    if (bytes > kMax) abort();
  }
  return 0;
}
