// AQL packets: 16 words each, told apart by their first byte.
#include "drivers/amd/hw/aql.h"

#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/stream/describe.h"

namespace doorbell::amd::hw {

namespace {

constexpr usize kPacketWords = kAqlPacketBytes / 4;

void describe_vendor(std::span<const u32> words, StreamPacket* packet) {
  const auto vendor = decode<Pm4IbPacket>(words.first<Pm4IbPacket::kWords>());
  if (vendor.vendor_header != Pm4IbPacket::kPm4Ib) {
    describe_fields<AqlHeader>(words, "", packet);
    packet->fields.push_back({"vendor_header", vendor.vendor_header, {}});
    packet->payload.assign(words.begin() + 1, words.end());
    return;
  }
  packet->name = "VENDOR_PM4_IB";
  describe_record<Pm4IbPacket, 0>(words, packet);
  auto jump = try_decode<IndirectBuffer>(vendor.ib_jump);
  if (jump)
    packet->jump = PacketJump{jump->addr, jump->words, static_cast<u8>(StreamKind::Pm4)};
  else
    complain(packet, "no INDIRECT_BUFFER in it");
}

}  // namespace

StreamPacket read_aql(std::span<const u32> words) {
  StreamPacket packet;
  packet.words = static_cast<u32>(std::min(words.size(), kPacketWords));
  const auto header = decode<AqlHeader>(words.first<AqlHeader::kWords>());
  packet.opcode = static_cast<u32>(header.type);
  packet.name = "opcode";
  if (words.size() < kPacketWords) {
    packet.payload.assign(words.begin(), words.end());
    complain(&packet, fmt::format("cut short: {} of {} words", words.size(), kPacketWords));
    return packet;
  }
  words = words.first(kPacketWords);
  switch (header.type) {
    case AqlType::KernelDispatch:
      packet.name = "KERNEL_DISPATCH";
      describe_record<KernelDispatchPacket, 0>(words, &packet);
      return packet;
    case AqlType::BarrierAnd:
    case AqlType::BarrierOr:
      packet.name = header.type == AqlType::BarrierAnd ? "BARRIER_AND" : "BARRIER_OR";
      describe_record<BarrierPacket, 0>(words, &packet);
      return packet;
    case AqlType::VendorSpecific:
      packet.name = "VENDOR_SPECIFIC";
      describe_vendor(words, &packet);
      return packet;
    case AqlType::Invalid: packet.name = "INVALID"; break;
    case AqlType::AgentDispatch: packet.name = "AGENT_DISPATCH"; break;
    default: packet.fields.push_back({"number", packet.opcode, {}}); complain(&packet, "unknown");
  }
  packet.payload.assign(words.begin(), words.end());
  return packet;
}

}  // namespace doorbell::amd::hw
