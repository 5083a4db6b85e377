// Streams of the three kinds.
#include "drivers/amd/hw/stream/stream.h"

#include "base/util/check.h"
#include "drivers/amd/hw/stream/describe.h"

namespace doorbell::amd::hw {

StreamPacket read_packet(StreamKind kind, Generation generation, std::span<const u32> words,
                         usize at) {
  CHECK(at < words.size(), "word {} of a stream of {}", at, words.size());
  std::span<const u32> rest = words.subspan(at);
  StreamPacket packet = kind == StreamKind::Pm4    ? read_pm4(generation, rest)
                        : kind == StreamKind::Sdma ? read_sdma(rest)
                                                   : read_aql(rest);
  packet.at = at;
  return packet;
}

void walk_stream(StreamKind kind, Generation generation, std::span<const u32> words,
                 const ReadWords& memory,
                 const std::function<void(const StreamPacket&, int depth)>& visit) {
  const auto read = [generation](u8 of, std::span<const u32> rest) {
    return read_packet(static_cast<StreamKind>(of), generation, rest);
  };
  walk_packets(static_cast<u8>(kind), words, read, memory, visit);
}

std::string stream_text(StreamKind kind, Generation generation, std::span<const u32> words,
                        const ReadWords& memory) {
  std::string out;
  walk_stream(kind, generation, words, memory, [&](const StreamPacket& packet, int depth) {
    out += indented_text(packet, depth) + '\n';
  });
  return out;
}

}  // namespace doorbell::amd::hw
