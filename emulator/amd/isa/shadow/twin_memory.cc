// Records the wave's accesses, and repeats them for its twin.
#include "emulator/amd/isa/shadow/twin_memory.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::emu::amdgpu {

bool RecordingMemory::note(bool succeeded, NotedAccess::Kind kind, u64 va, u32 bytes,
                           const void* data) {
  if (!succeeded) return false;
  if (count_ == accesses_.size()) accesses_.emplace_back();
  NotedAccess& access = accesses_[count_++];
  CHECK_LE(bytes, access.data.size());
  access.kind = kind;
  access.va = va;
  access.bytes = bytes;
  std::memcpy(access.data.data(), data, bytes);
  return true;
}

bool RecordingMemory::load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  return note(PassingMemory::load(va, bytes, out, policy), NotedAccess::Kind::Load, va, bytes, out);
}
bool RecordingMemory::store(u64 va, u32 bytes, const void* in, CachePolicy policy) {
  return note(PassingMemory::store(va, bytes, in, policy), NotedAccess::Kind::Store, va, bytes, in);
}
bool RecordingMemory::scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  return note(PassingMemory::scalar_load(va, bytes, out, policy), NotedAccess::Kind::Load, va,
              bytes, out);
}
bool RecordingMemory::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                             u64& before, CachePolicy policy) {
  const bool succeeded = PassingMemory::atomic(va, bytes, update, operand, compare, before, policy);
  if (!note(succeeded, NotedAccess::Kind::Atomic, va, bytes, &before)) return false;
  accesses_[count_ - 1].after = update(before, operand, compare);
  return true;
}

const NotedAccess* TwinMemory::next(NotedAccess::Kind kind, u64 va, u32 bytes) {
  if (!diverged_ && next_ < record_.count()) {
    const NotedAccess& access = record_.noted(next_);
    if (access.kind == kind && access.va == va && access.bytes == bytes) {
      ++next_;
      return &access;
    }
  }
  diverged_ = true;
  return nullptr;
}

void TwinMemory::read_mask(u64 va, std::span<u8> mask) {
  std::ranges::fill(mask, u8{0});
  if (!undefined_.any()) return;
  if (const u8* host = translate_.at(va, mask.size(), false)) {
    undefined_.read(host, mask);
  } else {
    // From one mapping into the next.
    for (usize i = 0; i < mask.size(); ++i) {
      if (const u8* byte = translate_.at(va + i, 1, false))
        undefined_.read(byte, mask.subspan(i, 1));
    }
  }
}

void TwinMemory::write_mask(u64 va, std::span<const u8> mask) {
  const bool defined = std::ranges::all_of(mask, [](u8 bits) { return bits == 0; });
  if (defined && !undefined_.any()) return;
  if (const u8* host = translate_.at(va, mask.size(), false)) {
    undefined_.write(host, mask);
  } else {
    for (usize i = 0; i < mask.size(); ++i) {
      if (const u8* byte = translate_.at(va + i, 1, false))
        undefined_.write(byte, mask.subspan(i, 1));
    }
  }
}

bool TwinMemory::load(u64 va, u32 bytes, void* out, CachePolicy) {
  const NotedAccess* access = next(NotedAccess::Kind::Load, va, bytes);
  if (access == nullptr) return false;
  std::array<u8, 64> mask;
  read_mask(va, std::span(mask).first(bytes));
  u8* to = static_cast<u8*>(out);
  for (u32 i = 0; i < bytes; ++i) {
    to[i] = access->data[i] ^ mask[i];
    if (mask[i] != 0 && !origin_) origin_ = va + i;
  }
  return true;
}

bool TwinMemory::store(u64 va, u32 bytes, const void* in, CachePolicy) {
  const NotedAccess* access = next(NotedAccess::Kind::Store, va, bytes);
  if (access == nullptr) return false;
  std::array<u8, 64> mask;
  const u8* from = static_cast<const u8*>(in);
  for (u32 i = 0; i < bytes; ++i) mask[i] = access->data[i] ^ from[i];
  write_mask(va, std::span(mask).first(bytes));
  return true;
}

bool TwinMemory::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                        u64& before, CachePolicy) {
  const NotedAccess* access = next(NotedAccess::Kind::Atomic, va, bytes);
  if (access == nullptr) return false;
  std::array<u8, 8> mask;
  read_mask(va, std::span(mask).first(bytes));
  before = 0;
  std::array<u8, 8> twin{};
  for (u32 i = 0; i < bytes; ++i) {
    twin[i] = access->data[i] ^ mask[i];
    if (mask[i] != 0 && !origin_) origin_ = va + i;
  }
  std::memcpy(&before, twin.data(), bytes);
  const u64 differs = update(before, operand, compare) ^ access->after;
  std::memcpy(mask.data(), &differs, bytes);
  write_mask(va, std::span(mask).first(bytes));
  return true;
}

}  // namespace doorbell::emu::amdgpu
