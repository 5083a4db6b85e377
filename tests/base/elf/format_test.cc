// What systems without <elf.h> take for it, against this system's.
#include <gtest/gtest.h>

#include "tests/base/elf/format_values.h"

namespace doorbell::test {
namespace {

TEST(ElfFormat, IsThatOfTheSystem) {
  const std::vector<unsigned long> system = ELF_FORMAT_VALUES;
  EXPECT_EQ(own_elf_values(), system);
}

}  // namespace
}  // namespace doorbell::test
