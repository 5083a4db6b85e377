// All PM4 packets, and which record a packet's words are. Whoever prints or executes packets asks
// here, so that a packet is known everywhere once packets.def lists its record.
#pragma once

#include <span>
#include <type_traits>

#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/set_register.h"
#include "drivers/amd/hw/pm4/sync.h"

namespace doorbell::amd::hw {

// How many words the packet with this header has; 0: no packet begins so.
constexpr u32 pm4_words(u32 header) {
  const std::array<u32, 1> words{header};
  if (header == kPacket2) return 1;
  if (extract(words, kPacketType) != 3) return 0;
  const u64 count = extract(words, kPacketCount);
  if (opcode_of(header) == Nop::kId.opcode && count == Nop::kOneWord) return 1;
  return static_cast<u32>(count) + 2;
}

// Whether a packet of type 3 is this record's. Of a packet with several forms, matches() tells by
// its words which one it is.
template <class Record>
constexpr bool is_pm4(Generation generation, std::span<const u32> words) {
  if (opcode_of(words[0]) != Record::kId.opcode) return false;
  if (!includes(Record::kId.generations, generation)) return false;
  if constexpr (requires { Record::matches(words); }) return Record::matches(words);
  return true;
}

// Calls f(std::type_identity<Record>()) with the record of a packet of type 3. False: it has none.
template <class F>
bool visit_pm4(Generation generation, std::span<const u32> words, const F& f) {
#define DOORBELL_PM4(Record)               \
  if (is_pm4<Record>(generation, words)) { \
    f(std::type_identity<Record>());       \
    return true;                           \
  }
#include "drivers/amd/hw/pm4/packets.def"
  return false;
}

}  // namespace doorbell::amd::hw
