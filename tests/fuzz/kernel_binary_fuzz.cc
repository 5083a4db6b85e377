// Entries of the compile cache: any bytes are refused or read; what is read is written the same
// way.
#include <cstring>
#include <vector>

#include "base/util/check.h"
#include "base/util/hash.h"
#include "codegen/compile/kernel_binary.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  std::vector<u8> bytes(data, data + size);
  (void)codegen::decode(bytes).has_value();
  // With the right length and checksum, so that the fields behind them are reached.
  constexpr usize kHeader = 32;
  if (size < kHeader) return 0;
  u64 length = size - kHeader, checksum = hash_bytes(data + kHeader, length);
  u64 head[4] = {0x314c454e52454b44, 1, length, checksum};
  std::memcpy(bytes.data(), head, sizeof head);
  auto kernel = codegen::decode(bytes);
  if (kernel) CHECK(codegen::encode(*kernel) == bytes, "decoding and encoding differ");
  return 0;
}
