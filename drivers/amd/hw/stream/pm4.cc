// PM4 words as packets. A row of the table says which record an opcode has on which generations.
#include <iterator>

#include "drivers/amd/hw/compute_registers.h"
#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/set_register.h"
#include "drivers/amd/hw/pm4/sync.h"
#include "drivers/amd/hw/program_registers.h"
#include "drivers/amd/hw/stream/describe.h"

namespace doorbell::amd::hw {

namespace {

// Shader type and predicate: any packet may have them. A wrong count is complained of by itself.
constexpr u32 kAnyPacketBits = 0x3fff'0003;

enum class On : u8 { All, Gfx9, Gfx10Up };

constexpr bool is_on(On on, Generation generation) {
  return on == On::All || (on == On::Gfx9) == (generation == Generation::Gfx9);
}

struct Row {
  Opcode opcode;
  On on;
  u32 words;  // of the record
  bool variable;
  DescribePacket describe;
};

template <class T>
inline constexpr bool is_variable = requires { T::kVariable; };

template <class T>
constexpr Row row(Opcode opcode, On on = On::All) {
  return {opcode, on, T::kWords, is_variable<T>, describe_record<T, kAnyPacketBits>};
}

void describe_wait(std::span<const u32> words, StreamPacket* packet) {
  const auto space = static_cast<WaitSpace>(extract(words, word(1, 5, 4)));
  if (space == WaitSpace::Register)
    describe_record<WaitReg, kAnyPacketBits>(words, packet);
  else
    describe_record<WaitRegMem, kAnyPacketBits>(words, packet);
}

void describe_dispatch(std::span<const u32> words, StreamPacket* packet) {
  describe_record<DispatchDirect, kAnyPacketBits>(words, packet);
  describe_fields<DispatchInitiator>(words.subspan(4), "initiator.", packet, 4);
}

void describe_jump(std::span<const u32> words, StreamPacket* packet) {
  describe_record<IndirectBuffer, kAnyPacketBits>(words, packet);
  const auto jump = decode<IndirectBuffer>(words.first<IndirectBuffer::kWords>());
  packet->jump = IndirectJump{jump.addr, jump.words};
}

constexpr Row kRows[] = {
    row<PredExec>(Opcode::PredExec),
    {Opcode::IndirectBuffer, On::All, IndirectBuffer::kWords, false, describe_jump},
    {Opcode::DispatchDirect, On::All, DispatchDirect::kWords, false, describe_dispatch},
    row<DispatchIndirect>(Opcode::DispatchIndirect),
    {Opcode::WaitRegMem, On::All, WaitRegMem::kWords, false, describe_wait},
    row<WaitRegMem64>(Opcode::WaitRegMem64),
    row<CopyData>(Opcode::CopyData),
    row<DmaData>(Opcode::DmaData),
    row<WriteData>(Opcode::WriteData),
    row<EventWrite>(Opcode::EventWrite),
    row<AcquireMemGfx9>(Opcode::AcquireMem, On::Gfx9),
    row<AcquireMem>(Opcode::AcquireMem, On::Gfx10Up),
    row<ReleaseMemGfx9>(Opcode::ReleaseMem, On::Gfx9),
    row<ReleaseMem>(Opcode::ReleaseMem, On::Gfx10Up),
};

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

// The three packets that set registers.
bool describe_set(Opcode opcode, Generation generation, std::span<const u32> words,
                  StreamPacket* packet) {
  u32 start = 0;
  if (opcode == Opcode::SetShReg)
    start = kShRegStart;
  else if (opcode == Opcode::SetUconfigReg)
    start = kUconfigRegStart;
  else if (opcode == Opcode::SetContextReg)
    start = kContextRegStart;
  else
    return false;
  if (words.size() < 2) {
    complain(packet, "no registers");
    return true;
  }
  const u32 first = start + static_cast<u32>(extract(words, word(1, 15, 0)));
  const u64 upper = extract(words, word(1, 31, 16));
  if (upper != 0) packet->fields.push_back({"upper", upper, {}});
  describe_registers(generation, first, words.subspan(2), packet);
  return true;
}

const Row* find_row(Opcode opcode, Generation generation) {
  for (const Row& one : kRows)
    if (one.opcode == opcode && is_on(one.on, generation)) return &one;
  return nullptr;
}

void describe_type3(Generation generation, std::span<const u32> words, StreamPacket* packet) {
  const auto opcode = static_cast<Opcode>(packet->opcode);
  if (opcode == Opcode::Nop) {
    packet->payload.assign(words.begin() + 1, words.end());
    return;
  }
  if (describe_set(opcode, generation, words, packet)) return;
  const Row* found = find_row(opcode, generation);
  if (found == nullptr || words.size() < found->words) {
    packet->payload.assign(words.begin() + 1, words.end());
    if (found != nullptr)
      complain(packet, fmt::format("{} words, expected {}", words.size(), found->words));
    return;
  }
  found->describe(words.first(found->words), packet);
  packet->payload.assign(words.begin() + found->words, words.end());
  if (!found->variable && words.size() != found->words)
    complain(packet, fmt::format("{} words, expected {}", words.size(), found->words));
}

}  // namespace

StreamPacket read_pm4(Generation generation, std::span<const u32> words) {
  StreamPacket packet;
  packet.words = 1;
  const u64 type = extract(words, kPacketType);
  if (type == 2) {
    packet.name = "FILLER";
    return packet;
  }
  if (type != 3) {
    packet.name = "opcode";
    packet.fields.push_back({"word", words[0], {}});
    complain(&packet, fmt::format("a packet of type {}", type));
    return packet;
  }
  packet.opcode = static_cast<u32>(extract(words, kPacketOpcode));
  const auto opcode = static_cast<Opcode>(packet.opcode);
  packet.name = name_of(opcode);
  if (packet.name.empty()) {
    packet.name = "opcode";
    packet.fields.push_back({"number", packet.opcode, {}});
    complain(&packet, "unknown");
  }
  const auto count = static_cast<u16>(extract(words, kPacketCount));
  const bool alone = opcode == Opcode::Nop && count == Nop::kOneWord;
  const usize whole = alone ? 1 : usize{count} + 2;
  packet.words = static_cast<u32>(std::min(whole, words.size()));
  if (whole > words.size())
    complain(&packet, fmt::format("cut short: {} of {} words", words.size(), whole));
  describe_type3(generation, words.first(packet.words), &packet);
  return packet;
}

}  // namespace doorbell::amd::hw
