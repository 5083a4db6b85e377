// Guest memory for instructions: Memory, the interface, and DirectMemory, the fast one, which
// accesses the host's bytes directly. For the weakest legal hardware, whose caches keep stale
// bytes, see emulator/amd/cp. The instructions handle LDS and the addressing of scratch themselves.
//
// Handlers check once per instruction whether the memory is direct, and then process the host's
// bytes of all lanes without a call; other memory is called lane by lane.
#pragma once

#include <array>
#include <atomic>
#include <cstring>

#include "base/util/types.h"
#include "emulator/core/address_space.h"

namespace doorbell::emu::amdgpu {

// Why an access failed, by the kernel's names (struct kfd_memory_exception_failure).
struct AccessFault {
  enum class Kind : u8 { None, NotPresent, ReadOnly, NoExecute };
  Kind kind = Kind::None;
  u64 address = 0;
  bool write = false;
};

// Cache bits of one access, as LLVM's `cpol` operand has them: gfx9 to gfx11 GLC 1, SLC 2, DLC 4;
// gfx940 SC0 1, NT 2, SC1 16; gfx12 TH in bits 0 to 2, SCOPE in bits 3 and 4 (wave, group, device,
// system). [LLVM SIDefines.h, namespace CPol]
using CachePolicy = u8;

// Instructions that work on caches, named as the newest chips name them.
enum class CacheOperation : u8 {
  ScalarInvalidate,       // s_dcache_inv
  ScalarWriteBack,        // s_dcache_wb
  InstructionInvalidate,  // s_icache_inv
  Gl0Invalidate,          // buffer_gl0_inv; gfx9: buffer_wbinvl1, buffer_wbinvl1_vol
  Gl1Invalidate,          // buffer_gl1_inv
  Invalidate,             // gfx940 buffer_inv sc0 sc1; gfx12 global_inv scope
  WriteBack,              // gfx90a, gfx940 buffer_wbl2; gfx12 global_wb scope
  WriteBackInvalidate,    // gfx12 global_wbinv scope
};

// Returns the new value for `before`; the operands are those of the instruction.
using AtomicUpdate = u64 (*)(u64 before, u64 operand, u64 compare);

class DirectMemory;

// All accesses return false when they fault; fault() then says why. An access may cross from one
// mapping into the next. Thread safety: one object per thread that runs waves.
class Memory {
 public:
  virtual ~Memory() = default;

  // Vector memory: through the vector caches of the unit that select() named.
  virtual bool load(u64 va, u32 bytes, void* out, CachePolicy policy) = 0;
  virtual bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) = 0;
  // *va = update(*va, operand, compare), atomically, of 4 or 8 bytes; `before` is the old value.
  virtual bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
                      CachePolicy policy) = 0;
  // Through the scalar cache and the instruction cache.
  virtual bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) = 0;
  virtual bool fetch(u64 va, u32 bytes, void* out) = 0;
  virtual void cache(CacheOperation operation, CachePolicy policy) = 0;
  // The following accesses come from this compute unit.
  virtual void select(u32 compute_unit) = 0;

  const AccessFault& fault() const { return fault_; }
  // This object if it is direct; otherwise null.
  DirectMemory* direct() const { return direct_; }

 protected:
  AccessFault fault_;
  DirectMemory* direct_ = nullptr;
};

// The address space may change while this is in use: cached ranges are checked each time.
class DirectMemory final : public Memory {
 public:
  explicit DirectMemory(const AddressSpace& space) : space_(&space) { direct_ = this; }
  DirectMemory(const DirectMemory&) = delete;
  DirectMemory& operator=(const DirectMemory&) = delete;

  // The host's bytes of [va, va + bytes), which lie in one mapping; else null, and fault() says
  // why.
  u8* at(u64 va, u64 bytes, bool write) {
    for (const Recent& recent : recent_) {
      // One comparison for both ends: below the start wraps to a huge offset.
      const u64 offset = va - recent.start;
      if (offset < recent.bytes && bytes <= recent.bytes - offset && (!write || recent.writable)) {
        if (generation_ == space_->generation()) [[likely]]
          return recent.host + offset;
      }
    }
    return look_up(va, bytes, write);
  }

  bool load(u64 va, u32 bytes, void* out, CachePolicy) override;
  bool store(u64 va, u32 bytes, const void* in, CachePolicy) override;
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy) override;
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override {
    return load(va, bytes, out, policy);
  }
  bool fetch(u64 va, u32 bytes, void* out) override;
  void cache(CacheOperation, CachePolicy) override {}
  void select(u32) override {}

 private:
  struct Recent {
    u64 start = 0, bytes = 0;
    u8* host = nullptr;
    bool writable = false;
  };

  u8* look_up(u64 va, u64 bytes, bool write);

  const AddressSpace* space_;
  u64 generation_ = 0;            // of the address space, when `recent_` was filled
  std::array<Recent, 4> recent_;  // a kernel reads two or three buffers and writes another
  u32 oldest_ = 0;
};

}  // namespace doorbell::emu::amdgpu
