// Any bytes as a file of torch.save: refused, or tensors with as many bytes as their shapes need.
#include <cstdlib>
#include <span>

#include "tensor/io/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const doorbell::u8* data, doorbell::usize size) {
  using namespace doorbell;
  const Result<std::vector<io::TorchEntry>> entries = io::parse_torch(std::span(data, size));
  if (!entries) return 0;
  for (const io::TorchEntry& entry : *entries) {
    u64 bytes = static_cast<u64>(entry.dtype.bytes());
    for (i64 axis : entry.shape) bytes *= static_cast<u64>(axis);
    if (entry.bytes.size() != bytes) abort();
  }
  return 0;
}
