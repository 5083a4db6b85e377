// All SDMA packets, and which record a packet's words are (packets.def). Their headers have no
// length: it follows from the record.
#pragma once

#include <span>
#include <type_traits>

#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"

namespace doorbell::amd::hw {

// Whether a packet with this header is the record's.
template <class Record>
constexpr bool is_sdma(u32 header) {
  if (sdma_op_of(header) != Record::kId.op) return false;
  if constexpr (requires { Record::matches(u8{}); }) return Record::matches(sdma_sub_op_of(header));
  return !Record::kId.sub_op || *Record::kId.sub_op == sdma_sub_op_of(header);
}

// Calls f(std::type_identity<Record>()) with the record of the packet with this header. False: it
// has none.
template <class F>
bool visit_sdma(u32 header, const F& f) {
#define DOORBELL_SDMA(Record)        \
  if (is_sdma<Record>(header)) {     \
    f(std::type_identity<Record>()); \
    return true;                     \
  }
#include "drivers/amd/hw/sdma/packets.def"
  return false;
}

// How many words a packet has; `head` are its first ones, at least the header.
template <class Record>
constexpr u32 sdma_words(std::span<const u32> head) {
  if constexpr (requires { Record::words_of(head); }) return Record::words_of(head);
  return Record::kWords;
}

}  // namespace doorbell::amd::hw
