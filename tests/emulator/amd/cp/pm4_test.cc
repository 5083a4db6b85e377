// PM4 packets on a queue: words by hand from nvd.h and soc15d.h (torvalds/linux,
// drivers/gpu/drm/amd/amdgpu), effects as their comments and kfdtest's packets (ROCm/rocm-systems,
// libhsakmt/tests/kfdtest/src/PM4Packet.cpp) have them.
#include "tests/emulator/amd/cp/pm4_words.h"
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

class Pm4Test : public TestGpu {};

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
  // 0x80000000: of type 2. [nvd.h CP_PACKET2]
  submit(std::vector<u32>{0xffff1000, 0x80000000, packet3(0x10, 3), 1, 2, 3} +
         write_data(kData, {7}));
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

// ATOMIC_MEM 0x1e: the operation's number, the command in bits 11:8. [nvd.h PACKET3_ATOMIC_MEM__*,
// navi10_enum.h GL2_OP_ATOMIC_*]
std::vector<u32> atomic_mem(u32 operation, u32 command, u64 va, u64 data, u64 compare = 0) {
  return {packet3(0x1e, 8),
          operation | command << 8,
          lo(va),
          hi(va),
          lo(data),
          hi(data),
          lo(compare),
          hi(compare),
          0};
}

TEST_F(Pm4Test, AtomicOperationsUpdateMemory) {
  struct Case {
    u32 operation;
    u64 before, data, after;
  };
  const u64 kUpper = u64{7} << 32;  // which operations on 32 bits leave
  const Case kCases[] = {
      {0x47, kUpper | 1, 5, kUpper | 5},                    // SWAP_32
      {0x4f, kUpper | 0xffffffff, 2, kUpper | 1},           // ADD_32
      {0x50, kUpper | 1, 3, kUpper | 0xfffffffe},           // SUB_32
      {0x51, kUpper | 0xffffffff, 1, kUpper | 0xffffffff},  // SMIN_32
      {0x52, kUpper | 0xffffffff, 1, kUpper | 1},           // UMIN_32
      {0x18, kUpper | 4, 4, kUpper | 0},                    // INC_RTN_32 wraps at the data
      {0x6f, 0xffffffff, 1, 0x100000000},                   // ADD_64
      {0x75, 0xff00ff00ff00ff00, 0xffff0000ffff, 0x0000ff000000ff00},  // AND_64
  };
  open_pm4();
  for (const Case& test : kCases) {
    poke<u64>(kData, test.before);
    submit(atomic_mem(test.operation, 0, kData, test.data));
    EXPECT_EQ(peek<u64>(kData), test.after) << test.operation;
  }
  EXPECT_EQ(stopped(), "");
  EXPECT_EQ(checks_->errors(), 0u);
}

// As aqlprofile takes and gives back a mutex: CMPSWAP_RTN_32 in a loop, SWAP_RTN_32.
TEST_F(Pm4Test, AnAtomicLoopWaitsUntilTheValueIsTheExpectedOne) {
  open_pm4();
  poke<u32>(kData, 9);
  submit(atomic_mem(8, 1, kData, 5) + write_data(kData + 64, {1}));
  EXPECT_EQ(peek<u32>(kData), 9u);
  EXPECT_EQ(peek<u32>(kData + 64), 0u);
  poke<u32>(kData, 0);
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData), 5u);
  EXPECT_EQ(peek<u32>(kData + 64), 1u);
  submit(atomic_mem(7, 0, kData, 0));
  EXPECT_EQ(peek<u32>(kData), 0u);
}

TEST_F(Pm4Test, AtomicOperationsThatAreNotThereStopTheQueue) {
  open_pm4();
  submit(atomic_mem(0x1f, 0, kData, 0));
  EXPECT_NE(stopped().find("ATOMIC_MEM"), std::string::npos) << stopped();
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

// One chains to another, and what is behind the call follows. [Mesa sid.h S_3F3_CHAIN, bit 20]
TEST_F(Pm4Test, IndirectBuffersChain) {
  open_pm4();
  auto inner = write_data(kData, {1});
  put_words(kIb + 0x100, inner);
  put_words(kIb, write_data(kData + 4, {2}) +
                     std::vector<u32>{packet3(0x3f, 3), lo(kIb + 0x100), hi(kIb + 0x100),
                                      static_cast<u32>(inner.size()) | 1 << 20 | 1 << 23});
  submit(std::vector<u32>{packet3(0x3f, 3), lo(kIb), hi(kIb), 9 | 1 << 23} +
         write_data(kData + 8, {3}));
  EXPECT_EQ(peek<u32>(kData), 1u);
  EXPECT_EQ(peek<u32>(kData + 4), 2u);
  EXPECT_EQ(peek<u32>(kData + 8), 3u);
  EXPECT_EQ(checks_->errors(), 0u);
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
