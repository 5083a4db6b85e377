// The memory of a wave and its twin (twin.h). The wave accesses the real memory, and each access is
// recorded. The twin makes the same accesses: it reads the wave's data with the undefined bits
// complemented, and the data that it stores show which bits are undefined now. The twin never
// accesses the memory itself, so that writes of others between the two accesses do not matter.
#pragma once

#include <optional>
#include <vector>

#include "emulator/amd/isa/memory/passing_memory.h"
#include "emulator/core/undefined_memory.h"

namespace doorbell::emu::amdgpu {

// One access of the instruction that the wave executed last.
struct NotedAccess {
  enum class Kind : u8 { Load, Store, Atomic };
  Kind kind = Kind::Load;
  u32 bytes = 0;
  u64 va = 0;
  std::array<u8, 64> data{};  // as loaded, as stored; before the atomic operation
  u64 after = 0;              // the atomic operation
};

class RecordingMemory final : public PassingMemory {
 public:
  explicit RecordingMemory(Memory& memory) : PassingMemory(memory) {}

  void begin() { count_ = 0; }
  usize count() const { return count_; }
  const NotedAccess& noted(usize i) const { return accesses_[i]; }

  bool load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) override;
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy policy) override;
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override;

 private:
  bool note(bool succeeded, NotedAccess::Kind kind, u64 va, u32 bytes, const void* data);

  std::vector<NotedAccess> accesses_;
  usize count_ = 0;
};

class TwinMemory final : public Memory {
 public:
  TwinMemory(const RecordingMemory& record, const AddressSpace& space, UndefinedMemory& undefined)
      : record_(record), undefined_(undefined), translate_(space) {}

  void begin() {
    next_ = 0;
    diverged_ = false;
    origin_.reset();
  }
  // Whether the twin made another access than the wave.
  bool diverged() const { return diverged_ || next_ != record_.count(); }
  // The first undefined byte that was loaded.
  std::optional<u64> origin() const { return origin_; }

  bool load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) override;
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy policy) override;
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override {
    return load(va, bytes, out, policy);
  }
  bool fetch(u64, u32, void*) override { return false; }
  void cache(CacheOperation, CachePolicy) override {}
  void select(u32) override {}

 private:
  const NotedAccess* next(NotedAccess::Kind kind, u64 va, u32 bytes);
  void read_mask(u64 va, std::span<u8> mask);
  void write_mask(u64 va, std::span<const u8> mask);

  const RecordingMemory& record_;
  UndefinedMemory& undefined_;
  DirectMemory translate_;
  usize next_ = 0;
  bool diverged_ = false;
  std::optional<u64> origin_;
};

}  // namespace doorbell::emu::amdgpu
