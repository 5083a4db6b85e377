// PM4 words as packets. Which record a packet's words are: pm4/packets.h.
#include <iterator>

#include "drivers/amd/hw/compute_registers.h"
#include "drivers/amd/hw/pm4/packets.h"
#include "drivers/amd/hw/program_registers.h"
#include "drivers/amd/hw/stream/describe.h"

namespace doorbell::amd::hw {

namespace {

// Shader type and predicate: any packet may have them. A wrong count is complained of by itself.
constexpr u32 kAnyPacketBits = 0x3fff'0003;

// Registers whose single word has parts. `first` is that word of the packet.
using DescribeParts = void (*)(std::span<const u32> words, StreamPacket* packet, u32 first);
struct RegisterRow {
  const Register* which;
  std::array<DescribeParts, kGenerations> describe;
};

template <class T, const char* kPrefix>
void describe_parts(std::span<const u32> words, StreamPacket* packet, u32 first) {
  describe_fields<T>(words, kPrefix, packet, first);
}

constexpr char kRsrc1[] = "COMPUTE_PGM_RSRC1.", kRsrc2[] = "COMPUTE_PGM_RSRC2.",
               kRsrc3[] = "COMPUTE_PGM_RSRC3.", kTmpring[] = "COMPUTE_TMPRING_SIZE.";

template <class T, const char* kPrefix>
constexpr std::array<DescribeParts, kGenerations> everywhere_parts() {
  constexpr DescribeParts kOne = describe_parts<T, kPrefix>;
  return {kOne, kOne, kOne, kOne};
}

constexpr RegisterRow kRegisterRows[] = {
    {&kComputePgmRsrc1, everywhere_parts<ComputePgmRsrc1, kRsrc1>()},
    {&kComputePgmRsrc2, everywhere_parts<ComputePgmRsrc2, kRsrc2>()},
    {&kComputePgmRsrc3,
     {describe_parts<ComputePgmRsrc3Gfx9, kRsrc3>, describe_parts<ComputePgmRsrc3Gfx10, kRsrc3>,
      describe_parts<ComputePgmRsrc3Gfx10, kRsrc3>, describe_parts<ComputePgmRsrc3Gfx12, kRsrc3>}},
    {&kComputeTmpringSize,
     {describe_parts<ComputeTmpringSizeGfx9, kTmpring>,
      describe_parts<ComputeTmpringSizeGfx9, kTmpring>,
      describe_parts<ComputeTmpringSizeGfx11, kTmpring>,
      describe_parts<ComputeTmpringSizeGfx12, kTmpring>}},
};

void describe_registers(Generation generation, u32 first, std::span<const u32> values,
                        StreamPacket* packet) {
  for (usize i = 0; i < values.size(); ++i) {
    const u32 address = first + static_cast<u32>(i);
    const std::string_view name = register_name(generation, address);
    packet->fields.push_back(
        {name.empty() ? fmt::format("reg_{:#x}", address) : std::string(name), values[i], {}});
    const u32 at = SetShReg::kWords + static_cast<u32>(i);
    packet->fields.back().place = word(at);
    for (const RegisterRow& one : kRegisterRows)
      if (one.which->at(generation) == address)
        one.describe[static_cast<usize>(generation)](values.subspan(i), packet, at);
  }
}

// The registers of SET_*_REG by name, in place of their offset.
template <class Record>
void describe_set(Generation generation, std::span<const u32> words, StreamPacket* packet) {
  if (words.size() < 2) return complain(packet, "no registers");
  const u32 first = Record::kFirstRegister + static_cast<u32>(extract(words, word(1, 15, 0)));
  const u64 upper = extract(words, word(1, 31, 16));
  if (upper != 0) packet->fields.push_back({"upper", upper, {}});
  describe_registers(generation, first, words.subspan(2), packet);
}

// What a packet tells besides its record's fields.
template <class Record>
void describe_more(std::span<const u32> words, StreamPacket* packet) {
  if constexpr (std::is_same_v<Record, DispatchDirect>) {
    describe_fields<DispatchInitiator>(words.subspan(4), "initiator.", packet, 4);
  } else if constexpr (std::is_same_v<Record, IndirectBuffer>) {
    const auto jump = decode<IndirectBuffer>(words.first<IndirectBuffer::kWords>());
    packet->jump = PacketJump{jump.addr, jump.words, static_cast<u8>(StreamKind::Pm4)};
  }
}

template <class Record>
void describe(Generation generation, std::span<const u32> words, StreamPacket* packet) {
  constexpr bool kSetsRegisters = requires { Record::kFirstRegister; };
  constexpr bool kVariable = requires { Record::kVariable; };
  if constexpr (kSetsRegisters) {
    describe_set<Record>(generation, words, packet);
  } else if (words.size() < Record::kWords) {
    packet->payload.assign(words.begin() + 1, words.end());
    complain(packet, fmt::format("{} words, expected {}", words.size(), Record::kWords));
  } else {
    if constexpr (!std::is_same_v<Record, Nop>) {
      describe_record<Record, kAnyPacketBits>(words.first(Record::kWords), packet);
      describe_more<Record>(words, packet);
    }
    packet->payload.assign(words.begin() + Record::kWords, words.end());
    if (!kVariable && words.size() != Record::kWords)
      complain(packet, fmt::format("{} words, expected {}", words.size(), Record::kWords));
  }
}

}  // namespace

StreamPacket read_pm4(Generation generation, std::span<const u32> words) {
  StreamPacket packet;
  packet.words = 1;
  const usize whole = pm4_words(words[0]);
  const u64 type = extract(words, kPacketType);
  if (type == 2) {
    packet.name = "FILLER";
    return packet;
  }
  if (whole == 0) {
    packet.name = "opcode";
    packet.fields.push_back({"word", words[0], {}});
    complain(&packet, fmt::format("a packet of type {}", type));
    return packet;
  }
  packet.opcode = opcode_of(words[0]);
  packet.name = pm4_name(opcode_of(words[0]));
  if (packet.name.empty()) {
    packet.name = "opcode";
    packet.fields.push_back({"number", packet.opcode, {}});
    complain(&packet, "unknown");
  }
  packet.words = static_cast<u32>(std::min(whole, words.size()));
  if (whole > words.size())
    complain(&packet, fmt::format("cut short: {} of {} words", words.size(), whole));
  words = words.first(packet.words);
  const bool known = visit_pm4(generation, words, [&]<class Record>(std::type_identity<Record>) {
    describe<Record>(generation, words, &packet);
  });
  if (!known) packet.payload.assign(words.begin() + 1, words.end());
  return packet;
}

}  // namespace doorbell::amd::hw
