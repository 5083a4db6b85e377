// Blocks of pinned memory, each with a TLSF of its own.
#include "drivers/cuda/host_memory.h"

#include <algorithm>
#include <map>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::cuda {
namespace {

constexpr u64 kBlockBytes = u64{4} << 20, kGranule = 256;

}  // namespace

PinnedMemory::~PinnedMemory() {
  if (!context_->api().process.is_same_process()) return;
  const Current current(*context_);
  for (const std::unique_ptr<Block>& block : blocks_)
    (void)context_->api().cuMemFreeHost(block->memory);
}

// With unified addressing, devices see portable memory where the host does. [CUDA Driver API,
// "Unified Addressing"]
core::Allocation PinnedMemory::piece_of(Block& block, u64 address, i64 bytes) {
  return {reinterpret_cast<void*>(address), address, &block, bytes};
}

Result<core::Allocation> PinnedMemory::allocate(i64 bytes) {
  CHECK_GE(bytes, 0);
  const u64 size = static_cast<u64>(bytes);
  std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Block>& block : blocks_) {
    if (const std::optional<u64> address = block->free.allocate(size)) {
      in_use_ += bytes;
      return piece_of(*block, *address, bytes);
    }
  }
  TRY(context_->failure());
  const u64 block_bytes = (std::max<u64>(size, 1) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  void* memory = nullptr;
  {
    const Current current(*context_);
    TRY(context_->check(
        context_->api().cuMemHostAlloc(&memory, block_bytes, kHostPortable | kHostDeviceMap),
        "cuMemHostAlloc"));
  }
  hcq::Tlsf free(reinterpret_cast<u64>(memory), block_bytes, kGranule);
  blocks_.push_back(std::make_unique<Block>(Block{memory, std::move(free)}));
  const std::optional<u64> address = blocks_.back()->free.allocate(size);
  CHECK(address.has_value(), "a fresh block of {} bytes has no room for {}", block_bytes, bytes);
  in_use_ += bytes;
  return piece_of(*blocks_.back(), *address, bytes);
}

void PinnedMemory::release(const core::Allocation& allocation) {
  std::lock_guard lock(mutex_);
  static_cast<Block*>(allocation.opaque)->free.release(allocation.address);
  in_use_ -= allocation.bytes;
}

core::MemoryStats PinnedMemory::stats() const {
  std::lock_guard lock(mutex_);
  return {in_use_, 0, 0};
}

std::shared_ptr<SharedHost> SharedHost::of(const std::shared_ptr<Context>& context) {
  struct All {
    std::mutex mutex;
    std::map<const Api*, std::weak_ptr<SharedHost>> hosts;
  };
  static All& all = *new All;  // never freed: devices outlive main()
  std::lock_guard lock(all.mutex);
  std::weak_ptr<SharedHost>& known = all.hosts[&context->api()];
  std::shared_ptr<SharedHost> host = known.lock();
  if (host == nullptr) known = host = std::make_shared<SharedHost>(context);
  return host;
}

}  // namespace doorbell::cuda
