// What waves of the adversarial mode see: a Memory (isa/memory/memory.h) that goes through the
// caches of their compute unit and XCC (caches.h), as far as the instruction's cache bits let them.
// One object per grid.
//
// Cache bits, as the compilers use them:
//   gfx942        SC0 the group, SC1 the device, both the system
//   gfx10         GLC past the unit's cache, with DLC past GL1 too
//   gfx11         GLC past both
//   gfx12         SCOPE: wave, group, device, system
// [LLVM AMDGPUUsage "Memory Model gfx942", "gfx10-gfx11", "gfx12": the code sequences]
#pragma once

#include <string>

#include "drivers/amd/hw/generation.h"
#include "emulator/amd/cp/caches.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/core/address_space.h"

namespace doorbell::emu::amdgpu {

// Thread safety: the GPU's thread.
class AdversarialMemory final : public Memory {
 public:
  // Borrowed, but for the kernel's name, by which reports call the grid.
  AdversarialMemory(const AddressSpace& space, Caches& caches, amd::hw::Generation generation,
                    u32 xcc, std::string kernel);

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
  Reach reach_of(CachePolicy policy) const;

  const AddressSpace& space_;
  Caches& caches_;
  const amd::hw::Generation generation_;
  Caches::Reader reader_;
};

}  // namespace doorbell::emu::amdgpu
