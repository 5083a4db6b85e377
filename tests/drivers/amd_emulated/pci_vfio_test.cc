// GPUs that are left to vfio-pci: behind an IOMMU, and without one.
#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::amd {
namespace {

using core::Buffer;
using core::Ref;
using emu::amdgpu::Vfio;

void expect_clean(const PciMachine& machine) {
  for (const emu::Report& report : machine.reports) ADD_FAILURE() << to_string(report);
}

struct Setting {
  const char* name;
  Vfio vfio;
};
struct PciVfio : ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(All, PciVfio,
                         ::testing::Values(Setting{"iommu", Vfio::Iommu},
                                           Setting{"no_iommu", Vfio::WithoutIommu}),
                         [](const auto& info) { return info.param.name; });

TEST_P(PciVfio, StartsAndRunsAKernel) {
  for (const char* chip : {"gfx1100", "gfx1201"}) {
    PciMachine machine({.gpus = {chip}, .vfio = GetParam().vfio});
    for (int processes = 0; processes < 2; ++processes) {
      auto process = machine.start();
      ASSERT_TRUE(process) << process.error().message;
      auto device = machine.open(**process);
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ(run_kernel(**device, chip), "");
    }
    expect_clean(machine);
  }
}

// Without an IOMMU they reach each other, behind one they do not.
TEST_P(PciVfio, HasTwoGpusInOneContainer) {
  PciMachine machine({.gpus = {"gfx1100", "gfx1100"}, .vfio = GetParam().vfio});
  auto process = *machine.start();
  {
    auto first = *machine.open(*process, 0), second = *machine.open(*process, 1);
    EXPECT_EQ(run_kernel(*first), "");
    EXPECT_EQ(run_kernel(*second), "");
    Ref<Buffer> a = *Buffer::allocate(*first, 4096);
    const Result<hcq::GpuAddr> peer = second->address_of(*a);
    EXPECT_EQ(peer.has_value(), GetParam().vfio == Vfio::WithoutIommu);
    if (!peer) {
      EXPECT_NE(peer.error().message.find("through an IOMMU do not reach"), std::string::npos)
          << peer.error().message;
    }
  }
  expect_clean(machine);
}

TEST_P(PciVfio, GivesAGroupToOneProcess) {
  PciMachine machine({.gpus = {"gfx1100"}, .vfio = GetParam().vfio});
  auto first = *machine.start();
  auto device = machine.open(*first);
  ASSERT_TRUE(device);
  const auto second = machine.start();
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("used by another process"), std::string::npos)
      << second.error().message;
}

// The kernel gives a region of a device that has a driver no other size.
TEST(PciVfioRegion, StaysSmall) {
  PciMachine machine({.gpus = {"gfx1100"}, .shown_bytes = u64{256} << 20, .vfio = Vfio::Iommu});
  auto process = *machine.start();
  {
    auto device = machine.open(*process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(machine.machine->bare_gpu(0).shown_bytes(), u64{256} << 20);
    EXPECT_EQ(run_kernel(**device), "");
  }
  expect_clean(machine);
}

}  // namespace
}  // namespace doorbell::amd
