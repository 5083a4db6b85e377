// Copies by a compute queue, for devices without a copy engine: any size, offset and alignment, on
// queues of both kinds and on several XCCs, once and in a graph.
#include <numeric>

#include "hcq/graph/graph.h"
#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

constexpr usize kBytes = 3 * 4096;

struct Case {
  const char* gpu;
  Options::Packets packets;
};

struct CopiesTest : EmulatedTest, ::testing::WithParamInterface<Case> {
  CopiesTest() {
    boot({.gpus = {gpu_for(GetParam().gpu, GetParam().packets)}});
    device = open(0, {.packets = GetParam().packets, .sdma = false});
    from = *Buffer::allocate(*device, kBytes);
    to = *Buffer::allocate(*device, kBytes);
    std::iota(numbers.begin(), numbers.end(), u8{1});
    EXPECT_TRUE(from->copy_in(numbers.data(), kBytes));
  }

  // What `to` holds after bytes came to it, where it held 0xff before.
  void expect_copied(usize at, usize source, usize bytes) {
    std::vector<u8> expected(kBytes, 0xff), got(kBytes);
    for (usize i = 0; i < bytes; ++i) expected[at + i] = numbers[source + i];
    ASSERT_TRUE(to->copy_out(got.data(), kBytes));
    ASSERT_EQ(got, expected) << bytes << " bytes from " << source << " to " << at;
  }
  void clear() {
    const std::vector<u8> ones(kBytes, 0xff);
    ASSERT_TRUE(to->copy_in(ones.data(), kBytes));
  }

  std::unique_ptr<AmdDevice> device;
  Ref<Buffer> from, to;
  std::vector<u8> numbers = std::vector<u8>(kBytes);
};

TEST_P(CopiesTest, OfAnySizeAndAlignment) {
  for (usize bytes : {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 4095, 4096, 4097, 8191})
    for (usize offset : {0, 1, 2, 3, 4, 6, 7}) {
      const usize source = 9 - offset;
      clear();
      auto commands = device->compute_queue().make_commands();
      commands->copy(to->memory().address + offset, from->memory().address + source, bytes);
      ASSERT_TRUE(device->compute_queue().submit(*commands));
      ASSERT_TRUE(device->synchronize());
      expect_copied(offset, source, bytes);
    }
}

TEST_P(CopiesTest, InAGraphWithOtherAddressesEachTime) {
  hcq::Graph graph;
  const hcq::Operand in = graph.slot(), out = graph.slot();
  constexpr u64 kOdd = 4099;
  const u32 source = graph.memory(graph.storage(), 0, kOdd, in);
  const u32 target = graph.memory(graph.storage(), 0, kOdd, out);
  graph.copy(device->copy_queue(), target, source, kOdd);
  ASSERT_TRUE(graph.bind());
  for (usize turn = 0; turn < 5; ++turn) {
    clear();
    const u64 values[] = {from->memory().address + turn, to->memory().address + 3 * turn};
    ASSERT_TRUE(graph.replay(values));
    ASSERT_TRUE(device->synchronize());
    expect_copied(3 * turn, turn, kOdd);
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, CopiesTest,
                         ::testing::Values(Case{"gfx1030", Options::Packets::Pm4},
                                           Case{"gfx1100", Options::Packets::Pm4},
                                           Case{"gfx1100", Options::Packets::Aql},
                                           Case{"gfx942", Options::Packets::Pm4},
                                           Case{"gfx942", Options::Packets::Aql}),
                         name_of_packets);

}  // namespace
}  // namespace doorbell::amd
