// Allocates, maps and frees memory, with the errors of amdgpu_amdkfd_gpuvm.c and kfd_chardev.c.
#include "emulator/amd/kfd/buffers.h"

#include <cerrno>

#include <fmt/format.h>

#include "base/util/check.h"
#include "drivers/amd/hw/kfd.h"
#include "emulator/amd/kfd/calling.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/core/user_memory.h"

namespace doorbell::emu::amdgpu {
namespace {

using namespace amd::hw;

constexpr u64 kPage = 4096;
constexpr u64 kDoorbellBytes = 8192;  // kfd_doorbell_process_slice(): 1024 of 8 bytes
constexpr u32 kPlaces =
    kKfdMemVram | kKfdMemGtt | kKfdMemUserptr | kKfdMemDoorbell | kKfdMemMmioRemap;

constexpr u32 kAllFlags = kPlaces | kKfdMemWritable | kKfdMemExecutable | kKfdMemPublic |
                          kKfdMemNoSubstitute | kKfdMemAqlQueue | kKfdMemCoherent |
                          kKfdMemUncached | kKfdMemExtCoherent | kKfdMemContiguous;

const char* kind(u32 flags) {
  if (flags & kKfdMemVram) return "VRAM";
  if (flags & kKfdMemGtt) return "GTT";
  if (flags & kKfdMemUserptr) return "userptr";
  if (flags & kKfdMemDoorbell) return "doorbell";
  return "registers";
}

u64 pages(u64 bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

}  // namespace

int Buffers::refuse(const Check& check, int why, std::string message) const {
  checks_.report(check, Calling::tell(std::move(message)));
  return why;
}

Buffer* Buffers::find(u64 handle) const {
  auto found = buffers_.find(handle);
  return found == buffers_.end() ? nullptr : found->second.get();
}

bool Buffers::exists(u64 handle) const {
  Lock lock(mutex_);
  return find(handle) != nullptr;
}

usize Buffers::count() const {
  Lock lock(mutex_);
  usize count = 0;
  for (const auto& [handle, buffer] : buffers_) count += buffer->holds_events ? 0 : 1;
  return count;
}

std::vector<std::string> Buffers::left() const {
  Lock lock(mutex_);
  std::vector<std::string> left;
  for (const auto& [handle, buffer] : buffers_)
    if (!buffer->holds_events)
      left.push_back(fmt::format("{} buffer [{:#x}, {:#x}) of GPU {}, allocated by ioctl {}",
                                 kind(buffer->flags), buffer->va, buffer->va + buffer->bytes,
                                 buffer->gpu, buffer->allocated_at));
  return left;
}

u64 Buffers::available(u32 gpu) {
  Lock lock(mutex_);
  forget_closed();
  const Device& device = *devices_[gpu];
  return device.slot.node->vram_bytes - device.vram_used;
}

// A failure that clients must handle.
int Buffers::no_memory(const AllocateRequest& request, u64 left) const {
  checks_.report(kNoMemory,
                 Calling::tell(fmt::format("{:#x} bytes of {} of GPU {}, where {:#x} are left",
                                           request.bytes, kind(request.flags), request.gpu, left)),
                 Level::Warn);
  return ENOMEM;
}

// Finds memory for a request that was checked.
int Buffers::place(const AllocateRequest& request, Buffer& buffer) {
  Device& device = *devices_[request.gpu];
  if (request.flags & kKfdMemUserptr) {
    // [init_user_pages(): amdgpu_ttm_tt_get_user_pages()]
    if (int why = writable(request.user_va, buffer.bytes))
      return refuse(
          kVmAlloc, why,
          fmt::format("userptr [{:#x}, {:#x}) is not all {} memory of the process", request.user_va,
                      request.user_va + buffer.bytes, why == EPERM ? "writable" : "mapped"));
    buffer.offset = request.user_va;
    buffer.host = reinterpret_cast<u8*>(request.user_va);
    return 0;
  }
  if (request.flags & kKfdMemDoorbell) {
    buffer.offset = device.doorbells;
    return 0;
  }
  if (request.flags & kKfdMemMmioRemap) {
    buffer.offset = device.registers;
    return 0;
  }
  bool vram = (request.flags & kKfdMemVram) != 0;
  u64 limit = vram ? device.slot.node->vram_bytes : kGttBytes;
  u64& used = vram ? device.vram_used : device.gtt_used;
  if (buffer.bytes > limit - used) return no_memory(request, limit - used);
  // Large buffers get large pages, as in the kernel.
  u64 alignment = buffer.bytes >= u64{2} << 20 ? u64{2} << 20 : kPage;
  Result<u64> offset = device.memory->allocate(buffer.bytes, alignment);
  if (!offset) return no_memory(request, limit - used);
  used += buffer.bytes;
  buffer.offset = *offset;
  buffer.host = device.memory->at(*offset);
  // Memory that the host can map it may write without the emulator's notice.
  if (undefined_ && vram && !(request.flags & kKfdMemPublic))
    undefined_->allocate(buffer.host, buffer.bytes);
  shares_[{request.gpu, *offset}] = 1;
  return 0;
}

u64 Buffers::insert(std::unique_ptr<Buffer> buffer, u64 ioctl) {
  buffer->allocated_at = ioctl;
  buffer->mapped.resize(devices_.size());
  buffer->history.assign(devices_.size(), Buffer::kNone);
  buffer->history[buffer->gpu] =
      devices_[buffer->gpu]->space.add_buffer({.va = buffer->va,
                                               .bytes = buffer->bytes,
                                               .kind = kind(buffer->flags),
                                               .allocated_at = ioctl});
  // The lowest free number, as from idr_alloc().
  u32 gpu_id = devices_[buffer->gpu]->slot.gpu_id();
  Numbers& numbers = numbers_[buffer->gpu];
  u32 number = numbers.free.empty() ? numbers.next++ : *numbers.free.begin();
  numbers.free.erase(number);
  buffer->number = number;
  u64 handle = make_handle(gpu_id, number);
  if (buffer->flags & kKfdMemUserptr) ++userptrs_;
  buffers_.emplace(handle, std::move(buffer));
  return handle;
}

// [kfd_ioctl_alloc_memory_of_gpu(), amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu()]
int Buffers::allocate(const AllocateRequest& request, u64& handle, u64& mmap_offset) {
  Lock lock(mutex_);
  forget_closed();
  u32 flags = request.flags;
  if (request.bytes == 0) return refuse(kVmAlloc, EINVAL, "0 bytes are asked for");
  if ((flags & kKfdMemDoorbell) && request.bytes != kDoorbellBytes)
    return refuse(
        kVmAlloc, EINVAL,
        fmt::format("doorbells of {:#x} bytes, expected {:#x}", request.bytes, kDoorbellBytes));
  if ((flags & kKfdMemMmioRemap) && request.bytes != kPage)
    return refuse(
        kVmAlloc, EINVAL,
        fmt::format("remapped registers of {:#x} bytes, expected {:#x}", request.bytes, kPage));
  if (!(flags & kPlaces))
    return refuse(kVmAlloc, EINVAL, fmt::format("flags {:#x} name no kind of memory", flags));
  if ((flags & ~kAllFlags) != 0 &&
      checks_.report(kUnknownFlags,
                     Calling::tell(fmt::format("flags {:#x}, of which {:#x} are none", flags,
                                               flags & ~kAllFlags))) == Level::Error)
    return EINVAL;
  if (flags & kKfdMemAqlQueue)
    return refuse(kVmAlloc, EINVAL, "rings that are mapped twice are for gfx8, which is not here");
  if ((flags & kKfdMemUserptr) && request.user_va == 0)
    return refuse(kVmAlloc, EINVAL, "a userptr without an address");
  if (request.va % kPage)
    return refuse(kVmAlloc, EINVAL,
                  fmt::format("address {:#x} is no multiple of {:#x}", request.va, kPage));
  if (request.bytes % kPage &&
      checks_.report(kVmAlloc, Calling::tell(fmt::format("{:#x} bytes are no multiple of {:#x}",
                                                         request.bytes, kPage))) == Level::Error)
    return EINVAL;
  auto buffer = std::make_unique<Buffer>();
  buffer->gpu = buffer->origin_gpu = request.gpu;
  buffer->va = request.va;
  buffer->bytes = pages(request.bytes);
  buffer->flags = flags;
  if (int why = place(request, *buffer)) return why;
  mmap_offset = buffer->offset;
  handle = insert(std::move(buffer), request.ioctl);
  return 0;
}

void Buffers::give_back(Buffer& buffer) {
  if (!buffer.host) return;
  if (!(buffer.flags & kKfdMemUserptr))
    drop_share(buffer.origin_gpu, buffer.offset, buffer.bytes, buffer.flags);
  else if (races_)
    races_->forget(buffer.host, buffer.bytes);
}

void Buffers::drop_share(u32 gpu, u64 offset, u64 bytes, u32 flags) {
  auto share = shares_.find({gpu, offset});
  CHECK(share != shares_.end(), "no memory is allocated at {:#x} of GPU {}", offset, gpu);
  if (--share->second > 0) return;
  shares_.erase(share);
  Device& origin = *devices_[gpu];
  if (undefined_) undefined_->define(origin.memory->at(offset), bytes);
  if (races_) races_->forget(origin.memory->at(offset), bytes);
  ((flags & kKfdMemVram) ? origin.vram_used : origin.gtt_used) -= bytes;
  origin.memory->free(offset);
}

// [amdgpu_amdkfd_gpuvm_free_memory_of_gpu()]
int Buffers::free(u64 handle, u64 ioctl) {
  Lock lock(mutex_);
  Buffer* buffer = find(handle);
  if (!buffer)
    return refuse(kVmAlloc, EINVAL, fmt::format("handle {:#x} to free does not exist", handle));
  // [kfd_ioctl_free_memory_of_gpu(): it goes with the process]
  if (buffer->holds_events)
    return refuse(kEventPage, EPERM,
                  fmt::format("buffer [{:#x}, {:#x}) is freed and holds the slots of events",
                              buffer->va, buffer->va + buffer->bytes));
  for (u32 gpu = 0; gpu < devices_.size(); ++gpu)
    if (buffer->mapped[gpu])
      return refuse(kVmFreeMapped, EBUSY,
                    fmt::format("buffer [{:#x}, {:#x}) is freed and still mapped to GPU {}",
                                buffer->va, buffer->va + buffer->bytes, gpu));
  for (u32 gpu = 0; gpu < devices_.size(); ++gpu)
    if (buffer->history[gpu] != Buffer::kNone)
      devices_[gpu]->space.note_freed(buffer->history[gpu], ioctl);
  give_back(*buffer);
  if (buffer->flags & kKfdMemUserptr) --userptrs_;
  numbers_[buffer->gpu].free.insert(buffer->number);
  buffers_.erase(handle);
  return 0;
}

// From gfx10 on every coherence flag means uncached. gfx9 of the data centre snoops its own memory,
// so COHERENT has no effect there; GC 9.4.3 does not cache host memory, 9.5.0 does (MTYPE NC) and
// snoops. [gmc_v10_0.c, gmc_v11_0.c, gmc_v12_0.c: get_vm_pte(); gmc_v9_0.c
// gmc_v9_0_get_coherence_flags()]
MemoryType Buffers::type_for(const Buffer& buffer, const Device& device) const {
  MemoryType type;
  if (buffer.flags & (kKfdMemDoorbell | kKfdMemMmioRemap)) return {Place::Io, Caching::Uncached};
  if (!(buffer.flags & kKfdMemVram))
    type.place = Place::Host;
  else
    type.place = devices_[buffer.origin_gpu].get() == &device ? Place::Local : Place::Peer;
  bool local = type.place == Place::Local;
  if (device.slot.node->target_version >= 100000) {
    if (buffer.flags & (kKfdMemCoherent | kKfdMemExtCoherent | kKfdMemUncached))
      type.caching = Caching::Uncached;
  } else if (buffer.flags & kKfdMemUncached) {
    type.caching = Caching::Uncached;
  } else if (buffer.flags & kKfdMemExtCoherent) {
    type.caching = local ? Caching::Coherent : Caching::Uncached;
  } else if (type.place == Place::Host && device.slot.node->target_version < 90500) {
    type.caching = Caching::Uncached;
  } else if (!local) {
    type.caching = Caching::Coherent;
  }
  return type;
}

// [kfd_ioctl_map_memory_to_gpu(), amdgpu_vm_bo_map()]: existing mappings stay.
int Buffers::map(u64 handle, u32 gpu, u64 ioctl) {
  Lock lock(mutex_);
  Buffer* buffer = find(handle);
  if (!buffer)
    return refuse(kVmMap, ENOMEM, fmt::format("handle {:#x} to map does not exist", handle));
  if (buffer->mapped[gpu])
    return checks_.report(kVmMap, Calling::tell(fmt::format(
                                      "handle {:#x}, buffer [{:#x}, {:#x}), is mapped to GPU {} "
                                      "already",
                                      handle, buffer->va, buffer->va + buffer->bytes, gpu))) ==
                   Level::Error
               ? EINVAL
               : 0;
  Device& device = *devices_[gpu];
  if (buffer->history[gpu] == Buffer::kNone)
    buffer->history[gpu] = device.space.add_buffer({.va = buffer->va,
                                                    .bytes = buffer->bytes,
                                                    .kind = kind(buffer->flags),
                                                    .allocated_at = ioctl});
  Result<const Range*> range = device.space.map(
      buffer->va, buffer->bytes, buffer->host, (buffer->flags & kKfdMemWritable) != 0,
      (buffer->flags & kKfdMemExecutable) != 0, type_for(*buffer, device), buffer->history[gpu]);
  if (!range) return refuse(kVmMap, EINVAL, fmt::format("GPU {}: {}", gpu, range.error().message));
  buffer->mapped[gpu] = *range;
  return 0;
}

// [unmap_bo_from_gpuvm()]: not while a queue uses it; [amdgpu_amdkfd_gpuvm_unmap_memory_from_gpu()]
int Buffers::unmap(u64 handle, u32 gpu, u64 ioctl) {
  Device& device = *devices_[gpu];
  u64 start = 0, end = 0;
  {
    Lock lock(mutex_);
    Buffer* buffer = find(handle);
    if (!buffer)
      return refuse(kVmMap, ENOMEM, fmt::format("handle {:#x} to unmap does not exist", handle));
    if (!buffer->mapped[gpu])
      return refuse(kVmMap, EINVAL,
                    fmt::format("buffer [{:#x}, {:#x}) is unmapped from GPU {}, to which it is "
                                "not mapped",
                                buffer->va, buffer->va + buffer->bytes, gpu));
    if (buffer->queues && gpu == buffer->gpu)
      return refuse(kVmFreeInUse, EBUSY,
                    fmt::format("buffer [{:#x}, {:#x}) is unmapped while {} queues use it",
                                buffer->va, buffer->va + buffer->bytes, buffer->queues));
    device.space.note_unmapped(buffer->history[gpu], ioctl);
    start = buffer->mapped[gpu]->start;
    end = buffer->mapped[gpu]->end;
    device.space.unmap(buffer->mapped[gpu]);
    buffer->mapped[gpu] = nullptr;
  }
  // The kernel flushes the TLB, so no access uses the old pages any more.
  if (device.engine) device.engine->unmapped(start, end);
  return 0;
}

// The kernel requests the pages again before queues continue, which fails; an access is then a
// fault.
// [amdgpu_amdkfd_evict_userptr(), update_invalid_user_pages(): -EFAULT]
void Buffers::host_unmapped(u64 start, u64 end) {
  if (userptrs_.load(std::memory_order_relaxed) == 0) return;
  std::vector<std::pair<u32, const Range*>> gone;
  {
    Lock lock(mutex_);
    for (auto& [handle, buffer] : buffers_) {
      if (!(buffer->flags & kKfdMemUserptr) || !buffer->host) continue;
      if (buffer->offset >= end || start >= buffer->offset + buffer->bytes) continue;
      buffer->host = nullptr;
      for (u32 gpu = 0; gpu < devices_.size(); ++gpu) {
        const Range* old = buffer->mapped[gpu];
        if (!old) continue;
        AddressSpace& space = devices_[gpu]->space;
        space.unmap(old);
        Result<const Range*> nowhere =
            space.map(old->start, old->end - old->start, nullptr, old->writable, old->executable,
                      old->type, old->buffer);
        CHECK(nowhere, "{}", nowhere.error().message);
        buffer->mapped[gpu] = *nowhere;
        gone.emplace_back(gpu, old);
      }
    }
  }
  for (auto [gpu, range] : gone)
    if (devices_[gpu]->engine) devices_[gpu]->engine->unmapped(range->start, range->end);
}

int Buffers::event_page(u64 handle, u8*& host, u64& bytes) {
  Lock lock(mutex_);
  Buffer* buffer = find(handle);
  if (!buffer || !(buffer->flags & kKfdMemGtt))
    return refuse(kEventPage, EINVAL,
                  fmt::format("handle {:#x} of the page of event slots {}", handle,
                              buffer ? "is no GTT buffer" : "does not exist"));
  host = buffer->host;
  bytes = buffer->bytes;
  return 0;
}

void Buffers::keep_for_events(u64 handle) {
  Lock lock(mutex_);
  if (Buffer* buffer = find(handle)) buffer->holds_events = true;
}

int Buffers::acquire_for_queue(u32 gpu, u64 va, u64 bytes, const char* what, std::string& why) {
  Lock lock(mutex_);
  u64 page = va & ~(kPage - 1);
  for (auto& [handle, buffer] : buffers_) {
    const Range* range = buffer->mapped[gpu];
    if (!range || page < range->start || page >= range->end) continue;
    if (page != range->start || (bytes && range->end - range->start != pages(bytes))) {
      why = fmt::format("{} [{:#x}, {:#x}) is not the whole buffer [{:#x}, {:#x})", what, page,
                        page + pages(bytes), range->start, range->end);
      return EINVAL;
    }
    ++buffer->queues;
    return 0;
  }
  why = fmt::format("{} at {:#x} is not mapped: {}", what, va, devices_[gpu]->space.describe(va));
  return EINVAL;
}

void Buffers::release_from_queue(u32 gpu, u64 va) {
  Lock lock(mutex_);
  for (auto& [handle, buffer] : buffers_)
    if (buffer->queues && buffer->mapped[gpu] && va >= buffer->va &&
        va - buffer->va < buffer->bytes) {
      --buffer->queues;
      return;
    }
}

bool Buffers::mappable(u32 gpu, u64 offset, u64 bytes) const {
  Lock lock(mutex_);
  for (const auto& [handle, buffer] : buffers_)
    if (buffer->origin_gpu == gpu && buffer->host && !(buffer->flags & kKfdMemUserptr) &&
        offset == buffer->offset && bytes <= buffer->bytes)
      return true;
  return false;
}

}  // namespace doorbell::emu::amdgpu
