// Dispatches by PM4: words by hand from nvd.h and soc15d.h (torvalds/linux,
// drivers/gpu/drm/amd/amdgpu).
#include "tests/emulator/amd/cp/pm4_words.h"
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

class Pm4DispatchTest : public TestGpu {};

TEST_F(Pm4DispatchTest, WavesRetireAfterTheProcessorWentOn) {
  open({.generation = hw::Generation::Gfx11, .adversarial = true, .seed = 3}, QueueKind::Pm4);
  launcher_.slices = 50;
  launcher_.effect = [this] { poke<u32>(kData, peek<u32>(kData + 4) + 1); };
  // COMPUTE_NUM_THREAD_X..Z 0x2e07, COMPUTE_PGM_LO, HI 0x2e0c, RSRC1, 2 0x2e12
  std::vector<u32> dispatch = std::vector<u32>{packet3(0x76, 4),
                                               0x207,
                                               32,
                                               1,
                                               1,
                                               packet3(0x76, 3),
                                               0x20c,
                                               lo(kIb >> 8),
                                               hi(kIb >> 8),
                                               packet3(0x76, 3),
                                               0x212,
                                               0,
                                               0,
                                               packet3(0x15, 4),
                                               1,
                                               1,
                                               1,
                                               1 | 1 << 2 | 1 << 15};
  submit(dispatch + write_data(kData + 4, {41}));
  EXPECT_EQ(peek<u32>(kData), 42u);  // the write overtook the waves

  poke<u64>(kData, 0);
  // EVENT_WRITE 0x46: CS_PARTIAL_FLUSH 7 with index 4
  submit(dispatch + std::vector<u32>{packet3(0x46, 1), 7 | 4 << 8} + write_data(kData + 4, {41}));
  EXPECT_EQ(peek<u32>(kData), 1u);  // it waited
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(Pm4DispatchTest, EndOfPipeWaitsForTheWaves) {
  open({.generation = hw::Generation::Gfx11, .adversarial = true, .seed = 3}, QueueKind::Pm4);
  launcher_.slices = 50;
  launcher_.effect = [this] { poke<u32>(kData, peek<u32>(kData + 8)); };
  poke<u32>(kData, 99);
  submit(std::vector<u32>{packet3(0x76, 4), 0x207, 32, 1, 1, packet3(0x76, 3), 0x20c, lo(kIb >> 8),
                          hi(kIb >> 8), packet3(0x76, 3), 0x212, 0, 0, packet3(0x15, 4), 1, 1, 1,
                          1 | 1 << 2 | 1 << 15} +
         release_mem(1, 0, kData + 8, 1));
  EXPECT_EQ(peek<u32>(kData), 0u);
  EXPECT_EQ(peek<u32>(kData + 8), 1u);
}

// A process has its GPU's global wave sync in all queues, as soon as one brings it.
TEST_F(Pm4DispatchTest, GlobalWaveSyncIsTheProcesss) {
  open_pm4();
  const std::vector<u32> dispatch{packet3(0x76, 4),
                                  0x207,
                                  32,
                                  1,
                                  1,
                                  packet3(0x76, 3),
                                  0x20c,
                                  lo(kIb >> 8),
                                  hi(kIb >> 8),
                                  packet3(0x76, 3),
                                  0x212,
                                  0,
                                  0,
                                  packet3(0x15, 4),
                                  1,
                                  1,
                                  1,
                                  1 | 1 << 2 | 1 << 15};
  QueueDescription other = description_;
  other.wave_sync = true;
  submit(dispatch);
  const QueueId owner = gpu_->add_queue(other).value();
  submit(dispatch);
  ASSERT_TRUE(gpu_->remove_queue(owner).has_value());
  submit(dispatch);
  description_.wave_sync = true;
  ASSERT_TRUE(gpu_->update_queue(queue_, description_).has_value());
  submit(dispatch);
  ASSERT_EQ(launcher_.dispatches.size(), 4u) << stopped();
  EXPECT_EQ(launcher_.dispatches[0].wave_sync, nullptr);
  EXPECT_NE(launcher_.dispatches[1].wave_sync, nullptr);
  EXPECT_EQ(launcher_.dispatches[2].wave_sync, nullptr);
  EXPECT_EQ(launcher_.dispatches[3].wave_sync, launcher_.dispatches[1].wave_sync);
}

TEST_F(Pm4DispatchTest, DispatchTakesItsStateFromTheRegisters) {
  open_pm4();
  // RSRC2: 4 user SGPRs, tgid x, LDS of 2 units; TMPRING_SIZE 0x2e18: 8 waves of 3 units of 256;
  // DISPATCH_SCRATCH_BASE 0x2e10; START_X 0x2e04
  submit(std::vector<u32>{packet3(0x76, 10), 0x204, 1, 0, 0, 32, 2, 1, 0, 0, 0} +
         std::vector<u32>{packet3(0x76, 3), 0x20c, lo(kIb >> 8), hi(kIb >> 8)} +
         std::vector<u32>{packet3(0x76, 5), 0x210, lo(kData >> 8), hi(kData >> 8), 0x60,
                          4 << 1 | 1 << 7 | 2 << 15} +
         std::vector<u32>{packet3(0x76, 2), 0x218, 8 | 3 << 12} +
         std::vector<u32>{packet3(0x76, 5), 0x240, 10, 11, 12, 13} +
         std::vector<u32>{packet3(0x15, 4), 5, 6, 7, 1 | 1 << 15});
  ASSERT_EQ(launcher_.dispatches.size(), 1u) << stopped();
  const Dispatch& d = launcher_.dispatches[0];
  EXPECT_EQ(d.code, kIb);
  EXPECT_EQ(d.rsrc1, 0x60u);
  EXPECT_EQ(d.rsrc2, 0x10088u);
  EXPECT_TRUE(d.wave32);
  EXPECT_EQ(d.user_sgprs, (std::vector<u32>{10, 11, 12, 13}));
  EXPECT_EQ(d.group_size, (std::array<u32, 3>{32, 2, 1}));
  // Without FORCE_START_AT_000 the packet has the grid's end. [radv_emit_dispatch_packets]
  EXPECT_EQ(d.first_group, (std::array<u32, 3>{1, 0, 0}));
  EXPECT_EQ(d.groups, (std::array<u32, 3>{4, 6, 7}));
  EXPECT_EQ(d.lds_bytes, 1024u);
  EXPECT_EQ(d.scratch_base, kData);
  EXPECT_EQ(d.scratch_waves, 8u);
  EXPECT_EQ(d.scratch_wave_bytes, 768u);
}

TEST_F(Pm4DispatchTest, DispatchIndirectReadsItsSize) {
  open_pm4();
  poke<u32>(kData, 3), poke<u32>(kData + 4, 4), poke<u32>(kData + 8, 5);
  submit(std::vector<u32>{packet3(0x76, 4), 0x207, 32, 1, 1, packet3(0x76, 3), 0x20c, lo(kIb >> 8),
                          hi(kIb >> 8), packet3(0x76, 3), 0x212, 0, 0, packet3(0x16, 3), lo(kData),
                          hi(kData), 1 | 1 << 2});
  ASSERT_EQ(launcher_.dispatches.size(), 1u) << stopped();
  EXPECT_EQ(launcher_.dispatches[0].groups, (std::array<u32, 3>{3, 4, 5}));
  EXPECT_FALSE(launcher_.dispatches[0].wave32);
}

// [Linux kfd_mqd_manager_v9.c init_mqd_v9_4_3(): PM4 queues have a target XCC, and no chunks]
TEST_F(Pm4DispatchTest, RunsOnTheXccThatItIsMadeFor) {
  open({.generation = hw::Generation::Gfx9, .xccs = 4}, QueueKind::Pm4);
  description_.target_xcc = 2;
  gpu_->update_queue(queue_, description_).value();
  // PRED_EXEC 0x23 of 3 words: for XCC 1, then for XCC 2
  put_words(kIb, {packet3(0x76, 2), 0x240, 1, packet3(0x23, 1), 3 | 1 << 25, packet3(0x76, 2),
                  0x240, 7, packet3(0x23, 1), 3 | 1 << 26, packet3(0x76, 2), 0x240, 9});
  std::vector<u32> setup{
      packet3(0x76, 4), 0x207, 64, 1,     1, packet3(0x76, 3), 0x20c, lo(kIb >> 8), hi(kIb >> 8),
      packet3(0x76, 3), 0x212, 0,  1 << 1};
  submit(std::vector<u32>{packet3(0x3f, 3), lo(kIb), hi(kIb), 13 | 1 << 23} + setup +
         std::vector<u32>{packet3(0x15, 4), 9, 1, 1, 1 | 1 << 2});
  ASSERT_EQ(launcher_.dispatches.size(), 1u) << stopped();
  EXPECT_EQ(launcher_.dispatches[0].xcc, 2u);
  EXPECT_EQ(launcher_.dispatches[0].xcc_count, 1u);
  EXPECT_EQ(launcher_.dispatches[0].user_sgprs, std::vector<u32>{9u});
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
