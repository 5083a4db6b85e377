// UVM: registering, ranges and mappings.
#include "drivers/nv/hw/rm/status.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u32 value(hw::RmStatus status) { return static_cast<u32>(status); }

TEST(Uvm, RangesAreWholePagesAndDoNotOverlap) {
  Client client;
  EXPECT_EQ(client.uvm(hw::UvmCreateExternalRange{.base = 0x10000, .length = 0x4000}), 0u);
  for (const auto& [base, length] :
       {std::pair<u64, u64>(0x13000, 0x1000), {0xf000, 0x2000}, {0x10000, 0x4000}})
    EXPECT_EQ(client.uvm(hw::UvmCreateExternalRange{.base = base, .length = length}),
              value(hw::RmStatus::UvmAddressInUse));
  EXPECT_EQ(client.uvm(hw::UvmCreateExternalRange{.base = 0x20800, .length = 0x1000}),
            value(hw::RmStatus::InvalidAddress));
  EXPECT_EQ(client.uvm(hw::UvmCreateExternalRange{.base = 0x14000, .length = 0x1000}), 0u);
  EXPECT_EQ(client.count("NV-UVM-003"), 4u) << client.reports();
}

TEST(Uvm, MappingsLieWithinTheirRangeAndMemory) {
  Client client;
  const u32 memory = client.alloc(client.device, hw::kMemoryLocalUser,
                                  hw::MemoryParameters{.owner = client.root, .size = 0x4000});
  client.uvm(hw::UvmCreateExternalRange{.base = 0x10000, .length = 0x8000});
  const auto map = [&](u64 base, u64 length, u64 offset) {
    hw::UvmMapExternalAllocation call{.base = base,
                                      .length = length,
                                      .offset = offset,
                                      .gpu_attributes_count = 1,
                                      .rm_ctrl_fd = client.control_file().descriptor(),
                                      .client = client.root,
                                      .memory = memory};
    call.gpu_attributes[0].gpu_uuid = client.uuid;
    return client.uvm(call);
  };
  EXPECT_EQ(map(0x16000, 0x4000, 0), value(hw::RmStatus::InvalidAddress));
  EXPECT_EQ(map(0x10000, 0x8000, 0), value(hw::RmStatus::InvalidOffset));
  EXPECT_EQ(map(0x10000, 0x2000, 0x3000), value(hw::RmStatus::InvalidOffset));
  EXPECT_EQ(map(0x10000, 0x2000, 0x2000), 0u);
  // The client's address space has 0x1000 to 0x1ffffff1000.
  constexpr u64 kBeyond = 0x200'0000'0000;
  client.uvm(hw::UvmCreateExternalRange{.base = kBeyond, .length = 0x1000});
  EXPECT_EQ(map(kBeyond, 0x1000, 0), value(hw::RmStatus::InvalidAddress));
  EXPECT_EQ(client.count("NV-UVM-004"), 4u) << client.reports();
}

hw::UvmRegisterChannel channel_of(Client& client) {
  return {.rm_ctrl_fd = client.control_file().descriptor(),
          .client = client.root,
          .channel = client.channel,
          .base = 0x1000'0000,
          .length = 0x20'0000};
}

TEST(Uvm, AChannelIsRegisteredForItsGpu) {
  Client client;
  client.make_channel({hw::ClassId::AmpereComputeB});
  hw::UvmRegisterChannel call = channel_of(client);
  EXPECT_EQ(client.uvm(call), value(hw::RmStatus::InvalidDevice));
  call.gpu_uuid = client.uuid;
  EXPECT_EQ(client.uvm(call), 0u);
  EXPECT_EQ(client.uvm(hw::UvmUnregisterChannel{.client = client.root, .channel = client.channel}),
            value(hw::RmStatus::GpuUuidNotFound));
  EXPECT_EQ(client.count("NV-UVM-002"), 2u) << client.reports();
}

// The kernel does not look at the file: it is judged, and refused at error only.
TEST(Uvm, AChannelNamesTheControlFile) {
  for (const char* level : {"warn", "error"}) {
    Client client({.checks = level});
    client.make_channel({hw::ClassId::AmpereComputeB});
    hw::UvmRegisterChannel call = channel_of(client);
    call.gpu_uuid = client.uuid;
    call.rm_ctrl_fd = client.gpu_file().descriptor();
    const bool is_error = std::string_view(level) == "error";
    EXPECT_EQ(client.uvm(call), is_error ? value(hw::RmStatus::InvalidArgument) : 0u) << level;
    EXPECT_EQ(client.count("NV-RM-011"), 1u) << client.reports();
  }
}

TEST(Uvm, WhatIsFreedBeginsARange) {
  Client client;
  client.uvm(hw::UvmCreateExternalRange{.base = 0x10000, .length = 0x4000});
  EXPECT_EQ(client.uvm(hw::UvmFree{.base = 0x11000, .length = 0x1000}),
            value(hw::RmStatus::InvalidAddress));
  EXPECT_EQ(client.uvm(hw::UvmFree{.base = 0x10000, .length = 0x1000}),
            value(hw::RmStatus::InvalidAddress));
  EXPECT_EQ(client.uvm(hw::UvmFree{.base = 0x10000, .length = 0x4000}), 0u);
  EXPECT_EQ(client.count("NV-UVM-005"), 2u) << client.reports();
}

TEST(Uvm, AGpuIsRegisteredOnce) {
  Client client;
  EXPECT_EQ(client.uvm(hw::UvmRegisterGpu{.gpu_uuid = client.uuid}),
            value(hw::RmStatus::InvalidDevice));
  EXPECT_EQ(client.uvm(hw::UvmRegisterGpu{.gpu_uuid = {}}), value(hw::RmStatus::GpuUuidNotFound));
  EXPECT_EQ(client.uvm(hw::UvmInitialize{}), value(hw::RmStatus::InvalidState));
  EXPECT_EQ(client.count("NV-UVM-002"), 2u) << client.reports();
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
