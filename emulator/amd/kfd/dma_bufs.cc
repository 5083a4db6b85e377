// dma-bufs: descriptors for memory (buffers.h). The client gets one end of a pipe: its inode
// identifies the memory, even after it was duplicated or sent, and the emulator's end shows when
// its last copy is closed. Then the memory is freed, as in the kernel. The memory itself cannot be
// mapped through it. [drivers/gpu/drm/amd/amdgpu/amdgpu_dma_buf.c; drivers/gpu/drm/drm_prime.c]
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "drivers/amd/hw/kfd.h"
#include "emulator/amd/kfd/buffers.h"
#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {

using namespace amd::hw;

Buffers::~Buffers() {
  for (auto& [id, exported] : exported_) close(exported.guard);
}

Buffers::FileId Buffers::file_id(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return {0, 0};
  return {static_cast<u64>(status.st_dev), static_cast<u64>(status.st_ino)};
}

void Buffers::forget_closed() {
  for (auto at = exported_.begin(); at != exported_.end();) {
    pollfd guard{.fd = at->second.guard, .events = 0, .revents = 0};
    const Exported& exported = at->second;
    if (poll(&guard, 1, 0) < 1 || !(guard.revents & POLLHUP)) {
      ++at;
      continue;
    }
    close(exported.guard);
    drop_share(exported.gpu, exported.offset, exported.bytes, exported.flags);
    at = exported_.erase(at);
  }
}

// [kfd_ioctl_export_dmabuf()]
int Buffers::export_descriptor(u64 handle, u32 flags, int& descriptor) {
  Lock lock(mutex_);
  forget_closed();
  Buffer* buffer = find(handle);
  if (!buffer || !buffer->host || (buffer->flags & kKfdMemUserptr))
    return refuse(kVmMap, EINVAL,
                  fmt::format("handle {:#x} to export {}", handle,
                              buffer ? "is no VRAM or GTT buffer" : "does not exist"));
  int ends[2];  // the reading end, which the emulator keeps, and the writing end
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
  if (!(flags & O_CLOEXEC)) fcntl(ends[1], F_SETFD, 0);
  descriptor = ends[1];
  exported_[file_id(descriptor)] = {.guard = ends[0],
                                    .gpu = buffer->origin_gpu,
                                    .offset = buffer->offset,
                                    .bytes = buffer->bytes,
                                    .flags = buffer->flags};
  ++shares_[{buffer->origin_gpu, buffer->offset}];
  return 0;
}

int Buffers::no_dma_buf(int descriptor) const {
  return refuse(kVmMap, EINVAL,
                fmt::format("descriptor {} is no dma-buf of these GPUs", descriptor));
}

// [amdgpu_amdkfd_gpuvm_import_dmabuf_fd(): writable and executable, whatever it was]
int Buffers::import_descriptor(int descriptor, u32 gpu, u64 va, u64 ioctl, u64& handle) {
  Lock lock(mutex_);
  auto found = exported_.find(file_id(descriptor));
  if (found == exported_.end()) return no_dma_buf(descriptor);
  const Exported& exported = found->second;
  auto buffer = std::make_unique<Buffer>();
  buffer->gpu = gpu;
  buffer->origin_gpu = exported.gpu;
  buffer->va = va;
  buffer->bytes = exported.bytes;
  buffer->offset = exported.offset;
  buffer->host = devices_[exported.gpu]->memory->at(exported.offset);
  buffer->flags = exported.flags | kKfdMemWritable | kKfdMemExecutable;
  ++shares_[{exported.gpu, exported.offset}];
  handle = insert(std::move(buffer), ioctl);
  return 0;
}

int Buffers::descriptor_info(int descriptor, u32& gpu, u64& bytes, u32& flags) {
  Lock lock(mutex_);
  auto found = exported_.find(file_id(descriptor));
  if (found == exported_.end()) return no_dma_buf(descriptor);
  gpu = found->second.gpu;
  bytes = found->second.bytes;
  flags = found->second.flags & (kKfdMemVram | kKfdMemGtt | kKfdMemPublic);
  return 0;
}

}  // namespace doorbell::emu::amdgpu
