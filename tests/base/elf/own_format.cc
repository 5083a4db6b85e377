// The form of base/elf/format.h for systems without <elf.h>.
#define DOORBELL_OWN_ELF_FORMAT
#include "tests/base/elf/format_values.h"

namespace doorbell::test {
std::vector<unsigned long> own_elf_values() { return ELF_FORMAT_VALUES; }
}  // namespace doorbell::test
