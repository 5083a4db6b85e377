// How the packet processor takes an AQL packet's record out of its words. An inline part of
// AqlQueue, included by the files that execute packets.
#pragma once

#include <algorithm>

#include "emulator/amd/cp/aql_queue.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

// Nothing when the queue has stopped over it.
template <class Packet>
std::optional<Packet> AqlQueue::take_aql() {
  std::array<u32, Packet::kWords> words{};
  std::copy_n(packet_.begin(), words.size(), words.begin());
  auto stray = stray_bits<Packet>(words);
  for (usize i = 0; i < words.size(); ++i)
    if (stray[i] != 0 &&
        report_violation(kAqlHeader, fmt::format("{:#x} in word {} of a packet of type {}",
                                                 stray[i], i, words[0] & 0xff)))
      return std::nullopt;
  return decode<Packet>(words);
}

}  // namespace doorbell::emu::amdgpu
