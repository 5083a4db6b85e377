// Names of GPUs and of partitions.
#include "emulator/amd/kfd/slot.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "base/util/check.h"
#include "base/util/hash.h"
#include "base/util/try.h"

namespace doorbell::emu::amdgpu {

u32 Slot::gpu_id() const { return (static_cast<u32>(hash_mix(index + 1)) & 0xffe0) | (index + 1); }

u64 Slot::unique_id() const { return hash_mix(0x100 + index); }

std::string names_of(std::span<const PartitionMode> modes) {
  std::string names;
  for (const PartitionMode& mode : modes)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", mode.name);
  return names;
}

namespace {

struct Kind {
  const Node* node = nullptr;  // of a partition
  const PartitionMode* partitions = nullptr;
  u32 shown = 1;  // GPUs
};

// All slots ever parsed; kept, because callers borrow them.
const Node* find_partition(const Node& package, const PartitionMode& mode) {
  if (mode.partitions == 1) return &package;
  static const std::deque<std::pair<const PartitionMode*, Node>>& all = *new auto([] {
    std::deque<std::pair<const PartitionMode*, Node>> made;
    for (const Node& node : nodes())
      for (const PartitionMode& each : partition_modes(node))
        made.emplace_back(&each, partition_of(node, each.partitions));
    return made;
  }());
  for (const auto& [of, node] : all)
    if (of == &mode && node.name == package.name) return &node;
  UNREACHABLE("no partition {} of {}", mode.name, package.name);
}

Result<Kind> parse_kind(const std::string& text) {
  const usize colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  const Node* package = find_node(name);
  if (package == nullptr) {
    std::string names;
    for (const Node& node : nodes())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", node.name);
    return fail(ErrorKind::Invalid, "no emulated GPU is called {:?}; there are {}", name, names);
  }
  const std::span<const PartitionMode> modes = partition_modes(*package);
  if (colon == text.size())
    return Kind{.node = package, .partitions = modes.empty() ? nullptr : &modes[0]};
  if (modes.empty())
    return fail(ErrorKind::Invalid, "{:?}: a {} has no compute partitions", text, name);
  const std::string rest = text.substr(colon + 1);
  const usize second = std::min(rest.find(':'), rest.size());
  const auto mode = std::ranges::find(modes, rest.substr(0, second), &PartitionMode::name);
  if (mode == modes.end())
    return fail(ErrorKind::Invalid, "{:?}: compute partitions of a {} are {}", text, name,
                names_of(modes));
  Kind kind{find_partition(*package, *mode), &*mode, mode->partitions};
  if (second == rest.size()) return kind;
  const char* const end = rest.data() + rest.size();
  const auto [stopped, why] = std::from_chars(rest.data() + second + 1, end, kind.shown);
  if (why != std::errc() || stopped != end || kind.shown == 0 || kind.shown > mode->partitions)
    return fail(ErrorKind::Invalid, "{:?}: a number of partitions is 1 to {}", text,
                mode->partitions);
  return kind;
}

}  // namespace

Result<std::vector<Slot>> make_slots(std::span<const std::string> names) {
  std::vector<Slot> slots;
  for (u32 package = 0; package < names.size(); ++package) {
    TRY(const Kind kind, parse_kind(names[package]));
    for (u32 partition = 0; partition < kind.shown; ++partition)
      slots.push_back({.node = kind.node,
                       .index = static_cast<u32>(slots.size()),
                       .package = package,
                       .partition = partition,
                       .partitions = kind.partitions});
  }
  return slots;
}

}  // namespace doorbell::emu::amdgpu
