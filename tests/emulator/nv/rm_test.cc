// RM: objects, their parents and lifetimes, parameters of each release, mappings.
#include <algorithm>
#include <cerrno>

#include "drivers/nv/hw/rm/status.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u32 value(hw::RmStatus status) { return static_cast<u32>(status); }

TEST(Rm, TellsWhatTheGpuIs) {
  // The classes of GA102, AD102 and GH100 in open-gpu-kernel-modules' g_gpu_class_list.c.
  const std::map<std::string, std::pair<u32, u32>> expected = {
      {"sm_86", {0x806, 0xc7c0}}, {"sm_89", {0x809, 0xc9c0}}, {"sm_90", {0x900, 0xcbc0}}};
  for (const auto& [chip, facts] : expected) {
    Client client({.gpus = chip, .checks = "error"});
    std::array<u32, 2> info{static_cast<u32>(hw::GrInfo::SmVersion), 0};
    hw::GetGrInfo gr{.list_size = 1, .list = reinterpret_cast<u64>(info.data())};
    EXPECT_EQ(client.control(client.subdevice, gr), 0u);
    EXPECT_EQ(info[1], facts.first) << chip;
    hw::GetClasslist list;
    EXPECT_EQ(client.control(client.device, list), 0u);
    std::vector<u32> classes(list.num_classes);
    list.class_list = reinterpret_cast<u64>(classes.data());
    EXPECT_EQ(client.control(client.device, list), 0u);
    EXPECT_NE(std::ranges::find(classes, facts.second), classes.end()) << chip;
    EXPECT_EQ(client.reports(), "");
  }
}

TEST(Rm, ParametersHaveTheSizeOfTheRelease) {
  for (const char* driver : {"570.86.16", "575.64.05", "580.95.05", "595.45.04", "610.10"}) {
    Client client({.driver = driver, .checks = "error"});
    client.make_channel({hw::ClassId::AmpereComputeB});
    EXPECT_NE(client.channel, 0u) << driver;
    EXPECT_EQ(client.reports(), "") << driver;
  }
  Client client;  // of 580
  auto other = hw::pack(hw::VaSpaceParameters{}, hw::DriverAbi::R570);
  EXPECT_EQ(client.alloc_with(client.device, hw::VaSpaceParameters::kClass, other), 0u);
  EXPECT_EQ(client.status(), value(hw::RmStatus::InvalidParamStruct));
  EXPECT_EQ(client.count("NV-RM-005"), 1u) << client.reports();
}

TEST(Rm, DriversThatNobodyComparedAreRefused) {
  const auto made = Machine::create({.driver = "535.01"});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("535.01"), std::string::npos) << made.error().message;
}

TEST(Rm, ObjectsHaveTheClassesOfTheGpuAndTheirParents) {
  Client client;
  EXPECT_EQ(client.alloc(client.subdevice, static_cast<u32>(hw::ClassId::HopperUsermodeA)), 0u);
  EXPECT_EQ(client.status(), value(hw::RmStatus::InvalidClass));
  EXPECT_EQ(client.alloc(client.device, static_cast<u32>(hw::ClassId::AmpereComputeB)), 0u);
  EXPECT_EQ(client.status(), value(hw::RmStatus::InvalidObjectParent));
  EXPECT_EQ(client.alloc(0x1234, hw::SubdeviceParameters::kClass), 0u);
  EXPECT_EQ(client.status(), value(hw::RmStatus::InvalidObjectParent));
  EXPECT_EQ(client.count("NV-RM-004"), 2u) << client.reports();
  EXPECT_EQ(client.count("NV-RM-002"), 1u) << client.reports();
}

TEST(Rm, FreeingAParentFreesTheChildren) {
  Client client;
  client.make_channel({hw::ClassId::AmpereComputeB});
  EXPECT_EQ(client.free(client.group), 0u);
  EXPECT_EQ(client.free(client.channel), value(hw::RmStatus::InvalidObjectOld));
  client.ring(client.token);
  EXPECT_EQ(client.count("NV-HOST-001"), 1u) << client.reports();
}

TEST(Rm, MemoryThatAChannelUsesIsNotFreed) {
  Client client;
  client.make_channel({hw::ClassId::AmpereComputeB});
  EXPECT_EQ(client.free(client.ring_memory.handle), 0u);
  EXPECT_EQ(client.count("NV-RM-008"), 1u) << client.reports();
}

TEST(Rm, CommandsGoToObjectsThatTakeThem) {
  Client client;
  hw::GetWorkSubmitToken token;
  EXPECT_EQ(client.control(client.device, token), value(hw::RmStatus::NotSupported));
  EXPECT_EQ(client.count("NV-RM-006"), 1u) << client.reports();
}

TEST(Rm, AMappingHasAFileOfItsOwn) {
  Client client;
  const u32 memory = client.alloc(client.device, hw::kMemoryLocalUser,
                                  hw::MemoryParameters{.owner = client.root, .size = 0x2000});
  const auto map = [&](int file, u64 length) {
    hw::RmMapMemory call{.params = {.client = client.root,
                                    .device = client.device,
                                    .memory = memory,
                                    .length = length},
                         .fd = file};
    return client.escape(client.control_file(), call);
  };
  const int file = client.gpu_file().descriptor();
  EXPECT_EQ(map(file, 0x3000), value(hw::RmStatus::InvalidLimit));
  EXPECT_EQ(map(client.control_file().descriptor(), 0x1000), value(hw::RmStatus::InvalidArgument));
  EXPECT_EQ(map(file, 0x2000), 0u);
  EXPECT_EQ(map(file, 0x2000), value(hw::RmStatus::StateInUse));
  EXPECT_EQ(client.count("NV-RM-007"), 3u) << client.reports();
  EXPECT_EQ(client.gpu_file().map({.size = 0x3000}).error().os_errno, EINVAL);
  EXPECT_TRUE(client.gpu_file().map({.size = 0x2000, .writable = true}));
}

TEST(Rm, EnginesAndSubdevicesExist) {
  Client client;
  EXPECT_EQ(client.alloc(client.device, hw::ChannelGroupParameters::kClass,
                         hw::ChannelGroupParameters{.engine_type = 0x7f}),
            0u);
  EXPECT_EQ(client.status(), value(hw::RmStatus::InvalidArgument));
  EXPECT_EQ(client.alloc(client.device, hw::SubdeviceParameters::kClass,
                         hw::SubdeviceParameters{.sub_device_id = 1}),
            0u);
  EXPECT_EQ(client.status(), value(hw::RmStatus::InvalidClass));
  EXPECT_EQ(client.count("NV-RM-005"), 2u) << client.reports();
}

// What the emulated RM does not know it refuses, so that no client relies on it.
TEST(Rm, ParametersAskForWhatIsEmulated) {
  Client client;
  const auto refuses = [&](u32 parent, u32 class_id, const auto& parameters) {
    return client.alloc(parent, class_id, parameters) == 0;
  };
  EXPECT_TRUE(refuses(client.root, hw::DeviceParameters::kClass,
                      hw::DeviceParameters{.client_share = 0x1234}));
  EXPECT_TRUE(refuses(client.root, hw::DeviceParameters::kClass, hw::DeviceParameters{.flags = 1}));
  for (const hw::MemoryParameters& parameters :
       {hw::MemoryParameters{.owner = 0x1234, .size = 0x1000},
        hw::MemoryParameters{.width = 16, .size = 0x1000},
        hw::MemoryParameters{.size = 0x1000, .alignment = 0x1800},
        hw::MemoryParameters{.size = 0x1000, .limit = 0x1fff}})
    EXPECT_TRUE(refuses(client.device, hw::kMemoryLocalUser, parameters));
  EXPECT_TRUE(refuses(
      client.device, hw::VaSpaceParameters::kClass,
      hw::VaSpaceParameters{.flags = hw::VaSpaceParameters::kExternallyOwned, .va_base = 0x2800}));
  EXPECT_EQ(client.count("NV-RM-011"), 7u) << client.reports();
  EXPECT_NE(client.reports().find("flags is 0x1"), std::string::npos) << client.reports();
}

TEST(Rm, WhatIsLeftIsTold) {
  Client client;
  client.machine().tell_leaks();
  EXPECT_EQ(client.count("NV-RM-009"), 1u) << client.reports();
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
