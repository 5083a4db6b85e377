// Which values of parameters the emulated kernel modules understand. A client that asks for
// something else is refused: to ignore it would hide what the real modules do. Handles, addresses
// and sizes are judged where they are used.
#pragma once

#include <string>

#include "drivers/nv/hw/rm/abi.h"

namespace doorbell::emu::nvgpu {

// Why a field of a record has a value that is not understood: "flags is 0x2, 0x1 are emulated";
// empty: it is understood.
std::string refusal_of_value(std::string_view record, std::string_view field, u64 value);

// The same of all fields of a record; the first one that is wrong.
template <class Record>
std::string refusal_of(const Record& record, nv::hw::DriverAbi abi) {
  std::string why;
  Record copy = record;
  nv::hw::for_each_field(copy, abi, [&](const char* field, const auto& value, usize) {
    constexpr unsigned kBits = 8 * sizeof value;
    const u64 bits = static_cast<u64>(value) & (~u64{0} >> (64 - kBits));
    if (why.empty()) why = refusal_of_value(Record::kName, field, bits);
  });
  return why;
}

}  // namespace doorbell::emu::nvgpu
