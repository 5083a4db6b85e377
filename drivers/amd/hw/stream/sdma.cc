// SDMA words as packets. Their headers have no length: one that is not known here takes one word,
// and what follows is read on from there.
#include <array>

#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"
#include "drivers/amd/hw/stream/describe.h"

namespace doorbell::amd::hw {

namespace {

constexpr int kAnySubOp = -1;

struct Row {
  SdmaOp op;
  int sub_op;
  u32 words;
  DescribePacket describe;
};

template <class T>
constexpr Row row(SdmaOp op, int sub_op = kAnySubOp) {
  return {op, sub_op, T::kWords, describe_record<T, 0>};
}

void describe_jump(std::span<const u32> words, StreamPacket* packet) {
  describe_record<SdmaIndirect, 0>(words, packet);
  const auto jump = decode<SdmaIndirect>(words.first<SdmaIndirect::kWords>());
  packet->jump = IndirectJump{jump.addr, jump.words};
}

constexpr Row kRows[] = {
    row<SdmaNop>(SdmaOp::Nop),
    row<SdmaCopyLinear>(SdmaOp::Copy, kSdmaCopyLinear),
    row<SdmaWrite>(SdmaOp::Write, kSdmaWriteLinear),
    {SdmaOp::Indirect, kAnySubOp, SdmaIndirect::kWords, describe_jump},
    row<SdmaFence>(SdmaOp::Fence, 0),
    row<SdmaTrap>(SdmaOp::Trap),
    row<SdmaPollRegmem>(SdmaOp::PollRegmem, 0),
    row<SdmaAtomic>(SdmaOp::Atomic),
    row<SdmaConstFill>(SdmaOp::ConstFill, 0),
    row<SdmaTimestamp>(SdmaOp::Timestamp, kSdmaTimestampGetGlobal),
    row<SdmaGcr>(SdmaOp::GcrReq, kSdmaKernelGcr),
    row<SdmaGcr>(SdmaOp::GcrReq, kSdmaUserGcr),
    row<SdmaSrbmWrite>(SdmaOp::SrbmWrite),
};

const Row* find_row(SdmaOp op, u32 sub_op) {
  for (const Row& one : kRows)
    if (one.op == op && (one.sub_op == kAnySubOp || one.sub_op == static_cast<int>(sub_op)))
      return &one;
  return nullptr;
}

// Words behind the record.
usize payload_words(SdmaOp op, std::span<const u32> words) {
  if (op == SdmaOp::Nop) return decode<SdmaNop>(words.first<SdmaNop::kWords>()).count;
  if (op == SdmaOp::Write)
    return usize{decode<SdmaWrite>(words.first<SdmaWrite::kWords>()).count} + 1;
  // A broadcast has a second destination.
  const bool second =
      op == SdmaOp::Copy && decode<SdmaCopyLinear>(words.first<SdmaCopyLinear::kWords>()).broadcast;
  return second ? 2 : 0;
}

}  // namespace

StreamPacket read_sdma(std::span<const u32> words) {
  StreamPacket packet;
  packet.words = 1;
  packet.opcode = static_cast<u32>(extract(words, kSdmaOp));
  const auto op = static_cast<SdmaOp>(packet.opcode);
  const auto sub_op = static_cast<u32>(extract(words, kSdmaSubOp));
  packet.name = name_of(op);
  const Row* found = find_row(op, sub_op);
  if (found == nullptr) {
    if (packet.name.empty()) {
      packet.name = "opcode";
      packet.fields.push_back({"number", packet.opcode, {}});
    }
    packet.fields.push_back({"sub_op", sub_op, {}});
    packet.fields.push_back({"word", words[0], {}});
    complain(&packet, "unknown, and with it its length");
    return packet;
  }
  usize whole = found->words;
  if (words.size() >= whole) {
    found->describe(words.first(whole), &packet);
    whole += payload_words(op, words);
  } else {
    packet.payload.assign(words.begin() + 1, words.end());
  }
  packet.words = static_cast<u32>(std::min(whole, words.size()));
  if (whole > words.size())
    complain(&packet, fmt::format("cut short: {} of {} words", words.size(), whole));
  if (packet.words > found->words)
    packet.payload.assign(words.begin() + found->words, words.begin() + packet.words);
  return packet;
}

}  // namespace doorbell::amd::hw
