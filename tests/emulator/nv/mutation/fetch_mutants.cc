// Roles, and which field a bit is of.
#include "tests/emulator/nv/mutation/fetch_mutants.h"

#include <fmt/format.h>

#include <optional>

#include "drivers/nv/commands.h"
#include "drivers/nv/hw/host/gp_entry.h"
#include "drivers/nv/hw/host/method_header.h"
#include "drivers/nv/hw/methods.h"

namespace doorbell::testing {

namespace hw = nv::hw;
using emu::nvgpu::Fetched;

namespace {

FetchRole role_of(const Fetched& what, std::span<const u32> words) {
  FetchRole role{what.kind, what.channel, static_cast<u32>(what.bound), what.method};
  // A token says the channel.
  if (what.kind == Fetched::Kind::Doorbell) role.channel = words[0] & 0xfff;
  if (what.kind == Fetched::Kind::Header)
    role.method = decode<hw::MethodHeader>(words.first<1>()).method;
  if (what.kind == Fetched::Kind::Constants) return role;
  // The host engine's methods are the same whatever the subchannel is bound to.
  if (role.method < hw::kEngineMethods) role.class_id = 0;
  return role;
}

std::string name_of(hw::ClassKind kind) {
  switch (kind) {
    case hw::ClassKind::Compute: return "COMPUTE";
    case hw::ClassKind::Copy: return "DMA_COPY";
    default: return "HOST";
  }
}

std::string method_of(const FetchRole& role) {
  const auto kind = hw::kind_of_method(static_cast<hw::ClassId>(role.class_id), role.method);
  return fmt::format("{} {}", name_of(kind), hw::method_name(kind, role.method));
}

std::string name_of(const FetchRole& role) {
  switch (role.kind) {
    case Fetched::Kind::Doorbell: return fmt::format("doorbell of channel {}", role.channel);
    case Fetched::Kind::Entry: return fmt::format("entry of channel {}", role.channel);
    case Fetched::Kind::Header:
      return fmt::format("header of {} on channel {}", method_of(role), role.channel);
    case Fetched::Kind::Data: return fmt::format("{} on channel {}", method_of(role), role.channel);
    case Fetched::Kind::Constants: return fmt::format("constant bank {}", role.method);
    case Fetched::Kind::Descriptor: break;
  }
  return "QMD";
}

// "LENGTH bit 3" of the record that has the bit; nothing: no field.
template <class Record>
std::optional<std::string> field_with(u32 bit) {
  std::optional<std::string> found;
  Record record;
  Record::fields(record, [&](const char* name, Bits bits, const auto&, Shift shift = {}) {
    if (bits.lo <= bit && bit <= bits.hi)
      found = fmt::format("{} bit {}", name, bit - bits.lo + shift.count);
  });
  return found;
}

std::optional<std::string> qmd_field_with(hw::QmdVersion version, u32 bit) {
  for (usize i = 0; i < hw::kQmdFields; ++i) {
    const auto field = static_cast<hw::QmdField>(i);
    const u32 elements = hw::Qmd::elements(field);
    for (u32 element = 0; element < elements; ++element) {
      const auto at = hw::Qmd::position(version, field, element);
      if (!at || bit < at->bits.lo || at->bits.hi < bit) continue;
      const std::string number = elements > 1 ? fmt::format("({})", element) : "";
      return fmt::format("{}{} bit {}", hw::Qmd::name(field), number,
                         bit - at->bits.lo + at->shift.count);
    }
  }
  return std::nullopt;
}

std::optional<std::string> field_of(const FetchRole& role, hw::QmdVersion version, u32 bit) {
  switch (role.kind) {
    case Fetched::Kind::Doorbell: return fmt::format("token bit {}", bit);
    case Fetched::Kind::Entry: return field_with<hw::GpEntry>(bit);
    case Fetched::Kind::Header: return field_with<hw::MethodHeader>(bit);
    case Fetched::Kind::Descriptor: return qmd_field_with(version, bit);
    case Fetched::Kind::Constants: return fmt::format("word {:#x} bit {}", bit / 32 * 4, bit % 32);
    case Fetched::Kind::Data: break;
  }
  std::optional<std::string> found;
  const auto kind = hw::kind_of_method(static_cast<hw::ClassId>(role.class_id), role.method);
  hw::visit_method(kind, role.method, [&]<class Record>(std::type_identity<Record>) {
    found = field_with<Record>((role.method - Record::kMethod) * 8 + bit);
  });
  return found;
}

// Methods that start something, or write memory.
bool does_something(const FetchRole& role) {
  switch (hw::kind_of_method(static_cast<hw::ClassId>(role.class_id), role.method)) {
    case hw::ClassKind::Compute:
      return role.method == hw::InvalidateShaderCachesNoWfi::kMethod ||
             role.method == hw::SendSignalingPcas2B::kMethod;
    case hw::ClassKind::Copy: return role.method == hw::CopyLaunch::kMethod;
    default:
      return role.method == hw::Semaphore::kMethod + 16 ||
             role.method == hw::NonStallInterrupt::kMethod;
  }
}

u32 for_other_engine(Fetched::Kind kind, u32 word) {
  // A token ends with the number of the channel, 1 for compute and 2 for copies.
  if (kind == Fetched::Kind::Doorbell) return word ^ 3;
  auto header = decode<hw::MethodHeader>(std::array{word});
  header.subchannel = header.subchannel == nv::NvCommands::kCompute ? nv::NvCommands::kCopy
                                                                    : nv::NvCommands::kCompute;
  return encode(header)[0];
}

}  // namespace

std::string name_of(FetchMutant::Change change) {
  switch (change) {
    case FetchMutant::Change::Bit: return "bit";
    case FetchMutant::Change::Drop: return "drop";
    case FetchMutant::Change::Twice: return "twice";
    case FetchMutant::Change::Swap: return "swap";
    case FetchMutant::Change::Engine: break;
  }
  return "engine";
}

// Left out, twice, behind the next one, for another engine. Methods that only give others a value
// may come twice or in another order: that changes nothing.
void FetchRecording::add_others(const FetchRole& role, const std::string& name) {
  using Change = FetchMutant::Change;
  const auto push = [&](Change change) {
    mutants_.push_back({.role = role, .change = change, .name = name + ": " + name_of(change)});
  };
  if (role.kind == Fetched::Kind::Constants) return;
  if (role.kind == Fetched::Kind::Header) return push(Change::Engine);
  push(Change::Drop);
  if (role.kind == Fetched::Kind::Data && !does_something(role)) return;
  push(Change::Twice);
  if (role.kind == Fetched::Kind::Data) push(Change::Swap);
  if (role.kind == Fetched::Kind::Doorbell) push(Change::Engine);
}

void FetchRecording::add(const FetchRole& role, std::span<const u32> words) {
  const std::string name = name_of(role);
  add_others(role, name);
  const u32 count = role.kind == Fetched::Kind::Descriptor ? hw::qmd_words(version_)
                                                           : static_cast<u32>(words.size());
  for (u32 bit = 0; bit < count * 32; ++bit) {
    // Of constants those that the driver gives.
    if (role.kind == Fetched::Kind::Constants && words[bit / 32] == 0) continue;
    const auto field = field_of(role, version_, bit);
    mutants_.push_back(
        {.role = role,
         .bit = bit,
         .name =
             fmt::format("{}: {}", name, field ? *field : fmt::format("no field, bit {}", bit))});
  }
}

emu::nvgpu::FetchHook::Verdict FetchRecording::fetched(const Fetched& what, std::span<u32> words) {
  const FetchRole role = role_of(what, words);
  if (seen_.emplace(role, true).second) add(role, words);
  if (role.kind == Fetched::Kind::Entry && !what.is_last && swapped_.emplace(role, true).second)
    mutants_.push_back(
        {.role = role, .change = FetchMutant::Change::Swap, .name = name_of(role) + ": swap"});
  return Verdict::Take;
}

emu::nvgpu::FetchHook::Verdict FetchMutation::fetched(const Fetched& what, std::span<u32> words) {
  using Change = FetchMutant::Change;
  if (role_of(what, words) != mutant_.role) return Verdict::Take;
  happened_ = true;
  switch (mutant_.change) {
    case Change::Bit: words[mutant_.bit / 32] ^= u32{1} << mutant_.bit % 32; break;
    case Change::Engine: words[0] = for_other_engine(what.kind, words[0]); break;
    case Change::Drop: return Verdict::Skip;
    case Change::Swap: return Verdict::Later;
    case Change::Twice: repeats_ = !repeats_; return repeats_ ? Verdict::Again : Verdict::Take;
  }
  return Verdict::Take;
}

}  // namespace doorbell::testing
