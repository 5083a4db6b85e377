// Memory that one emulated GPU exports as a dma-buf and another imports, in the same process and in
// another: bytes, lifetime, and refusals.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/host.h"
#include "drivers/nv/device.h"
#include "emulator/nv/machine.h"

namespace doorbell::nv {
namespace {

using core::Buffer;
using core::Ref;

constexpr u64 kBytes = 1 << 20;
constexpr usize kWords = 1024;

// A machine, and the driver on it.
struct Emulated {
  explicit Emulated(std::string gpus) {
    machine = *emu::nvgpu::Machine::create({.gpus = std::move(gpus), .lockstep = true});
    files = machine->files(os::host_files());
    clock = machine->clock(os::host_clock());
    nvk = *Nvk::open(*files, *clock);
  }
  std::unique_ptr<NvDevice> open(i64 ordinal) {
    core::DeviceSpec spec;
    spec.name = "NV";
    spec.ordinal = ordinal;
    return *NvDevice::open(spec, nvk, {});
  }
  std::unique_ptr<emu::nvgpu::Machine> machine;
  std::unique_ptr<os::Files> files;
  std::unique_ptr<os::Clock> clock;
  std::shared_ptr<Nvk> nvk;
};

// Both copy by the GPU.
std::vector<u32> read(NvDevice& device, u64 address) {
  Ref<Buffer> to = *Buffer::allocate(device, kWords * 4);
  auto commands = device.copy_queue().make_commands();
  commands->copy(to->memory().address, address, kWords * 4);
  EXPECT_TRUE(device.copy_queue().submit(*commands));
  std::vector<u32> words(kWords);
  EXPECT_TRUE(to->copy_out(words.data(), kWords * 4));
  return words;
}
bool fill(NvDevice& device, u64 address, u32 word) {
  Ref<Buffer> from = *Buffer::allocate(device, kWords * 4);
  const std::vector<u32> words(kWords, word);
  auto commands = device.copy_queue().make_commands();
  commands->copy(address, from->memory().address, kWords * 4);
  return from->copy_in(words.data(), kWords * 4) && device.copy_queue().submit(*commands) &&
         device.synchronize();
}

struct NvSharingTest : ::testing::Test {
  Emulated emulated{"sm_86,sm_90"};
  std::unique_ptr<NvDevice> first = emulated.open(0), second = emulated.open(1);
  std::unique_ptr<NvkMemory> memory =
      *first->gpu().allocate({.bytes = kBytes, .low = true, .what = "what is shared"});
};

TEST_F(NvSharingTest, BothSeeTheBytesInBothDirections) {
  const int descriptor = *memory->export_dmabuf();
  std::unique_ptr<NvkMemory> imported =
      *second->gpu().import_dmabuf(descriptor, kBytes, "what another shares");
  close(descriptor);
  EXPECT_EQ(imported->bytes(), kBytes);
  EXPECT_NE(imported->address(), memory->address());
  ASSERT_TRUE(fill(*first, memory->address(), 7));
  EXPECT_EQ(read(*second, imported->address()), std::vector<u32>(kWords, 7));
  ASSERT_TRUE(fill(*second, imported->address() + 8192, 9));
  EXPECT_EQ(read(*first, memory->address() + 8192), std::vector<u32>(kWords, 9));
}

TEST_F(NvSharingTest, MemoryLivesAsLongAsAnyoneHasIt) {
  ASSERT_TRUE(fill(*first, memory->address(), 5));
  const int descriptor = *memory->export_dmabuf();
  memory.reset();
  // Onto the GPU whose memory it is, too.
  std::unique_ptr<NvkMemory> again =
      *first->gpu().import_dmabuf(descriptor, kBytes, "what was shared");
  std::unique_ptr<NvkMemory> there =
      *second->gpu().import_dmabuf(descriptor, kBytes, "what was shared");
  close(descriptor);
  EXPECT_EQ(read(*first, again->address()), std::vector<u32>(kWords, 5));
  again.reset();
  EXPECT_EQ(read(*second, there->address()), std::vector<u32>(kWords, 5));
}

// A process that has GPUs of its own.
TEST_F(NvSharingTest, AnotherProcessImportsIt) {
  ASSERT_TRUE(fill(*first, memory->address(), 3));
  const int descriptor = *memory->export_dmabuf();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    Emulated other("sm_89");
    std::unique_ptr<NvDevice> device = other.open(0);
    auto imported = device->gpu().import_dmabuf(descriptor, kBytes, "another process's");
    const bool is_right = imported &&
                          read(*device, (*imported)->address()) == std::vector<u32>(kWords, 3) &&
                          fill(*device, (*imported)->address(), 4);
    _exit(is_right ? 7 : 1);
  }
  close(descriptor);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(read(*first, memory->address()), std::vector<u32>(kWords, 4));
}

TEST_F(NvSharingTest, WhatIsNoDmaBufIsAnError) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto imported = first->gpu().import_dmabuf(ends[1], 4096, "a pipe");
  ASSERT_FALSE(imported);
  EXPECT_NE(imported.error().message.find("NV_ERR_OPERATING_SYSTEM"), std::string::npos)
      << imported.error().message;
  for (const int end : ends) close(end);
}

// RM knows the size, and UVM maps no more.
TEST_F(NvSharingTest, IsNotLargerThanItIs) {
  const int descriptor = *memory->export_dmabuf();
  const auto imported = first->gpu().import_dmabuf(descriptor, kBytes + 4096, "too much");
  close(descriptor);
  ASSERT_FALSE(imported);
  EXPECT_NE(imported.error().message.find("a dma-buf of 1052672 bytes of too much"),
            std::string::npos)
      << imported.error().message;
  EXPECT_NE(imported.error().message.find("NV_ERR_INVALID_OFFSET"), std::string::npos)
      << imported.error().message;
}

}  // namespace
}  // namespace doorbell::nv
