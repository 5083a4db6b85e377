// Any bytes as an IDX file and as gzip data: refused, or as long as the header says.
#include <cstdlib>
#include <span>

#include "tensor/io/gzip.h"
#include "tensor/io/idx_header.h"

extern "C" int LLVMFuzzerTestOneInput(const doorbell::u8* data, doorbell::usize size) {
  using namespace doorbell;
  const std::span<const u8> file(data, size);
  Result<io::IdxHeader> header = io::parse_idx(file);
  if (header) {
    u64 bytes = static_cast<u64>(header->dtype.bytes());
    for (i64 axis : header->shape) bytes *= static_cast<u64>(axis);
    if (header->data_start + bytes != size) abort();
  }
  constexpr usize kMax = 1 << 16;
  Result<std::vector<u8>> unpacked = io::unpack_gzip(file, kMax);
  if (unpacked && unpacked->size() > kMax) abort();
  return 0;
}
