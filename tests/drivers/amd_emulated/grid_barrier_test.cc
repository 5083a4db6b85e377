// A barrier of the whole grid through queues of each kind, on GPUs of one XCC and of eight: the
// hardware runs all groups that it has room for beside each other.
#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"
#include "tests/emulator/support/grid_barrier_kernel.h"

namespace doorbell::amd {
namespace {

struct Place {
  const char* gpu;
  Options::Packets packets;
  u32 groups;  // one for each compute unit
};
constexpr Place kPlaces[] = {{"gfx1100", Options::Packets::Pm4, 96},
                             {"gfx1100", Options::Packets::Aql, 96},
                             {"gfx942", Options::Packets::Pm4, 38},
                             {"gfx942", Options::Packets::Aql, 304}};

struct GridBarrierTest : EmulatedTest, ::testing::WithParamInterface<std::tuple<Place, bool>> {};

TEST_P(GridBarrierTest, Ends) {
  const auto& [place, adversarial] = GetParam();
  boot({.gpus = {gpu_for(place.gpu, place.packets)},
        .adversarial = adversarial,
        .hang_after = u64{1} << 26});
  std::unique_ptr<AmdDevice> device = open(0, {.packets = place.packets});
  constexpr u32 kPhases = 3;
  core::Binary binary;
  binary.name = "kernel";
  binary.image = *testing::compile_ir(testing::kGridBarrier, place.gpu);
  binary.param_count = 3;
  binary.variable_count = 2;
  binary.grid_groups[0] = place.groups;
  binary.group_items[0] = testing::kGridBarrierItems;
  std::unique_ptr<core::Program> program = *device->load(binary);
  Ref<Buffer> counter = *Buffer::allocate(*device, 4);
  Ref<Buffer> cells = *Buffer::allocate(*device, place.groups * kPhases * 4);
  Ref<Buffer> out = *Buffer::allocate(*device, place.groups * 4);
  const u32 zero = 0;
  ASSERT_TRUE(counter->copy_in(&zero, 4));
  const core::BufferView views[] = {{counter.get(), 0}, {cells.get(), 0}, {out.get(), 0}};
  const i64 variables[] = {place.groups, kPhases};
  ASSERT_TRUE(program->launch(views, variables));
  std::vector<u32> values(place.groups);
  const Result<void> copied = out->copy_out(values.data(), place.groups * 4);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(values, testing::grid_barrier_values(place.groups, kPhases));
  EXPECT_EQ(machine->checks().errors(), 0u);
}

std::string name_of_place(const ::testing::TestParamInfo<std::tuple<Place, bool>>& info) {
  const auto& [place, adversarial] = info.param;
  return std::string(place.gpu) + (place.packets == Options::Packets::Aql ? "Aql" : "Pm4") +
         (adversarial ? "Adversarial" : "Fast");
}
INSTANTIATE_TEST_SUITE_P(Places, GridBarrierTest,
                         ::testing::Combine(::testing::ValuesIn(kPlaces), ::testing::Bool()),
                         name_of_place);

}  // namespace
}  // namespace doorbell::amd
