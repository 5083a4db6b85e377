// Lookup under a shared lock, insertion under an exclusive one.
#include "tensor/engine/plan_cache.h"

#include <mutex>

namespace doorbell::engine {

const PlanCache::Entry* PlanCache::find_in(const Shard& shard, const core::GraphKey& key) {
  const auto at = shard.entries.find(key.hash);
  if (at == shard.entries.end()) return nullptr;
  for (const std::unique_ptr<Entry>& entry : at->second) {
    if (entry->plan->key != key.words) continue;
    // Written only when it changes, so that hits of several threads do not fight for the line.
    const u64 now = clock_.load(std::memory_order_relaxed);
    if (entry->last_used.load(std::memory_order_relaxed) != now)
      entry->last_used.store(now, std::memory_order_relaxed);
    return entry.get();
  }
  return nullptr;
}

std::shared_ptr<const Plan> PlanCache::find(const core::GraphKey& key) {
  Shard& shard = shard_of(key.hash);
  std::shared_lock lock(shard.mutex);
  const Entry* entry = find_in(shard, key);
  return entry != nullptr ? entry->plan : nullptr;
}

std::shared_ptr<const Plan> PlanCache::insert(const core::GraphKey& key, Plan plan) {
  auto entry = std::make_unique<Entry>();
  plan.key = key.words;
  entry->plan = std::make_shared<const Plan>(std::move(plan));
  Shard& shard = shard_of(key.hash);
  std::lock_guard lock(shard.mutex);
  if (const Entry* first = find_in(shard, key)) return first->plan;
  if (shard.count >= shard_capacity_) evict_oldest(&shard);
  entry->last_used.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  std::shared_ptr<const Plan> kept = entry->plan;
  shard.entries[key.hash].push_back(std::move(entry));
  ++shard.count;
  return kept;
}

// Searches all entries for the smallest time. The order does not matter: equal times mean equal
// ages, and either entry may be evicted.
void PlanCache::evict_oldest(Shard* shard) {
  u64 oldest_hash = 0, oldest_time = ~u64{0};
  usize oldest_at = 0;
  for (const auto& [hash, list] : shard->entries) {
    for (usize i = 0; i < list.size(); ++i) {
      const u64 time = list[i]->last_used.load(std::memory_order_relaxed);
      if (time > oldest_time || (time == oldest_time && hash >= oldest_hash)) continue;
      oldest_time = time;
      oldest_hash = hash;
      oldest_at = i;
    }
  }
  const auto at = shard->entries.find(oldest_hash);
  if (at == shard->entries.end()) return;
  at->second.erase(at->second.begin() + static_cast<i64>(oldest_at));
  if (at->second.empty()) shard->entries.erase(at);
  --shard->count;
}

void PlanCache::clear() {
  generation_.fetch_add(1, std::memory_order_relaxed);
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    shard.entries.clear();
    shard.count = 0;
  }
}

usize PlanCache::size() {
  usize total = 0;
  for (Shard& shard : shards_) {
    std::shared_lock lock(shard.mutex);
    total += shard.count;
  }
  return total;
}

}  // namespace doorbell::engine
