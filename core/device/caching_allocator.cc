// The cache of released memory: a list by age, and for each size a stack of positions in that list.
#include "core/device/caching_allocator.h"

#include <algorithm>

#include "base/util/log.h"
#include "core/util/config.h"

namespace doorbell::core {

CachingAllocator::CachingAllocator(std::string device, std::unique_ptr<Allocator> driver,
                                   i64 max_cached)
    : device_(std::move(device)), driver_(std::move(driver)), max_cached_(max_cached) {}

CachingAllocator::~CachingAllocator() { flush(); }

Result<Allocation> CachingAllocator::allocate(i64 bytes) {
  {
    std::lock_guard lock(mutex_);
    stats_.in_use += bytes;
    stats_.peak = std::max(stats_.peak, stats_.in_use);
    auto at = sizes_.find(bytes);
    if (at != sizes_.end() && at->second.held.size() > at->second.first) {
      Size& size = at->second;
      const Held::iterator taken = size.held.back();
      const Allocation allocation = *taken;
      size.held.pop_back();
      stats_.cached -= bytes;
      spare_.splice(spare_.end(), held_, taken);
      return allocation;
    }
  }
  Result<Allocation> fresh = driver_->allocate(bytes);
  if (!fresh && fresh.error().kind == ErrorKind::OutOfMemory) {
    flush();
    fresh = driver_->allocate(bytes);
  }
  if (config().debug >= 7 && fresh) log().debug("{} allocates {} bytes", device_, bytes);
  if (fresh) return fresh;
  std::lock_guard lock(mutex_);
  stats_.in_use -= bytes;
  if (fresh.error().kind != ErrorKind::OutOfMemory) return fresh;
  Error error = fail(ErrorKind::OutOfMemory,
                     "{} has no memory for {} bytes: {} bytes are in use, {} cached ({})", device_,
                     bytes, stats_.in_use, stats_.cached, fresh.error().message);
  error.device = device_;
  return error;
}

void CachingAllocator::release(const Allocation& allocation) {
  std::lock_guard lock(mutex_);
  stats_.in_use -= allocation.bytes;
  stats_.cached += allocation.bytes;
  if (spare_.empty()) spare_.emplace_back();
  const Held::iterator place = spare_.begin();
  *place = allocation;
  held_.splice(held_.end(), spare_, place);
  sizes_[allocation.bytes].held.push_back(place);
  if (stats_.cached > max_cached_) evict_to(max_cached_);
}

// Among equal sizes the oldest is at the bottom of its stack, so eviction by age takes stacks from
// the bottom.
void CachingAllocator::evict_to(i64 bytes) {
  while (stats_.cached > bytes && !held_.empty()) {
    const Allocation oldest = held_.front();
    auto at = sizes_.find(oldest.bytes);
    Size& size = at->second;
    ++size.first;
    if (size.first == size.held.size()) {
      sizes_.erase(at);
    } else if (size.first > 64 && size.first * 2 > size.held.size()) {
      size.held.erase(size.held.begin(), size.held.begin() + static_cast<i64>(size.first));
      size.first = 0;
    }
    stats_.cached -= oldest.bytes;
    held_.pop_front();
    driver_->release(oldest);
  }
}

void CachingAllocator::flush() {
  std::lock_guard lock(mutex_);
  evict_to(-1);
  spare_.clear();
}

MemoryStats CachingAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace doorbell::core
