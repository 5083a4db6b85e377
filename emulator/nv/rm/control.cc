// The commands that objects take.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/nv/rm/rm.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kBindCommand = 0xa06f0104, kChannelSchedule = 0xa06f0103;  // NVA06F_CTRL_CMD_*

}  // namespace

// Runs f(parameters), which returns a status, on the client's parameters.
template <class Parameters, class F>
u32 Rm::with(const hw::RmControl& given, const F& f) {
  const usize size = hw::packed_size<Parameters>(abi());
  if (given.params_size != size)
    return refuse(
        RmStatus::InvalidParamStruct, kRmParameters,
        fmt::format("RM_CONTROL {:#x}: {} of {} bytes, of release {} it has {}", given.cmd,
                    Parameters::kName, given.params_size, options_.driver, size));
  Parameters parameters;
  if (!copy_record_in(given.params, abi(), &parameters))
    return refuse(
        RmStatus::InvalidAddress, kRmParameters,
        fmt::format("RM_CONTROL {:#x}: its parameters are not memory of the process", given.cmd));
  if (const u32 status = judge_values(parameters); status != 0) return status;
  const u32 status = f(parameters);
  write_trace(parameters);
  if (status == 0 && !copy_record_out(given.params, abi(), parameters))
    return static_cast<u32>(RmStatus::InvalidAddress);
  return status;
}

u32 Rm::control(OpenFile&, hw::RmControl& given) {
  Client* client = find_client(given.client, "RM_CONTROL");
  if (client == nullptr) return static_cast<u32>(RmStatus::InvalidClient);
  constexpr u32 kIrqlRaised = 1;  // NVOS54_FLAGS_IRQL_RAISED [okm control.c _rmapiRmControl()]
  if ((given.flags & kIrqlRaised) != 0)
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("RM_CONTROL {:#x} with NVOS54_FLAGS_IRQL_RAISED", given.cmd));
  Object* object = client->find(given.object);
  if (object == nullptr)
    return refuse(
        RmStatus::ObjectNotFound, kRmHandle,
        fmt::format("RM_CONTROL {:#x}: there is no object {:#x}", given.cmd, given.object));
  return control(*object, given);
}

u32 Rm::control(Object& object, const hw::RmControl& given) {
  const auto is = [&](u32 command, ObjectKind kind) {
    return given.cmd == command && object.kind == kind;
  };
  if (is(hw::GetBuildVersion::kCommand, ObjectKind::Client)) return get_build_version(given);
  if (is(hw::GetIdInfo::kCommand, ObjectKind::Client)) return get_id_info(given);
  if (is(hw::GetClasslist::kCommand, ObjectKind::Device)) return get_class_list(object, given);
  if (is(hw::GetGidInfo::kCommand, ObjectKind::Subdevice)) return get_gid_info(object, given);
  if (is(hw::GetGrInfo::kCommand, ObjectKind::Subdevice)) return get_gr_info(object, given);
  if (is(hw::PerfBoost::kCommand, ObjectKind::Subdevice))
    return with<hw::PerfBoost>(given, [](auto&) { return 0u; });
  if (is(hw::FlushGpuCache::kCommand, ObjectKind::Subdevice))
    return with<hw::FlushGpuCache>(given, [](auto&) { return 0u; });
  if (is(hw::GetWorkSubmitToken::kCommand, ObjectKind::Channel))
    return with<hw::GetWorkSubmitToken>(given, [&](auto& parameters) {
      parameters.work_submit_token = object.channel->token;
      return 0u;
    });
  if (is(hw::GpfifoSchedule::kCommand, ObjectKind::ChannelGroup) ||
      is(kChannelSchedule, ObjectKind::Channel))
    return schedule(object, given);
  if (is(kBindCommand, ObjectKind::Channel)) return 0;
  if (is(hw::ReadSmErrorStates::kCommand, ObjectKind::Debugger))
    return read_sm_errors(object, given);
  if (is(hw::ReadMmuFaults::kCommand, ObjectKind::Debugger)) return read_mmu_faults(object, given);
  return refuse(RmStatus::NotSupported, kRmCommand,
                fmt::format("RM_CONTROL {:#x} of {} bytes to a {}: it does not take that command, "
                            "or it is not emulated",
                            given.cmd, given.params_size, name_of(object.kind)));
}

u32 Rm::get_build_version(const hw::RmControl& given) {
  return with<hw::GetBuildVersion>(given, [&](hw::GetBuildVersion& parameters) {
    const auto put = [](auto& buffer, std::string_view text) {
      std::copy_n(text.begin(), std::min(text.size(), buffer.size() - 1), buffer.begin());
    };
    put(parameters.driver_version, options_.driver);
    put(parameters.version, options_.driver);
    put(parameters.title, "Doorbell's emulator");
    return 0u;
  });
}

u32 Rm::get_id_info(const hw::RmControl& given) {
  return with<hw::GetIdInfo>(given, [&](hw::GetIdInfo& parameters) {
    for (u32 i = 0; i < gpu_count(); ++i) {
      if (gpu_id_of(i) != parameters.gpu_id) continue;
      parameters = {.gpu_id = parameters.gpu_id,
                    .device_instance = i,
                    .board_id = gpu_id_of(i),
                    .gpu_instance = i,
                    .numa_id = -1};
      return 0u;
    }
    return refuse(RmStatus::InvalidArgument, kRmParameters,
                  fmt::format("GPU_GET_ID_INFO_V2: there is no GPU {:#x}", parameters.gpu_id));
  });
}

u32 Rm::get_class_list(const Object& object, const hw::RmControl& given) {
  return with<hw::GetClasslist>(given, [&](hw::GetClasslist& parameters) {
    const std::span<const u32> classes = gpu(object.gpu).model().classes;
    if (parameters.class_list != 0 && parameters.num_classes < classes.size())
      return refuse(RmStatus::InvalidParamStruct, kRmParameters,
                    fmt::format("GPU_GET_CLASSLIST: room for {} classes, there are {}",
                                parameters.num_classes, classes.size()));
    parameters.num_classes = static_cast<u32>(classes.size());
    const bool good = parameters.class_list == 0 ||
                      copy_out(parameters.class_list, classes.data(), classes.size_bytes());
    return static_cast<u32>(good ? RmStatus::Ok : RmStatus::InvalidAddress);
  });
}

u32 Rm::get_gid_info(const Object& object, const hw::RmControl& given) {
  return with<hw::GetGidInfo>(given, [&](hw::GetGidInfo& parameters) {
    if (parameters.index != 0 || parameters.flags != hw::GetGidInfo::kBinary)
      return refuse(RmStatus::InvalidArgument, kRmParameters,
                    fmt::format("GPU_GET_GID_INFO with flags {:#x}: only the binary form is "
                                "emulated",
                                parameters.flags));
    const std::array<u8, 16> uuid = uuid_of(object.gpu);
    std::ranges::copy(uuid, parameters.data.begin());
    parameters.length = static_cast<u32>(uuid.size());
    return 0u;
  });
}

u32 Rm::get_gr_info(const Object& object, const hw::RmControl& given) {
  return with<hw::GetGrInfo>(given, [&](hw::GetGrInfo& parameters) {
    const Model& model = gpu(object.gpu).model();
    std::vector<std::array<u32, 2>> list(std::min(parameters.list_size, 0x3au));
    const usize bytes = list.size() * sizeof list[0];
    if (list.size() != parameters.list_size || !copy_in(list.data(), parameters.list, bytes))
      return refuse(RmStatus::InvalidArgument, kRmParameters,
                    fmt::format("GR_GET_INFO of {} facts", parameters.list_size));
    for (auto& [index, data] : list) {
      switch (static_cast<hw::GrInfo>(index)) {
        case hw::GrInfo::SmVersion: data = model.sm_version; break;
        case hw::GrInfo::MaxWarpsPerSm: data = model.warps_per_sm; break;
        case hw::GrInfo::Gpcs: data = model.gpcs; break;
        case hw::GrInfo::TpcsPerGpc: data = model.tpcs_per_gpc; break;
        case hw::GrInfo::SmsPerTpc: data = model.sms_per_tpc; break;
        default:
          return refuse(RmStatus::InvalidArgument, kRmParameters,
                        fmt::format("GR_GET_INFO: fact {:#x} is not emulated", index));
      }
    }
    const bool good = copy_out(parameters.list, list.data(), bytes);
    return static_cast<u32>(good ? RmStatus::Ok : RmStatus::InvalidAddress);
  });
}

u32 Rm::schedule(const Object& object, const hw::RmControl& given) {
  return with<hw::GpfifoSchedule>(given, [&](hw::GpfifoSchedule& parameters) {
    object.group->scheduled = parameters.enable;
    return 0u;
  });
}

u32 Rm::read_sm_errors(const Object& object, const hw::RmControl& given) {
  return with<hw::ReadSmErrorStates>(given, [&](hw::ReadSmErrorStates& parameters) {
    const ChannelFault& fault = object.channel->fault;
    const bool has_stopped = object.channel->group->error != 0;
    parameters.mmu_fault_valid = has_stopped && fault.is_mmu;
    // The multiprocessor that ran the block is not known: the first.
    if (has_stopped && fault.is_sm && parameters.starting_sm == 0 && parameters.num_sms != 0) {
      parameters.states[0].warp_esr = 1;
      parameters.states[0].warp_esr_pc64 = fault.address;
    }
    return 0u;
  });
}

u32 Rm::read_mmu_faults(const Object& object, const hw::RmControl& given) {
  return with<hw::ReadMmuFaults>(given, [&](hw::ReadMmuFaults& parameters) {
    constexpr u32 kPte = 2;  // NV_PFAULT_FAULT_TYPE_PTE
    const ChannelFault& fault = object.channel->fault;
    parameters.count = object.channel->group->error != 0 && fault.is_mmu ? 1 : 0;
    if (parameters.count != 0)
      parameters.faults[0] = {.fault_address = fault.address,
                              .fault_type = kPte,
                              .access_type = fault.is_write ? 1u : 0u};
    return 0u;
  });
}

}  // namespace doorbell::emu::nvgpu
