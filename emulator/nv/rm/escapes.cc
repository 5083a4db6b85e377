// The escapes: which there are, and those about files and memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "emulator/nv/rm/rm.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u64 kPage = 4096;
// [escape.c RmCreateOsDescriptor(); nvos.h NVOS02_FLAGS_LOCATION 11:8, COHERENCY 15:12, MAPPING
// 31:30]
bool has_flags_of_process_memory(u32 flags) {
  constexpr u32 kUncached = 0, kCached = 1, kWriteBack = 5, kNoMap = 1;
  const u32 coherency = flags >> 12 & 0xf;
  return (flags >> 8 & 0xf) == 0 && flags >> 30 == kNoMap &&
         (coherency == kUncached || coherency == kCached || coherency == kWriteBack);
}

constexpr u8 kSysParams = 0xd6, kCheckVersion = 0xd2;  // NV_ESC_SYS_PARAMS, CHECK_VERSION_STR

}  // namespace

std::array<u8, 16> uuid_of(u32 gpu) {
  std::array<u8, 16> uuid{0xd0, 0x0e, 0xbe, 0x11, 0x65, 0x6d, 0x75, 0x6c,
                          0x61, 0x74, 0x6f, 0x72, 0x00, 0x00, 0x00, 0x00};
  uuid[15] = static_cast<u8>(gpu + 1);
  return uuid;
}

u32 gpu_id_of(u32 gpu) { return (gpu + 1) << 8; }

template <class Escape>
int Rm::run(OpenFile& file, u32 bytes, u64 argument, u32 (Rm::*run)(OpenFile&, Escape&)) {
  if (const usize size = hw::packed_size<Escape>(abi()); bytes != size) {
    checks().report(kRmCall, fmt::format("{} of {} bytes, of release {} it has {}", Escape::kName,
                                         bytes, options_.driver, size));
    return EINVAL;
  }
  Escape given;
  if (!copy_record_in(argument, abi(), &given)) return EFAULT;
  u32 status = judge_values(given);
  if (status == 0) status = (this->*run)(file, given);
  if constexpr (requires { given.params.status; })
    given.params.status = status;
  else if constexpr (requires { given.status; })
    given.status = status;
  else if (status != 0)
    return EINVAL;
  write_trace(given);
  return copy_record_out(argument, abi(), given) ? 0 : EFAULT;
}

// [okm kernel-open/nvidia/nv.c nvidia_ioctl(); escape.c RmIoctl()]
int Rm::escape(OpenFile& file, u32 number, u32 bytes, u64 argument) {
  switch (number) {
    case hw::CardInfo::kEscape: return card_info(bytes, argument);
    case hw::RegisterFd::kEscape: return run(file, bytes, argument, &Rm::register_fd);
    case hw::AllocOsEvent::kEscape: return run(file, bytes, argument, &Rm::alloc_os_event);
    case hw::ExportDmabuf::kEscape:
      if (file.kind == NodeKind::Gpu) return run(file, bytes, argument, &Rm::export_dmabuf);
      checks().report(kRmCall, "NV_ESC_EXPORT_TO_DMABUF_FD takes a file of a GPU");
      return EINVAL;
    case hw::RmFree::kEscape: return run<hw::RmFree>(file, bytes, argument, &Rm::free);
    case hw::RmAlloc::kEscape: return run(file, bytes, argument, &Rm::alloc);
    case hw::RmControl::kEscape: return run<hw::RmControl>(file, bytes, argument, &Rm::control);
    case hw::RmAllocMemory::kEscape: return run(file, bytes, argument, &Rm::alloc_memory);
    case hw::RmMapMemory::kEscape: return run(file, bytes, argument, &Rm::map_memory);
    case hw::RmUnmapMemory::kEscape: return run(file, bytes, argument, &Rm::unmap_memory);
    case hw::RmMapMemoryDma::kEscape: return run(file, bytes, argument, &Rm::map_memory_dma);
    case hw::RmUnmapMemoryDma::kEscape: return run(file, bytes, argument, &Rm::unmap_memory_dma);
    case kSysParams: return 0;
    case kCheckVersion: return 0;
    default:
      checks().report(kRmCall, fmt::format("escape {:#x} of {} bytes does not exist, or is not "
                                           "emulated",
                                           number, bytes));
      return EINVAL;
  }
}

int Rm::card_info(u32 bytes, u64 argument) {
  const usize size = hw::packed_size<hw::CardInfo>(abi());
  const usize room = bytes / size;
  if (bytes % size != 0 || room < gpu_count()) {
    checks().report(kRmCall, fmt::format("NV_ESC_CARD_INFO has {} bytes, {} GPUs need {}", bytes,
                                         gpu_count(), gpu_count() * size));
    return EINVAL;
  }
  for (u32 i = 0; i < room; ++i) {
    hw::CardInfo info;
    if (i < gpu_count())
      info = {.valid = true,
              .domain = 0,
              .bus = static_cast<u8>(i + 1),
              .vendor_id = 0x10de,
              .device_id = gpu(i).model().device_id,
              .gpu_id = gpu_id_of(i),
              .fb_size = gpu(i).model().memory_bytes,
              .minor_number = i};
    if (!copy_record_out(argument + i * size, abi(), info)) return EFAULT;
  }
  return 0;
}

// [okm nv.c NV_ESC_REGISTER_FD: of a GPU's file, once, to a control file]
u32 Rm::register_fd(OpenFile& file, hw::RegisterFd& given) {
  const std::shared_ptr<OpenFile> control = nodes().find(given.ctl_fd);
  if (file.kind != NodeKind::Gpu || !control || control->kind != NodeKind::Control)
    return refuse(RmStatus::InvalidArgument, kRmCall,
                  "NV_ESC_REGISTER_FD takes a file of a GPU, and one of /dev/nvidiactl");
  if (file.is_registered)
    return refuse(RmStatus::InvalidState, kRmCall, "NV_ESC_REGISTER_FD: the file is registered");
  file.is_registered = true;
  return 0;
}

// The kernel takes any number for a name of the file; here it is the file's own.
// [okm src/nvidia/arch/nvalloc/unix/src/osapi.c allocate_os_event()]
u32 Rm::alloc_os_event(OpenFile& file, hw::AllocOsEvent& given) {
  const int descriptor = static_cast<int>(given.fd);
  if (nodes().find(descriptor).get() != &file)
    return refuse(RmStatus::NotSupported, kRmCall,
                  fmt::format("NV_ESC_ALLOC_OS_EVENT of a file by the name {}: only its own "
                              "descriptor is emulated",
                              descriptor));
  if (given.device != 0 &&
      find(given.client, given.device, ObjectKind::Device, "NV_ESC_ALLOC_OS_EVENT") == nullptr)
    return static_cast<u32>(RmStatus::InvalidDevice);
  std::weak_ptr<OpenFile>& named = event_files_[{given.client, given.fd}];
  if (!named.expired())
    return refuse(RmStatus::InsufficientResources, kRmCall,
                  fmt::format("NV_ESC_ALLOC_OS_EVENT: client {:#x} has an event of file {}",
                              given.client, descriptor));
  if (!nodes().make_pollable(descriptor)) return static_cast<u32>(RmStatus::InsufficientResources);
  named = file.weak_from_this();
  return 0;
}

u32 Rm::free(OpenFile&, hw::RmFree& given) {
  Client* client = find_client(given.root, "RM_FREE");
  if (client == nullptr) return static_cast<u32>(RmStatus::InvalidClient);
  const Object* object = client->find(given.object_old);
  if (object == nullptr)
    return refuse(RmStatus::InvalidObjectOld, kRmHandle,
                  fmt::format("RM_FREE: there is no object {:#x}", given.object_old));
  if (is_in_use(*client, *object))
    checks().report(kRmInUse, fmt::format("RM_FREE: the {} {:#x} is in use by a channel",
                                          name_of(object->kind), object->handle));
  if (given.object_old == given.root)
    free_client(given.root);
  else
    free(*client, given.object_old);
  return 0;
}

// Of the process's own memory, the only kind that this escape makes here. [escape.c
// NV_ESC_RM_ALLOC_MEMORY: of a GPU's file]
u32 Rm::alloc_memory(OpenFile& file, hw::RmAllocMemory& given) {
  auto& params = given.params;
  if (file.kind != NodeKind::Gpu || !file.is_registered)
    return refuse(RmStatus::InvalidArgument, kRmCall,
                  "NV_ESC_RM_ALLOC_MEMORY takes a file of a GPU that is registered");
  if (given.fd != -1)
    return refuse(RmStatus::NotSupported, kRmValues,
                  fmt::format("NV_ESC_RM_ALLOC_MEMORY that maps by descriptor {}", given.fd));
  Client* client = find_client(params.root, "RM_ALLOC_MEMORY");
  if (client == nullptr) return static_cast<u32>(RmStatus::InvalidClient);
  Object* parent = find(params.root, params.object_parent, ObjectKind::Device, "RM_ALLOC_MEMORY");
  if (parent == nullptr) return static_cast<u32>(RmStatus::InvalidObjectParent);
  if (params.class_id != hw::kMemorySystemOsDescriptor)
    return refuse(RmStatus::InvalidClass, kRmClass,
                  fmt::format("RM_ALLOC_MEMORY of class {:#x}", params.class_id));
  if (!has_flags_of_process_memory(params.flags))
    return refuse(
        RmStatus::InvalidFlags, kRmParameters,
        fmt::format("RM_ALLOC_MEMORY with flags {:#x}: memory of the process is in system "
                    "memory, cached, written back or uncached, and not mapped",
                    params.flags));
  const u64 bytes = params.limit + 1;
  if (params.memory % kPage != 0 || bytes % kPage != 0 || bytes == 0)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_ALLOC_MEMORY of {:#x} bytes at {:#x}: not whole pages", bytes,
                              params.memory));
  if (writable(params.memory, bytes) != 0)
    return refuse(RmStatus::InvalidAddress, kRmParameters,
                  fmt::format("RM_ALLOC_MEMORY of {:#x} bytes at {:#x}: the process cannot write "
                              "all of them",
                              bytes, params.memory));
  Object object;
  object.parent = params.object_parent;
  object.class_id = params.class_id;
  object.kind = ObjectKind::Memory;
  object.gpu = parent->gpu;
  object.memory = Memory::of_process(parent->gpu, reinterpret_cast<u8*>(params.memory), bytes);
  object.memory->judge_races(options_.races);
  const Object* made = add(*client, std::move(object), params.object_new);
  if (made == nullptr) return static_cast<u32>(RmStatus::InsertDuplicateName);
  params.object_new = made->handle;
  return 0;
}

// Prepares mmap() of the file. [escape.c NV_ESC_RM_MAP_MEMORY; osapi.c rm_create_mmap_context()]
u32 Rm::map_memory(OpenFile&, hw::RmMapMemory& given) {
  auto& params = given.params;
  Client* client = find_client(params.client, "RM_MAP_MEMORY");
  if (client == nullptr) return static_cast<u32>(RmStatus::InvalidClient);
  const Object* device = client->find(params.device);
  if (device == nullptr ||
      (device->kind != ObjectKind::Device && device->kind != ObjectKind::Subdevice))
    return refuse(RmStatus::InvalidDevice, kRmHandle,
                  fmt::format("RM_MAP_MEMORY: {:#x} is no device", params.device));
  Object* object = client->find(params.memory);
  if (object == nullptr || !object->memory)
    return refuse(RmStatus::InvalidObjectHandle, kRmHandle,
                  fmt::format("RM_MAP_MEMORY: {:#x} is no memory", params.memory));
  if (params.length == 0 || params.offset > object->memory->bytes() ||
      params.length > object->memory->bytes() - params.offset)
    return refuse(RmStatus::InvalidLimit, kRmMap,
                  fmt::format("RM_MAP_MEMORY of {:#x} bytes at {:#x} of {:#x}", params.length,
                              params.offset, object->memory->bytes()));
  const std::shared_ptr<OpenFile> target = nodes().find(given.fd);
  const bool is_system = object->memory->kind() == Memory::Kind::System;
  if (!target || target->kind != (is_system ? NodeKind::Control : NodeKind::Gpu) ||
      (!is_system && (!target->is_registered || target->gpu != object->gpu)))
    return refuse(RmStatus::InvalidArgument, kRmMap,
                  fmt::format("RM_MAP_MEMORY: descriptor {} is no registered file of {}", given.fd,
                              is_system ? "/dev/nvidiactl" : "the memory's GPU"));
  if (target->memory || !target->clients.empty())
    return refuse(
        RmStatus::StateInUse, kRmMap,
        fmt::format("RM_MAP_MEMORY: descriptor {} has a mapping or clients already", given.fd));
  if (options_.replaces) {
    if (params.offset != 0)
      return refuse(RmStatus::NotSupported, kRmMap,
                    "RM_MAP_MEMORY with an offset is not emulated under another program");
    if (!nodes().replace(given.fd, *object->memory))
      return static_cast<u32>(RmStatus::OperatingSystem);
  }
  target->memory = object->memory;
  target->offset = params.offset;
  target->bytes = params.length;
  params.linear_address = 0;
  return 0;
}

u32 Rm::unmap_memory(OpenFile&, hw::RmUnmapMemory& given) {
  const Object* object = find(given.client, given.memory, ObjectKind::Memory, "RM_UNMAP_MEMORY");
  return static_cast<u32>(object == nullptr ? RmStatus::InvalidObjectHandle : RmStatus::Ok);
}

// An address space of RM's, in which nothing runs here: channels use those that UVM fills.
u32 Rm::map_memory_dma(OpenFile&, hw::RmMapMemoryDma& given) {
  constexpr u32 kFixed = 1u << 15;  // NVOS46_FLAGS_DMA_OFFSET_FIXED
  const Object* dma = find(given.client, given.dma, ObjectKind::VirtualMemory, "RM_MAP_MEMORY_DMA");
  const Object* memory = find(given.client, given.memory, ObjectKind::Memory, "RM_MAP_MEMORY_DMA");
  if (dma == nullptr || memory == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
  if ((given.flags & kFixed) == 0)
    return refuse(RmStatus::NotSupported, kRmParameters,
                  "RM_MAP_MEMORY_DMA without a fixed address is not emulated");
  if (given.length == 0 || given.offset > memory->memory->bytes() ||
      given.length > memory->memory->bytes() - given.offset)
    return refuse(RmStatus::InvalidLimit, kRmParameters,
                  fmt::format("RM_MAP_MEMORY_DMA of {:#x} bytes at {:#x} of {:#x}", given.length,
                              given.offset, memory->memory->bytes()));
  return 0;
}

u32 Rm::unmap_memory_dma(OpenFile&, hw::RmUnmapMemoryDma& given) {
  const Object* dma =
      find(given.client, given.dma, ObjectKind::VirtualMemory, "RM_UNMAP_MEMORY_DMA");
  return static_cast<u32>(dma == nullptr ? RmStatus::InvalidObjectHandle : RmStatus::Ok);
}

}  // namespace doorbell::emu::nvgpu
