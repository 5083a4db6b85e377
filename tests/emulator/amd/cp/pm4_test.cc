// PM4 packets on a queue: words by hand from nvd.h and soc15d.h (torvalds/linux,
// drivers/gpu/drm/amd/amdgpu), effects as their comments and kfdtest's packets (ROCm/rocm-systems,
// libhsakmt/tests/kfdtest/src/PM4Packet.cpp) have them.
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u32 packet3(u32 opcode, u32 payload) {
  return 0xc0000000u | (payload - 1) << 16 | opcode << 8;
}

class Pm4Test : public TestGpu {};

// WRITE_DATA 0x37: dst_sel 5 memory, wr_confirm bit 20, address, data.
std::vector<u32> write_data(u64 va, std::vector<u32> data) {
  std::vector<u32> words{packet3(0x37, 3 + static_cast<u32>(data.size())), 5 << 8 | 1 << 20, lo(va),
                         hi(va)};
  words.insert(words.end(), data.begin(), data.end());
  return words;
}

// RELEASE_MEM 0x49 as kfdtest's PM4ReleaseMemoryPacket::InitPacketNV: event 0x14 with index 5.
std::vector<u32> release_mem(u32 data_sel, u32 int_sel, u64 va, u64 data, u32 context_id = 0) {
  return {packet3(0x49, 7), 0x14 | 5 << 8, data_sel << 29 | int_sel << 24, lo(va), hi(va), lo(data),
          hi(data),         context_id};
}

std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Pm4Test, WritesDataAndReportsHowFarItRead) {
  open_pm4();
  submit(write_data(kData, {0x11, 0x22}));
  EXPECT_EQ(peek<u32>(kData), 0x11u);
  EXPECT_EQ(peek<u32>(kData + 4), 0x22u);
  // 32 bits, in words. [kfdtest PM4Queue::Rptr]
  EXPECT_EQ(peek<u32>(kReadPointer), 6u);
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(Pm4Test, ReadPointerWrapsWithTheRing) {
  open_pm4();
  for (int i = 0; i < 300; ++i) submit(write_data(kData + 4 * (i % 8), {static_cast<u32>(i)}));
  EXPECT_EQ(put_, 1500u);
  EXPECT_EQ(peek<u32>(kReadPointer), 1500u % 1024);
  EXPECT_EQ(peek<u32>(kData + 4 * 3), 299u);
  EXPECT_EQ(checks_->errors(), 0u);
}

// CP_HQD_PQ_RPTR_REPORT_ADDR has bits 31:2, CP_HQD_PQ_WPTR_POLL_ADDR bits 31:3; the kernel puts
// there what CREATE_QUEUE was given. [gc_11_0_0_sh_mask.h; kfd_mqd_manager_v11.c update_mqd]
TEST_F(Pm4Test, PointersLoseTheirLowBits) {
  open_pm4();
  gpu_->remove_queue(queue_).value();
  description_.read_pointer += 3, description_.write_pointer += 5;
  queue_ = gpu_->add_queue(description_).value();
  submit(write_data(kData, {0x11, 0x22}));
  EXPECT_EQ(peek<u32>(kData), 0x11u);
  EXPECT_EQ(peek<u32>(kReadPointer), 6u);
  EXPECT_EQ(checks_->errors(), 0u);
  EXPECT_EQ(stopped(), "");
}

TEST_F(Pm4Test, NopsOfOneWordAndOfMany) {
  open_pm4();
  // 0xffff1000: count 0x3fff, no payload. [gfx_v10_0.c .nop = PACKET3(PACKET3_NOP, 0x3FFF)]
  submit(std::vector<u32>{0xffff1000, packet3(0x10, 3), 1, 2, 3} + write_data(kData, {7}));
  EXPECT_EQ(peek<u32>(kData), 7u);
}

TEST_F(Pm4Test, UnknownOpcodeStopsTheQueueWithItsNumber) {
  open_pm4();
  submit({packet3(0x77, 1), 0});
  EXPECT_NE(stopped().find("0x77"), std::string::npos) << stopped();
  submit(write_data(kData, {7}));
  EXPECT_EQ(peek<u32>(kData), 0u);
}

TEST_F(Pm4Test, WordsThatBeginNoPacketStopTheQueue) {
  open_pm4();
  submit({0x00001234});
  EXPECT_NE(stopped().find("0x00001234"), std::string::npos) << stopped();
}

TEST_F(Pm4Test, WritesToUnmappedMemoryAreAFault) {
  open_pm4();
  submit(write_data(kUnmapped, {1}));
  ASSERT_EQ(interrupts_.faults.size(), 1u);
  EXPECT_EQ(interrupts_.faults[0].va, kUnmapped);
  EXPECT_TRUE(interrupts_.faults[0].not_present);
  EXPECT_EQ(interrupts_.faults[0].queue, queue_);
}

TEST_F(Pm4Test, ReleaseMemWritesWhatItSelects) {
  open_pm4();
  poke<u64>(kData, ~u64{0});
  submit(release_mem(1, 0, kData, 0x1'2345'6789));  // low 32 bits
  EXPECT_EQ(peek<u64>(kData), 0xffffffff'23456789u);
  submit(release_mem(2, 0, kData, 0x1'2345'6789));  // 64 bits
  EXPECT_EQ(peek<u64>(kData), 0x1'2345'6789u);
  submit(release_mem(3, 0, kData, 0));  // the clock
  u64 first = peek<u64>(kData);
  submit(release_mem(3, 0, kData, 0));
  EXPECT_GT(peek<u64>(kData), first);
  EXPECT_TRUE(interrupts_.events.empty());
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(Pm4Test, ReleaseMemInterruptsWithItsContext) {
  open_pm4();
  submit(release_mem(1, 2, kData, 5, 0xabc));
  EXPECT_EQ(peek<u32>(kData), 5u);
  ASSERT_EQ(interrupts_.events.size(), 1u);
  EXPECT_EQ(interrupts_.events[0].context_id, 0xabcu);
  EXPECT_EQ(interrupts_.events[0].valid_bits, 32u);
  submit(release_mem(0, 1, 0, 0, 0xdef));  // interrupt only
  EXPECT_EQ(interrupts_.events.size(), 2u);
  EXPECT_EQ(checks_->errors(), 0u);
}

// DMA_DATA 0x50: cp_sync bit 31, sources and targets 3 (through the L2), at any alignment.
std::vector<u32> dma_data(u64 to, u64 from, u32 bytes, u32 control = 0xe0300000) {
  return {packet3(0x50, 6), control, lo(from), hi(from), lo(to), hi(to), bytes};
}

TEST_F(Pm4Test, DmaDataCopiesBytesAtAnyAlignment) {
  open_pm4();
  for (u32 i = 0; i < 16; ++i) poke<u8>(kData + i, static_cast<u8>(i + 1));
  poke<u64>(kData + 64, ~u64{0});
  submit(dma_data(kData + 67, kData + 1, 3));
  EXPECT_EQ(peek<u64>(kData + 64), 0xffff'0403'02ff'ffffu);
  submit(dma_data(kData + 64, kData, 0));
  EXPECT_EQ(peek<u64>(kData + 64), 0xffff'0403'02ff'ffffu);
  // Filled with data, of which the first byte goes to the first address.
  submit(dma_data(kData + 65, 0x44332211, 6, 0xc0300000));
  EXPECT_EQ(peek<u64>(kData + 64), 0xff22'1144'3322'11ffu);
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(Pm4Test, DmaDataFaultsWhereNothingIsMapped) {
  open_pm4();
  submit(dma_data(kUnmapped, kData, 5));
  ASSERT_EQ(interrupts_.faults.size(), 1u);
  EXPECT_EQ(interrupts_.faults[0].va, kUnmapped);
}

TEST_F(Pm4Test, DmaDataOfRegistersStops) {
  open_pm4();
  submit(dma_data(kData + 64, kData, 4 | 1 << 26));
  EXPECT_NE(stopped().find("only copies and fills of memory"), std::string::npos) << stopped();
}

TEST_F(Pm4Test, WaitRegMemWaitsForTheHost) {
  open_pm4();
  // function 5 (>=), memory space
  submit(std::vector<u32>{packet3(0x3c, 6), 5 | 1 << 4, lo(kData), hi(kData), 10, 0xffffffff, 4} +
         write_data(kData + 64, {1}));
  EXPECT_EQ(peek<u32>(kData + 64), 0u);
  EXPECT_EQ(peek<u32>(kReadPointer), 0u);
  poke<u32>(kData, 9);
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData + 64), 0u);
  poke<u32>(kData, 10);
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData + 64), 1u);
}

TEST_F(Pm4Test, WaitRegMemComparesMaskedBits) {
  open_pm4();
  struct {
    u32 function, value, reference, mask;
    bool passes;
  } const kCases[] = {{0, 1, 2, ~0u, true},  {1, 1, 2, ~0u, true},        {1, 2, 2, ~0u, false},
                      {2, 2, 2, ~0u, true},  {3, 2, 2, ~0u, true},        {3, 0x102, 2, 0xff, true},
                      {3, 3, 2, ~0u, false}, {4, 3, 2, ~0u, true},        {4, 2, 2, ~0u, false},
                      {5, 2, 2, ~0u, true},  {5, ~0u, 2, ~0u, true},      {6, 2, 2, ~0u, false},
                      {6, 3, 2, ~0u, true},  {5, 0x80000000, 2, 1, false}};
  for (const auto& test : kCases) {
    open_pm4();
    put_ = 0;
    poke<u32>(kData, test.value);
    poke<u32>(kData + 64, 0);
    submit(std::vector<u32>{packet3(0x3c, 6), test.function | 1 << 4, lo(kData), hi(kData),
                            test.reference, test.mask, 4} +
           write_data(kData + 64, {1}));
    EXPECT_EQ(peek<u32>(kData + 64), test.passes) << test.function << " " << test.value;
  }
}

// A wait of 32 bits on a 64-bit count that has passed 2^32 does not see how far it is.
TEST_F(Pm4Test, WaitRegMemOfACountBeyond32BitsIsNamed) {
  for (u64 value : {u64{4}, u64{1} << 32 | 4}) {
    open_pm4();
    put_ = 0;
    poke<u64>(kData, value);
    submit({packet3(0x3c, 6), 5 | 1 << 4, lo(kData), hi(kData), 5, ~u32{0}, 4});
    gpu_->run_until_idle();
    EXPECT_EQ(count("AMD-WAIT-001"), value > 4 ? 1u : 0u);
    EXPECT_EQ(stopped(), "");
  }
}

TEST_F(Pm4Test, WaitRegMem64SeesTheUpperWord) {
  open_pm4();
  poke<u64>(kData, 0xffffffff);
  submit(std::vector<u32>{packet3(0x93, 8), 5 | 1 << 4, lo(kData), hi(kData), 0, 1, 0xffffffff,
                          0xffffffff, 4} +
         write_data(kData + 64, {1}));
  EXPECT_EQ(peek<u32>(kData + 64), 0u);
  poke<u64>(kData, 0x100000000);
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData + 64), 1u);
}

TEST_F(Pm4Test, FlushesTheHostDataPath) {
  open_pm4();
  // operation 1: write, wait, as tinygrad's memory_barrier has it, GPU_HDP_FLUSH_REQ and _DONE
  // (nbio_4_3_0_offset.h: 0x106, 0x107 behind 0xd20)
  submit(std::vector<u32>{packet3(0x3c, 6), 5 | 1 << 6, 0xe26, 0xe27, 0xffffffff, 0xffffffff, 4} +
         write_data(kData, {1}));
  EXPECT_EQ(peek<u32>(kData), 1u);
}

TEST_F(Pm4Test, RegistersThatAreNotThereStopTheQueue) {
  open_pm4();
  submit({packet3(0x3c, 6), 5 | 1 << 6, 0xe27, 0xe26, 0xffffffff, 0xffffffff, 4});
  EXPECT_NE(stopped().find("0xe27"), std::string::npos) << stopped();
  open_pm4();
  put_ = 0;
  submit({packet3(0x40, 5), 0 | 5 << 8, 0x1234, 0, lo(kData), hi(kData)});
  EXPECT_NE(stopped().find("0x1234"), std::string::npos) << stopped();
}

TEST_F(Pm4Test, AWaitHoldsUpNoOtherQueue) {
  open_pm4();
  QueueDescription second = description_;
  second.ring = kBase + 0x10000, second.read_pointer = kBase + 0x11000;
  second.write_pointer = kBase + 0x11008;
  QueueId other = gpu_->add_queue(second).value();
  submit({packet3(0x3c, 6), 3 | 1 << 4, lo(kData), hi(kData), 1, 0xffffffff, 4});
  auto words = write_data(kData, {1});
  put_words(second.ring, words);
  poke<u64>(second.write_pointer, words.size());
  gpu_->ring(other, words.size());
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kReadPointer), 7u);  // the first queue went on
}

TEST_F(Pm4Test, CopiesMemoryImmediatesAndTheClock) {
  open_pm4();
  poke<u64>(kData, 0x1122334455667788);
  // src_sel 1 memory, dst_sel 5 memory, 64 bits
  submit({packet3(0x40, 5), 1 | 5 << 8 | 1 << 16 | 1 << 20, lo(kData), hi(kData), lo(kData + 8),
          hi(kData + 8)});
  EXPECT_EQ(peek<u64>(kData + 8), 0x1122334455667788u);
  submit({packet3(0x40, 5), 5 | 5 << 8, 0x77, 0, lo(kData + 16), hi(kData + 16)});
  EXPECT_EQ(peek<u64>(kData + 16), 0x77u);
  submit({packet3(0x40, 5), 9 | 5 << 8 | 1 << 16, 0, 0, lo(kData + 24), hi(kData + 24)});
  EXPECT_GT(peek<u64>(kData + 24), 0u);
}

TEST_F(Pm4Test, CopiesRegistersThatItSet) {
  open_pm4();
  submit({packet3(0x76, 3), 0x240, 0xaaaa, 0xbbbb});  // COMPUTE_USER_DATA_0, 1 at 0x2e40
  submit({packet3(0x40, 5), 0 | 5 << 8 | 1 << 16, 0x2e40, 0, lo(kData), hi(kData)});
  EXPECT_EQ(peek<u64>(kData), 0xbbbb'0000aaaau);
  submit({packet3(0x79, 2), 0x2200, 0xe0000000});  // GRBM_GFX_INDEX
  submit({packet3(0x40, 5), 4 | 2 << 8, 0xe200, 0, lo(kData), hi(kData)});
  EXPECT_EQ(peek<u32>(kData), 0xe0000000u);
}

TEST_F(Pm4Test, IndirectBuffersNestOnce) {
  open_pm4();
  auto inner = write_data(kData, {1});
  put_words(kIb + 0x100, inner);
  put_words(kIb, std::vector<u32>{packet3(0x3f, 3), lo(kIb + 0x100), hi(kIb + 0x100),
                                  static_cast<u32>(inner.size()) | 1 << 23} +
                     write_data(kData + 4, {2}));
  submit(std::vector<u32>{packet3(0x3f, 3), lo(kIb), hi(kIb), 9 | 1 << 23} +
         write_data(kData + 8, {3}));
  EXPECT_EQ(peek<u32>(kData), 1u);
  EXPECT_EQ(peek<u32>(kData + 4), 2u);
  EXPECT_EQ(peek<u32>(kData + 8), 3u);
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(Pm4Test, WavesRetireAfterTheProcessorWentOn) {
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

TEST_F(Pm4Test, EndOfPipeWaitsForTheWaves) {
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
TEST_F(Pm4Test, GlobalWaveSyncIsTheProcesss) {
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

TEST_F(Pm4Test, DispatchTakesItsStateFromTheRegisters) {
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

TEST_F(Pm4Test, DispatchIndirectReadsItsSize) {
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
TEST_F(Pm4Test, RunsOnTheXccThatItIsMadeFor) {
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

TEST_F(Pm4Test, SameSeedSameCourse) {
  std::vector<std::string> courses;
  for (int turn = 0; turn < 2; ++turn) {
    open({.generation = hw::Generation::Gfx11, .adversarial = true, .seed = 17}, QueueKind::Pm4);
    put_ = 0;
    std::string course;
    poke<u32>(kData, 0);
    launcher_.slices = 20;
    launcher_.effect = [&] { course += std::to_string(peek<u32>(kData)) + " "; };
    for (u32 i = 0; i < 5; ++i)
      submit(std::vector<u32>{packet3(0x76, 4), 0x207, 32, 1, 1, packet3(0x76, 3), 0x20c,
                              lo(kIb >> 8), hi(kIb >> 8), packet3(0x76, 3), 0x212, 0, 0,
                              packet3(0x15, 4), 1, 1, 1, 1 | 1 << 2} +
             write_data(kData, {i}) + write_data(kData, {i + 100}));
    courses.push_back(course);
  }
  EXPECT_EQ(courses[0], courses[1]);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
