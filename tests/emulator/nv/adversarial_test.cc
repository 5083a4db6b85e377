// What an adversarial GPU does late, and what fresh memory holds.
#include <algorithm>

#include "drivers/nv/hw/copy/methods.h"
#include "emulator/nv/compute/data_cache.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u8 kCopy = 4;
constexpr u64 kSeeds = 40;

// A copy of one word, then a semaphore over its source; what was copied.
u32 copy_and_overwrite(u64 seed, bool waits) {
  Client client({.adversarial = true, .seed = seed});
  client.make_channel({hw::ClassId::AmpereDmaCopyB});
  client.push(kCopy, hw::SetObject{hw::ClassId::AmpereDmaCopyB});
  client.data.words()[0] = 5;
  const u64 from = client.data.address, to = from + 0x1000;
  client.push(kCopy, hw::CopyExtent{.in_upper = static_cast<u32>(from >> 32),
                                    .in_lower = static_cast<u32>(from),
                                    .out_upper = static_cast<u32>(to >> 32),
                                    .out_lower = static_cast<u32>(to),
                                    .line_length = 4});
  client.push(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined});
  client.push(0, hw::Semaphore{.addr = from,
                               .payload = 7,
                               .operation = hw::SemOperation::Release,
                               .release_wfi = waits});
  client.submit();
  client.machine().run_until_idle();
  EXPECT_EQ(client.reports(), "");
  return client.data.words()[0x400];
}

// [dev_pbdma.ref.txt, "Semaphore wait-for-idle option"]
TEST(Adversarial, CopiesAreLateUnlessASemaphoreWaitsForThem) {
  bool was_late = false;
  for (u64 seed = 1; seed <= kSeeds; ++seed) {
    was_late |= copy_and_overwrite(seed, false) == 7;
    EXPECT_EQ(copy_and_overwrite(seed, true), 5u) << "seed " << seed;
  }
  EXPECT_TRUE(was_late);
}

// [CUDA driver API, cuMemAlloc: "The memory is not cleared"]
TEST(Adversarial, FreshVideoMemoryHoldsAnything) {
  Client adversarial({.adversarial = true}), calm;
  const Client::Buffer poisoned = adversarial.allocate(0x1000), zeroed = calm.allocate(0x1000);
  EXPECT_NE(poisoned.longs()[0], 0u);
  EXPECT_EQ(zeroed.longs()[0], 0u);
}

TEST(Adversarial, AnL1KeepsWhatWasReadUntilItIsDropped) {
  alignas(32) u8 memory[64] = {1, 2, 3};
  DataCache cache;
  EXPECT_EQ(*cache.read(0x1001, memory + 1), 2);
  memory[1] = 9;
  EXPECT_EQ(*cache.read(0x1001, memory + 1), 2);
  EXPECT_EQ(*cache.read(0x1000, memory), 1);
  cache.drop(0x1001);
  EXPECT_EQ(*cache.read(0x1001, memory + 1), 9);
  memory[1] = 8;
  cache.drop_all();
  EXPECT_EQ(*cache.read(0x1001, memory + 1), 8);
}

TEST(Adversarial, CachesEndWithAMapping) {
  alignas(4096) static u8 page[4096];
  AddressSpace space;
  ASSERT_TRUE(space.map(0x10000, 4096, page, true, true, {}, space.add_buffer({})));
  DataCaches caches(1);
  page[0] = 1;
  for (int i = 0; i < 20; ++i) caches.for_block(space).read(0x10000, page);
  page[0] = 2;
  EXPECT_EQ(*caches.for_block(space).read(0x10000, page), 1);
  caches.invalidate();
  EXPECT_EQ(*caches.for_block(space).read(0x10000, page), 2);
  page[0] = 3;
  ASSERT_TRUE(space.map(0x20000, 4096, page, true, true, {}, space.add_buffer({})));
  EXPECT_EQ(*caches.for_block(space).read(0x10000, page), 3);
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
