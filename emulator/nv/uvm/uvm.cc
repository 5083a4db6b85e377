// The calls, and those that register.
#include "emulator/nv/uvm/uvm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace doorbell::emu::nvgpu {

namespace {

void unmap_range(const UvmSpace::Mapping& mapping, u64 call) {
  mapping.va_space->space.note_unmapped(mapping.range->buffer, call);
  mapping.va_space->space.unmap(mapping.range);
}

}  // namespace

UvmSpace::~UvmSpace() {
  for (const auto& [base, range] : ranges)
    for (const Mapping& mapping : range.mappings) unmap_range(mapping, calls);
}

template <class Parameters>
int Uvm::run(OpenFile& file, u64 argument, u32 (Uvm::*run)(OpenFile&, Parameters&)) {
  if (!file.uvm && Parameters::kRequest != hw::UvmInitialize::kRequest &&
      Parameters::kRequest != hw::UvmMmInitialize::kRequest) {
    rm_.checks().report(kUvmCall, fmt::format("{} before UVM_INITIALIZE", Parameters::kName));
    return EBADFD;
  }
  Parameters given;
  if (!copy_record_in(argument, rm_.abi(), &given)) return EFAULT;
  if (file.uvm) ++file.uvm->calls;
  given.rm_status = judge_arguments(given);
  if (given.rm_status == 0) given.rm_status = (this->*run)(file, given);
  rm_.write_trace(given);
  return copy_record_out(argument, rm_.abi(), given) ? 0 : EFAULT;
}

// The kernel ignores the file, and the client of a GPU without MIG: these rules refuse a call only
// at error. [okm kernel-open/nvidia-uvm/uvm_va_space.c and uvm_user_channel.c, where rm_control_fd
// is cast to void; uvm_gpu.c uvm_api_register_gpu()]
template <class Parameters>
u32 Uvm::judge_arguments(const Parameters& given) {
  if (std::string why = refusal_of(given, rm_.abi()); !why.empty())
    return refuse(RmStatus::NotSupported, kRmValues, std::move(why));
  if constexpr (requires { given.rm_ctrl_fd; }) {
    const std::shared_ptr<OpenFile> control = rm_.nodes().find(given.rm_ctrl_fd);
    const bool is_control = control && control->kind == NodeKind::Control;
    if (given.rm_ctrl_fd != -1 && !is_control &&
        rm_.checks().report(kRmValues, fmt::format("{}: descriptor {} is no file of "
                                                   "/dev/nvidiactl",
                                                   Parameters::kName, given.rm_ctrl_fd)) ==
            Level::Error)
      return static_cast<u32>(RmStatus::InvalidArgument);
  }
  if constexpr (std::is_same_v<Parameters, hw::UvmRegisterGpu>)
    if (given.client != 0 && !rm_.has_client(given.client) &&
        rm_.checks().report(kRmHandle, fmt::format("{}: there is no client {:#x}",
                                                   Parameters::kName, given.client)) ==
            Level::Error)
      return static_cast<u32>(RmStatus::InvalidClient);
  return 0;
}

int Uvm::ioctl(OpenFile& file, u32 request, u64 argument) {
  switch (request) {
    case hw::UvmInitialize::kRequest: return run(file, argument, &Uvm::initialize);
    case hw::UvmMmInitialize::kRequest: return run(file, argument, &Uvm::initialize_mm);
    case hw::UvmRegisterGpu::kRequest: return run(file, argument, &Uvm::register_gpu);
    case hw::UvmUnregisterGpu::kRequest: return run(file, argument, &Uvm::unregister_gpu);
    case hw::UvmRegisterGpuVaSpace::kRequest: return run(file, argument, &Uvm::register_va_space);
    case hw::UvmUnregisterGpuVaSpace::kRequest:
      return run(file, argument, &Uvm::unregister_va_space);
    case hw::UvmRegisterChannel::kRequest: return run(file, argument, &Uvm::register_channel);
    case hw::UvmUnregisterChannel::kRequest: return run(file, argument, &Uvm::unregister_channel);
    case hw::UvmCreateExternalRange::kRequest: return run(file, argument, &Uvm::create_range);
    case hw::UvmMapExternalAllocation::kRequest: return run(file, argument, &Uvm::map);
    case hw::UvmUnmapExternal::kRequest: return run(file, argument, &Uvm::unmap);
    case hw::UvmFree::kRequest: return run(file, argument, &Uvm::free);
    case hw::UvmEnablePeerAccess::kRequest: return run(file, argument, &Uvm::enable_peer);
    case hw::UvmDisablePeerAccess::kRequest: return run(file, argument, &Uvm::disable_peer);
    default:
      rm_.checks().report(kUvmCall,
                          fmt::format("UVM has no call {:#x}, or it is not emulated", request));
      return EINVAL;
  }
}

std::optional<u32> Uvm::find_gpu(const hw::GpuUuid& uuid) const {
  for (u32 i = 0; i < rm_.gpu_count(); ++i)
    if (uuid_of(i) == uuid) return i;
  return std::nullopt;
}

u32 Uvm::initialize(OpenFile& file, hw::UvmInitialize& given) {
  if (file.uvm)
    return refuse(RmStatus::InvalidState, kUvmCall, "UVM_INITIALIZE of a file that has been");
  if (given.flags != 0)
    return refuse(RmStatus::NotSupported, kUvmCall,
                  fmt::format("UVM_INITIALIZE with flags {:#x}", given.flags));
  file.uvm = std::make_shared<UvmSpace>();
  return 0;
}

// Systems without heterogeneous memory refuse it, and clients go on.
// [okm kernel-open/nvidia-uvm/uvm.c uvm_api_mm_initialize()]
u32 Uvm::initialize_mm(OpenFile&, hw::UvmMmInitialize& given) {
  const std::shared_ptr<OpenFile> first = rm_.nodes().find(given.uvm_fd);
  if (!first || !first->uvm)
    return refuse(RmStatus::InvalidArgument, kUvmCall,
                  "UVM_MM_INITIALIZE needs a file that was initialised");
  return 0;
}

u32 Uvm::register_gpu(OpenFile& file, hw::UvmRegisterGpu& given) {
  const std::optional<u32> gpu = find_gpu(given.gpu_uuid);
  if (!gpu)
    return refuse(RmStatus::GpuUuidNotFound, kUvmGpu, "UVM_REGISTER_GPU: no GPU has that UUID");
  if (std::ranges::find(file.uvm->gpus, *gpu) != file.uvm->gpus.end())
    return refuse(RmStatus::InvalidDevice, kUvmGpu,
                  fmt::format("UVM_REGISTER_GPU: GPU {} is registered", *gpu));
  file.uvm->gpus.push_back(*gpu);
  given.numa_enabled = false;
  given.numa_node_id = -1;
  return 0;
}

u32 Uvm::unregister_gpu(OpenFile& file, hw::UvmUnregisterGpu& given) {
  const std::optional<u32> gpu = find_gpu(given.gpu_uuid);
  if (!gpu || std::erase(file.uvm->gpus, *gpu) == 0)
    return refuse(RmStatus::InvalidDevice, kUvmGpu,
                  "UVM_UNREGISTER_GPU: that GPU is not registered");
  file.uvm->va_spaces.erase(*gpu);
  for (auto& [base, range] : file.uvm->ranges)
    std::erase_if(range.mappings, [&](const UvmSpace::Mapping& mapping) {
      if (mapping.gpu == *gpu) unmap_range(mapping, file.uvm->calls);
      return mapping.gpu == *gpu;
    });
  return 0;
}

u32 Uvm::register_va_space(OpenFile& file, hw::UvmRegisterGpuVaSpace& given) {
  const std::optional<u32> gpu = find_gpu(given.gpu_uuid);
  if (!gpu || std::ranges::find(file.uvm->gpus, *gpu) == file.uvm->gpus.end())
    return refuse(RmStatus::InvalidDevice, kUvmGpu,
                  "UVM_REGISTER_GPU_VASPACE of a GPU that is not registered");
  const Object* object =
      rm_.find(given.client, given.va_space, ObjectKind::VaSpace, "UVM_REGISTER_GPU_VASPACE");
  if (object == nullptr || object->gpu != *gpu)
    return static_cast<u32>(RmStatus::InvalidObjectHandle);
  if (file.uvm->va_spaces.contains(*gpu))
    return refuse(RmStatus::InvalidDevice, kUvmGpu,
                  fmt::format("UVM_REGISTER_GPU_VASPACE: GPU {} has one", *gpu));
  file.uvm->va_spaces[*gpu] = object->va_space;
  return 0;
}

u32 Uvm::unregister_va_space(OpenFile& file, hw::UvmUnregisterGpuVaSpace& given) {
  const std::optional<u32> gpu = find_gpu(given.gpu_uuid);
  if (!gpu || file.uvm->va_spaces.erase(*gpu) == 0)
    return refuse(RmStatus::InvalidDevice, kUvmGpu,
                  "UVM_UNREGISTER_GPU_VASPACE: the GPU has none registered");
  for (auto& [base, range] : file.uvm->ranges)
    std::erase_if(range.mappings, [&](const UvmSpace::Mapping& mapping) {
      if (mapping.gpu == *gpu) unmap_range(mapping, file.uvm->calls);
      return mapping.gpu == *gpu;
    });
  return 0;
}

// The resources that UVM maps there have no addresses here; the range is taken all the same.
u32 Uvm::register_channel(OpenFile& file, hw::UvmRegisterChannel& given) {
  const Object* channel =
      rm_.find(given.client, given.channel, ObjectKind::Channel, "UVM_REGISTER_CHANNEL");
  if (channel == nullptr) return static_cast<u32>(RmStatus::InvalidObjectHandle);
  if (find_gpu(given.gpu_uuid) != channel->gpu)
    return refuse(
        RmStatus::InvalidDevice, kUvmGpu,
        fmt::format("UVM_REGISTER_CHANNEL: {:#x} is a channel of another GPU", given.channel));
  const auto space = file.uvm->va_spaces.find(channel->gpu);
  if (space == file.uvm->va_spaces.end() || space->second != channel->channel->va_space)
    return refuse(RmStatus::InvalidDevice, kUvmGpu,
                  "UVM_REGISTER_CHANNEL: the channel's address space is not registered");
  if (file.uvm->channels.contains({given.client, given.channel}))
    return refuse(RmStatus::InvalidState, kUvmGpu,
                  fmt::format("UVM_REGISTER_CHANNEL: {:#x} is registered", given.channel));
  hw::UvmCreateExternalRange range{.base = given.base, .length = given.length};
  if (const u32 status = create_range(file, range); status != 0) return status;
  file.uvm->channels[{given.client, given.channel}] = given.base;
  return 0;
}

u32 Uvm::unregister_channel(OpenFile& file, hw::UvmUnregisterChannel& given) {
  const auto found = file.uvm->channels.find({given.client, given.channel});
  if (found == file.uvm->channels.end())
    return refuse(RmStatus::InvalidChannel, kUvmGpu,
                  fmt::format("UVM_UNREGISTER_CHANNEL: {:#x} is not registered", given.channel));
  if (rm_.abi() < hw::DriverAbi::R590 && !find_gpu(given.gpu_uuid))
    return refuse(RmStatus::GpuUuidNotFound, kUvmGpu,
                  "UVM_UNREGISTER_CHANNEL: no GPU has that UUID");
  file.uvm->ranges.erase(found->second);
  file.uvm->channels.erase(found);
  return 0;
}

u32 Uvm::enable_peer(OpenFile&, hw::UvmEnablePeerAccess& given) {
  if (find_gpu(given.gpu_uuid_a) && find_gpu(given.gpu_uuid_b) &&
      given.gpu_uuid_a != given.gpu_uuid_b)
    return 0;
  return refuse(RmStatus::InvalidDevice, kUvmGpu, "UVM_ENABLE_PEER_ACCESS of no two GPUs");
}

u32 Uvm::disable_peer(OpenFile&, hw::UvmDisablePeerAccess& given) {
  if (find_gpu(given.gpu_uuid_a) && find_gpu(given.gpu_uuid_b)) return 0;
  return refuse(RmStatus::InvalidDevice, kUvmGpu, "UVM_DISABLE_PEER_ACCESS of no two GPUs");
}

}  // namespace doorbell::emu::nvgpu
