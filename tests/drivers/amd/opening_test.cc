// Opening a device: which of several GPUs it is, which queues it has, what is refused; on a
// /dev/kfd of the test.
#include "tests/drivers/amd/test_device.h"

namespace doorbell::amd {
namespace {

using OpeningTest = DeviceTest;

TEST_F(OpeningTest, RefusesWhatItDoesNotKnow) {
  core::DeviceSpec spec;
  spec.name = "AMD:3";
  spec.ordinal = 3;
  EXPECT_EQ(AmdDevice::open(spec, kfd, {}).error().message,
            "AMD:3: GPU index 3 out of range (1 supported)");
  spec = {};
  spec.name = "AMD";
  spec.arch = "gfx1201";
  EXPECT_EQ(AmdDevice::open(spec, kfd, {}).error().message,
            "GPU 0 is a gfx1100, DEV asks for gfx1201");
}

// The kernel gives copy queues out once, to all processes. [Linux kfd_device_queue_manager.c
// allocate_sdma_queue(): -ENOMEM]
TEST_F(OpeningTest, WorksWithoutACopyQueueWhereThereIsNone) {
  fake.meanwhile["CREATE_QUEUE"] = [&] {  // the compute queue's
    fake.meanwhile["CREATE_QUEUE"] = [&] { fake.fail["CREATE_QUEUE"] = ENOMEM; };
  };
  AmdDevice& amd = open();
  EXPECT_EQ(&amd.copy_queue(), &amd.compute_queue());
  EXPECT_EQ(fake.queues.size(), 1u);
  EXPECT_EQ(amd.description(), "gfx1100, 96 compute units, 0.0 GiB free, PM4 queues");
}

// A smaller part or a partition of the same chip: plans are for what is there.
TEST(PartOfAChip, CountsItsComputeUnits) {
  FakeKfd fake;
  fake.files.add("/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties",
                 "cpu_cores_count 0\nsimd_count 304\nmax_waves_per_simd 8\nlds_size_in_kb 64\n"
                 "array_count 8\nsimd_arrays_per_engine 1\ncu_per_simd_array 10\nsimd_per_cu 4\n"
                 "max_slots_scratch_cu 32\ngfx_target_version 90402\ndrm_render_minor 128\n"
                 "num_sdma_engines 2\nnum_xcc 2\n");
  const std::shared_ptr<Kfd> kfd = *Kfd::open(fake);
  core::DeviceSpec spec;
  spec.name = "AMD";
  Result<std::unique_ptr<AmdDevice>> device = AmdDevice::open(spec, kfd, {});
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->compute_units(), 76u);
  EXPECT_EQ((*device)->description(),
            "gfx942, 76 compute units on 2 XCCs, 0.0 GiB free, AQL and SDMA queues");
}

// Three sources have three units of LDS_SIZE for it. [docs/hw/amd-facts.md]
TEST_F(OpeningTest, Gfx950HasAqlQueuesWithOneXccToo) {
  fake.set_property("gfx_target_version", 90500);
  kfd = *Kfd::open(fake);
  open();
  EXPECT_EQ(fake.queues.at(kCompute).arguments.queue_type, 2u);
  device.reset();
  FakeKfd again;
  again.set_property("gfx_target_version", 90500);
  core::DeviceSpec spec;
  spec.name = "AMD";
  const auto pm4 = *AmdDevice::open(spec, *Kfd::open(again), {.packets = Options::Packets::Pm4});
  EXPECT_EQ(again.queues.at(kCompute).arguments.queue_type, 0u);
}

// The kernel runs a PM4 queue on one XCC. [Linux kfd_mqd_manager_v9.c init_mqd_v9_4_3()]
TEST_F(OpeningTest, RefusesPm4OnSeveralXccs) {
  fake.set_property("gfx_target_version", 90402);
  fake.set_property("num_xcc", 8);
  kfd = *Kfd::open(fake);
  core::DeviceSpec spec;
  spec.name = "AMD";
  Result<std::unique_ptr<AmdDevice>> refused =
      AmdDevice::open(spec, kfd, {.packets = Options::Packets::Pm4});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(
      refused.error().message,
      "GPU 0 has 8 XCCs, and a PM4 queue uses only one: use AQL queues (AMD_AQL=1 or unset), or "
      "a partition of one XCC (CPX mode)");
}

// Node 1 is the GPU of a processor, node 2 a card. [LLVM AMDGPUUsage: gfx1036, "Ryzen 7000 series"]
TEST(SeveralGpus, TakesTheFirstThatItKnows) {
  FakeKfd fake;
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  const std::string card = fake.files.text(nodes + "1/properties");
  fake.set_property("gfx_target_version", 100306);
  fake.files.add(nodes + "2/gpu_id", "4711\n");
  fake.files.add(nodes + "2/properties", card);
  const std::shared_ptr<Kfd> kfd = *Kfd::open(fake);
  core::DeviceSpec spec;
  spec.name = "AMD";
  Result<std::unique_ptr<AmdDevice>> device = AmdDevice::open(spec, kfd, {});
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->gpu().id(), 4711u);
  spec.name = "AMD:1";
  spec.ordinal = 1;
  EXPECT_EQ(AmdDevice::open(spec, kfd, {}).error().message,
            "AMD:1: GPU index 1 out of range (1 supported; GPU 0 is a gfx1036)");
  // Naming it gives an error with the reason.
  spec = {};
  spec.name = "AMD";
  spec.indices = {0};
  const Error refused = AmdDevice::open(spec, kfd, {}).error();
  EXPECT_EQ(refused.kind, ErrorKind::Unsupported);
  EXPECT_TRUE(refused.message.starts_with(
      "GPU 0 is a gfx1036, which is not supported; supported chips are gfx942, gfx950, "))
      << refused.message;
  spec.indices = {1};
  EXPECT_TRUE(AmdDevice::open(spec, kfd, {}));
}

// A kernel without peer memory, or a bridge that does not let it through. [Linux
// amdgpu_amdkfd_gpuvm.c kfd_mem_attach(), amdgpu_device_is_peer_accessible(): -EINVAL]
TEST(SeveralGpus, CopyThroughTheHostWhereTheyDoNotSeeEachOther) {
  FakeKfd fake;
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  fake.files.add(nodes + "2/gpu_id", "4711\n");
  fake.files.add(nodes + "2/properties", fake.files.text(nodes + "1/properties"));
  const std::shared_ptr<Kfd> kfd = *Kfd::open(fake);
  core::DeviceSpec spec;
  spec.name = "AMD";
  const auto first = *AmdDevice::open(spec, kfd, {});
  spec.name = "AMD:1";
  spec.ordinal = 1;
  const auto second = *AmdDevice::open(spec, kfd, {});
  ASSERT_EQ(second->gpu().id(), 4711u);
  const core::Ref<Buffer> here = *Buffer::allocate(*first, 64),
                          there = *Buffer::allocate(*second, 64);
  fake.fail["MAP_MEMORY_TO_GPU"] = EINVAL;
  EXPECT_FALSE(first->address_of(*there));
  std::array<u8, 64> in, out{};
  for (u8 i = 0; i < in.size(); ++i) in[i] = static_cast<u8>(3 * i);
  ASSERT_TRUE(here->copy_in(in.data(), in.size()));
  ASSERT_TRUE(core::copy_between(*there, 0, *here, 0, in.size()));
  ASSERT_TRUE(there->copy_out(out.data(), out.size()));
  EXPECT_EQ(out, in);
}

TEST(SeveralGpus, AreNamedWhereNoneIsKnown) {
  FakeKfd fake;
  fake.set_property("gfx_target_version", 110502);
  const std::shared_ptr<Kfd> kfd = *Kfd::open(fake);
  core::DeviceSpec spec;
  spec.name = "AMD";
  const Error refused = AmdDevice::open(spec, kfd, {}).error();
  EXPECT_EQ(refused.kind, ErrorKind::Unsupported);
  EXPECT_TRUE(refused.message.starts_with(
      "no GPU here is supported: GPU 0 is a gfx1152; supported chips are gfx942, "))
      << refused.message;
}

}  // namespace
}  // namespace doorbell::amd
