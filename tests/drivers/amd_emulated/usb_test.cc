// The driver on GPUs behind bridges from USB: cold, warm, on the weakest hardware; transfers that
// stall, come short, take too long, and devices that are unplugged, at any transfer.
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::amd {
namespace {

void expect_clean(const PciMachine& machine) {
  for (const emu::Report& report : machine.reports) ADD_FAILURE() << to_string(report);
}

struct UsbChip : ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, UsbChip, ::testing::Values("gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(UsbChip, StartsAndRunsAKernel) {
  PciMachine machine({.gpus = {GetParam()}});
  for (const bool was_warm : {false, true}) {
    auto process = machine.start_usb();
    ASSERT_TRUE(process) << process.error().message;
    auto device = machine.open(**process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ((*process)->kernel->view(0)->gpu->was_warm(), was_warm);
    EXPECT_EQ(run_kernel(**device, GetParam()), "");
    EXPECT_EQ(run_kernel(**device, GetParam()), "");
  }
  expect_clean(machine);
}

TEST_P(UsbChip, RunsOnTheWeakestHardware) {
  PciMachine machine({.gpus = {GetParam()}, .adversarial = true, .lockstep = true, .seed = 5});
  auto process = machine.start_usb();
  ASSERT_TRUE(process) << process.error().message;
  {
    auto device = machine.open(**process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device, GetParam()), "");
  }
  expect_clean(machine);
}

TEST(UsbTest, RunsWithoutACopyEngine) {
  PciMachine machine;
  auto process = *machine.start_usb();
  {
    auto device = machine.open(*process, 0, {.sdma = false});
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device), "");
  }
  expect_clean(machine);
}

// Opens a device, and runs a kernel there; empty, or what went wrong. How many transfers it took to
// open the device, and to be done.
struct Use {
  std::string error;
  u64 opened = 0, done = 0;
};
Use use(PciMachine& machine) {
  Use all;
  auto process = machine.start_usb();
  if (!process) return {.error = process.error().message};
  auto device = machine.open(**process);
  if (!device) return {.error = device.error().message};
  all.opened = machine.machine->usb().transfers();
  all.error = run_kernel(**device);
  all.done = machine.machine->usb().transfers();
  return all;
}

emu::amdgpu::MachineOptions quick() { return {.gpus = {"gfx1100"}, .lockstep = true}; }

// Whatever transfer it is that goes wrong: an error that names the device, no wait without an end,
// and the process goes on, here with the next machine.
TEST(UsbTest, SurvivesEveryFault) {
  using emu::amdgpu::UsbFault;
  PciMachine first(quick());
  const Use clean = use(first);
  ASSERT_EQ(clean.error, "");
  ASSERT_GT(clean.opened, 1000u);
  ASSERT_GT(clean.done, clean.opened);
  std::mt19937_64 random(seed());
  constexpr UsbFault kFaults[] = {UsbFault::Stall, UsbFault::Timeout, UsbFault::Short,
                                  UsbFault::Unplug};
  for (int i = 0; i < 24; ++i) {
    const UsbFault fault = kFaults[i % 4];
    // Half of them after the boot.
    const u64 at =
        i % 8 < 4 ? random() % clean.opened : clean.opened + random() % (clean.done - clean.opened);
    SCOPED_TRACE(fmt::format("DOORBELL_SEED={}, fault {} at transfer {} of {}", seed(),
                             static_cast<int>(fault), at, clean.done));
    PciMachine machine(quick());
    machine.machine->usb().set_faults(
        [&](u64 transfer) { return transfer == at ? fault : UsbFault::None; });
    const Use used = use(machine);
    if (used.error.empty() && used.done <= at) continue;  // it was done by then
    EXPECT_NE(used.error.find("USB device 1-2"), std::string::npos) << used.error;
    EXPECT_EQ(machine.machine->usb().list()->size(), fault == UsbFault::Unplug ? 1u : 2u);
  }
}

TEST(UsbTest, HasOneUser) {
  PciMachine machine;
  auto process = *machine.start_usb();
  const auto other = machine.start_usb();
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("USB device 1-2 is used by another process"),
            std::string::npos)
      << other.error().message;
}

TEST(UsbTest, CopiesWhatIsLargerThanItsStaging) {
  PciMachine machine;
  auto process = *machine.start_usb();
  auto device = *machine.open(*process);
  constexpr usize kBytes = (usize{20} << 20) + 12;
  std::vector<u8> in(kBytes), out(kBytes);
  std::mt19937_64 random(seed());
  for (u8& byte : in) byte = static_cast<u8>(random());
  {
    const auto buffer = *core::Buffer::allocate(*device, kBytes);
    ASSERT_TRUE(buffer->copy_in(in.data(), kBytes));
    ASSERT_TRUE(buffer->copy_out(out.data(), kBytes));
  }
  EXPECT_TRUE(in == out);
  device.reset();
  expect_clean(machine);
}

// The bridge's own rules: requests that it does not know, transfers that nobody announced, and
// requests before the link is up.
TEST(UsbTest, MisuseOfTheBridgeBreaksRules) {
  PciMachine machine;
  auto device = *machine.machine->usb().open({"1-2", 0xadd1, 1}, 0);
  std::vector<u8> twelve(12), many(64);
  const auto last = [&] {
    return machine.reports.empty() ? std::string() : machine.reports.back().check->id;
  };
  EXPECT_FALSE(device->control({0x40, 0x77, 0, 0}, {}, 1));
  EXPECT_EQ(last(), std::string_view("AMD-USB-001"));
  EXPECT_EQ(device->bulk(0x02, many, 1).error().kind, ErrorKind::Timeout);
  EXPECT_EQ(last(), std::string_view("AMD-USB-002"));
  EXPECT_TRUE(device->control({0x40, 0xf0, 0x0f20, 0}, twelve, 1));
  EXPECT_EQ(last(), std::string_view("AMD-USB-003"));
  EXPECT_TRUE(device->control({0x40, 0xf3, 1, 0}, {}, 1));
  // A word is written where nothing is.
  EXPECT_TRUE(device->control({0x40, 0xf0, 0x0f60, 0}, twelve, 1));
  EXPECT_EQ(last(), std::string_view("AMD-USB-004"));
  EXPECT_TRUE(device->control({0x40, 0xf0, 0x0020, 0}, twelve, 1));
  EXPECT_EQ(last(), std::string_view("AMD-USB-005"));
  // A stream that the next request cuts off.
  twelve[8] = 5;
  EXPECT_TRUE(device->control({0x40, 0xf0, 0x0f20, 2}, twelve, 1));
  EXPECT_TRUE(device->control({0x40, 0xf0, 0x0f20, 0}, twelve, 1));
  EXPECT_EQ(last(), std::string_view("AMD-USB-002"));
}

}  // namespace
}  // namespace doorbell::amd
