// SDMA words as packets. Their headers have no length: one that is not known here takes one word,
// and what follows is read on from there.
#include <algorithm>

#include "drivers/amd/hw/sdma/packets.h"
#include "drivers/amd/hw/stream/describe.h"

namespace doorbell::amd::hw {

namespace {

template <class Record>
void describe(std::span<const u32> words, StreamPacket* packet) {
  usize whole = Record::kWords;
  if (words.size() >= whole) {
    describe_record<Record, 0>(words.first(whole), packet);
    whole = sdma_words<Record>(words);
  } else {
    packet->payload.assign(words.begin() + 1, words.end());
  }
  packet->words = static_cast<u32>(std::min(whole, words.size()));
  if (whole > words.size())
    complain(packet, fmt::format("cut short: {} of {} words", words.size(), whole));
  if (packet->words > Record::kWords)
    packet->payload.assign(words.begin() + Record::kWords, words.begin() + packet->words);
  if constexpr (std::is_same_v<Record, SdmaIndirect>) {
    if (words.size() < Record::kWords) return;
    const auto jump = decode<SdmaIndirect>(words.first<SdmaIndirect::kWords>());
    packet->jump = PacketJump{jump.addr, jump.words, static_cast<u8>(StreamKind::Sdma)};
  }
}

}  // namespace

StreamPacket read_sdma(std::span<const u32> words) {
  StreamPacket packet;
  packet.words = 1;
  packet.opcode = sdma_op_of(words[0]);
  packet.name = sdma_name(sdma_op_of(words[0]));
  const bool known = visit_sdma(words[0], [&]<class Record>(std::type_identity<Record>) {
    describe<Record>(words, &packet);
  });
  if (known) return packet;
  if (packet.name.empty()) {
    packet.name = "opcode";
    packet.fields.push_back({"number", packet.opcode, {}});
  }
  packet.fields.push_back({"sub_op", sdma_sub_op_of(words[0]), {}});
  packet.fields.push_back({"word", words[0], {}});
  complain(&packet, "unknown, and with it its length");
  return packet;
}

}  // namespace doorbell::amd::hw
