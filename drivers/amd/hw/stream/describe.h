// How a record becomes the fields of a StreamPacket: for the files beside it, and for tools that
// print records as packets are printed.
#pragma once

#include <algorithm>

#include <fmt/format.h>

#include "base/bits/print.h"
#include "drivers/amd/hw/stream/stream.h"

namespace doorbell::amd::hw {

// Adds the fields of the record in `words`, of which there are enough and which are the packet's
// from its word `first` on; prefix ends names' parents.
template <class T>
void describe_fields(std::span<const u32> words, std::string_view prefix, StreamPacket* packet,
                     u32 first = 0) {
  const T record = decode<T>(words.template first<T::kWords>());
  T::fields(record, [&](const char* name, Bits bits, const auto& value, Shift = {}) {
    using Value = std::remove_cvref_t<decltype(value)>;
    PacketField field;
    field.name = std::string(prefix) + name;
    field.value = static_cast<u64>(value);
    field.is_flag = std::is_same_v<Value, bool> && bits.width() == 1;
    field.place = Bits{bits.hi + first * 32u, bits.lo + first * 32u};
    if constexpr (requires { static_cast<std::string_view>(name_of(value)); })
      field.enumerator = name_of(value);
    packet->fields.push_back(std::move(field));
  });
}

// Adds to the packet's problems.
void complain(StreamPacket* packet, std::string_view problem);

// Says of bits that no field claims; `allowed` are bits of word 0 that any packet may have.
template <class T>
void describe_strays(std::span<const u32> words, u32 allowed, StreamPacket* packet) {
  Words<T> stray = stray_bits<T>(words.template first<T::kWords>());
  stray[0] &= ~allowed;
  for (u32 i = 0; i < T::kWords; ++i)
    if (stray[i] != 0) complain(packet, fmt::format("word {} has stray bits {:#x}", i, stray[i]));
}

// A packet of one record: how long it is, and what describes it.
using DescribePacket = void (*)(std::span<const u32> words, StreamPacket* packet);

template <class T, u32 allowed>
void describe_record(std::span<const u32> words, StreamPacket* packet) {
  describe_fields<T>(words, "", packet);
  describe_strays<T>(words, allowed, packet);
}

StreamPacket read_pm4(Generation generation, std::span<const u32> words);
StreamPacket read_sdma(std::span<const u32> words);
StreamPacket read_aql(std::span<const u32> words);

}  // namespace doorbell::amd::hw
