// Places words and data, and compares slots with the values in them.
#include "hcq/queue/resident_commands.h"

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {
namespace {

// Data begins at a multiple of this many words: constant buffers want 256 bytes.
constexpr u32 kDataAlignment = 64;

}  // namespace

Result<std::unique_ptr<ResidentCommands>> ResidentCommands::bind(Queue& queue,
                                                                 const CommandBuffer& commands,
                                                                 int instances) {
  CHECK_GE(instances, 1);
  std::unique_ptr<ResidentCommands> bound(new ResidentCommands(queue));
  const u32 words = static_cast<u32>(commands.words().size());
  const u32 data_start = (words + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  bound->take_patches(commands, data_start);
  for (int i = 0; i < instances; ++i) TRY(bound->add_instance(commands, data_start));
  return bound;
}

ResidentCommands::~ResidentCommands() {
  for (Instance& instance : instances_)
    queue_.release_after(instance.last, std::move(instance.words));
}

void ResidentCommands::take_patches(const CommandBuffer& commands, u32 data_start) {
  patches_.assign(commands.patches().begin(), commands.patches().end());
  for (Patch patch : commands.data_patches()) {
    patch.word += data_start;
    patches_.push_back(patch);
  }
  std::stable_sort(patches_.begin(), patches_.end(),
                   [](const Patch& a, const Patch& b) { return a.slot < b.slot; });
  for (u32 i = 0; i < patches_.size(); ++i) {
    if (uses_.empty() || uses_.back().slot != patches_[i].slot)
      uses_.push_back({patches_[i].slot, i, i});
    uses_.back().end = i + 1;
  }
}

Result<void> ResidentCommands::add_instance(const CommandBuffer& commands, u32 data_start) {
  const std::span<const u32> words = commands.words(), data = commands.data();
  const usize total = data.empty() ? words.size() : data_start + data.size();
  TRY(core::Allocation memory, queue_.memory().allocate(static_cast<i64>(total * sizeof(u32))));
  CHECK(memory.host != nullptr, "memory for words that the host cannot see");
  auto* host = static_cast<u32*>(memory.host);
  if (!words.empty()) std::memcpy(host, words.data(), words.size_bytes());
  if (!data.empty()) std::memcpy(host + data_start, data.data(), data.size_bytes());
  const GpuAddr data_address{memory.address + data_start * sizeof(u32)};
  commands.relocate({host, words.size()}, data_address);
  commands.relocate_data({host + data_start, data.size()}, data_address);
  Instance& instance = instances_.emplace_back();
  instance.words = std::make_unique<ResidentWords>(
      ResidentWords{memory, static_cast<u32>(words.size()), static_cast<u32>(total)});
  instance.applied.resize(uses_.size());
  return {};
}

Result<ResidentCommands::Instance*> ResidentCommands::next() {
  // Prefers the one that ran last if it is done: most of its fields are up to date.
  if (queue_.has_read(instances_[next_].last)) return &instances_[next_];
  if (++next_ == instances_.size()) next_ = 0;
  Instance& instance = instances_[next_];
  if (!queue_.has_read(instance.last)) TRY(queue_.wait_or_stop(instance.last));
  return &instance;
}

void ResidentCommands::patch(Instance& instance, std::span<const u64> slots) const {
  const std::span<u32> words{static_cast<u32*>(instance.words->memory.host), instance.words->total};
  for (usize i = 0; i < uses_.size(); ++i) {
    const Use& use = uses_[i];
    const u64 value = slots[use.slot];
    if (value == instance.applied[i] && !instance.fresh) continue;
    instance.applied[i] = value;
    for (u32 p = use.first; p < use.end; ++p) apply(patches_[p], value, words);
  }
  instance.fresh = false;
}

}  // namespace doorbell::hcq
