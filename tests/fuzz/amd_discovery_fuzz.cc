// A discovery table, any bytes: refused, or read into blocks whose registers have addresses or an
// error. So that changed bytes get past the checksum, it is made right.
#include <algorithm>
#include <cstring>
#include <vector>

#include "drivers/amd/hw/bare/discovery.h"

using namespace doorbell;
using namespace doorbell::amd::hw;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

namespace {

void read(std::span<const u8> table) {
  Result<Discovery> discovery = read_discovery(table);
  if (!discovery) return;
  for (usize i = 0; i < kRegisters; ++i) (void)discovery->address_of(static_cast<Reg>(i));
  for (const IpInstance& block : discovery->blocks) (void)to_string(block.version);
}

}  // namespace

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  std::vector<u8> table(data, data + size);
  read(table);
  if (size < 20) return 0;
  u16 offset = 0, bytes = 0, sum = 0;
  std::memcpy(&offset, table.data() + 12, sizeof offset);
  if (offset + 8u > size) return 0;
  std::memcpy(&bytes, table.data() + offset + 6, sizeof bytes);
  for (usize i = offset; i < std::min<usize>(size, usize{offset} + bytes); ++i)
    sum = static_cast<u16>(sum + table[i]);
  std::memcpy(table.data() + 14, &sum, sizeof sum);
  read(table);
  return 0;
}
