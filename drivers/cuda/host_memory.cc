// Blocks of pinned memory, and the one SharedHost of an Api.
#include "drivers/cuda/host_memory.h"

#include <map>
#include <mutex>

#include "base/util/try.h"

namespace doorbell::cuda {
namespace {

class PinnedBlock final : public hcq::BlockAllocator::Block {
 public:
  explicit PinnedBlock(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~PinnedBlock() override {
    if (host == nullptr || !context_->api().process.is_same_process()) return;
    const Current current(*context_);
    (void)context_->api().cuMemFreeHost(host);
  }

  Result<void> allocate(u64 size) {
    TRY(context_->failure());
    const Current current(*context_);
    void* memory = nullptr;
    TRY(context_->check(
        context_->api().cuMemHostAlloc(&memory, size, kHostPortable | kHostDeviceMap),
        "cuMemHostAlloc"));
    host = static_cast<u8*>(memory);
    // With unified addressing, devices see portable memory where the host does. [CUDA Driver API,
    // "Unified Addressing"]
    address = reinterpret_cast<u64>(memory);
    bytes = size;
    return {};
  }

 private:
  const std::shared_ptr<Context> context_;  // shared_ptr: see context.h
};

}  // namespace

hcq::BlockAllocator::MakeBlock pinned_blocks(std::shared_ptr<Context> context) {
  return [context = std::move(context)](
             u64 bytes) -> Result<std::unique_ptr<hcq::BlockAllocator::Block>> {
    auto block = std::make_unique<PinnedBlock>(context);
    TRY(block->allocate(bytes));
    return block;
  };
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
