// The table. "nvos.h" is NVIDIA/open-gpu-kernel-modules src/common/sdk/nvidia/inc/nvos.h.
#include "emulator/nv/rm/values.h"

#include <fmt/format.h>

#include <span>

#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/object.h"

namespace doorbell::emu::nvgpu {

namespace {

namespace hw = nv::hw;

// A field, and the bits that may be set in it.
struct Understood {
  std::string_view record, field;
  u64 bits;
};

// [nvos.h NVOS32_ALLOC_FLAGS_*: IGNORE_BANK_PLACEMENT is 1]
constexpr u64 kMemoryFlags = 1 | hw::kOs32AlignmentForce | hw::kOs32MemoryHandleProvided |
                             hw::kOs32MapNotRequired | hw::kOs32PersistentVidmem;
// [nvos.h NVOS32_ATTR_PAGE_SIZE 24:23, LOCATION 26:25, PHYSICALITY 28:27, COHERENCY 31:29]
constexpr u64 kMemoryAttributes = 0xff80'0000;
// [nvos.h NVOS32_ATTR2_ZBC 1:0, GPU_CACHEABLE 3:2, PAGE_SIZE_HUGE 21:20, PROTECTION_USER 22:22]
constexpr u64 kMemoryAttributes2 = 0xf | 0x3u << 20 | 1u << 22;
// [nvos.h NVOS02_FLAGS_PHYSICALITY 7:4, COHERENCY 15:12, MAPPING 31:30]
constexpr u64 kHostMemoryFlags = 0xc000'f0f0;
constexpr u64 kMappingFlags = 0x7 << 23;  // [nvos.h NVOS33_FLAGS_CACHING_TYPE 25:23]

constexpr std::string_view kDevice = hw::DeviceParameters::kName;
constexpr std::string_view kMemory = hw::MemoryParameters::kName;
constexpr std::string_view kVaSpace = hw::VaSpaceParameters::kName;
constexpr std::string_view kGroup = hw::ChannelGroupParameters::kName;
constexpr std::string_view kChannel = hw::ChannelParameters::kName;
constexpr std::string_view kEvent = hw::EventParameters::kName;

constexpr Understood kUnderstood[] = {
    // [class/cl0080.h: devices of other clients, address spaces that RM owns]
    {kDevice, "hTargetClient", 0},
    {kDevice, "hTargetDevice", 0},
    {kDevice, "flags", 0},
    {kDevice, "vaSpaceSize", 0},
    {kDevice, "vaStartInternal", 0},
    {kDevice, "vaLimitInternal", 0},
    {kDevice, "vaMode", 0},
    // [nvos.h NV_MEMORY_ALLOCATION_PARAMS: surfaces, ranges, compression, NUMA nodes; RM's own]
    {kMemory, "type", hw::kOs32TypeImage | hw::kOs32TypeNotifier},
    {kMemory, "flags", kMemoryFlags},
    {kMemory, "width", 0},
    {kMemory, "height", 0},
    {kMemory, "pitch", 0},
    {kMemory, "attr", kMemoryAttributes},
    {kMemory, "attr2", kMemoryAttributes2},
    {kMemory, "format", 6},  // generic memory
    {kMemory, "comprCovg", 0},
    {kMemory, "zcullCovg", 0},
    {kMemory, "rangeLo", 0},
    {kMemory, "rangeHi", 0},
    {kMemory, "offset", 0},
    {kMemory, "address", 0},
    {kMemory, "ctagOffset", 0},
    {kMemory, "hVASpace", 0},
    {kMemory, "internalflags", 0},
    {kMemory, "tag", 0},
    {kMemory, "numaNode", 0},
    {kVaSpace, "flags",
     hw::VaSpaceParameters::kExternallyOwned | hw::VaSpaceParameters::kEnablePageFaulting},
    {kVaSpace, "vaStartInternal", 0},
    {kVaSpace, "vaLimitInternal", 0},
    {kVaSpace, "bigPageSize", 0},
    {kVaSpace, "pasid", 0},
    {kGroup, "hObjectError", 0},
    {kGroup, "hObjectEccError", 0},
    {kGroup, "bIsCallingContextVgpuPlugin", 0},
    {hw::ContextShareParameters::kName, "flags", hw::ContextShareParameters::kAsync},
    {hw::ContextShareParameters::kName, "subctxId", 0},
    // [alloc/alloc_channel.h: RM's own, confidential computing]
    {kChannel, "flags", 0},
    {kChannel, "hHandleVASpace", 0},
    {kChannel, "engineType", hw::ChannelGroupParameters::kGraphics},
    {kChannel, "cid", 0},
    {kChannel, "subDeviceId", 0},
    {kChannel, "hObjectEccError", 0},
    {kChannel, "base", 0},
    {kChannel, "size", 0},
    {kChannel, "addressSpace", 0},
    {kChannel, "cacheAttrib", 0},
    {kChannel, "hPhysChannelGroup", 0},
    {kChannel, "internalFlags", 0},
    {kChannel, "ProcessID", 0},
    {kChannel, "SubProcessID", 0},
    {kChannel, "encryptIv", 0},
    {kChannel, "decryptIv", 0},
    {kChannel, "hmacNonce", 0},
    {kChannel, "tpcConfigID", 0},
    // [class/clc661.h: for the kernel]
    {hw::HopperUsermodeParameters::kName, "bPriv", 0},
    {hw::DebuggerParameters::kName, "hDebuggerClient_Obsolete", 0},
    // [ctrl/ctrla06f/ctrla06fgpfifo.h: for the kernel]
    {hw::GpfifoSchedule::kName, "bSkipSubmit", 0},
    {hw::GpfifoSchedule::kName, "bSkipEnable", 0},
    {kEvent, "notifyIndex",
     0xffff | hw::EventParameters::kNonStallInterrupt | hw::EventParameters::kWithoutData},
    {kEvent, "data", 0xffff'ffff},  // a descriptor
    // [nvos.h NVOS54_FLAGS_*: for the kernel, and serialised parameters]
    {"NVOS54_PARAMETERS", "flags", 0},
    {"nv_ioctl_nvos02_parameters_with_fd", "flags", kHostMemoryFlags},
    {"nv_ioctl_nvos33_parameters_with_fd", "flags", kMappingFlags},
    {"NVOS34_PARAMETERS", "flags", 0},
    // [ctrl2080gr.h NV2080_CTRL_GR_ROUTE_INFO: for MIG]
    {"NV2080_CTRL_GR_GET_INFO_PARAMS", "flags", 0},
    {"NV2080_CTRL_GR_GET_INFO_PARAMS", "route", 0},
    {"UVM_REGISTER_GPU_PARAMS", "hSmcPartRef", 0},  // [uvm_ioctl.h: for MIG]
};

}  // namespace

std::string refusal_of_value(std::string_view record, std::string_view field, u64 value) {
  for (const Understood& one : kUnderstood)
    if (one.record == record && one.field == field && (value & ~one.bits) != 0)
      return fmt::format("{}: {} is {:#x}, of which {:#x} is emulated", record, field, value,
                         one.bits);
  return {};
}

}  // namespace doorbell::emu::nvgpu
