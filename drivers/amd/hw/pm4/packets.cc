// The vendor's names of opcodes.
#include "drivers/amd/hw/pm4/packets.h"

namespace doorbell::amd::hw {

std::string_view pm4_name(u8 opcode) {
  // clang-format off
#define DOORBELL_PM4(Record) if (Record::kId.opcode == opcode) return Record::kId.name;
#define DOORBELL_PM4_NAME(number, name) if (number == opcode) return name;
#include "drivers/amd/hw/pm4/packets.def"
  // clang-format on
  return {};
}

}  // namespace doorbell::amd::hw
