// What the kernel's topology may say, and what is made of it.
#include "drivers/amd/topology.h"

#include <gtest/gtest.h>

#include "drivers/amd/caps.h"
#include "drivers/amd/hw/isa/chip.h"
#include "tests/support/fake_system.h"

namespace doorbell::amd {
namespace {

constexpr const char* kPlain =
    "simd_count 192\nsimd_per_cu 2\nmax_waves_per_simd 16\narray_count 12\n"
    "simd_arrays_per_engine 2\nlds_size_in_kb 64\ngfx_target_version 110000\n";

TEST(TopologyTest, RefusesWhatCannotBe) {
  EXPECT_FALSE(parse_properties(""));
  const auto refused = [](const std::string& line) {
    Result<NodeProperties> parsed = parse_properties(kPlain + line);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(refused("simd_count x\n"), "topology property simd_count is 'x', expected a number");
  EXPECT_EQ(refused("simd_count\n"), "topology property simd_count is '', expected a number");
  EXPECT_EQ(refused("simd_per_cu 0\n"), "topology property simd_per_cu is 0, expected 1 to 65536");
  EXPECT_EQ(refused("num_xcc 0"), "topology property num_xcc is 0, expected 1 to 65536");
  EXPECT_EQ(refused("simd_count 99999999999999999999999\n"),
            "topology property simd_count is '99999999999999999999999', expected a number");
  EXPECT_EQ(refused("simd_count 2\nnum_xcc 8\n"), "topology with 2 SIMDs, 2 in a unit, on 8 XCCs");
}

TEST(TopologyTest, ReadsNumbersAndPassesOverOtherNames) {
  Result<NodeProperties> parsed =
      parse_properties(std::string(kPlain) + "\nsomething_new yes\r\nhive_id 18446744073709551615");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->gfx_target_version, 110000u);
  EXPECT_EQ(parsed->hive_id, ~u64{0});
  EXPECT_EQ(parsed->num_xcc, 1u);
  EXPECT_EQ(parsed->compute_units(), 96u);
  EXPECT_EQ(parsed->shader_engines(), 6u);
}

TEST(TopologyTest, ListsGpusByNumber) {
  testing::FakeFiles files;
  EXPECT_FALSE(read_topology(files));
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  files.add(nodes + "10/gpu_id", "77\n");
  files.add(nodes + "10/properties", kPlain);
  files.add(nodes + "9/gpu_id", "33\n");
  files.add(nodes + "9/name", "ip discovery\n");
  files.add(nodes + "9/properties", kPlain);
  files.add(nodes + "0/gpu_id", "0\n");           // a processor
  files.add(nodes + "2/properties", "nonsense");  // one that we may not see
  Result<std::vector<Node>> found = read_topology(files);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].gpu_id, 33u);
  EXPECT_EQ((*found)[0].name, "ip discovery");
  EXPECT_EQ((*found)[1].number, 10u);
}

// The others are there as if it was not.
TEST(TopologyTest, PassesOverAGpuWhosePropertiesAreOdd) {
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  for (const char* odd : {"simd_count many\n", "simd_count 2\nnum_xcc 8\n", ""}) {
    testing::FakeFiles files;
    files.add(nodes + "1/gpu_id", "33\n");
    files.add(nodes + "1/properties", odd);
    files.add(nodes + "2/gpu_id", "77\n");
    files.add(nodes + "2/properties", kPlain);
    const Result<std::vector<Node>> found = read_topology(files);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 1u) << odd;
    EXPECT_EQ((*found)[0].gpu_id, 77u);
  }
}

TEST(CapsTest, KnowsTheChipsOfTheReadme) {
  for (const u64 target :
       {90402, 90500, 100300, 110000, 110001, 110002, 110003, 110500, 110501, 120000, 120001}) {
    const Caps* caps = find_caps(target);
    ASSERT_NE(caps, nullptr) << target;
    EXPECT_EQ(caps->arch, arch_name(target));
  }
  EXPECT_EQ(find_caps(90010), nullptr);
  EXPECT_EQ(arch_name(90010), "gfx90a");
  EXPECT_NE(hw::chip_names().find("gfx942, gfx950, gfx1030"), std::string::npos);
}

// [Linux kfd_queue.c, kfd_get_vgpr_size_per_cu()]
TEST(CapsTest, CountsTheRegistersOfAComputeUnitAsTheKernelDoes) {
  const std::pair<u64, u32> kBytes[] = {{90402, 0x80000},  {90500, 0x80000},  {100300, 0x40000},
                                        {110000, 0x60000}, {110001, 0x60000}, {110002, 0x40000},
                                        {110003, 0x40000}, {110500, 0x40000}, {110501, 0x60000},
                                        {120000, 0x60000}, {120001, 0x60000}};
  for (const auto& [target, bytes] : kBytes)
    EXPECT_EQ(find_caps(target)->saved_vgpr_bytes, bytes) << target;
}

// The sizes that libhsakmt of ROCm 6.2 (queues.c, update_ctx_save_restore_size) has for these:
// worked out by hand from its formulas.
TEST(CapsTest, SavesAsManyBytesAsTheKernelChecks) {
  NodeProperties navi31 = *parse_properties(kPlain);
  // 96 units of 0x60000 + 0x4000 + 0x10000 + 0x1000 bytes; 3072 waves of 12 bytes, 40 + 8 more.
  SaveArea area = save_area_of(*find_caps(110000), navi31);
  EXPECT_EQ(area.control_stack_bytes, 40960u);
  EXPECT_EQ(area.context_bytes, 40960u + 96u * 0x75000u);
  EXPECT_EQ(area.total_bytes, 40960u + 96u * 0x75000u + 3072u * 32u);

  NodeProperties navi21 = *parse_properties(
      "simd_count 160\nsimd_per_cu 2\nmax_waves_per_simd 16\narray_count 8\n"
      "simd_arrays_per_engine 2\nlds_size_in_kb 64\n");
  area = save_area_of(*find_caps(100300), navi21);
  EXPECT_EQ(area.control_stack_bytes, 0x7000u);  // what the hardware takes at most

  NodeProperties mi300 = *parse_properties(
      "simd_count 1216\nsimd_per_cu 4\nmax_waves_per_simd 8\narray_count 32\n"
      "simd_arrays_per_engine 1\nlds_size_in_kb 64\nnum_xcc 8\n");
  area = save_area_of(*find_caps(90402), mi300);
  // 38 units of 0x80000 + 0x4000 + 0x10000 + 0x1000 bytes; 1520 waves of 8 bytes.
  EXPECT_EQ(area.control_stack_bytes, 12288u);
  EXPECT_EQ(area.context_bytes, 12288u + 38u * 0x95000u);
  EXPECT_EQ(area.total_bytes, (12288u + 38u * 0x95000u + 1520u * 32u) * 8u);

  // The same of hosts of larger pages: its ALIGN(..., PAGE_SIZE), and 0x7000 stays. [kfd_queue.c,
  // kfd_queue_ctx_save_restore_size()]
  area = save_area_of(*find_caps(110000), navi31, 16 << 10);
  EXPECT_EQ(area.control_stack_bytes, 49152u);
  area = save_area_of(*find_caps(110000), navi31, 64 << 10);
  EXPECT_EQ(area.control_stack_bytes, 65536u);
  EXPECT_EQ(area.context_bytes, 65536u + 46006272u);
  EXPECT_EQ(area.total_bytes, 46202880u);
  EXPECT_EQ(save_area_of(*find_caps(100300), navi21, 64 << 10).control_stack_bytes, 0x7000u);

  // A kernel accepts only its own control stack's size, and no less than its size of the whole; the
  // driver adds what the kernel counts too little.
  mi300.cwsr_size = 64 << 20;
  mi300.ctl_stack_size = 4096;
  area = save_area_of(*find_caps(90402), mi300);
  EXPECT_EQ(area.control_stack_bytes, 4096u);
  EXPECT_EQ(area.context_bytes, 64u << 20);
  mi300.cwsr_size = 8 << 20;
  area = save_area_of(*find_caps(90402), mi300);
  EXPECT_EQ(area.control_stack_bytes, 4096u);
  EXPECT_EQ(area.context_bytes, 4096u + 38u * 0x95000u);
}

}  // namespace
}  // namespace doorbell::amd
