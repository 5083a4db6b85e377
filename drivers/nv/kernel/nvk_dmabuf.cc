// Memory shared as dma-bufs: RM exports video memory, and describes what others export as memory of
// the system's. [open-gpu-kernel-modules kernel-open/nvidia/nv-dmabuf.c;
// src/nvidia/arch/nvalloc/unix/src: osapi.c RmDmabufVerifyMemHandle(), osmemdesc.c
// osCreateMemFromOsDescriptor()]
#include "drivers/nv/hw/rm/status.h"
#include "drivers/nv/kernel/nvk_gpu.h"

namespace doorbell::nv {

Result<int> NvkMemory::export_dmabuf() {
  if (owner_ == nullptr)
    return fail(ErrorKind::Unsupported,
                "the {} bytes at {:#x} are memory of the host, NVIDIA's kernel modules share video "
                "memory only: allocate it on a GPU, or share it as a file",
                bytes_, address_);
  hw::ExportDmabuf call{
      .client = nvk_.client().handle(), .total_objects = 1, .num_objects = 1, .total_size = bytes_};
  call.handles[0] = handle();
  call.sizes[0] = bytes_;
  Result<void> done =
      nvk_.client().escape_checked(owner_->file(), call, fmt::format("{} bytes to share", bytes_));
  if (done) return call.fd;
  Error error = std::move(done).error();
  if (call.status == static_cast<u32>(hw::RmStatus::NotSupported))
    error.message += fmt::format(
        " by driver {} for {}: the kernel has no dma-bufs (CONFIG_DMA_SHARED_BUFFER), or the GPU "
        "cannot share memory (as in SLI)",
        nvk_.client().version(), owner_->node());
  return error;
}

Result<std::unique_ptr<NvkMemory>> NvkGpu::import_dmabuf(int descriptor, u64 bytes,
                                                         std::string what) {
  // RM takes descriptor 0 for none, and keeps the size of a dma-buf in 32 bits.
  // [osmemdesc.c osCreateMemFromOsDescriptor(), osCreateOsDescriptorFromFileHandle()]
  if (descriptor <= 0)
    return fail(ErrorKind::Invalid,
                "descriptor {} of {}: RM imports descriptors from 1 on: dup() it", descriptor,
                what);
  const u64 page = os::host_page_bytes(), most = (u64{1} << 32) - page;
  if (bytes == 0 || bytes > most)
    return fail(ErrorKind::Unsupported, "a dma-buf of {} bytes of {}: RM imports 1 to {} bytes",
                bytes, what, most);
  bytes = (bytes + page - 1) / page * page;
  TRY(const u64 address, nvk_.reserve(bytes, page, needs_low_addresses()));
  // From here on its destructor gives back what it has.
  std::unique_ptr<NvkMemory> memory(new NvkMemory(nvk_, address, bytes));
  Result<void> made = memory->describe_dmabuf(*this, descriptor);
  if (made) made = memory->map_for_gpus(*this);
  if (!made) {
    Error error = std::move(made).error();
    error.message = fmt::format("a dma-buf of {} bytes of {}, descriptor {}: {}", bytes, what,
                                descriptor, error.message);
    return error;
  }
  nvk_.address_map().note_mapped(address, bytes, std::move(what), nullptr);
  memory->is_noted_ = true;
  return memory;
}

// RM keeps the dma-buf until the object is freed. It is memory of the system's for the GPU, also
// where it is another GPU's, so that its caches do not keep it. [as nvidia-modeset imports it:
// kapi/src/nvkms-kapi.c GetSystemMemoryHandleFromDmaBufSgtHelper()]
Result<void> NvkMemory::describe_dmabuf(const NvkGpu& gpu, int descriptor) {
  hw::OsDescriptorParameters parameters{
      .type = hw::kOs32TypeImage,
      .flags = hw::kOs32MemoryHandleProvided | hw::kOs32MapNotRequired,
      .attr = hw::kOs32LocationPci | hw::kOs32Noncontiguous | hw::kOs32WriteBack,
      .attr2 = hw::kOs32GpuUncached,
      .descriptor = static_cast<u64>(descriptor),
      .limit = bytes_ - 1,
      .descriptor_type = hw::OsDescriptorParameters::kFileHandle,
  };
  TRY(object_, make_object(nvk_.client(), gpu.device(), hw::OsDescriptorParameters::kClass,
                           parameters, "a dma-buf"));
  return {};
}

}  // namespace doorbell::nv
