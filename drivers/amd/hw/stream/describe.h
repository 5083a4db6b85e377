// What the readers of the three kinds of streams share.
#pragma once

#include "drivers/amd/hw/stream/stream.h"

namespace doorbell::amd::hw {

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
