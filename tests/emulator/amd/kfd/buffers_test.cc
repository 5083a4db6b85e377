// Memory through the ioctls: results, errors with their errno, and the state that is kept.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "emulator/amd/all_checks.h"
#include "tests/emulator/amd/kfd/client.h"

namespace doorbell::emu::amdgpu::testing {

using namespace amd::hw;
namespace {

class BuffersTest : public ClientTest {
 protected:
  void SetUp() override {
    acquire(0);
    acquire(1);
  }
  int allocate_raw(KfdAllocMemory arguments) {
    if (!arguments.gpu_id) arguments.gpu_id = id();
    return call(arguments);
  }
};

TEST_F(BuffersTest, HostAndGpuSeeTheSameBytes) {
  Memory memory = allocate(0x3000);
  memory.mapping.data()[0x2fff] = 42;
  EXPECT_EQ(*space().at(memory.va + 0x2fff, 1, false), 42);
  *space().at(memory.va, 1, true) = 7;
  EXPECT_EQ(memory.mapping.data()[0], 7);
}

TEST_F(BuffersTest, UserMemoryIsTheProcessesOwn) {
  os::Mapping own = std::move(*files_->map_anonymous({.size = 8192, .writable = true}));
  u64 va = reinterpret_cast<u64>(own.data());
  KfdAllocMemory arguments{.va_addr = va,
                           .size = 8192,
                           .mmap_offset = va,
                           .gpu_id = id(),
                           .flags = kAll | kKfdMemUserptr};
  ASSERT_EQ(call(arguments), 0);
  Memory memory{.handle = arguments.handle, .va = va, .bytes = 8192, .offset = 0, .mapping = {}};
  ASSERT_EQ(map(memory), 0);
  EXPECT_EQ(space().at(va + 100, 4, true), own.data() + 100);
  EXPECT_EQ(space().find(va)->type.place, Place::Host);
  ASSERT_EQ(unmap(memory), 0);
  ASSERT_EQ(call(KfdFreeMemory{.handle = memory.handle}), 0);
}

// [amdgpu_amdkfd_gpuvm.c init_user_pages()]
TEST_F(BuffersTest, UserMemoryIsThereAndWritable) {
  os::Mapping own = std::move(*files_->map_anonymous({.size = 0x5000, .writable = true}));
  const u64 va = reinterpret_cast<u64>(own.data());
  KfdAllocMemory pages{.va_addr = va,
                       .size = 0x4000,
                       .mmap_offset = va,
                       .gpu_id = id(),
                       .flags = kAll | kKfdMemUserptr};
  mprotect(own.data() + 0x1000, 0x1000, PROT_READ);
  EXPECT_EQ(call(KfdAllocMemory(pages)), EPERM) << "a page in the middle cannot be written";
  mprotect(own.data() + 0x1000, 0x1000, PROT_NONE);
  EXPECT_EQ(call(KfdAllocMemory(pages)), EFAULT);
  mprotect(own.data() + 0x1000, 0x1000, PROT_READ | PROT_WRITE);
  munmap(own.data() + 0x3000, 0x1000);
  EXPECT_EQ(call(KfdAllocMemory(pages)), EFAULT) << "the last page is nobody's";
  EXPECT_EQ(checks().count(kVmAlloc), 3u);
  pages.size = 0x3000;
  EXPECT_EQ(call(pages), 0);
  EXPECT_EQ(call(KfdFreeMemory{.handle = pages.handle}), 0);
}

// [amdgpu_amdkfd_gpuvm.c update_invalid_user_pages()]: the mapping stays, an access is a fault.
TEST_F(BuffersTest, UserMemoryThatGoesLeadsNowhere) {
  os::Mapping own = std::move(*files_->map_anonymous({.size = 0x4000, .writable = true}));
  const u64 va = reinterpret_cast<u64>(own.data());
  KfdAllocMemory pages{.va_addr = va,
                       .size = 0x2000,
                       .mmap_offset = va + 0x1000,
                       .gpu_id = id(),
                       .flags = kAll | kKfdMemUserptr};
  ASSERT_EQ(call(pages), 0);
  Memory memory{.handle = pages.handle, .va = va, .bytes = 0x2000, .offset = 0, .mapping = {}};
  ASSERT_EQ(map(memory), 0);
  kfd().buffers().host_unmapped(va, va + 0x1000);
  kfd().buffers().host_unmapped(va + 0x3000, va + 0x4000);
  EXPECT_NE(space().at(va, 4, false), nullptr) << "its neighbours are not its own";
  EXPECT_TRUE(engine().unmaps.empty());
  kfd().buffers().host_unmapped(va + 0x2fff, va + 0x9000);
  EXPECT_EQ(space().at(va, 4, false), nullptr);
  ASSERT_NE(space().find(va), nullptr) << "still mapped";
  EXPECT_EQ(engine().unmaps, std::vector<u64>{va}) << "no access is under way";
  ASSERT_EQ(unmap(memory), 0);
  ASSERT_EQ(map(memory), 0);
  EXPECT_EQ(space().at(va, 4, false), nullptr);
  ASSERT_EQ(unmap(memory), 0);
  EXPECT_EQ(call(KfdFreeMemory{.handle = memory.handle}), 0);
}

TEST_F(BuffersTest, RefusesWhatTheKernelRefuses) {
  constexpr u64 kVa = 0x7000'0000'0000;
  u32 vram = kAll | kKfdMemVram;
  EXPECT_EQ(allocate_raw({.va_addr = kVa, .size = 0, .flags = vram}), EINVAL);
  EXPECT_EQ(allocate_raw({.va_addr = kVa, .size = 4096, .flags = kAll}), EINVAL) << "no place";
  EXPECT_EQ(allocate_raw({.va_addr = kVa, .size = 4096, .gpu_id = 12345, .flags = vram}), EINVAL);
  EXPECT_EQ(allocate_raw({.va_addr = kVa + 8, .size = 4096, .flags = vram}), EINVAL);
  EXPECT_EQ(allocate_raw({.va_addr = kVa, .size = 4096, .flags = kAll | kKfdMemUserptr}), EINVAL);
  EXPECT_EQ(allocate_raw({.va_addr = kVa, .size = 4096, .flags = kAll | kKfdMemDoorbell}), EINVAL);
  EXPECT_EQ(allocate_raw({.va_addr = kVa, .size = 8192, .flags = kAll | kKfdMemMmioRemap}), EINVAL);
  EXPECT_GE(checks().count(kVmAlloc), 5u);
  EXPECT_EQ(allocate_raw({.va_addr = kVa, .size = u64{1} << 40, .flags = vram}), ENOMEM)
      << "more than there is";
}

TEST_F(BuffersTest, VramIsCounted) {
  KfdAvailableMemory before{.gpu_id = id()};
  ASSERT_EQ(call(before), 0);
  EXPECT_EQ(before.available, 25753026560u);
  Memory memory = allocate(0x200000, kAll | kKfdMemVram);
  KfdAvailableMemory after{.gpu_id = id()};
  ASSERT_EQ(call(after), 0);
  EXPECT_EQ(before.available - after.available, 0x200000u);
  ASSERT_EQ(unmap(memory), 0);
  ASSERT_EQ(call(KfdFreeMemory{.handle = memory.handle}), 0);
  ASSERT_EQ(call(after), 0);
  EXPECT_EQ(after.available, before.available);
}

TEST_F(BuffersTest, MappedMemoryIsNotFreed) {
  Memory memory = allocate(0x1000);
  EXPECT_EQ(call(KfdFreeMemory{.handle = memory.handle}), EBUSY);
  EXPECT_EQ(checks().count(kVmFreeMapped), 1u);
  EXPECT_EQ(unmap(memory), 0);
  EXPECT_EQ(engine().unmaps, std::vector<u64>{memory.va}) << "nobody reads the old pages any more";
  EXPECT_EQ(space().find(memory.va), nullptr);
  EXPECT_EQ(call(KfdFreeMemory{.handle = memory.handle}), 0);
  EXPECT_EQ(call(KfdFreeMemory{.handle = memory.handle}), EINVAL) << "twice";
  EXPECT_NE(space().describe(memory.va + 4).find(", freed by ioctl"), std::string::npos);
}

TEST_F(BuffersTest, MapsToEachGpuByItself) {
  Memory memory = allocate(0x1000, kAll | kKfdMemVram);
  EXPECT_EQ(space(1).find(memory.va), nullptr);
  ASSERT_EQ(map(memory, 1), 0);
  EXPECT_EQ(space(0).find(memory.va)->type.place, Place::Local);
  EXPECT_EQ(space(1).find(memory.va)->type.place, Place::Peer);
  EXPECT_EQ(space(1).at(memory.va, 1, false), space(0).at(memory.va, 1, false));
  ASSERT_EQ(unmap(memory, 0), 0);
  EXPECT_EQ(call(KfdFreeMemory{.handle = memory.handle}), EBUSY);
  ASSERT_EQ(unmap(memory, 1), 0);
  EXPECT_EQ(unmap(memory, 1), EINVAL) << "twice";
  EXPECT_EQ(checks().count(kVmMap), 1u);
}

// [amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu(): PAGE_ALIGN; amdgpu_amdkfd_gpuvm_map_memory_to_gpu():
// entry->is_mapped]: the kernel takes both; at error the rule's call fails.
TEST_F(BuffersTest, OddSizesAndSecondMappingsBreakRulesThatTheKernelForgives) {
  KfdAllocMemory odd{
      .va_addr = 0x7e00'0000'0000, .size = 123, .gpu_id = id(), .flags = kUncachedGtt};
  ASSERT_EQ(call(odd), 0);
  ASSERT_EQ(map({.handle = odd.handle, .mapping = {}}), 0);
  EXPECT_EQ(space().find(0x7e00'0000'0000)->end, 0x7e00'0000'1000u) << "rounded up";
  EXPECT_EQ(map({.handle = odd.handle, .mapping = {}}), 0);
  ASSERT_EQ(checks().reports().size(), 2u);
  EXPECT_EQ(to_string(checks().reports()[0]),
            "warn AMD-VM-002: ALLOC_MEMORY_OF_GPU: 0x7b bytes are no multiple of 0x1000");
  EXPECT_EQ(to_string(checks().reports()[1]),
            fmt::format("warn AMD-VM-003: MAP_MEMORY_TO_GPU: handle {:#x}, buffer [0x7e0000000000, "
                        "0x7e0000001000), is mapped to GPU 0 already",
                        odd.handle));
  ASSERT_TRUE(checks().configure("error", all_checks()));
  EXPECT_EQ(map({.handle = odd.handle, .mapping = {}}), EINVAL);
  odd.va_addr += 0x10000;
  EXPECT_EQ(call(odd), EINVAL);
  EXPECT_EQ(checks().errors(), 2u);
}

TEST_F(BuffersTest, OneAddressHoldsOneBuffer) {
  Memory memory = allocate(0x2000);
  KfdAllocMemory second{
      .va_addr = memory.va + 0x1000, .size = 0x1000, .gpu_id = id(), .flags = kUncachedGtt};
  ASSERT_EQ(call(second), 0) << "the address is judged when it is mapped";
  EXPECT_EQ(map({.handle = second.handle, .mapping = {}}), EINVAL);
  EXPECT_EQ(checks().count(kVmMap), 1u);
}

TEST_F(BuffersTest, MappingCountsItsSuccesses) {
  Memory memory = allocate(0x1000);
  u32 ids[] = {id(0), id(1), 999};
  KfdMapMemory map{
      .handle = memory.handle, .device_ids_array_ptr = reinterpret_cast<u64>(ids), .n_devices = 3};
  EXPECT_EQ(call(map), EINVAL);
  EXPECT_EQ(map.n_success, 2u);
  map.n_success = 4;
  EXPECT_EQ(call(map), EINVAL);
  map = {.handle = memory.handle, .device_ids_array_ptr = 8, .n_devices = 1};
  EXPECT_EQ(call(map), EFAULT);
  map = {.handle = memory.handle, .device_ids_array_ptr = reinterpret_cast<u64>(ids)};
  EXPECT_EQ(call(map), EINVAL) << "to nobody";
  map = {.handle = memory.handle + 77,
         .device_ids_array_ptr = reinterpret_cast<u64>(ids),
         .n_devices = 1};
  EXPECT_EQ(call(map), ENOMEM) << "as the kernel says of handles it does not know";
}

// [gmc_v11_0.c gmc_v11_0_get_vm_pte()]
TEST_F(BuffersTest, CachingFollowsTheFlags) {
  std::vector<Memory> kept;  // addresses are not used again
  auto type = [&](u32 flags) {
    return space().find(kept.emplace_back(allocate(0x1000, flags)).va)->type;
  };
  EXPECT_EQ(type(kAll | kKfdMemVram), (MemoryType{Place::Local, Caching::Cached}));
  EXPECT_EQ(type(kAll | kKfdMemGtt), (MemoryType{Place::Host, Caching::Cached}));
  EXPECT_EQ(type(kAll | kKfdMemGtt | kKfdMemCoherent),
            (MemoryType{Place::Host, Caching::Uncached}));
  EXPECT_EQ(type(kUncachedGtt), (MemoryType{Place::Host, Caching::Uncached}));
}

TEST_F(BuffersTest, PermissionsFollowTheFlags) {
  Memory memory = allocate(0x1000, kKfdMemVram);
  EXPECT_FALSE(space().find(memory.va)->writable);
  EXPECT_FALSE(space().find(memory.va)->executable);
  EXPECT_EQ(space().at(memory.va, 4, true), nullptr);
}

TEST_F(BuffersTest, DescriptorsCarryMemoryFromGpuToGpu) {
  Memory memory = allocate(0x2000, kAll | kKfdMemVram);
  KfdExportDmabuf exported{.handle = memory.handle, .flags = O_CLOEXEC};
  ASSERT_EQ(call(exported), 0);
  KfdGetDmabufInfo info{.dmabuf_fd = exported.dmabuf_fd};
  ASSERT_EQ(call(info), 0);
  EXPECT_EQ(info.size, 0x2000u);
  EXPECT_EQ(info.gpu_id, id(0));
  KfdImportDmabuf imported{
      .va_addr = 0x7000'0000'0000, .gpu_id = id(1), .dmabuf_fd = exported.dmabuf_fd};
  ASSERT_EQ(call(imported), 0);
  close(static_cast<int>(exported.dmabuf_fd));
  ASSERT_EQ(map({.handle = imported.handle, .mapping = {}}, 1), 0);
  memory.mapping.data()[5] = 99;
  EXPECT_EQ(*space(1).at(0x7000'0000'0005, 1, false), 99);
  imported.dmabuf_fd = 0;
  EXPECT_EQ(call(imported), EINVAL) << "no buffer's descriptor";
}

TEST_F(BuffersTest, DescriptorsKeepMemoryUntilTheLastIsClosed) {
  const u64 before = kfd().buffers().available(0);
  Memory memory = allocate(0x20'0000, kAll | kKfdMemVram);
  KfdExportDmabuf exported{.handle = memory.handle, .flags = O_CLOEXEC};
  ASSERT_EQ(call(exported), 0);
  const int descriptor = static_cast<int>(exported.dmabuf_fd);
  EXPECT_EQ(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
  memory.mapping.data()[5] = 99;
  ASSERT_EQ(unmap(memory), 0);
  ASSERT_EQ(call(KfdFreeMemory{.handle = memory.handle}), 0);
  EXPECT_EQ(kfd().buffers().available(0), before - 0x20'0000) << "the descriptor keeps it";
  const int copy = dup(descriptor);
  close(descriptor);
  EXPECT_EQ(kfd().buffers().available(0), before - 0x20'0000) << "so does a copy of it";
  KfdImportDmabuf imported{
      .va_addr = 0x7000'0000'0000, .gpu_id = id(1), .dmabuf_fd = static_cast<u32>(copy)};
  ASSERT_EQ(call(imported), 0);
  close(copy);
  EXPECT_EQ(kfd().buffers().available(0), before - 0x20'0000) << "and who imported it";
  Memory there{.handle = imported.handle, .mapping = {}};
  ASSERT_EQ(map(there, 1), 0);
  EXPECT_EQ(*space(1).at(0x7000'0000'0005, 1, false), 99);
  EXPECT_EQ(space(1).find(0x7000'0000'0005)->type.place, Place::Peer);
  ASSERT_EQ(unmap(there, 1), 0);
  ASSERT_EQ(call(KfdFreeMemory{.handle = imported.handle}), 0);
  EXPECT_EQ(kfd().buffers().available(0), before);
}

TEST_F(BuffersTest, HandlesAreUsedAgain) {
  Memory first = allocate(0x1000), second = allocate(0x1000);
  EXPECT_EQ(first.handle >> 32, id());
  EXPECT_NE(first.handle, second.handle);
  ASSERT_EQ(unmap(first), 0);
  ASSERT_EQ(call(KfdFreeMemory{.handle = first.handle}), 0);
  EXPECT_EQ(allocate(0x1000).handle, first.handle);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu::testing
