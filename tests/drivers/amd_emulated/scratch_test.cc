// Private memory that grows while a queue runs, on the weakest hardware: a command processor that
// has the old place must never be asked to use the new one.
#include <cstring>

#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

struct ScratchTest : EmulatedTest, ::testing::WithParamInterface<Options::Packets> {};

TEST_P(ScratchTest, GrowsBetweenLaunches) {
  for (bool adversarial : {false, true}) {
    boot({.gpus = {"gfx1100"}, .adversarial = adversarial});
    std::unique_ptr<AmdDevice> device = open(0, {.packets = GetParam()});
    Ref<Buffer> a = *Buffer::allocate(*device, 128), b = *Buffer::allocate(*device, 128);
    const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
    std::vector<std::unique_ptr<core::Program>> programs;
    u32 round = 0;
    for (const u32 bytes : {0u, 64u, 64u, 1024u, 0u, 8192u}) {
      core::Binary binary = compiled_kernel();
      constexpr usize kDescriptor = 0x300;  // .rodata; private_segment_fixed_size: its second word
      std::memcpy(&binary.image[kDescriptor + 4], &bytes, 4);
      programs.push_back(*device->load(binary));
      std::array<u32, 32> in, out{};
      in.fill(++round);
      ASSERT_TRUE(a->copy_in(in.data(), sizeof in));
      // The ones before, too: their packets stay what they were.
      for (const auto& program : programs) ASSERT_TRUE(program->launch(views, {}));
      const Result<void> copied = b->copy_out(out.data(), sizeof out);
      ASSERT_TRUE(copied) << copied.error().message;
      for (u32 value : out) ASSERT_EQ(value, round + 7) << bytes;
    }
    EXPECT_EQ(machine->checks().errors(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, ScratchTest,
                         ::testing::Values(Options::Packets::Pm4, Options::Packets::Aql),
                         [](const auto& info) {
                           return info.param == Options::Packets::Aql ? "Aql" : "Pm4";
                         });

}  // namespace
}  // namespace doorbell::amd
