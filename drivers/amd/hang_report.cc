// Reading the ring as the device does.
#include "drivers/amd/hang_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/stream/stream.h"

namespace doorbell::amd {
namespace {

// More than a submission; rings may hold thousands.
constexpr u64 kMostWords = 8192;
constexpr u32 kPacketWords = 16;  // of AQL

hw::StreamKind stream_of(QueueType type) {
  switch (type) {
    case QueueType::Pm4: return hw::StreamKind::Pm4;
    case QueueType::Aql: return hw::StreamKind::Aql;
    case QueueType::Sdma: return hw::StreamKind::Sdma;
  }
  UNREACHABLE("queue type {}", static_cast<int>(type));
}

u64 in_words(QueueType type, u64 pointer) {
  if (type == QueueType::Aql) return pointer * kPacketWords;
  return type == QueueType::Sdma ? pointer / sizeof(u32) : pointer;
}

u64 field_of(const hw::StreamPacket& packet, std::string_view name) {
  for (const hw::PacketField& field : packet.fields)
    if (field.name == name) return field.value;
  return 0;
}

bool holds(hw::Compare compare, u32 value, u32 reference) {
  switch (compare) {
    case hw::Compare::Less: return value < reference;
    case hw::Compare::LessEqual: return value <= reference;
    case hw::Compare::Equal: return value == reference;
    case hw::Compare::NotEqual: return value != reference;
    case hw::Compare::GreaterEqual: return value >= reference;
    case hw::Compare::Greater: return value > reference;
    default: return true;
  }
}

// Why this packet stands still; empty: it does not, or is no wait for memory.
std::string why_waits(const hw::StreamPacket& packet, const Kfd& kfd) {
  const bool pm4 = packet.name == "WAIT_REG_MEM", sdma = packet.name == "POLL_REGMEM";
  if (!pm4 && !sdma) return {};
  const u64 address = field_of(packet, "addr");
  const u32 reference = static_cast<u32>(field_of(packet, pm4 ? "reference" : "value"));
  const u32 mask = static_cast<u32>(field_of(packet, "mask"));
  const auto compare = static_cast<hw::Compare>(field_of(packet, "function"));
  const std::optional<std::vector<u32>> words = kfd.peek(address, 1);
  if (!words) return fmt::format("; it may wait for {:#x}, {}", address, kfd.describe(address));
  const u32 value = (*words)[0] & mask;
  if (holds(compare, value, reference)) return {};
  return fmt::format("; it waits until {:#x} is {}{}, and that is {}", address, reference,
                     compare == hw::Compare::GreaterEqual ? " or more" : "", value);
}

}  // namespace

std::string describe_hang(const KfdQueue& queue, const Kfd& kfd, hw::Generation generation) {
  const u64 read = queue.read_pointer(), written = queue.write_pointer();
  std::string text = fmt::format("; of its ring {:#x} is read, {:#x} written", read, written);
  const std::span<const u32> ring = queue.ring();
  const u64 begin = in_words(queue.type(), read), end = in_words(queue.type(), written);
  // The device may tell its pointer modulo the ring.
  const u64 left = std::min((end - begin) % ring.size(), kMostWords);
  std::vector<u32> words(left);
  for (u64 i = 0; i < left; ++i) words[i] = ring[(begin + i) % ring.size()];
  const auto memory = [&](u64 va, u32 count) { return kfd.peek(va, count); };
  std::string why;
  hw::walk_stream(stream_of(queue.type()), generation, words, memory,
                  [&](const hw::StreamPacket& packet, int) {
                    if (why.empty()) why = why_waits(packet, kfd);
                  });
  return text + why;
}

}  // namespace doorbell::amd
