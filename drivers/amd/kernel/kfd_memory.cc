// ALLOC, MAP, UNMAP, FREE; and dma-bufs.
#include "drivers/amd/kernel/kfd_memory.h"

#include <algorithm>
#include <cerrno>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/amd/caps.h"
#include "drivers/amd/kernel/kfd_gpu.h"

namespace doorbell::amd {
namespace {

Coherence usual_coherence(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Vram:
    case MemoryKind::VisibleVram: return Coherence::Cached;
    case MemoryKind::Host: return Coherence::Uncached;
    case MemoryKind::User: return Coherence::Coherent;
  }
  UNREACHABLE("memory kind {}", static_cast<int>(kind));
}

// COHERENT goes with the stronger two, as ROCr has it: kernels judge by any of them.
// [libhsakmt fmm.c, fmm_allocate_device()]
u32 coherence_flags(Coherence coherence) {
  switch (coherence) {
    case Coherence::Cached: return 0;
    case Coherence::Coherent: return hw::kKfdMemCoherent;
    case Coherence::ExtCoherent: return hw::kKfdMemCoherent | hw::kKfdMemExtCoherent;
    case Coherence::Uncached: return hw::kKfdMemCoherent | hw::kKfdMemUncached;
  }
  UNREACHABLE("coherence {}", static_cast<int>(coherence));
}

u32 flags_of(const MemoryRequest& request) {
  u32 flags = hw::kKfdMemWritable | hw::kKfdMemNoSubstitute;
  if (request.executable) flags |= hw::kKfdMemExecutable;
  switch (request.kind) {
    case MemoryKind::Vram: flags |= hw::kKfdMemVram; break;
    case MemoryKind::VisibleVram: flags |= hw::kKfdMemVram | hw::kKfdMemPublic; break;
    case MemoryKind::Host: flags |= hw::kKfdMemGtt | hw::kKfdMemPublic; break;
    case MemoryKind::User: flags |= hw::kKfdMemUserptr | hw::kKfdMemPublic; break;
  }
  return flags | coherence_flags(request.coherence.value_or(usual_coherence(request.kind)));
}

// The kernel ignores flags that it does not know, so requests beyond it are refused here.
Result<void> check_request(const MemoryRequest& request, const KfdGpu& gpu) {
  const u64 user = reinterpret_cast<u64>(request.user);
  if ((request.kind == MemoryKind::User) != (request.user != nullptr))
    return fail(ErrorKind::Invalid, "{} of {} at address {:#x} of the process",
                request.kind == MemoryKind::User ? "user memory" : "memory that is no user memory",
                request.what, user);
  if (const u64 page = gpu.kfd().page_bytes(); user % page != 0)
    return fail(ErrorKind::Invalid, "{} at {:#x} is not aligned to pages of {} bytes", request.what,
                user, page);
  if (request.coherence != Coherence::ExtCoherent) return {};
  const u64 target = gpu.node().properties.gfx_target_version;
  const Caps* const caps = find_caps(target);
  if (caps == nullptr || !caps->ext_coherent)
    return fail(
        ErrorKind::Unsupported,
        "{} cannot have extended coherence on GPU {}: it is a {}, only gfx942 and gfx950 have it",
        request.what, gpu.id(), arch_name(target));
  if (gpu.kfd().minor_version() < hw::kKfdExtCoherentMinor)
    return fail(ErrorKind::Unsupported,
                "the kernel driver has interface {}.{}, extended coherence of {} needs {}.{}",
                hw::kKfdMajor, gpu.kfd().minor_version(), request.what, hw::kKfdMajor,
                hw::kKfdExtCoherentMinor);
  return {};
}

Error allocation_error(const Error& error, const MemoryRequest& request, const KfdGpu& gpu) {
  if (error.os_errno == ENOMEM || error.os_errno == ENOSPC)
    return fail(ErrorKind::OutOfMemory, "GPU {} has no memory for {} bytes of {}", gpu.id(),
                request.bytes, request.what);
  if (error.os_errno == EINVAL && request.kind == MemoryKind::VisibleVram)
    return fail(ErrorKind::Unsupported,
                "GPU {} has no memory that the host can map: enable \"resizable BAR\" (\"smart "
                "access memory\") in the firmware's settings: {}",
                gpu.id(), error.message);
  return error;
}

}  // namespace

u64 KfdGpu::whole_pages(u64 bytes) const {
  const u64 page = kfd_.page_bytes();
  return (bytes + page - 1) / page * page;
}

Result<std::unique_ptr<KfdMemory>> KfdGpu::allocate(const MemoryRequest& request) {
  const u64 bytes = whole_pages(std::max<u64>(request.bytes, 1));
  TRY(check_request(request, *this));
  TRY(const u64 address, kfd_.reserve(bytes));
  // From here on its destructor gives back what it has.
  std::unique_ptr<KfdMemory> memory(new KfdMemory(kfd_, address, bytes));
  hw::KfdAllocMemory arguments;
  arguments.va_addr = address;
  arguments.size = bytes;
  arguments.gpu_id = id();
  arguments.flags = flags_of(request);
  arguments.mmap_offset = reinterpret_cast<u64>(request.user);
  if (Result<void> allocated = kfd_.call(arguments); !allocated)
    return allocation_error(allocated.error(), request, *this);
  memory->handle_ = arguments.handle;
  TRY(memory->map_to(*this));
  if (request.kind == MemoryKind::User) {
    memory->host_ = static_cast<u8*>(request.user);
  } else if (request.kind != MemoryKind::Vram) {
    os::MapRequest map;
    map.size = bytes;
    map.offset = arguments.mmap_offset;
    map.writable = true;
    map.inherited = request.inherited;
    TRY(memory->mapping_, render_->map(map));
    memory->host_ = memory->mapping_.data();
  }
  kfd_.address_map().note_mapped(address, bytes, request.what, memory->host_);
  memory->is_noted_ = true;
  return memory;
}

Result<std::unique_ptr<KfdMemory>> KfdGpu::import_dmabuf(int descriptor, std::string what) {
  hw::KfdGetDmabufInfo info;
  info.dmabuf_fd = static_cast<u32>(descriptor);
  TRY(kfd_.call(info));
  const u64 bytes = whole_pages(info.size);
  TRY(const u64 address, kfd_.reserve(bytes));
  std::unique_ptr<KfdMemory> memory(new KfdMemory(kfd_, address, bytes));
  hw::KfdImportDmabuf arguments;
  arguments.va_addr = address;
  arguments.gpu_id = id();
  arguments.dmabuf_fd = static_cast<u32>(descriptor);
  TRY(kfd_.call(arguments));
  memory->handle_ = arguments.handle;
  TRY(memory->map_to(*this));
  kfd_.address_map().note_mapped(address, bytes, std::move(what), nullptr);
  memory->is_noted_ = true;
  return memory;
}

Result<void> KfdMemory::map_to(const KfdGpu& gpu) {
  std::lock_guard lock(mutex_);
  if (std::find(gpus_.begin(), gpus_.end(), gpu.id()) != gpus_.end()) return {};
  u32 id = gpu.id();
  hw::KfdMapMemory arguments;
  arguments.handle = handle_;
  arguments.device_ids_array_ptr = reinterpret_cast<u64>(&id);
  arguments.n_devices = 1;
  TRY(kfd_.call(arguments));
  gpus_.push_back(id);
  return {};
}

Result<int> KfdMemory::export_dmabuf() {
  if (kfd_.minor_version() < hw::kKfdExportMinor)
    return fail(ErrorKind::Unsupported,
                "the kernel driver has interface {}.{}, sharing memory as a dma-buf needs {}.{}",
                hw::kKfdMajor, kfd_.minor_version(), hw::kKfdMajor, hw::kKfdExportMinor);
  constexpr u32 kCloseOnExec = 02000000, kReadWrite = 2;
  hw::KfdExportDmabuf arguments;
  arguments.handle = handle_;
  arguments.flags = kCloseOnExec | kReadWrite;
  TRY(kfd_.call(arguments));
  return static_cast<int>(arguments.dmabuf_fd);
}

Result<void> KfdMemory::unmap() {
  std::lock_guard lock(mutex_);
  if (gpus_.empty()) return {};
  hw::KfdUnmapMemory arguments;
  arguments.handle = handle_;
  arguments.device_ids_array_ptr = reinterpret_cast<u64>(gpus_.data());
  arguments.n_devices = static_cast<u32>(gpus_.size());
  return kfd_.call(arguments);
}

KfdMemory::~KfdMemory() {
  if (is_noted_) kfd_.address_map().note_unmapped(address_);
  // What the kernel keeps although it was told to free it, keeps its address too.
  if (!unmap()) return;
  mapping_ = os::Mapping();
  if (is_left_) return;
  if (handle_ != 0) {
    hw::KfdFreeMemory arguments;
    arguments.handle = handle_;
    if (!kfd_.call(arguments)) return;
  }
  kfd_.unreserve(address_);
}

}  // namespace doorbell::amd
