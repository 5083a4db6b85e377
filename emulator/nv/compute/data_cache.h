// What the L1 caches of an adversarial GPU's multiprocessors hold of global memory. They are not
// coherent: a read finds what it read before, whoever wrote the memory since, until the bytes are
// dropped. Writes go through. The L2 and system memory are coherent for a GPU and have no model.
// [CUDA Programming Guide, "Device Memory Accesses", "L1 cache"; PTX ISA, "Cache Operators";
// clc7c0.h INVALIDATE_SHADER_CACHES_NO_WFI_GLOBAL_DATA, clc7c0qmd.h INVALIDATE_SHADER_DATA_CACHE]
#pragma once

#include <array>
#include <random>
#include <unordered_map>

#include "emulator/core/address_space.h"

namespace doorbell::emu::nvgpu {

// That of one multiprocessor.
class DataCache {
 public:
  // Where a read finds bytes that lie in memory at `host`; they do not cross 32 bytes.
  u8* read(u64 address, u8* host);
  // The next read of the bytes sees memory.
  void drop(u64 address) { sectors_.erase(address / kSector); }
  void drop_all() { sectors_.clear(); }

 private:
  static constexpr u64 kSector = 32;
  std::unordered_map<u64, std::array<u8, kSector>> sectors_;
};

class DataCaches {
 public:
  explicit DataCaches(u64 seed) : random_(seed) {}
  // That of the multiprocessor on which a block of this address space runs.
  DataCache& for_block(const AddressSpace& space);
  void invalidate();

 private:
  std::mt19937_64 random_;
  std::array<DataCache, 2> caches_;
  // Whose bytes they hold; a changed mapping empties them.
  const AddressSpace* space_ = nullptr;
  u64 generation_ = 0;
};

}  // namespace doorbell::emu::nvgpu
