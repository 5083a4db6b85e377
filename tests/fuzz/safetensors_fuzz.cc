// Any bytes as a safetensors file: refused, or a header whose entries lie in the file.
#include <cstdlib>
#include <span>

#include "tensor/io/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const doorbell::u8* data, doorbell::usize size) {
  using namespace doorbell;
  Result<io::SafetensorsHeader> header = io::parse_safetensors(std::span(data, size));
  if (!header) return 0;
  // As a file is read: its header alone.
  const Result<u64> end = io::end_of_header(std::span(data, 8), size);
  if (!end || *end > size) abort();
  const auto alone = io::parse_safetensors(std::span(data, *end), size);
  if (!alone || alone->entries.size() != header->entries.size()) abort();
  for (const io::SafetensorsEntry& entry : header->entries) {
    u64 bytes = static_cast<u64>(entry.dtype.bytes());
    for (i64 axis : entry.shape) bytes *= static_cast<u64>(axis);
    if (entry.begin > entry.end || entry.end > size || entry.end - entry.begin != bytes) abort();
  }
  return 0;
}
