// GPUs whose region on the bus shows less than their memory: it grows where the bridge has room,
// and where it cannot, all of the memory is used all the same.
#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::amd {
namespace {

using core::Buffer;
using core::Ref;

constexpr u64 kMiB = u64{1} << 20, kGiB = u64{1} << 30;

void expect_clean(const PciMachine& machine) {
  for (const emu::Report& report : machine.reports) ADD_FAILURE() << to_string(report);
}

emu::amdgpu::MachineOptions small(std::vector<std::string> gpus, u64 most = 256 * kMiB) {
  return {.gpus = std::move(gpus), .shown_bytes = 256 * kMiB, .most_shown_bytes = most};
}

// The first and the last number of a buffer of more than the region, there and back.
void expect_copies(AmdDevice& device, u64 bytes) {
  const auto buffer = Buffer::allocate(device, static_cast<i64>(bytes));
  ASSERT_TRUE(buffer) << buffer.error().message;
  for (const u64 at : {u64{0}, bytes - sizeof(u64)}) {
    const u64 number = at * 3 + 1;
    u64 got = 0;
    ASSERT_TRUE((*buffer)->copy_in(&number, sizeof number, static_cast<i64>(at)));
    ASSERT_TRUE((*buffer)->copy_out(&got, sizeof got, static_cast<i64>(at)));
    EXPECT_EQ(got, number);
  }
}

TEST(PciRegion, GrowsToTheWholeMemory) {
  PciMachine machine(small({"gfx1100"}, 0));
  auto process = machine.start();
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(machine.machine->bare_gpu(0).shown_bytes(), 256 * kMiB);  // nothing has started yet
  EXPECT_EQ((*process)->kernel->descriptions()[0].shown_bytes, 256 * kMiB);
  EXPECT_EQ((*process)->kernel->descriptions()[0].memory_bytes, 24560 * kMiB);
  {
    auto device = machine.open(**process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(machine.machine->bare_gpu(0).shown_bytes(), 32 * kGiB);
    EXPECT_EQ(run_kernel(**device), "");
  }
  expect_clean(machine);
}

TEST(PciRegion, GrowsAsFarAsTheBridgeHasRoom) {
  PciMachine machine(small({"gfx1201"}, 2 * kGiB));
  auto process = *machine.start();
  {
    auto device = machine.open(*process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(machine.machine->bare_gpu(0).shown_bytes(), 2 * kGiB);
    EXPECT_EQ(run_kernel(**device, "gfx1201"), "");
    expect_copies(**device, 3 * kGiB);
  }
  expect_clean(machine);
}

// What the host has to see goes where it sees it, all else beyond; also on the weakest hardware.
TEST(PciRegion, UsesMemoryThatIsNotShown) {
  for (const char* chip : {"gfx1100", "gfx1201"}) {
    emu::amdgpu::MachineOptions options = small({chip});
    options.adversarial = true;
    options.lockstep = true;
    PciMachine machine(std::move(options));
    for (int processes = 0; processes < 2; ++processes) {  // the second start is warm
      auto process = *machine.start();
      auto device = machine.open(*process);
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ(run_kernel(**device, chip), "");
      expect_copies(**device, kGiB);
    }
    expect_clean(machine);
  }
}

TEST(PciRegion, KeepsWhatIsShownForTheHost) {
  PciMachine machine(small({"gfx1100"}));
  auto process = *machine.start();
  KfdGpu& gpu = **process->kfd->gpu(0);
  const u64 free = *gpu.available_bytes();
  EXPECT_GT(free, 23 * kGiB);
  {
    const auto seen =
        gpu.allocate({.bytes = 64 * kMiB, .kind = MemoryKind::VisibleVram, .what = "a window"});
    ASSERT_TRUE(seen) << seen.error().message;
    (*seen)->host()[64 * kMiB - 1] = 5;
    const auto hidden = gpu.allocate({.bytes = 4 * kGiB, .what = "a buffer"});
    ASSERT_TRUE(hidden) << hidden.error().message;
    EXPECT_LE(*gpu.available_bytes(), free - 4 * kGiB - 64 * kMiB);
    const auto too_much =
        gpu.allocate({.bytes = 512 * kMiB, .kind = MemoryKind::VisibleVram, .what = "a window"});
    ASSERT_FALSE(too_much);
    EXPECT_EQ(too_much.error().kind, ErrorKind::OutOfMemory);
  }
  EXPECT_EQ(*gpu.available_bytes(), free);
  expect_clean(machine);
}

// Another GPU does not reach what is not shown; copies between them go through the host.
TEST(PciRegion, TellsOtherGpusWhatTheyDoNotReach) {
  PciMachine machine(small({"gfx1100", "gfx1100"}));
  auto process = *machine.start();
  {
    auto first = *machine.open(*process, 0), second = *machine.open(*process, 1);
    Ref<Buffer> a = *Buffer::allocate(*first, 4096);
    const Result<hcq::GpuAddr> peer = second->address_of(*a);
    ASSERT_FALSE(peer);
    EXPECT_NE(peer.error().message.find("does not show this memory on the bus, which has 256 MiB"),
              std::string::npos)
        << peer.error().message;
  }
  expect_clean(machine);
}

}  // namespace
}  // namespace doorbell::amd
