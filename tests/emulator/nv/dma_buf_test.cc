// dma-bufs of emulated GPUs' memory: what RM takes, what it refuses, and the bytes behind them.
// [statuses: open-gpu-kernel-modules kernel-open/nvidia/nv-dmabuf.c, osapi.c
// RmDmabufVerifyMemHandle(), osmemdesc.c]
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "drivers/nv/hw/rm/status.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u32 value(hw::RmStatus status) { return static_cast<u32>(status); }
constexpr u64 kBytes = 0x4000;

class DmaBufTest : public ::testing::Test {
 protected:
  hw::ExportDmabuf whole() {
    hw::ExportDmabuf call{
        .client = client_.root, .total_objects = 1, .num_objects = 1, .total_size = kBytes};
    call.handles[0] = memory_.handle;
    call.sizes[0] = kBytes;
    return call;
  }
  u32 status_of(hw::ExportDmabuf call) { return client_.escape(client_.gpu_file(), call); }
  int exported() {
    hw::ExportDmabuf call = whole();
    EXPECT_EQ(client_.escape(client_.gpu_file(), call), 0u) << client_.reports();
    return call.fd;
  }
  hw::OsDescriptorParameters described(int descriptor) {
    return {.attr = hw::kOs32LocationPci,
            .descriptor = static_cast<u64>(descriptor),
            .limit = kBytes - 1,
            .descriptor_type = 4};
  }
  u32 import(const hw::OsDescriptorParameters& parameters) {
    return client_.alloc(client_.device, 0x71, parameters);
  }

  Client client_{{.gpus = "sm_86,sm_86"}};
  Client::Buffer memory_ = client_.allocate(kBytes);
};

TEST_F(DmaBufTest, IsRefusedWhereTheKernelRefusesIt) {
  using enum hw::RmStatus;
  using Change = void (*)(hw::ExportDmabuf&, u32 device);
  struct Case {
    hw::RmStatus status;
    Change change;
  };
  const Case cases[] = {
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.total_size = 0; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.num_objects = 0; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.total_objects = 0; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.num_objects = 2; }},
      {InvalidArgument,
       [](hw::ExportDmabuf& call, u32) { call.num_objects = call.total_objects = 129; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.index = 1; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.mapping_type = 2; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.fd = -2; }},
      {NotSupported, [](hw::ExportDmabuf& call, u32) { call.mapping_type = 1; }},
      {NotSupported, [](hw::ExportDmabuf& call, u32) { call.allow_mmap = true; }},
      {OperatingSystem, [](hw::ExportDmabuf& call, u32) { call.fd = 0; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.total_size -= 4096; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.total_size += 4096; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.sizes[0] = 0; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.sizes[0] -= 1; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.offsets[0] = 1; }},
      {InvalidArgument, [](hw::ExportDmabuf& call, u32) { call.offsets[0] = 4096; }},
      {ObjectNotFound, [](hw::ExportDmabuf& call, u32) { call.handles[0] = 0x1234; }},
      {InvalidObject, [](hw::ExportDmabuf& call, u32 device) { call.handles[0] = device; }},
  };
  for (const Case& one : cases) {
    hw::ExportDmabuf call = whole();
    one.change(call, client_.device);
    EXPECT_EQ(status_of(call), value(one.status)) << &one - cases;
  }
  EXPECT_EQ(client_.count("NV-RM-010"), std::size(cases)) << client_.reports();
}

TEST_F(DmaBufTest, IsOfVideoMemory) {
  hw::ExportDmabuf call = whole();
  call.handles[0] = client_.alloc(
      client_.device, hw::kMemorySystem,
      hw::MemoryParameters{.owner = client_.root, .attr = hw::kOs32LocationPci, .size = kBytes});
  ASSERT_NE(call.handles[0], 0u);
  EXPECT_EQ(status_of(call), value(hw::RmStatus::InvalidArgument));
  EXPECT_EQ(client_.count("NV-RM-010"), 1u) << client_.reports();
}

TEST_F(DmaBufTest, IsOfTheGpuOfTheFile) {
  hw::ExportDmabuf call = whole();
  const u32 other = client_.alloc(client_.root, hw::DeviceParameters::kClass,
                                  hw::DeviceParameters{.device_id = 1});
  call.handles[0] = client_.alloc(other, hw::kMemoryLocalUser,
                                  hw::MemoryParameters{.owner = client_.root, .size = kBytes});
  ASSERT_NE(call.handles[0], 0u);
  EXPECT_EQ(status_of(call), value(hw::RmStatus::InvalidObjectParent));
  call = whole();
  EXPECT_EQ(client_.escape(client_.control_file(), call), Client::kFailed);
  call.client = 0x1234;
  EXPECT_EQ(status_of(call), value(hw::RmStatus::InvalidObjectHandle));
  EXPECT_EQ(client_.count("NV-RM-010"), 1u) << client_.reports();
  EXPECT_EQ(client_.count("NV-RM-001"), 1u) << client_.reports();
  EXPECT_EQ(client_.count("NV-RM-002"), 1u) << client_.reports();
}

TEST_F(DmaBufTest, GetsNoMoreObjects) {
  hw::ExportDmabuf call = whole();
  call.fd = exported();
  EXPECT_EQ(status_of(call), value(hw::RmStatus::InUse));
  close(call.fd);
}

// Releases before 580 do not ask whether it may be mapped: the byte is padding.
TEST(DmaBufs, HaveTheLayoutOfTheRelease) {
  for (const char* driver : {"570.86.16", "575.64.05", "580.95.05", "595.45.04", "610.10"}) {
    Client client({.driver = driver});
    const Client::Buffer memory = client.allocate(kBytes);
    hw::ExportDmabuf call{.client = client.root,
                          .total_objects = 1,
                          .num_objects = 1,
                          .total_size = kBytes,
                          .allow_mmap = true};
    call.handles[0] = memory.handle;
    call.sizes[0] = kBytes;
    const bool is_new = std::string(driver) >= "580";
    EXPECT_EQ(client.escape(client.gpu_file(), call),
              is_new ? value(hw::RmStatus::NotSupported) : 0u)
        << driver;
    if (!is_new) close(call.fd);
  }
}

// Another process sees the bytes, and what it writes is seen here.
TEST_F(DmaBufTest, IsTheSameMemoryInAnotherProcess) {
  memory_.words()[0] = 0x12345678;
  const int descriptor = exported();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) _exit(1);
    auto* words = static_cast<u32*>(at);
    const bool is_right = words[0] == 0x12345678;
    words[1] = 0x9abcdef0;
    _exit(is_right ? 7 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(memory_.words()[1], 0x9abcdef0u);
  close(descriptor);
  EXPECT_EQ(client_.reports(), "");
}

TEST_F(DmaBufTest, IsImportedByItsDescriptor) {
  const int descriptor = exported();
  const u32 imported = import(described(descriptor));
  close(descriptor);
  ASSERT_NE(imported, 0u) << client_.reports();
  // For the process it is memory of the system's, which /dev/nvidiactl maps.
  hw::RmMapMemory map{.params = {.client = client_.root,
                                 .device = client_.device,
                                 .memory = imported,
                                 .length = kBytes},
                      .fd = client_.control_file().descriptor()};
  EXPECT_EQ(client_.escape(client_.control_file(), map), value(hw::RmStatus::StateInUse));
  hw::ExportDmabuf again = whole();
  again.handles[0] = imported;
  EXPECT_EQ(status_of(again), value(hw::RmStatus::InvalidArgument));
}

TEST_F(DmaBufTest, OnlyDmaBufsAreImported) {
  using enum hw::RmStatus;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(import(described(ends[0])), 0u);
  EXPECT_EQ(client_.status(), value(OperatingSystem));
  EXPECT_EQ(import(described(0)), 0u);
  EXPECT_EQ(client_.status(), value(InvalidParamStruct));
  hw::OsDescriptorParameters parameters = described(ends[0]);
  parameters.descriptor = u64{1} << 32;
  EXPECT_EQ(import(parameters), 0u);
  EXPECT_EQ(client_.status(), value(InvalidArgument));
  for (const u32 type : {0u, 3u, 5u, 6u}) {  // addresses, and pointers of the kernel's
    parameters = described(ends[0]);
    parameters.descriptor_type = type;
    EXPECT_EQ(import(parameters), 0u);
    EXPECT_EQ(client_.status(), value(NotSupported));
  }
  EXPECT_EQ(client_.count("NV-RM-005"), 7u) << client_.reports();
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
