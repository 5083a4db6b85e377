// Reading the list, and what is told of a wave.
#include "emulator/amd/breakpoints.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>

#include "base/util/try.h"
#include "emulator/amd/compute/wave_text.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr usize kBefore = 4, kBehind = 4;  // instructions
constexpr u32 kLongestInstruction = 20;
constexpr u64 kFarthest = u64{1} << 20;  // into a kernel: its instructions are read from the first

// Decimal, or hexadecimal after 0x.
std::optional<u64> number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  u64 value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<Breakpoints::Breakpoint> Breakpoints::parse_one(std::string_view text) {
  Breakpoint made{.text = std::string(text), .kernel = {}};
  const usize colon = text.find(':');
  const std::string_view kernel = text.substr(0, colon);
  if (kernel.empty())
    return fail(ErrorKind::Invalid, "breakpoint \"{}\" names no kernel and no address", text);
  if (kernel.starts_with("0x")) {
    const std::optional<u64> address = number(kernel);
    if (!address)
      return fail(ErrorKind::Invalid, "breakpoint \"{}\": \"{}\" is not an address", text, kernel);
    made.offset = *address;
  } else {
    made.kernel = kernel;
  }
  if (colon == std::string_view::npos) return made;
  std::string_view behind = text.substr(colon + 1);
  if (behind.starts_with("+")) behind.remove_prefix(1);
  const std::optional<u64> offset = number(behind);
  if (!offset || *offset % 4 != 0)
    return fail(ErrorKind::Invalid,
                "breakpoint \"{}\": \"{}\" is not a number of bytes, a multiple of 4", text,
                behind);
  made.offset += *offset;
  return made;
}

Result<std::shared_ptr<Breakpoints>> Breakpoints::parse(std::string_view list, Options options) {
  std::shared_ptr<Breakpoints> made(new Breakpoints(std::move(options)));  // its GPUs share it
  while (!list.empty()) {
    const usize comma = std::min(list.find(','), list.size());
    TRY(Breakpoint one, parse_one(list.substr(0, comma)));
    made->all_.push_back(std::move(one));
    list.remove_prefix(std::min(list.size(), comma + 1));
  }
  return made;
}

bool Breakpoints::fits(const Breakpoint& at, const Kernel& kernel) {
  if (at.kernel.empty()) return true;
  return !kernel.name.empty() && fnmatch(at.kernel.c_str(), kernel.name.c_str(), 0) == 0;
}

u64 Breakpoints::address_of(const Breakpoint& at, const Kernel& kernel) {
  return at.kernel.empty() ? at.offset : kernel.code + at.offset;
}

std::vector<u64> Breakpoints::addresses(const Kernel& kernel) const {
  std::lock_guard lock(mutex_);
  std::vector<u64> found;
  for (const Breakpoint& at : all_)
    if (at.told < options_.most && fits(at, kernel)) found.push_back(address_of(at, kernel));
  return found;
}

bool Breakpoints::ask_for_names() const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(all_, [&](const Breakpoint& at) { return at.told < options_.most; });
}

bool Breakpoints::reach(const Kernel& kernel, const Chip& chip, const AddressSpace& space,
                        const WorkGroup& group, usize wave) {
  const Wave& stopped = *group.member(wave).wave;
  bool goes_on = false;
  std::string text;
  {
    std::lock_guard lock(mutex_);
    for (Breakpoint& at : all_) {
      if (at.told == options_.most || !fits(at, kernel)) continue;
      if (address_of(at, kernel) != stopped.pc) continue;
      ++at.told;
      goes_on |= at.told < options_.most;
      text += fmt::format("breakpoint {}, {} of {}: ", at.text, at.told, options_.most);
    }
  }
  if (text.empty()) return false;
  const std::string name = kernel.name.empty() ? "the kernel" : kernel.name;
  text += fmt::format("{} at {:#x}, {}, compute unit {} of XCC {}\n", name, kernel.code, chip.name,
                      stopped.compute_unit, stopped.xcc);
  text += to_text(group, wave);
  if (options_.lds) text += lds_text(stopped);
  text += code_around(chip, stopped.lanes, space, kernel.code, stopped.pc);
  options_.tell(text);
  return goes_on;
}

std::vector<std::string> Breakpoints::unreached() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const Breakpoint& at : all_)
    if (at.told == 0) texts.push_back(at.text);
  return texts;
}

std::string code_around(const Chip& chip, u32 lanes, const AddressSpace& space, u64 first, u64 pc) {
  const Result<const InstructionSources*> sources = instruction_sources();
  if (!sources) return "";
  Result<std::unique_ptr<InstructionSource>> source = (*sources)->open(chip.name, lanes);
  if (!source) return "";
  if (first > pc || pc - first > kFarthest) first = pc;  // code of another place
  std::vector<std::string> lines;
  usize behind = 0;
  for (u64 at = first; behind <= kBehind;) {
    u32 bytes = kLongestInstruction;
    while (bytes > 0 && space.at(at, bytes, false) == nullptr) bytes -= 4;
    const std::span<const u8> window(space.at(at, bytes, false), bytes);
    const u32 size = bytes == 0 ? 0 : (*source)->decode(window, at).size;
    if (size == 0) break;
    if (at < pc && lines.size() == kBefore) lines.erase(lines.begin());
    lines.push_back(
        fmt::format("  {} {:#x}: {}\n", at == pc ? "=>" : "  ", at, (*source)->print(window, at)));
    behind += at >= pc ? 1 : 0;
    at += size;
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace doorbell::emu::amdgpu
