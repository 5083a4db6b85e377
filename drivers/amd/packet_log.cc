// Finding what jumps lead to.
#include "drivers/amd/packet_log.h"

namespace doorbell::amd {

std::string packets_text(hw::StreamKind kind, hw::Generation generation, std::span<const u32> words,
                         std::span<const hcq::Segment> segments) {
  const auto bound_words = [&](u64 address, u32 count) -> std::optional<std::vector<u32>> {
    for (const hcq::Segment& segment : segments) {
      if (segment.resident == nullptr || segment.resident->memory.host == nullptr) continue;
      const u64 first = segment.resident->memory.address,
                bytes = segment.resident->total * sizeof(u32);
      if (address < first || address - first > bytes) continue;
      if (count > (bytes - (address - first)) / sizeof(u32)) continue;
      const auto* there = reinterpret_cast<const u32*>(
          static_cast<const u8*>(segment.resident->memory.host) + (address - first));
      return std::vector<u32>(there, there + count);
    }
    return std::nullopt;
  };
  return hw::stream_text(kind, generation, words, bound_words);
}

}  // namespace doorbell::amd
