// ACQUIRE_VM, the clock, doorbells.
#include "drivers/amd/kernel/kfd_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/util/try.h"

namespace doorbell::amd {
namespace {

// A process has this much of the doorbell aperture, or a page: 1024 doorbells of 8 bytes.
// [Linux kfd_doorbell.c, kfd_doorbell_process_slice(): roundup(..., PAGE_SIZE)]
constexpr u64 kDoorbellBytes = 8192;

}  // namespace

Result<std::unique_ptr<KfdGpu>> KfdGpu::open(Kfd& kfd, const Node& node) {
  const std::string path = fmt::format("/dev/dri/renderD{}", node.properties.drm_render_minor);
  Result<std::unique_ptr<os::File>> render = kfd.files().open(path, os::Access::ReadWrite);
  if (!render)
    return fail(render.error().kind,
                "the render node of GPU {} cannot be opened: {}; add the user to the group render, "
                "or pass --device /dev/dri to the container",
                node.gpu_id, render.error().message);
  hw::KfdAcquireVm acquire;
  acquire.drm_fd = static_cast<u32>((*render)->descriptor());
  acquire.gpu_id = node.gpu_id;
  if (Result<void> acquired = kfd.call(acquire); !acquired) {
    Error error = std::move(acquired).error();
    if (error.os_errno == EBUSY)
      error.message += fmt::format(
          "; something else in this process, maybe ROCm, has the address space of GPU {}: the "
          "kernel creates one for each process and keeps it until the process ends",
          node.gpu_id);
    return error;
  }
  return std::unique_ptr<KfdGpu>(new KfdGpu(kfd, node, std::move(*render)));
}

Result<u64> KfdGpu::clock_ticks() {
  hw::KfdGetClockCounters arguments;
  arguments.gpu_id = id();
  TRY(kfd_.call(arguments));
  return arguments.gpu_clock_counter;
}

Result<u64> KfdGpu::available_bytes() {
  hw::KfdAvailableMemory arguments;
  arguments.gpu_id = id();
  TRY(kfd_.call(arguments));
  return arguments.available;
}

Result<os::Mmio> KfdGpu::doorbell(u64 offset) {
  const u64 bytes = std::max(kDoorbellBytes, kfd_.page_bytes());
  const u64 base = offset / bytes * bytes;
  std::lock_guard lock(mutex_);
  if (doorbells_.mmio.size() == 0) {
    os::MapRequest request;
    request.size = bytes;
    request.offset = base;
    request.writable = true;
    request.inherited = false;
    TRY(doorbells_, kfd_.file().map_registers(request));
    doorbells_offset_ = base;
  }
  if (base != doorbells_offset_)
    return fail(ErrorKind::Corrupt,
                "GPU {} has a doorbell at {:#x}, outside the page of its others at {:#x}", id(),
                offset, doorbells_offset_);
  return doorbells_.mmio.window(offset - base, sizeof(u64));
}

}  // namespace doorbell::amd
