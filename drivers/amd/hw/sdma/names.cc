// The vendor's names of SDMA opcodes, and of values in SDMA packets.
#include "drivers/amd/hw/sdma/packets.h"

namespace doorbell::amd::hw {

std::string_view sdma_name(u8 op) {
  // clang-format off
#define DOORBELL_SDMA(Record) if (Record::kId.op == op) return Record::kId.name;
#define DOORBELL_SDMA_NAME(number, name) if (number == op) return name;
#include "drivers/amd/hw/sdma/packets.def"
  // clang-format on
  return {};
}

std::string_view name_of(FillSize size) {
  switch (size) {
    case FillSize::Byte: return "Byte";
    case FillSize::Half: return "Half";
    case FillSize::Word: return "Word";
  }
  return {};
}

}  // namespace doorbell::amd::hw
