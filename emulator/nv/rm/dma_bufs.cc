// dma-bufs: descriptors for video memory, and memory by somebody's descriptor. The client gets the
// memory's own file (memory.h), which another process may pass to its emulated GPUs, and which
// keeps the memory until its last copy is closed, as the kernel does. Unlike a dma-buf of the
// kernel's it can be mapped by mmap(). A dma-buf is one whole object here: those of parts and of
// several objects are not emulated.
// [okm kernel-open/nvidia/nv-dmabuf.c; src/nvidia/arch/nvalloc/unix/src/osapi.c, osmemdesc.c]
#include <fcntl.h>
#include <fmt/format.h>

#include <climits>

#include "emulator/nv/rm/rm.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u64 kPage = 4096;

}  // namespace

// [nv_dma_buf_export(), nv_dma_buf_reuse()]
u32 Rm::export_dmabuf(OpenFile& file, hw::ExportDmabuf& given) {
  const u32 objects = given.num_objects, total = given.total_objects;
  if (given.total_size == 0 || objects == 0 || objects > hw::ExportDmabuf::kMaxHandles ||
      objects > total || given.index > total - objects)
    return refuse(RmStatus::InvalidArgument, kRmDmabuf,
                  fmt::format("a dma-buf of {:#x} bytes: {} objects from {} on of {}",
                              given.total_size, objects, given.index, total));
  if (given.mapping_type > hw::ExportDmabuf::kForcePcie || given.fd < -1)
    return refuse(RmStatus::InvalidArgument, kRmDmabuf,
                  fmt::format("a dma-buf of mapping type {} and descriptor {}: types are 0 and 1, "
                              "a new one has descriptor -1",
                              given.mapping_type, given.fd));
  if (given.fd == -1) return create_dmabuf(file, given);
  if (!Memory::of_descriptor(file.gpu, given.fd))
    return refuse(RmStatus::OperatingSystem, kRmDmabuf,
                  fmt::format("descriptor {} to add objects to is no dma-buf", given.fd));
  return refuse(total == 1 ? RmStatus::InUse : RmStatus::InvalidArgument, kRmDmabuf,
                fmt::format("the dma-buf of descriptor {} has its object", given.fd));
}

// [nv_dma_buf_create(); nv_dma_buf_dup_mem_handles()]
u32 Rm::create_dmabuf(const OpenFile& file, hw::ExportDmabuf& given) {
  // GPUs that are no part of the processor's memory. [RmDmabufGetClientAndDevice():
  // PDB_PROP_GPU_COHERENT_CPU_MAPPING; rm_dma_buf_dup_mem_handle(): PDB_PROP_GPU_ZERO_FB]
  if (given.mapping_type == hw::ExportDmabuf::kForcePcie || given.allow_mmap)
    return refuse(RmStatus::NotSupported, kRmDmabuf,
                  fmt::format("a dma-buf of mapping type {}{}: the GPU's memory is not coherent "
                              "with the host's",
                              given.mapping_type, given.allow_mmap ? ", to be mapped" : ""));
  if (const u32 status = check_exported(file, given); status != 0) return status;
  Memory& memory = *find(given.client, given.handles[0], ObjectKind::Memory, "a dma-buf")->memory;
  if (given.total_objects != 1 || given.offsets[0] != 0 || given.sizes[0] != memory.bytes())
    return refuse(
        RmStatus::NotSupported, kRmDmabuf,
        fmt::format("a dma-buf of {} objects, of {:#x} bytes at {:#x} of {:#x}: only one "
                    "whole object is emulated",
                    given.total_objects, given.sizes[0], given.offsets[0], memory.bytes()));
  const Result<int> descriptor = memory.descriptor();
  const int copy = descriptor ? fcntl(*descriptor, F_DUPFD_CLOEXEC, 0) : -1;
  if (copy < 0) return static_cast<u32>(RmStatus::OperatingSystem);
  given.fd = copy;
  return 0;
}

// The objects in their order, as RM looks at them. [RmDmabufVerifyMemHandle()]
u32 Rm::check_exported(const OpenFile& file, const hw::ExportDmabuf& given) {
  if (find_client(given.client, "NV_ESC_EXPORT_TO_DMABUF_FD") == nullptr)
    return static_cast<u32>(RmStatus::InvalidObjectHandle);
  u64 attached = 0;
  for (u32 i = 0; i < given.num_objects; ++i) {
    const u64 offset = given.offsets[i], size = given.sizes[i];
    const Object* object = clients_.at(given.client).find(given.handles[i]);
    const auto wrong = [&](RmStatus status, std::string_view why) {
      return refuse(status, kRmDmabuf,
                    fmt::format("a dma-buf of {:#x} bytes at {:#x} of object {:#x}: {}", size,
                                offset, given.handles[i], why));
    };
    if (size > given.total_size - attached)
      return wrong(RmStatus::InvalidArgument, "the dma-buf has fewer bytes left");
    if (object == nullptr) return wrong(RmStatus::ObjectNotFound, "there is no such object");
    if (!object->memory) return wrong(RmStatus::InvalidObject, "it is no memory");
    const Memory& memory = *object->memory;
    if (object->gpu != file.gpu)
      return wrong(RmStatus::InvalidObjectParent, "it is not of the file's GPU");
    if (offset % kPage != 0 || size % kPage != 0)
      return wrong(RmStatus::InvalidArgument, "they are not whole pages");
    if (memory.kind() != Memory::Kind::Video)
      return wrong(RmStatus::InvalidArgument, "it is not video memory");
    if (size == 0 || size > memory.bytes() || offset > memory.bytes() - size)
      return wrong(RmStatus::InvalidArgument, "the object does not have them");
    attached += size;
  }
  if (given.num_objects != given.total_objects || attached == given.total_size) return 0;
  return refuse(RmStatus::InvalidArgument, kRmDmabuf,
                fmt::format("a dma-buf of {:#x} bytes: its {} objects have {:#x}", given.total_size,
                            given.num_objects, attached));
}

// Of a process that is not the kernel's: other kinds of descriptors are for the kernel's own
// clients. [osCreateMemFromOsDescriptor(), osCreateOsDescriptorFromFileHandle()]
u32 Rm::fill_os_descriptor(Object& object, const hw::RmAlloc& given) {
  hw::OsDescriptorParameters parameters;
  if (const u32 status = read(given, &parameters); status != 0) return status;
  if (parameters.descriptor == 0 || parameters.limit == 0)
    return refuse(RmStatus::InvalidParamStruct, kRmParameters,
                  fmt::format("RM_ALLOC of memory by descriptor {} with limit {:#x}: neither is 0",
                              parameters.descriptor, parameters.limit));
  if (parameters.descriptor_type != hw::OsDescriptorParameters::kFileHandle)
    return refuse(RmStatus::NotSupported, kRmParameters,
                  fmt::format("RM_ALLOC of memory by a descriptor of type {}: a process has those "
                              "of type {}, the others are not emulated",
                              parameters.descriptor_type, hw::OsDescriptorParameters::kFileHandle));
  if (parameters.descriptor > INT_MAX)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC of memory by descriptor {:#x}: not one of a file",
                              parameters.descriptor));
  auto memory = Memory::of_descriptor(object.gpu, static_cast<int>(parameters.descriptor));
  if (!memory)
    return refuse(RmStatus::OperatingSystem, kRmParameters,
                  fmt::format("RM_ALLOC of memory: {}", memory.error().message));
  object.memory = *memory;
  return 0;
}

}  // namespace doorbell::emu::nvgpu
