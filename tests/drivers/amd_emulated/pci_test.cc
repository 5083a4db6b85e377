// The driver on GPUs that it starts itself: cold, warm, behind a process that was killed, several
// of them; what faults look like, and what is refused.
#include <algorithm>
#include <random>

#include "drivers/amd/hw/bare/registers.h"
#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::amd {
namespace {

using core::Buffer;
using core::Ref;

void expect_clean(const PciMachine& machine) {
  for (const emu::Report& report : machine.reports) ADD_FAILURE() << to_string(report);
}

struct Chip {
  const char* name;
  hw::BareChip chip;
  u64 target, units;
  usize resets;  // by a cold start: the board's firmware has left the processors alive
};
struct PciChip : ::testing::TestWithParam<Chip> {};
INSTANTIATE_TEST_SUITE_P(All, PciChip,
                         ::testing::Values(Chip{"gfx1100", hw::BareChip::Gc11, 110000, 96, 0},
                                           Chip{"gfx1201", hw::BareChip::Gc12, 120001, 64, 0},
                                           Chip{"gfx942", hw::BareChip::Gc94, 90402, 40, 1}),
                         [](const auto& info) { return info.param.name; });

TEST_P(PciChip, StartsAndRunsAKernel) {
  PciMachine machine({.gpus = {GetParam().name}});
  auto process = machine.start();
  ASSERT_TRUE(process) << process.error().message;
  ASSERT_EQ((*process)->kfd->nodes().size(), 1u);
  const NodeProperties& node = (*process)->kfd->nodes()[0].properties;
  EXPECT_EQ(node.gfx_target_version, GetParam().target);
  EXPECT_EQ(node.compute_units(), GetParam().units);
  {
    auto device = machine.open(**process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device, GetParam().name), "");
    EXPECT_EQ(run_kernel(**device, GetParam().name), "");
  }
  expect_clean(machine);
}

TEST(PciTest, RunsWithAndWithoutACopyEngine) {
  PciMachine machine;
  auto process = *machine.start();
  for (const bool sdma : {true, false}) {
    auto device = machine.open(*process, 0, {.sdma = sdma});
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device), "");
  }
  expect_clean(machine);
}

// A kernel that stores where nothing is.
std::string fault(AmdDevice& device, const char* chip) {
  auto program = *device.load(compiled_kernel(chip));
  Ref<Buffer> a = *Buffer::allocate(device, 4096);
  core::Allocation nowhere;
  nowhere.address = (u64{1} << 45) + (u64{1} << 43);
  nowhere.bytes = 4096;
  Ref<Buffer> b = Buffer::wrap(device, nowhere);
  const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
  if (Result<void> launched = program->launch(views, {}); !launched)
    return launched.error().message;
  const Result<void> done = device.synchronize();
  return done ? "" : done.error().message;
}

// Also with more private memory than before, for which an AQL queue is made anew, and after a
// fault.
TEST_P(PciChip, RunsAqlQueues) {
  for (const bool adversarial : {false, true}) {
    PciMachine machine(
        {.gpus = {GetParam().name}, .adversarial = adversarial, .lockstep = true, .seed = 3});
    auto process = *machine.start();
    {
      auto device = machine.open(*process, 0, {.packets = Options::Packets::Aql});
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ(run_kernel(**device, GetParam().name), "");
      for (const u32 bytes : {64u, 8192u})
        EXPECT_EQ(run_kernel(**device, GetParam().name, bytes), "") << bytes;
      EXPECT_EQ(run_kernel(**device, GetParam().name), "");
    }
    expect_clean(machine);
    {
      auto device = machine.open(*process, 0, {.packets = Options::Packets::Aql});
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_NE(fault(**device, GetParam().name).find("memory fault at"), std::string::npos);
    }
    machine.reports.clear();
    auto device = machine.open(*process, 0, {.packets = Options::Packets::Aql});
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device, GetParam().name), "");
  }
}

TEST_P(PciChip, RunsOnTheWeakestHardware) {
  PciMachine machine({.gpus = {GetParam().name}, .adversarial = true, .lockstep = true, .seed = 5});
  auto process = machine.start();
  ASSERT_TRUE(process) << process.error().message;
  {
    auto device = machine.open(**process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device, GetParam().name), "");
  }
  expect_clean(machine);
}

// How often the security processor got a frame, none where the GPU was warm, and how often the
// whole GPU was reset.
struct Starts {
  hw::BareChip chip = hw::BareChip::Gc11;
  usize frames = 0, resets = 0;
  WriteFilter filter() {
    return [this](u64 word, u32& value) {
      frames += word == address_of(hw::Reg::Mp0SmnC2pmsg67, chip) ? 1 : 0;
      const bool by_message = chip == hw::BareChip::Gc94;
      const hw::Reg mailbox = by_message ? hw::Reg::Mp1SmnC2pmsg66 : hw::Reg::Mp1SmnC2pmsg75;
      const u32 reset = by_message ? 3 : hw::kDebugMode1Reset;
      resets += word == address_of(mailbox, chip) && value == reset;
      return true;
    };
  }
};

// The table of contents, the SMU's, 11 others, memory, the start; on gfx12 no memory, and 14
// others; on gfx942 memory, 11 others, the list of registers, the partition.
usize frames_of(hw::BareChip chip) {
  return chip == hw::BareChip::Gc11 ? 15 : chip == hw::BareChip::Gc12 ? 17 : 14;
}

TEST_P(PciChip, FindsAGpuThatWasLeftAlive) {
  PciMachine machine({.gpus = {GetParam().name}});
  Starts first{GetParam().chip}, second{GetParam().chip};
  for (Starts* starts : {&first, &second}) {
    auto process = *machine.start(starts->filter());
    auto device = machine.open(*process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device, GetParam().name), "");
    device->reset();
  }
  EXPECT_EQ(first.frames, frames_of(GetParam().chip));
  EXPECT_EQ(second.frames, 0u);
  EXPECT_EQ(first.resets, GetParam().resets);
  EXPECT_EQ(second.resets, 0u);
  expect_clean(machine);
}

// A process that ends in the middle of work leaves queues on the GPU, and its memory mapped.
TEST_P(PciChip, ResetsWhatAKilledProcessLeft) {
  PciMachine machine({.gpus = {GetParam().name}, .lockstep = true});
  Starts killed{GetParam().chip}, next{GetParam().chip};
  {
    auto process = *machine.start(killed.filter());
    auto device = machine.open(*process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device, GetParam().name), "");
    process->filtered->is_dead = true;
  }
  // The kernel gave its memory back while the GPU still had it: that is told.
  {
    std::lock_guard lock(machine.mutex);
    for (const emu::Report& report : machine.reports)
      EXPECT_STREQ(report.check->id, "AMD-PCI-003") << to_string(report);
    machine.reports.clear();
  }
  {
    auto process = *machine.start(next.filter());
    auto device = machine.open(*process);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(run_kernel(**device, GetParam().name), "");
  }
  EXPECT_EQ(next.resets, 1u);
  EXPECT_EQ(next.frames, frames_of(GetParam().chip));
  expect_clean(machine);
}

TEST(PciTest, TakesTwoGpusAndCopiesBetweenThem) {
  PciMachine machine({.gpus = {"gfx1100", "gfx1100"}});
  auto process = *machine.start();
  {
    auto first = *machine.open(*process, 0), second = *machine.open(*process, 1);
    EXPECT_EQ(run_kernel(*first), "");
    EXPECT_EQ(run_kernel(*second), "");
    std::vector<u32> numbers(5000), got(5000);
    for (u32 i = 0; i < numbers.size(); ++i) numbers[i] = i * i;
    const usize bytes = numbers.size() * sizeof(u32);
    Ref<Buffer> a = *Buffer::allocate(*first, bytes), b = *Buffer::allocate(*second, bytes);
    ASSERT_TRUE(a->copy_in(numbers.data(), bytes));
    ASSERT_TRUE(first->synchronize());
    // The second reads the first one's memory across the bus.
    const Result<hcq::GpuAddr> peer = second->address_of(*a);
    ASSERT_TRUE(peer) << peer.error().message;
    auto commands = second->copy_queue().make_commands();
    commands->copy(b->memory().address, a->memory().address, bytes);
    ASSERT_TRUE(second->copy_queue().submit(*commands));
    ASSERT_TRUE(second->synchronize());
    ASSERT_TRUE(b->copy_out(got.data(), bytes));
    EXPECT_EQ(got, numbers);
  }
  expect_clean(machine);
}

TEST(PciTest, LetsOneProcessHaveAGpu) {
  PciMachine machine;
  auto first = *machine.start(), second = *machine.start();
  auto device = machine.open(*first);
  ASSERT_TRUE(device);
  const auto refused = machine.open(*second);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("used by another process"), std::string::npos)
      << refused.error().message;
}

TEST(PciTest, ReportsAFaultAsOverTheKernel) {
  PciMachine machine;
  auto process = *machine.start();
  auto device = *machine.open(*process);
  auto program = *device->load(compiled_kernel());
  Ref<Buffer> a = *Buffer::allocate(*device, 4096);
  core::Allocation nowhere;
  nowhere.address = (u64{1} << 45) + (u64{1} << 43);
  nowhere.bytes = 4096;
  Ref<Buffer> b = Buffer::wrap(*device, nowhere);
  const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
  ASSERT_TRUE(program->launch(views, {}));
  const Result<void> done = device->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  EXPECT_NE(done.error().message.find(fmt::format("memory fault at {:#x}", nowhere.address)),
            std::string::npos)
      << done.error().message;
  EXPECT_NE(done.error().message.find("the page is not present"), std::string::npos)
      << done.error().message;
  ASSERT_FALSE(machine.reports.empty());
  EXPECT_STREQ(machine.reports[0].check->id, "AMD-VM-001");
}

// After an error the same process goes on with the GPU, and so does the next one, without a reset
// of all of it: also where the hardware does not let go of the queue.
TEST_P(PciChip, GoesOnAfterAFault) {
  for (const bool adversarial : {false, true}) {
    PciMachine machine(
        {.gpus = {GetParam().name}, .adversarial = adversarial, .lockstep = true, .seed = 2});
    Starts first{GetParam().chip}, second{GetParam().chip};
    {
      auto process = *machine.start(first.filter());
      {
        auto device = machine.open(*process);
        ASSERT_TRUE(device) << device.error().message;
        EXPECT_NE(fault(**device, GetParam().name).find("memory fault at"), std::string::npos);
        // The driver waits a second of the machine's time for a queue that does not end.
        const u64 begin_ns = machine.clock->now_ns();
        device->reset();
        EXPECT_EQ(machine.clock->now_ns() - begin_ns >= 1'000'000'000, adversarial);
      }
      {
        std::lock_guard lock(machine.mutex);
        ASSERT_FALSE(machine.reports.empty());
        for (const emu::Report& report : machine.reports)
          EXPECT_STREQ(report.check->id, "AMD-VM-001") << to_string(report);
        machine.reports.clear();
      }
      auto device = machine.open(*process);
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ(run_kernel(**device, GetParam().name), "");
    }
    auto process = *machine.start(second.filter());
    {
      auto device = machine.open(*process);
      ASSERT_TRUE(device) << device.error().message;
      EXPECT_EQ(run_kernel(**device, GetParam().name), "");
    }
    EXPECT_EQ(second.frames, 0u);
    EXPECT_EQ(first.resets, GetParam().resets);
    EXPECT_EQ(second.resets, 0u);
    expect_clean(machine);
  }
}

// [kfd_events.c test_event_condition(): all of them, or any]
TEST(PciTest, WaitsForAllEventsAsTheKernelDoes) {
  PciMachine machine;
  auto process = *machine.start();
  hw::KfdEventData events[2];
  for (hw::KfdEventData& event : events) {
    hw::KfdCreateEvent made{.event_type = hw::kKfdEventSignal, .auto_reset = 1};
    ASSERT_TRUE(process->kfd->call(made));
    event.event_id = made.event_id;
  }
  const auto set = [&](int index) {
    hw::KfdSetEvent event{.event_id = events[index].event_id};
    ASSERT_TRUE(process->kfd->call(event));
  };
  const auto wait = [&](u32 for_all) {
    hw::KfdWaitEvents call{
        .events_ptr = reinterpret_cast<u64>(events), .num_events = 2, .wait_for_all = for_all};
    const Result<void> waited = process->kfd->call(call);
    EXPECT_TRUE(waited) << waited.error().message;
    return call.wait_result;
  };
  set(0);
  EXPECT_EQ(wait(1), hw::kKfdWaitTimeout);
  set(1);
  EXPECT_EQ(wait(1), hw::kKfdWaitComplete);
  // Both are reset by who was told of them.
  EXPECT_EQ(wait(0), hw::kKfdWaitTimeout);
  set(1);
  EXPECT_EQ(wait(0), hw::kKfdWaitComplete);
  expect_clean(machine);
}

// Leaves the writes to one register out, also where they come through the window.
struct LeftOut {
  u64 address = 0;
  u64 window = 0;
  bool happened = false;
  WriteFilter filter() {
    return [this](u64 word, u32& value) {
      const hw::BareChip chip = hw::BareChip::Gc94;
      if (word == address_of(hw::Reg::BifBxPf0RsmuIndex, chip)) window = value / 4;
      const u64 target = word == address_of(hw::Reg::BifBxPf0RsmuData, chip) ? window : word;
      happened |= target == address;
      return target != address;
    };
  }
};

// What each XCC and each memory hub must be given: on one of them, which the seed chooses, it is
// left out, and then the start or a kernel fails, or a rule is broken.
TEST(PciTest, NoticesWhatOneXccOrHubLacks) {
  using hw::Reg;
  constexpr Reg kOfXccs[] = {Reg::GcvmContext0Cntl,
                             Reg::GcvmContext0PageTableBaseAddrLo32,
                             Reg::GcvmContext0PageTableStartAddrHi32,
                             Reg::GcvmInvalidateEng17AddrRangeLo32,
                             Reg::GcvmInvalidateEng17Req,
                             Reg::GcvmL2Cntl,
                             Reg::GcvmL2Cntl3,
                             Reg::GcmcVmMxL1TlbCntl,
                             Reg::GcmcVmSystemApertureHighAddr,
                             Reg::GbAddrConfig,
                             Reg::ShMemBases,
                             Reg::ShMemConfig,
                             Reg::CpMecCntl,
                             Reg::CpMecDoorbellRangeUpper,
                             Reg::CpHqdActive,
                             Reg::GrbmGfxCntl};
  constexpr Reg kOfHubs[] = {Reg::MmvmContext0Cntl, Reg::MmvmL2Cntl3, Reg::MmvmInvalidateEng17Req,
                             Reg::MmmcVmMxL1TlbCntl};
  constexpr Reg kOfAll[] = {Reg::XccDoorbellFence, Reg::BifcDoorbellAccessEnPf,
                            Reg::Doorbell0CtrlEntry1, Reg::S2aDoorbellEntry1Ctrl};
  std::mt19937 random(static_cast<u32>(seed()));
  const auto expect_noticed = [](Reg reg, u32 instance) {
    PciMachine machine({.gpus = {"gfx942"}, .lockstep = true});
    LeftOut left_out{.address = address_of(reg, hw::BareChip::Gc94, instance)};
    auto process = *machine.start(left_out.filter());
    auto device = machine.open(*process, 0, {.timeout_ns = 50'000'000});
    const bool is_well = device && run_kernel(**device, "gfx942").empty();
    const std::string_view name = hw::place_of(reg, hw::BareChip::Gc94).name;
    EXPECT_TRUE(left_out.happened) << name;
    std::lock_guard lock(machine.mutex);
    EXPECT_TRUE(!is_well || !machine.reports.empty()) << name << " of instance " << instance;
  };
  for (const Reg reg : kOfXccs) expect_noticed(reg, random() % 8);
  for (const Reg reg : kOfHubs) expect_noticed(reg, random() % 4);
  for (const Reg reg : kOfAll) expect_noticed(reg, 0);
}

// [tinygrad amdev.py is_hive(): PF_MAX_REGION (7:4) of MMMC_VM_XGMI_LFB_CNTL]
TEST(PciTest, RefusesAGpuThatXgmiJoinsToOthers) {
  PciMachine machine({.gpus = {"gfx942"}});
  const u64 word = address_of(hw::Reg::MmmcVmXgmiLfbCntl, hw::BareChip::Gc94);
  machine.machine->bare_gpu(0).write_register(word * 4, 0x70);
  auto process = *machine.start();
  const Result<KfdGpu*> gpu = process->kfd->gpu(0);
  ASSERT_FALSE(gpu);
  EXPECT_NE(gpu.error().message.find("joined to others by XGMI"), std::string::npos)
      << gpu.error().message;
}

TEST(PciTest, NamesFirmwareThatIsMissing) {
  struct WithoutMec final : os::ForwardedFiles {
    using ForwardedFiles::ForwardedFiles;
    bool exists(const std::string& path) override {
      return !path.ends_with("_mec.bin") && ForwardedFiles::exists(path);
    }
  };
  PciMachine machine;
  WithoutMec files(*machine.files);
  auto kernel = *PciKernel::open(files, *machine.clock);
  std::shared_ptr<Kfd> kfd = *Kfd::open(*kernel, *machine.clock);
  const Result<KfdGpu*> gpu = kfd->gpu(0);
  ASSERT_FALSE(gpu);
  EXPECT_NE(gpu.error().message.find("amdgpu/gc_11_0_0_mec.bin"), std::string::npos)
      << gpu.error().message;
  EXPECT_NE(gpu.error().message.find("firmware-amd-graphics"), std::string::npos);
}

TEST(PciTest, IsEmulatedForTheChipThatIsStarted) {
  emu::amdgpu::MachineOptions options{.gpus = {"gfx950"}};
  options.bare = true;
  const auto machine = emu::amdgpu::Machine::create(std::move(options));
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace doorbell::amd
