// Allocating by RM, mapping by UVM. nvk_dmabuf.cc shares memory.
#include "drivers/nv/kernel/nvk_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "drivers/nv/kernel/nvk_gpu.h"

namespace doorbell::nv {
namespace {

constexpr u64 kBigPage = u64{64} << 10, kHugePage = u64{2} << 20;
// NV_MMU_PTE_KIND_GENERIC_MEMORY. [open-gpu-kernel-modules dev_mmu.h of Turing and later]
constexpr u32 kGenericMemory = 6;

// Pages of video memory are 64 KiB or 2 MiB, those of the host are the host's.
u64 page_of(const MemoryRequest& request) {
  switch (request.kind) {
    case MemoryKind::Host:
    case MemoryKind::Notifier: return os::host_page_bytes();
    case MemoryKind::Video:
    case MemoryKind::VisibleVideo: return request.bytes >= kHugePage ? kHugePage : kBigPage;
  }
  UNREACHABLE("memory kind {}", static_cast<int>(request.kind));
}

Error explained(Error error, const MemoryRequest& request, const NvkGpu& gpu) {
  if (error.kind == ErrorKind::OutOfMemory)
    return fail(ErrorKind::OutOfMemory, "{} has no memory for {} bytes of {}: {}", gpu.node(),
                request.bytes, request.what, error.message);
  error.message = fmt::format("{} bytes of {}: {}", request.bytes, request.what, error.message);
  return error;
}

}  // namespace

Result<std::unique_ptr<NvkMemory>> NvkGpu::allocate(const MemoryRequest& request) {
  const u64 page = page_of(request);
  const u64 bytes = (std::max<u64>(request.bytes, 1) + page - 1) / page * page;
  TRY(const u64 address, nvk_.reserve(bytes, page, request.low));
  // From here on its destructor gives back what it has.
  std::unique_ptr<NvkMemory> memory(new NvkMemory(nvk_, address, bytes));
  Result<void> made;
  if (request.kind == MemoryKind::Host)
    made = memory->allocate_host(*this, request);
  else if (request.kind == MemoryKind::Notifier)
    made = memory->allocate_notifier(*this);
  else
    made = memory->allocate_video(*this, page);
  if (made && (request.kind == MemoryKind::VisibleVideo || request.kind == MemoryKind::Notifier))
    made = memory->map_for_host(*this, request);
  if (made) made = memory->map_for_gpus(*this);
  if (!made) return explained(std::move(made).error(), request, *this);
  nvk_.address_map().note_mapped(address, bytes, request.what, memory->host());
  memory->is_noted_ = true;
  return memory;
}

// [tinygrad ops_nv.py NVKIface.alloc()]
Result<void> NvkMemory::allocate_video(const NvkGpu& gpu, u64 alignment) {
  const bool is_huge = alignment >= kHugePage;
  hw::MemoryParameters parameters{
      .owner = nvk_.client().handle(),
      .type = hw::kOs32TypeImage,
      .flags = hw::kOs32AlignmentForce | hw::kOs32MemoryHandleProvided | hw::kOs32MapNotRequired |
               hw::kOs32PersistentVidmem,
      .attr = hw::kOs32AllowNoncontiguous | (is_huge ? hw::kOs32PageSizeHuge : 0),
      .attr2 = hw::kOs32PreferNoZbc | hw::kOs32GpuCacheable | (is_huge ? hw::kOs32Huge2M : 0),
      .format = kGenericMemory,
      .size = bytes_,
      .alignment = alignment,
      .limit = bytes_ - 1,
  };
  TRY(object_,
      make_object(nvk_.client(), gpu.device(), hw::kMemoryLocalUser, parameters, "video memory"));
  owner_ = &gpu;
  return {};
}

Result<void> NvkMemory::allocate_notifier(const NvkGpu& gpu) {
  hw::MemoryParameters parameters{
      .owner = nvk_.client().handle(),
      .type = hw::kOs32TypeNotifier,
      .flags = hw::kOs32AlignmentForce | hw::kOs32MemoryHandleProvided | hw::kOs32MapNotRequired,
      .attr = hw::kOs32AllowNoncontiguous | hw::kOs32LocationPci,
      .attr2 = hw::kOs32PreferNoZbc | hw::kOs32GpuUncached,
      .format = kGenericMemory,
      .size = bytes_,
      .alignment = os::host_page_bytes(),
      .limit = bytes_ - 1,
  };
  TRY(object_,
      make_object(nvk_.client(), gpu.device(), hw::kMemorySystem, parameters, "system memory"));
  return {};
}

Result<void> NvkMemory::allocate_host(const NvkGpu& gpu, const MemoryRequest& request) {
  os::MapRequest map;
  map.size = bytes_;
  map.writable = true;
  map.inherited = request.inherited;
  TRY(mapping_, nvk_.files().map_anonymous(map));
  RmClient& client = nvk_.client();
  hw::RmAllocMemory memory;
  memory.params = {.root = client.handle(),
                   .object_parent = gpu.device(),
                   .object_new = client.next_handle(),
                   .class_id = hw::kMemorySystemOsDescriptor,
                   .flags = hw::kOs02Noncontiguous | hw::kOs02Cached | hw::kOs02NoMap,
                   .memory = reinterpret_cast<u64>(mapping_.data()),
                   .limit = bytes_ - 1};
  const u32 handle = memory.params.object_new;
  TRY(client.escape_checked(gpu.file(), memory, "host memory"));
  object_ = RmObject(client, gpu.device(), handle);
  return {};
}

// Each mapping needs a file of its own: the kernel keeps one of each. [open-gpu-kernel-modules
// nv-mmap.c, nvidia_mmap()]
Result<void> NvkMemory::map_for_host(const NvkGpu& gpu, const MemoryRequest& request) {
  RmClient& client = nvk_.client();
  const bool is_video = request.kind == MemoryKind::VisibleVideo;
  TRY(file_, client.open_node(is_video ? gpu.node() : "/dev/nvidiactl"));
  hw::RmMapMemory map;
  map.params = {.client = client.handle(),
                .device = gpu.device(),
                .memory = handle(),
                .length = bytes_,
                .flags = is_video ? hw::kOs33WriteCombined : 0};
  map.fd = file_->descriptor();
  TRY(client.escape_checked(map, request.what));
  os::MapRequest pages;
  pages.size = bytes_;
  pages.writable = true;
  pages.inherited = request.inherited;
  TRY(mapping_, file_->map(pages));
  return {};
}

Result<void> NvkMemory::map_for_gpus(const NvkGpu& gpu) {
  hw::UvmCreateExternalRange range{.base = address_, .length = bytes_};
  TRY(nvk_.uvm().call(range));
  has_range_ = true;
  return map_to(gpu);
}

Result<void> NvkMemory::map_to(const NvkGpu& gpu) {
  std::lock_guard lock(mutex_);
  if (std::ranges::find(gpus_, &gpu) != gpus_.end()) return {};
  hw::UvmMapExternalAllocation map{.base = address_, .length = bytes_};
  map.gpu_attributes[0].gpu_uuid = gpu.uuid();
  map.gpu_attributes[0].mapping_type = hw::kUvmMappingReadWriteAtomic;
  map.gpu_attributes_count = 1;
  map.rm_ctrl_fd = nvk_.client().descriptor();
  map.client = nvk_.client().handle();
  map.memory = handle();
  TRY(nvk_.uvm().call(map));
  gpus_.push_back(&gpu);
  return {};
}

NvkMemory::~NvkMemory() {
  if (is_noted_) nvk_.address_map().note_unmapped(address_);
  if (has_range_) {
    hw::UvmFree free{.base = address_, .length = bytes_};
    // What UVM keeps although it was told to free it, keeps its address too.
    if (!nvk_.uvm().call(free)) return;
  }
  object_ = RmObject();
  mapping_ = os::Mapping();
  nvk_.unreserve(address_);
}

}  // namespace doorbell::nv
