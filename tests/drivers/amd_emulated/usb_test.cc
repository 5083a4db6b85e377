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

std::vector<u8> random_bytes(usize bytes) {
  std::vector<u8> all(bytes);
  std::mt19937_64 random(seed());
  for (u8& byte : all) byte = static_cast<u8>(random());
  return all;
}

// Copies into the device and back; empty, or what went wrong.
std::string copy_there_and_back(AmdDevice& device, const std::vector<u8>& in) {
  const auto buffer = core::Buffer::allocate(device, static_cast<i64>(in.size()));
  if (!buffer) return buffer.error().message;
  std::vector<u8> out(in.size());
  const i64 bytes = static_cast<i64>(in.size());
  if (const Result<void> done = (*buffer)->copy_in(in.data(), bytes); !done)
    return done.error().message;
  if (const Result<void> done = (*buffer)->copy_out(out.data(), bytes); !done)
    return done.error().message;
  return in == out ? "" : "other bytes come back";
}

// More than one submission of the copy engine; and 95 bytes of 100 on the wire are the copy's.
TEST(UsbTest, CopiesThroughTheBuffer) {
  PciMachine machine;
  auto process = *machine.start_usb();
  auto device = *machine.open(*process);
  ASSERT_EQ(copy_there_and_back(*device, random_bytes(usize{1} << 20)), "");
  const std::vector<u8> in = random_bytes((usize{20} << 20) + 13);
  auto buffer = *core::Buffer::allocate(*device, static_cast<i64>(in.size()));
  std::vector<u8> out(in.size());
  const auto bytes = [&] { return machine.machine->usb().bytes(); };
  const u64 begin = bytes();
  ASSERT_TRUE(buffer->copy_in(in.data(), static_cast<i64>(in.size())));
  const u64 between = bytes();
  ASSERT_TRUE(buffer->copy_out(out.data(), static_cast<i64>(out.size())));
  const u64 end = bytes();
  EXPECT_TRUE(in == out);
  EXPECT_LT((between - begin) * 95, in.size() * 100);
  EXPECT_LT((end - between) * 95, in.size() * 100);
  buffer = {};
  device.reset();
  expect_clean(machine);
}

// Sizes around those of sectors and halves. Where a piece ends, the bytes that lay there before
// are those that a mark is made of.
TEST(UsbTest, CopiesOfAnySizeOnTheWeakestHardware) {
  PciMachine machine({.gpus = {"gfx1100"}, .adversarial = true, .lockstep = true, .seed = seed()});
  auto process = *machine.start_usb();
  auto device = *machine.open(*process);
  constexpr usize kHalf = usize{256} << 10, kMarked = kHalf - 4;
  for (const usize bytes : {usize{16} << 10, usize{20000}, kMarked, kMarked + 1, kHalf, 2 * kMarked,
                            2 * kHalf, 2 * kMarked + 508, 3 * kHalf + 17}) {
    std::vector<u8> in = random_bytes(bytes);
    for (usize i = 0; i + 4 <= bytes; i += 512) {
      const u32 mark = 0x51000000 + static_cast<u32>(i / 512 % 32);
      std::memcpy(&in[i], &mark, sizeof mark);
    }
    EXPECT_EQ(copy_there_and_back(*device, in), "") << bytes;
  }
  device.reset();
  expect_clean(machine);
}

// In the middle of copies, whatever goes wrong: an error in time, and another device is well.
TEST(UsbTest, SurvivesFaultsOfCopies) {
  using emu::amdgpu::UsbFault;
  const std::vector<u8> in = random_bytes(usize{900} << 10);
  std::mt19937_64 random(seed());
  PciMachine well(quick());
  auto well_process = *well.start_usb();
  auto well_device = *well.open(*well_process);
  for (const UsbFault fault :
       {UsbFault::Stall, UsbFault::Timeout, UsbFault::Short, UsbFault::Unplug}) {
    for (int i = 0; i < 2; ++i) {
      PciMachine machine(quick());
      auto process = *machine.start_usb();
      auto device = *machine.open(*process);
      const u64 opened = machine.machine->usb().transfers();
      // Some 60 transfers each way.
      const u64 at = opened + random() % 100;
      SCOPED_TRACE(fmt::format("DOORBELL_SEED={}, fault {} at transfer {}", seed(),
                               static_cast<int>(fault), at));
      machine.machine->usb().set_faults(
          [&](u64 transfer) { return transfer == at ? fault : UsbFault::None; });
      const std::string error = copy_there_and_back(*device, in);
      // It was done by then; or nothing is shorter than nothing.
      if (error.empty() && (machine.machine->usb().transfers() <= at || fault == UsbFault::Short))
        continue;
      EXPECT_NE(error.find("USB device 1-2"), std::string::npos) << error;
      EXPECT_EQ(run_kernel(*well_device), "");
    }
  }
  EXPECT_EQ(copy_there_and_back(*well_device, in), "");
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
  // The buffer: places that it does not have, other sizes, what nobody has read, and what has not
  // come.
  EXPECT_FALSE(device->control({0x40, 0xf2, 33, 0x0120}, {}, 1));
  std::vector<u8> sectors(1024, 7);
  EXPECT_TRUE(device->control({0x40, 0xf2, 2, 0x0100}, {}, 1));
  EXPECT_EQ(device->bulk(0x02, std::span(sectors).first(512), 1).error().kind, ErrorKind::Timeout);
  EXPECT_EQ(last(), std::string_view("AMD-USB-006"));
  EXPECT_TRUE(device->bulk(0x02, sectors, 1));
  EXPECT_TRUE(device->control({0x40, 0xf2, 2, 0x0100}, {}, 1));
  EXPECT_EQ(last(), std::string_view("AMD-USB-008"));
  EXPECT_TRUE(device->bulk(0x02, sectors, 1));
  // A stream that the next request cuts off.
  twelve[8] = 5;
  EXPECT_TRUE(device->control({0x40, 0xf0, 0x0f20, 2}, twelve, 1));
  EXPECT_TRUE(device->control({0x40, 0xf0, 0x0f20, 0}, twelve, 1));
  EXPECT_EQ(last(), std::string_view("AMD-USB-002"));
}

// What the GPU reads of the buffer.
TEST(UsbTest, ReadingTheBufferTooEarlyBreaksARule) {
  emu::Checks checks{emu::Level::Error};
  std::vector<std::string> rules;
  checks.listen([&](const emu::Report& report) { rules.emplace_back(report.check->id); });
  const auto memory = *emu::amdgpu::BridgeMemory::make(checks);
  const u8* const at = memory->bus().find(hw::kBridgeBuffer)->host;
  const std::vector<u8> bytes(1024, 9);
  ASSERT_TRUE(memory->arm({.slots = 1, .sectors = 2}));
  memory->read(at, 4, true);
  EXPECT_TRUE(rules.empty());
  memory->read(at, 100, false);
  EXPECT_EQ(rules, std::vector<std::string>{"AMD-USB-007"});
  memory->arrive(bytes);
  memory->read(at, 1024, false);
  EXPECT_TRUE(memory->arm({.slots = 1, .sectors = 2}));
  EXPECT_EQ(rules.size(), 1u);
}

}  // namespace
}  // namespace doorbell::amd
