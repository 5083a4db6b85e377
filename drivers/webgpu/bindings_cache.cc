// Slots, and dropping what nothing uses.
#include "drivers/webgpu/bindings_cache.h"

#include <algorithm>

#include "base/util/hash.h"
#include "base/util/try.h"

namespace doorbell::webgpu {
namespace {

// Of the largest kernel's arguments: 31 offsets, and variables.
constexpr u64 kWordsBytes = 512;

}  // namespace

usize BindingsCache::Hash::operator()(const LaunchKey& key) const {
  return static_cast<usize>(hash_words({key.data(), key.size()}));
}

const Bound* BindingsCache::find(const LaunchKey& key) const {
  const auto found = all_.find(key);
  return found == all_.end() ? nullptr : found->second.get();
}

u64 BindingsCache::slot_bytes() const {
  return std::max<u64>(kWordsBytes, static_cast<u64>(context_.info().uniform_alignment));
}

Result<BindingsCache::Slot> BindingsCache::write_words(std::span<const u32> words) {
  if (words.size_bytes() > kWordsBytes)
    return fail(ErrorKind::Unsupported, "a kernel with {} bytes of arguments, at most {} are taken",
                words.size_bytes(), kWordsBytes);
  if (all_.size() >= kMost) drop([](const LaunchKey&, const Bound&) { return true; });
  const u32 each = static_cast<u32>(kSlabBytes / slot_bytes());
  if (free_.empty()) {
    BufferDescriptor descriptor;
    descriptor.size = kSlabBytes;
    descriptor.usage = kUsageUniform | kUsageCopyTo;
    TRY(Owned<BufferHandle> slab,
        context_.make(&Api::DeviceCreateBuffer, &Api::BufferRelease, descriptor));
    const u32 first = static_cast<u32>(slabs_.size()) * each;
    for (u32 i = each; i-- > 0;) free_.push_back(first + i);
    slabs_.push_back(std::move(slab));
  }
  const u32 number = free_.back();
  free_.pop_back();
  const Slot slot{number, slabs_[number / each].get(), number % each * slot_bytes()};
  context_.api().QueueWriteBuffer(context_.queue(), slot.buffer, slot.offset, words.data(),
                                  words.size_bytes());
  return slot;
}

const Bound* BindingsCache::add(LaunchKey key, Bound bound) {
  return (all_[std::move(key)] = std::make_unique<Bound>(std::move(bound))).get();
}

// A slot is written again before work that is only collected would read it, so that is submitted.
template <class Condition>
void BindingsCache::drop(Condition condition) {
  bool flushed = false;
  for (auto it = all_.begin(); it != all_.end();) {
    const auto here = it++;
    if (!condition(here->first, *here->second)) continue;
    if (!std::exchange(flushed, true)) context_.flush();
    free_.push_back(here->second->slot);
    all_.erase(here);
  }
}

void BindingsCache::forget_memory(u64 id) {
  drop([&](const LaunchKey&, const Bound& bound) {
    return std::find(bound.memory.begin(), bound.memory.end(), id) != bound.memory.end();
  });
}

void BindingsCache::forget_program(u64 number) {
  drop([&](const LaunchKey& key, const Bound&) { return key[0] == number; });
}

}  // namespace doorbell::webgpu
