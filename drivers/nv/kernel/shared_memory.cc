// A buffer object for each allocation.
#include "drivers/nv/kernel/shared_memory.h"

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/nv/kernel/nvk_gpu.h"

namespace doorbell::nv {

Result<void> SharedMemory::add_gpu(NvkGpu& gpu) {
  std::lock_guard lock(mutex_);
  if (std::ranges::find(gpus_, &gpu) != gpus_.end()) return {};
  for (const std::unique_ptr<NvkMemory>& memory : memory_) TRY(memory->map_to(gpu));
  gpus_.push_back(&gpu);
  return {};
}

Result<core::Allocation> SharedMemory::allocate(i64 bytes) {
  std::lock_guard lock(mutex_);
  CHECK(!gpus_.empty(), "shared memory before a GPU is open");
  MemoryRequest request;
  request.bytes = static_cast<u64>(bytes);
  request.kind = MemoryKind::Host;
  request.low = true;  // host engines wait for signals
  request.what = "signals and staged copies";
  TRY(std::unique_ptr<NvkMemory> memory, gpus_.front()->allocate(request));
  for (NvkGpu* gpu : gpus_) TRY(memory->map_to(*gpu));
  std::memset(memory->host(), 0, memory->bytes());
  const core::Allocation allocation{memory->host(), memory->address(), memory.get(), bytes};
  memory_.push_back(std::move(memory));
  return allocation;
}

void SharedMemory::release(const core::Allocation& allocation) {
  std::lock_guard lock(mutex_);
  std::erase_if(memory_, [&](const std::unique_ptr<NvkMemory>& memory) {
    return memory.get() == allocation.opaque;
  });
}

core::MemoryStats SharedMemory::stats() const {
  std::lock_guard lock(mutex_);
  i64 bytes = 0;
  for (const std::unique_ptr<NvkMemory>& memory : memory_)
    bytes += static_cast<i64>(memory->bytes());
  return {bytes, 0, bytes};
}

}  // namespace doorbell::nv
