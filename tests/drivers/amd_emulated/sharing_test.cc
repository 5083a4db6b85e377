// Memory that one GPU exports as a dma-buf and another imports, on an emulated machine of two kinds
// of GPUs: bytes, lifetime, and refusals.
#include <fcntl.h>
#include <unistd.h>

#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

constexpr u64 kBytes = 1 << 20;

struct SharingTest : EmulatedTest {
  SharingTest() { boot({.gpus = {"gfx1100", "gfx942"}}); }

  std::vector<u8> read(AmdDevice& device, u64 address, u64 bytes) {
    Ref<Buffer> to = *Buffer::allocate(device, static_cast<i64>(bytes));
    auto commands = device.copy_queue().make_commands();
    commands->copy(to->memory().address, address, bytes);
    EXPECT_TRUE(device.copy_queue().submit(*commands));
    std::vector<u8> got(bytes);
    EXPECT_TRUE(to->copy_out(got.data(), static_cast<i64>(bytes)));
    return got;
  }
  void fill(AmdDevice& device, u64 address, u8 value) {
    Ref<Buffer> from = *Buffer::allocate(device, 4096);
    const std::vector<u8> bytes(4096, value);
    ASSERT_TRUE(from->copy_in(bytes.data(), 4096));
    auto commands = device.copy_queue().make_commands();
    commands->copy(address, from->memory().address, 4096);
    ASSERT_TRUE(device.copy_queue().submit(*commands));
    ASSERT_TRUE(device.synchronize());
  }
};

TEST_F(SharingTest, BothSeeTheBytesInBothDirections) {
  std::unique_ptr<AmdDevice> first = open(0), second = open(1);
  std::unique_ptr<KfdMemory> memory =
      *first->gpu().allocate({.bytes = kBytes, .what = "what is shared"});
  const int descriptor = *memory->export_dmabuf();
  std::unique_ptr<KfdMemory> imported =
      *second->gpu().import_dmabuf(descriptor, "what another shares");
  close(descriptor);
  EXPECT_EQ(imported->bytes(), kBytes);
  EXPECT_NE(imported->address(), memory->address());
  fill(*first, memory->address(), 7);
  EXPECT_EQ(read(*second, imported->address(), 4096), std::vector<u8>(4096, 7));
  fill(*second, imported->address() + 4096, 9);
  EXPECT_EQ(read(*first, memory->address() + 4096, 4096), std::vector<u8>(4096, 9));
}

TEST_F(SharingTest, MemoryLivesAsLongAsAnyoneHasIt) {
  std::unique_ptr<AmdDevice> first = open(0), second = open(1);
  const u64 before = *first->gpu().available_bytes();
  std::unique_ptr<KfdMemory> memory =
      *first->gpu().allocate({.bytes = kBytes, .what = "what is shared"});
  fill(*first, memory->address(), 5);
  first->allocator().flush();
  const int descriptor = *memory->export_dmabuf();
  memory.reset();
  EXPECT_LE(*first->gpu().available_bytes(), before - kBytes);
  // Onto the GPU whose memory it is, too.
  std::unique_ptr<KfdMemory> again = *first->gpu().import_dmabuf(descriptor, "what was shared");
  std::unique_ptr<KfdMemory> there = *second->gpu().import_dmabuf(descriptor, "what was shared");
  close(descriptor);
  EXPECT_EQ(read(*first, again->address(), 4096), std::vector<u8>(4096, 5));
  again.reset();
  EXPECT_EQ(read(*second, there->address(), 4096), std::vector<u8>(4096, 5));
  there.reset();
  first->allocator().flush();
  EXPECT_EQ(*first->gpu().available_bytes(), before);
}

TEST_F(SharingTest, WhatIsNoDmaBufIsAnError) {
  std::unique_ptr<AmdDevice> device = open(0);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Result<std::unique_ptr<KfdMemory>> imported = device->gpu().import_dmabuf(ends[1], "a pipe");
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().os_errno, EINVAL);
  EXPECT_FALSE(device->gpu().import_dmabuf(-1, "nothing"));
  close(ends[0]);
  close(ends[1]);
  std::vector<u8> own(8192);
  u8* page = own.data() + (4096 - reinterpret_cast<u64>(own.data()) % 4096) % 4096;
  std::unique_ptr<KfdMemory> user = *device->gpu().allocate(
      {.bytes = 4096, .kind = MemoryKind::User, .user = page, .what = "the host's own"});
  EXPECT_FALSE(user->export_dmabuf());
}

// Each copies what the one before it has, and works on its own.
TEST_F(EmulatedTest, PartitionsOfAPackageArePeers) {
  boot({.gpus = {"gfx942:CPX"}});
  ASSERT_EQ(kfd->nodes().size(), 8u);
  std::vector<std::unique_ptr<AmdDevice>> devices;
  std::vector<Ref<Buffer>> buffers;
  std::vector<u32> numbers(1000), got(1000);
  for (u32 i = 0; i < numbers.size(); ++i) numbers[i] = i * 2654435761u;
  for (int i = 0; i < 8; ++i) {
    devices.push_back(open(i));
    EXPECT_TRUE(devices[i]->description().starts_with("gfx942, 38 compute units, 2"))
        << devices[i]->description();
    buffers.push_back(*Buffer::allocate(*devices[i], 4000));
    const Result<void> copied = i == 0
                                    ? buffers[0]->copy_in(numbers.data(), 4000)
                                    : core::copy_between(*buffers[i], 0, *buffers[i - 1], 0, 4000);
    ASSERT_TRUE(copied) << copied.error().message;
  }
  ASSERT_TRUE(buffers[7]->copy_out(got.data(), 4000));
  EXPECT_EQ(got, numbers);
  EXPECT_EQ(machine->checks().errors(), 0u);
}

// Of one process, the second opening of the nodes, or one after the first was closed.
TEST_F(EmulatedTest, SaysWhoHasTheAddressSpace) {
  ASSERT_TRUE(kfd->gpu(0));
  const std::string gpu_id = std::to_string(kfd->nodes()[0].gpu_id);
  const std::shared_ptr<Kfd> second = *Kfd::open(*files);
  for (bool closed : {false, true}) {
    if (closed) kfd.reset();
    const Result<KfdGpu*> refused = second->gpu(0);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().os_errno, EBUSY);
    EXPECT_TRUE(refused.error().message.ends_with(
        "; something else in this process, maybe ROCm, has the address space of GPU " + gpu_id +
        ": the kernel creates one for each process and keeps it until the process ends"))
        << refused.error().message;
  }
}

}  // namespace
}  // namespace doorbell::amd
