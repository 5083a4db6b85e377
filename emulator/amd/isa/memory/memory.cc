// DirectMemory's slow paths: looking up ranges, accesses that cross from one mapping into the next,
// atomics, faults.
#include "emulator/amd/isa/memory/memory.h"

#include <algorithm>

namespace doorbell::emu::amdgpu {

namespace {

// A store of 4 or 8 bytes is one store: others may be polling the word.
void copy(void* to, const void* from, u32 bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, bytes);
  }
}

template <class T>
u64 exchange(u8* host, AtomicUpdate update, u64 operand, u64 compare) {
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(host));
  T before = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(before, static_cast<T>(update(before, operand, compare)))) {
  }
  return before;
}

}  // namespace

u8* DirectMemory::look_up(u64 va, u64 bytes, bool write) {
  // Read before the lookup, so that a change in between causes another lookup.
  const u64 generation = space_->generation();
  if (generation != generation_) recent_ = {};
  generation_ = generation;
  const Range* range = space_->find(va);
  if (range == nullptr || range->host == nullptr) {
    fault_ = {AccessFault::Kind::NotPresent, va, write};
    return nullptr;
  }
  if (write && !range->writable) {
    fault_ = {AccessFault::Kind::ReadOnly, va, write};
    return nullptr;
  }
  if (!range->contains(va, bytes)) {
    fault_ = {AccessFault::Kind::NotPresent, range->end, write};
    return nullptr;
  }
  recent_[oldest_] = {range->start, range->end - range->start, range->host, range->writable};
  oldest_ = (oldest_ + 1) % recent_.size();
  return range->host + (va - range->start);
}

bool DirectMemory::load(u64 va, u32 bytes, void* out, CachePolicy) {
  if (const u8* host = at(va, bytes, false)) [[likely]] {
    copy(out, host, bytes);
    return true;
  }
  for (u8* to = static_cast<u8*>(out); bytes > 0;) {
    const Range* range = space_->find(va);
    const u32 piece = range ? static_cast<u32>(std::min<u64>(bytes, range->end - va)) : bytes;
    const u8* host = look_up(va, piece, false);
    if (host == nullptr) return false;
    std::memcpy(to, host, piece);
    va += piece, to += piece, bytes -= piece;
  }
  return true;
}

bool DirectMemory::store(u64 va, u32 bytes, const void* in, CachePolicy) {
  if (u8* host = at(va, bytes, true)) [[likely]] {
    copy(host, in, bytes);
    return true;
  }
  for (const u8* from = static_cast<const u8*>(in); bytes > 0;) {
    const Range* range = space_->find(va);
    const u32 piece = range ? static_cast<u32>(std::min<u64>(bytes, range->end - va)) : bytes;
    u8* host = look_up(va, piece, true);
    if (host == nullptr) return false;
    std::memcpy(host, from, piece);
    va += piece, from += piece, bytes -= piece;
  }
  return true;
}

bool DirectMemory::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                          u64& before, CachePolicy) {
  u8* host = at(va, bytes, true);
  if (host == nullptr) return false;
  before = bytes == 8 ? exchange<u64>(host, update, operand, compare)
                      : exchange<u32>(host, update, operand, compare);
  return true;
}

bool DirectMemory::fetch(u64 va, u32 bytes, void* out) {
  const Range* range = space_->find(va);
  if (range != nullptr && range->host != nullptr && !range->executable) {
    fault_ = {AccessFault::Kind::NoExecute, va, false};
    return false;
  }
  return load(va, bytes, out, 0);
}

}  // namespace doorbell::emu::amdgpu
