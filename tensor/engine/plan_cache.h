// PlanCache: finished plans by graph key. A hit compares the whole key; the least recently used
// plan goes when the cache is full.
//
// Thread safety: all functions may be called from any thread. A plan found stays valid while its
// shared_ptr is held, also when it is evicted meanwhile: that is why it is shared.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

#include "tensor/engine/plan.h"

namespace doorbell::engine {

class PlanCache {
 public:
  // `capacity` plans at most, spread evenly.
  explicit PlanCache(usize capacity) : shard_capacity_((capacity + kShards - 1) / kShards) {}

  std::shared_ptr<const Plan> find(const core::GraphKey& key);
  // Keeps the plan, unless another thread was first; returns the one kept.
  std::shared_ptr<const Plan> insert(const core::GraphKey& key, Plan plan);
  void clear();
  // How often it was cleared: plans that a thread remembers from before are not used again.
  u64 generation() const { return generation_.load(std::memory_order_relaxed); }
  usize size();

 private:
  static constexpr usize kShards = 16;
  struct Entry {
    std::shared_ptr<const Plan> plan;
    mutable std::atomic<u64> last_used{0};
  };
  struct alignas(64) Shard {
    std::shared_mutex mutex;
    // Keys with equal hashes share a list. unique_ptr: entries hold an atomic and do not move.
    absl::flat_hash_map<u64, std::vector<std::unique_ptr<Entry>>> entries;
    usize count = 0;
  };
  Shard& shard_of(u64 hash) { return shards_[hash % kShards]; }
  const Entry* find_in(const Shard& shard, const core::GraphKey& key);
  static void evict_oldest(Shard* shard);

  const usize shard_capacity_;
  std::array<Shard, kShards> shards_;
  std::atomic<u64> generation_{0};
  std::atomic<u64> clock_{0};  // advanced by insertions: ages are relative to new plans
};

}  // namespace doorbell::engine
