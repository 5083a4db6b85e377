// Parameters of RM's and UVM's ioctls against the layouts in data/rm_layouts.txt, a line a struct:
// release, name, size, field@offset:size. R570 to R590 are what GCC 12 makes of NVIDIA's headers
// (open-gpu-kernel-modules 570.86.16, 575.64.05, 580.105.08, 595.45.04; 590.44.01 is the same as
// the last), as gdb prints them; R610 is tinygrad 0.14.0's runtime/autogen/nv_610.py, whose tables
// of 570 and 580 agree with NVIDIA's. NV0005_ALLOC_PARAMETERS is not in them: its R610 is 595's.
// That of dma-bufs is also gVisor's (pkg/abi/nvgpu/frontend.go IoctlExportToDMABufFD_V570, _V580).
#include <cstring>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/escape.h"
#include "drivers/nv/hw/rm/notification.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/rm/other_calls.h"
#include "drivers/nv/hw/rm/status.h"
#include "drivers/nv/hw/uvm/ioctl.h"
#include "tests/support/golden.h"

namespace doorbell::nv::hw {
namespace {

constexpr std::pair<DriverAbi, const char*> kAbis[] = {{DriverAbi::R570, "R570"},
                                                       {DriverAbi::R575, "R575"},
                                                       {DriverAbi::R580, "R580"},
                                                       {DriverAbi::R590, "R590"},
                                                       {DriverAbi::R610, "R610"}};

// Each integer and each array is one field; records are taken apart.
template <class T>
void list_fields(T& record, DriverAbi abi, usize first, std::string* out) {
  usize at = first;
  T::fields(record, abi, [&](const char* name, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    at = detail::align_up(at, detail::alignment_of<Value>(abi));
    const usize size = detail::walk(value, abi, "", 0, [](const char*, auto&, usize) {});
    if constexpr (detail::Parameters<Value>)
      list_fields(value, abi, at, out);
    else
      *out += fmt::format(" {}@{}:{}", name, at, size);
    at += size;
  });
}

class RmLayouts : public ::testing::Test {
 protected:
  RmLayouts() {
    std::istringstream text(
        doorbell::testing::read_source("tests/drivers/nv/hw/data/rm_layouts.txt"));
    for (std::string line; std::getline(text, line);) {
      const usize size = line.find(' ', line.find(' ') + 1);
      lines_[line.substr(0, size)] = line.substr(size + 1);
    }
  }

  template <class... T>
  void compare() {
    (compare_one<T>(), ...);
  }

  usize left() const { return lines_.size(); }

 private:
  template <class T>
  void compare_one() {
    for (const auto& [abi, abi_name] : kAbis) {
      const std::string key = fmt::format("{} {}", abi_name, T::kName);
      ASSERT_TRUE(lines_.contains(key)) << key;
      T record{};
      std::string fields;
      list_fields(record, abi, 0, &fields);
      EXPECT_EQ(fmt::format("{}{}", packed_size<T>(abi), fields), lines_.at(key)) << key;
      lines_.erase(key);
    }
  }

  std::map<std::string, std::string> lines_;
};

TEST_F(RmLayouts, AreNvidias) {
  compare<CardInfo, RegisterFd, AllocOsEvent, ExportDmabuf, RmFree, RmAlloc, RmControl,
          RmAllocMemory, RmMapMemory, RmUnmapMemory, RmMapMemoryDma, RmUnmapMemoryDma>();
  compare<PerfBoost, FlushGpuCache, VirtualMemoryParameters>();
  compare<DeviceParameters, SubdeviceParameters, MemoryParameters, VaSpaceParameters,
          ChannelGroupParameters, ContextShareParameters, ChannelParameters,
          HopperUsermodeParameters, DebuggerParameters, EventParameters, OsDescriptorParameters>();
  compare<GetBuildVersion, GetIdInfo, GetClasslist, GetGidInfo, GetGrInfo, GetWorkSubmitToken,
          GpfifoSchedule, SmErrorState, ReadSmErrorStates, MmuFault, ReadMmuFaults>();
  compare<UvmInitialize, UvmMmInitialize, UvmRegisterGpu, UvmUnregisterGpu, UvmRegisterGpuVaSpace,
          UvmUnregisterGpuVaSpace, UvmRegisterChannel, UvmUnregisterChannel, UvmCreateExternalRange,
          UvmMappingAttributes, UvmMapExternalAllocation, UvmUnmapExternal, UvmFree,
          UvmEnablePeerAccess, UvmDisablePeerAccess>();
  EXPECT_EQ(left(), 0u) << "structs that no record stands for";
}

// Those of calls that Doorbell's driver does not make, from the structs of open-gpu-kernel-modules,
// the same at all releases.
TEST(RmSizes, OfOtherCalls) {
  for (const auto& [abi, name] : kAbis) {
    EXPECT_EQ(packed_size<RmAllocWithRights>(abi), 48u) << name;
    EXPECT_EQ(packed_size<TransferEscape>(abi), 16u) << name;
    EXPECT_EQ(packed_size<GetFbInfo>(abi), 16u) << name;
    EXPECT_EQ(packed_size<UvmPageableMemAccess>(abi), 8u) << name;
  }
}

// data/rm_numbers.txt: tinygrad 0.14.0's, the same in its tables of 570, 580 and 610.
TEST(RmNumbers, AreNvidias) {
  std::map<std::string, u32> expected;
  std::istringstream text(
      doorbell::testing::read_source("tests/drivers/nv/hw/data/rm_numbers.txt"));
  for (std::string name, value; text >> name >> value;)
    expected[name] = static_cast<u32>(std::stoul(value, nullptr, 16));
  const std::map<std::string, u32> ours = {
      {"NV_ESC_CARD_INFO", CardInfo::kEscape},
      {"NV_ESC_REGISTER_FD", RegisterFd::kEscape},
      {"NV_ESC_ALLOC_OS_EVENT", AllocOsEvent::kEscape},
      {"NV_ESC_EXPORT_TO_DMABUF_FD", ExportDmabuf::kEscape},
      {"NVOS32_DESCRIPTOR_TYPE_OS_FILE_HANDLE", OsDescriptorParameters::kFileHandle},
      {"NV_ESC_RM_ALLOC_MEMORY", RmAllocMemory::kEscape},
      {"NV_ESC_RM_ALLOC", RmAlloc::kEscape},
      {"NV_ESC_RM_FREE", RmFree::kEscape},
      {"NV_ESC_RM_CONTROL", RmControl::kEscape},
      {"NV_ESC_RM_MAP_MEMORY", RmMapMemory::kEscape},
      {"NV_ESC_RM_UNMAP_MEMORY", RmUnmapMemory::kEscape},
      {"NV_ESC_RM_MAP_MEMORY_DMA", RmMapMemoryDma::kEscape},
      {"NV_ESC_RM_UNMAP_MEMORY_DMA", RmUnmapMemoryDma::kEscape},
      {"NV01_MEMORY_VIRTUAL", VirtualMemoryParameters::kClass},
      {"NV2080_CTRL_CMD_PERF_BOOST", PerfBoost::kCommand},
      {"NV2080_CTRL_CMD_FB_FLUSH_GPU_CACHE", FlushGpuCache::kCommand},
      {"NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION_V2", GetBuildVersion::kCommand},
      {"NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2", GetIdInfo::kCommand},
      {"NV0080_CTRL_CMD_GPU_GET_CLASSLIST", GetClasslist::kCommand},
      {"NV2080_CTRL_CMD_GPU_GET_GID_INFO", GetGidInfo::kCommand},
      {"NV2080_CTRL_CMD_GR_GET_INFO", GetGrInfo::kCommand},
      {"NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN", GetWorkSubmitToken::kCommand},
      {"NVA06C_CTRL_CMD_GPFIFO_SCHEDULE", GpfifoSchedule::kCommand},
      {"NV83DE_CTRL_CMD_DEBUG_READ_ALL_SM_ERROR_STATES", ReadSmErrorStates::kCommand},
      {"NV83DE_CTRL_CMD_DEBUG_READ_MMU_FAULT_INFO", ReadMmuFaults::kCommand},
      {"UVM_INITIALIZE", UvmInitialize::kRequest},
      {"UVM_MM_INITIALIZE", UvmMmInitialize::kRequest},
      {"UVM_REGISTER_GPU", UvmRegisterGpu::kRequest},
      {"UVM_UNREGISTER_GPU", UvmUnregisterGpu::kRequest},
      {"UVM_REGISTER_GPU_VASPACE", UvmRegisterGpuVaSpace::kRequest},
      {"UVM_UNREGISTER_GPU_VASPACE", UvmUnregisterGpuVaSpace::kRequest},
      {"UVM_CREATE_EXTERNAL_RANGE", UvmCreateExternalRange::kRequest},
      {"UVM_MAP_EXTERNAL_ALLOCATION", UvmMapExternalAllocation::kRequest},
      {"UVM_UNMAP_EXTERNAL", UvmUnmapExternal::kRequest},
      {"UVM_FREE", UvmFree::kRequest},
      {"UVM_REGISTER_CHANNEL", UvmRegisterChannel::kRequest},
      {"UVM_UNREGISTER_CHANNEL", UvmUnregisterChannel::kRequest},
      {"UVM_ENABLE_PEER_ACCESS", UvmEnablePeerAccess::kRequest},
      {"UVM_DISABLE_PEER_ACCESS", UvmDisablePeerAccess::kRequest},
      {"NV01_ROOT_CLIENT", kRootClient},
      {"NV01_DEVICE_0", DeviceParameters::kClass},
      {"NV20_SUBDEVICE_0", SubdeviceParameters::kClass},
      {"NV01_MEMORY_SYSTEM", kMemorySystem},
      {"NV01_MEMORY_LOCAL_USER", kMemoryLocalUser},
      {"NV01_MEMORY_SYSTEM_OS_DESCRIPTOR", kMemorySystemOsDescriptor},
      {"FERMI_VASPACE_A", VaSpaceParameters::kClass},
      {"KEPLER_CHANNEL_GROUP_A", ChannelGroupParameters::kClass},
      {"FERMI_CONTEXT_SHARE_A", ContextShareParameters::kClass},
      {"GT200_DEBUGGER", DebuggerParameters::kClass},
      {"NV01_EVENT_OS_EVENT", kEventOsEvent},
  };
  EXPECT_EQ(ours, expected);
}

// What RM leaves of an error: nanoseconds[0] is TimeHi, [1] TimeLo, then info32, info16 and status.
// [open-gpu-kernel-modules 595.45.04 method_notification.c notifyFillNvNotification();
// nvgputypes.h NvNotification]
TEST(RmNotification, HasTheUpperHalfOfTheTimeFirst) {
  const Notification written{.time_upper = 0x11223344,
                             .time_lower = 0x55667788,
                             .info32 = 31,
                             .info16 = 0x84,
                             .status = 0xffff};
  std::array<u32, 4> words;
  std::memcpy(words.data(), &written, sizeof words);
  EXPECT_EQ(words, (std::array<u32, 4>{0x11223344, 0x55667788, 31, 0xffff0084}));
}

// Numbers: NVIDIA's nvstatuscodes.h. 0x8b is another status in 580.105.08 than in 595.45.04.
TEST(RmStatus, HasNvidiasNames) {
  EXPECT_EQ(describe_status(0), "NV_OK (0)");
  EXPECT_EQ(describe_status(0x1f), "NV_ERR_INVALID_ARGUMENT (0x1f)");
  EXPECT_EQ(describe_status(0x51), "NV_ERR_NO_MEMORY (0x51)");
  EXPECT_EQ(describe_status(0x8b), "NV_ERR_OPERATION_ABORTED, 580: NV_ERR_DMA_XFER_FAILED (0x8b)");
  EXPECT_EQ(describe_status(0x8c), "NV_ERR_DMA_XFER_FAILED (0x8c)");
  EXPECT_EQ(describe_status(0x10009), "NV_WARN_THRESHOLD_CROSSED (0x10009)");
  EXPECT_EQ(describe_status(0x4711), "an unknown status (0x4711)");
}

TEST(RmPack, PutsFieldsWhereTheReleaseHasThem) {
  const UvmFree free{.base = 0x1122'3344'5566'7788, .length = 0x1000, .rm_status = 0x1f};
  const auto old = pack(free, DriverAbi::R580), now = pack(free, DriverAbi::R590);
  ASSERT_EQ(old.size(), 24u);
  ASSERT_EQ(now.size(), 16u);
  EXPECT_EQ(old[9], std::byte{0x10});
  EXPECT_EQ(old[16], std::byte{0x1f});
  EXPECT_EQ(now[8], std::byte{0x1f});
  const auto back = unpack<UvmFree>(now, DriverAbi::R590);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->base, free.base);
  EXPECT_EQ(back->length, 0u);
  EXPECT_EQ(unpack<UvmFree>(now, DriverAbi::R580).error().message,
            "UVM_FREE_PARAMS of 16 bytes, expected 24");
}

TEST(RmPack, KeepsArraysAndFlags) {
  ChannelParameters channel;
  channel.userd_offset[7] = 0xabcd;
  channel.instance_mem.cache_attrib = 5;
  channel.tpc_config_id = 9;
  for (const auto& [abi, name] : kAbis) {
    const auto back = unpack<ChannelParameters>(pack(channel, abi), abi);
    ASSERT_TRUE(back) << name;
    EXPECT_EQ(back->userd_offset[7], 0xabcdu);
    EXPECT_EQ(back->instance_mem.cache_attrib, 5u);
    EXPECT_EQ(back->tpc_config_id, 9u);
  }
  std::vector<std::byte> bytes(3, std::byte{2});  // a bool from outside may be any byte
  EXPECT_TRUE(unpack<GpfifoSchedule>(bytes, DriverAbi::R580)->enable);
}

TEST(DriverAbis, FollowTheRelease) {
  EXPECT_EQ(driver_abi(570), DriverAbi::R570);
  EXPECT_EQ(driver_abi(575), DriverAbi::R575);
  EXPECT_EQ(driver_abi(580), DriverAbi::R580);
  EXPECT_EQ(driver_abi(595), DriverAbi::R590);
  EXPECT_EQ(driver_abi(610), DriverAbi::R610);
  EXPECT_EQ(driver_abi(565), std::nullopt);
  EXPECT_EQ(driver_abi(611), std::nullopt);
}

}  // namespace
}  // namespace doorbell::nv::hw
