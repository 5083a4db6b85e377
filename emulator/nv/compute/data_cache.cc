// Sectors, and which multiprocessor a block gets.
#include "emulator/nv/compute/data_cache.h"

#include <algorithm>

namespace doorbell::emu::nvgpu {

u8* DataCache::read(u64 address, u8* host) {
  const u64 at = address % kSector;
  const auto [entry, is_new] = sectors_.try_emplace(address / kSector);
  if (is_new) std::copy_n(host - at, kSector, entry->second.begin());
  return entry->second.data() + at;
}

DataCache& DataCaches::for_block(const AddressSpace& space) {
  if (&space != space_ || space.generation() != generation_) invalidate();
  space_ = &space;
  generation_ = space.generation();
  return caches_[random_() % caches_.size()];
}

void DataCaches::invalidate() {
  for (DataCache& cache : caches_) cache.drop_all();
}

}  // namespace doorbell::emu::nvgpu
