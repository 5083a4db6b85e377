// Which records a call has, and what of them a driver says.
#include "tests/emulator/nv/mutation/ioctl_mutants.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/escape.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/uvm/ioctl.h"

namespace doorbell::testing {

namespace hw = nv::hw;

namespace {

// The machine's release is 580.95.05.
constexpr hw::DriverAbi kAbi = hw::DriverAbi::R580;

// How many elements of an array a driver says: of a UUID all bytes; of GPUs one; of numbers two, of
// which the second is for a subdevice that there is not.
template <class Record>
u32 most_elements(usize bytes) {
  if (bytes == 1) return 16;
  return std::is_same_v<Record, hw::UvmMapExternalAllocation> ? 1 : 2;
}

// What only the kernel writes, and pointers.
const std::set<std::string> kNotSaid = {"status",
                                        "Status",
                                        "rmStatus",
                                        "pAllocParms",
                                        "params",
                                        "pMemory",
                                        "pLinearAddress",
                                        "classList",
                                        "grInfoList",
                                        "driverVersionBuffer",
                                        "versionBuffer",
                                        "driverBranch",
                                        "titleBuffer",
                                        "changelistNumber",
                                        "officialChangelistNumber",
                                        "gpuFlags",
                                        "deviceInstance",
                                        "subDeviceInstance",
                                        "sliStatus",
                                        "boardId",
                                        "gpuInstance",
                                        "numaId",
                                        "numaEnabled",
                                        "numaNodeId",
                                        "workSubmitToken"};

template <class... Records, class F>
void visit(u32 number, const F& f) {
  ((Records::kClass == number ? f(std::type_identity<Records>()) : void()), ...);
}
template <class... Records, class F>
void visit_commands(u32 number, const F& f) {
  ((Records::kCommand == number ? f(std::type_identity<Records>()) : void()), ...);
}
template <class... Records, class F>
void visit_escapes(u32 number, const F& f) {
  ((Records::kEscape == number ? f(std::type_identity<Records>()) : void()), ...);
}
template <class... Records, class F>
void visit_requests(unsigned long number, const F& f) {
  ((Records::kRequest == number ? f(std::type_identity<Records>()) : void()), ...);
}

template <class F>
void visit_class(u32 class_id, const F& f) {
  if (hw::kind_of(static_cast<hw::ClassId>(class_id)) == hw::ClassKind::Channel)
    return f(std::type_identity<hw::ChannelParameters>());
  if (hw::kind_of(static_cast<hw::ClassId>(class_id)) == hw::ClassKind::Usermode)
    return f(std::type_identity<hw::HopperUsermodeParameters>());
  if (class_id == hw::kMemorySystem || class_id == hw::kMemoryLocalUser)
    return f(std::type_identity<hw::MemoryParameters>());
  if (class_id == hw::kEventOsEvent) return f(std::type_identity<hw::EventParameters>());
  visit<hw::DeviceParameters, hw::SubdeviceParameters, hw::VaSpaceParameters,
        hw::ChannelGroupParameters, hw::ContextShareParameters, hw::DebuggerParameters,
        hw::VirtualMemoryParameters>(class_id, f);
}

template <class F>
void visit_command(u32 command, const F& f) {
  visit_commands<hw::GetBuildVersion, hw::GetIdInfo, hw::GetClasslist, hw::GetGidInfo,
                 hw::GetGrInfo, hw::GetWorkSubmitToken, hw::GpfifoSchedule, hw::PerfBoost,
                 hw::FlushGpuCache>(command, f);
}

template <class F>
void visit_escape(u32 number, const F& f) {
  visit_escapes<hw::RegisterFd, hw::AllocOsEvent, hw::RmFree, hw::RmAlloc, hw::RmControl,
                hw::RmAllocMemory, hw::RmMapMemory, hw::RmUnmapMemory, hw::RmMapMemoryDma,
                hw::RmUnmapMemoryDma>(number, f);
}

template <class F>
void visit_uvm(unsigned long request, const F& f) {
  visit_requests<hw::UvmInitialize, hw::UvmMmInitialize, hw::UvmRegisterGpu, hw::UvmUnregisterGpu,
                 hw::UvmRegisterGpuVaSpace, hw::UvmUnregisterGpuVaSpace, hw::UvmRegisterChannel,
                 hw::UvmUnregisterChannel, hw::UvmCreateExternalRange, hw::UvmMapExternalAllocation,
                 hw::UvmUnmapExternal, hw::UvmFree, hw::UvmEnablePeerAccess,
                 hw::UvmDisablePeerAccess>(request, f);
}

}  // namespace

template <class Record>
void NvDoor::add_part(std::vector<Part>& parts, const std::string& role,
                      std::span<std::byte> bytes) {
  parts.push_back({role, bytes});
  if (!is_new(role)) return;
  Record record;
  std::map<std::string, u32> counts;
  hw::for_each_field(record, kAbi, [&](const char* field, const auto& value, usize offset) {
    const u32 element = counts[field]++;
    const bool is_out = std::string_view(field) == "data" && std::is_same_v<Record, hw::GetGidInfo>;
    if (kNotSaid.contains(field) || is_out || element >= most_elements<Record>(sizeof value))
      return;
    const std::string number = element == 0 ? "" : fmt::format("({})", element);
    add_bits(role, field + number, offset, sizeof value);
  });
}

std::vector<IoctlDoor::Part> NvDoor::parts_of(unsigned long request, std::byte* argument) {
  std::vector<Part> parts;
  // [asm-generic/ioctl.h: number 7:0, type 15:8, size 29:16; UVM's requests are plain numbers]
  if ((request >> 8 & 0xff) != static_cast<unsigned char>(hw::kEscapeType)) {
    visit_uvm(request, [&]<class Record>(std::type_identity<Record>) {
      add_part<Record>(parts, Record::kName, {argument, hw::packed_size<Record>(kAbi)});
    });
    if (parts.empty()) note_unknown(fmt::format("request {:#x}", request));
    return parts;
  }
  visit_escape(request & 0xff, [&]<class Record>(std::type_identity<Record>) {
    const std::span<std::byte> bytes{argument, request >> 16 & 0x3fff};
    std::string role = Record::kName;
    const Record call = *hw::unpack<Record>(bytes, kAbi);
    if constexpr (std::is_same_v<Record, hw::RmAlloc>)
      role = fmt::format("RM_ALLOC of class {:#x}", call.class_id);
    if constexpr (std::is_same_v<Record, hw::RmControl>)
      role = fmt::format("RM_CONTROL {:#x}", call.cmd);
    add_part<Record>(parts, role, bytes);
    const auto add_parameters = [&]<class Parameters>(std::type_identity<Parameters>) {
      if constexpr (requires { call.params_size; })
        if (call.params != 0 && call.params_size == hw::packed_size<Parameters>(kAbi))
          add_part<Parameters>(parts, fmt::format("{} of {}", Parameters::kName, role),
                               {reinterpret_cast<std::byte*>(call.params), call.params_size});
    };
    if constexpr (std::is_same_v<Record, hw::RmAlloc>) visit_class(call.class_id, add_parameters);
    if constexpr (std::is_same_v<Record, hw::RmControl>) visit_command(call.cmd, add_parameters);
    if constexpr (requires { call.params_size; })
      if (call.params != 0 && parts.size() == 1) note_unknown("parameters of " + role);
  });
  // Of NV_ESC_CARD_INFO the kernel writes all.
  if (parts.empty() && (request & 0xff) != hw::CardInfo::kEscape)
    note_unknown(fmt::format("request {:#x}", request));
  return parts;
}

}  // namespace doorbell::testing
