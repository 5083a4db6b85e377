// Reading the ring as the device does.
#include "drivers/amd/hang_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/packet_format.h"

namespace doorbell::amd {
namespace {

// More than a submission; rings may hold thousands.
constexpr u64 kMaxWords = 8192;

u64 field_of(const StreamPacket& packet, std::string_view name) {
  for (const PacketField& field : packet.fields)
    if (field.name == name) return field.value;
  return 0;
}

bool holds(hw::Compare compare, u64 value, u64 reference) {
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

std::optional<u64> load(const Kfd& kfd, u64 address, u32 count) {
  const std::optional<std::vector<u32>> words = kfd.address_map().peek(address, count);
  if (!words) return {};
  return count == 1 ? (*words)[0] : u64{(*words)[1]} << 32 | (*words)[0];
}

// Why this wait of a command processor or copy engine stands still; empty: it does not.
std::string why_polls(const StreamPacket& packet, const Kfd& kfd, u32 words) {
  const bool is_sdma = packet.name == "POLL_REGMEM";
  if (!is_sdma && field_of(packet, "space") != static_cast<u64>(hw::WaitSpace::Memory)) return {};
  const u64 address = field_of(packet, "addr");
  const u64 reference = field_of(packet, is_sdma ? "value" : "reference");
  const auto compare = static_cast<hw::Compare>(field_of(packet, "function"));
  const std::optional<u64> there = load(kfd, address, words);
  if (!there)
    return fmt::format("; it may wait for {:#x}, {}", address, kfd.address_map().describe(address));
  const u64 value = *there & field_of(packet, "mask");
  if (holds(compare, value, reference)) return {};
  return fmt::format("; it waits until {:#x} is {}{}, and that is {}", address, reference,
                     compare == hw::Compare::GreaterEqual ? " or more" : "", value);
}

// The same of a barrier between AQL packets: signals that all, or any of which, are to be 0.
std::string why_barrier(const StreamPacket& packet, const Kfd& kfd, bool is_all) {
  std::string why;
  for (const PacketField& field : packet.fields) {
    if (!field.name.starts_with("dep_") || field.value == 0) continue;
    const std::optional<u64> value = load(kfd, field.value + offsetof(hw::AmdSignal, value), 2);
    if (!value)
      why += fmt::format("; it may wait for the signal at {:#x}, {}", field.value,
                         kfd.address_map().describe(field.value));
    else if (*value != 0)
      why += fmt::format("; it waits until the signal at {:#x} is 0, and that is {}", field.value,
                         static_cast<i64>(*value));
    else if (!is_all)
      return {};
  }
  return why;
}

// Why this packet stands still; empty: it does not, or is no wait for memory.
std::string why_waits(const StreamPacket& packet, const Kfd& kfd) {
  if (packet.name == "WAIT_REG_MEM" || packet.name == "POLL_REGMEM")
    return why_polls(packet, kfd, 1);
  if (packet.name == "WAIT_REG_MEM64") return why_polls(packet, kfd, 2);
  if (packet.name == "BARRIER_AND") return why_barrier(packet, kfd, true);
  if (packet.name == "BARRIER_OR") return why_barrier(packet, kfd, false);
  return {};
}

}  // namespace

std::string describe_hang(const KfdQueue& queue, const Kfd& kfd, hw::Generation generation) {
  const u64 read = queue.read_pointer(), written = queue.write_pointer();
  std::string text = fmt::format("; of its ring {:#x} is read, {:#x} written", read, written);
  const std::span<const u32> ring = queue.ring();
  const PacketFormat& format = format_of(queue.type());
  const u64 begin = format.words_of(read), end = format.words_of(written);
  // The device may tell its pointer modulo the ring.
  const u64 left = std::min((end - begin) % ring.size(), kMaxWords);
  std::vector<u32> words(left);
  for (u64 i = 0; i < left; ++i) words[i] = ring[(begin + i) % ring.size()];
  const auto memory = [&](u64 va, u32 count) { return kfd.address_map().peek(va, count); };
  std::string why;
  hw::walk_stream(format.stream, generation, words, memory, [&](const StreamPacket& packet, int) {
    if (why.empty()) why = why_waits(packet, kfd);
  });
  return text + why;
}

}  // namespace doorbell::amd
