// What waves of the adversarial mode see: a Memory (isa/memory/memory.h) that goes through the
// caches of their compute unit and XCC (caches.h), as far as the instruction's cache bits let them
// (isa/memory/reach.h). One object per grid.
#pragma once

#include <string>

#include "emulator/amd/cp/caches.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/memory/reach.h"
#include "emulator/core/address_space.h"

namespace doorbell::emu::amdgpu {

// Thread safety: the GPU's thread.
class AdversarialMemory final : public Memory {
 public:
  // Borrowed, but for the kernel's name, by which reports call the grid.
  AdversarialMemory(const AddressSpace& space, Caches& caches, Generation generation, u32 xcc,
                    std::string kernel);

  bool load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) override;
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy policy) override;
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool fetch(u64 va, u32 bytes, void* out) override;
  void cache(CacheOperation operation, CachePolicy policy) override;
  void select(u32 compute_unit) override { reader_.unit = compute_unit; }

 private:
  enum class Access : u8 { Read, Write, Execute };

  // The range that maps va, or null and fault_ says why.
  const Range* find(u64 va, Access access);
  bool read(u64 va, u32 bytes, void* out, Door door, Reach reach, Access access);

  const AddressSpace& space_;
  Caches& caches_;
  const Generation generation_;
  Caches::Reader reader_;
};

}  // namespace doorbell::emu::amdgpu
