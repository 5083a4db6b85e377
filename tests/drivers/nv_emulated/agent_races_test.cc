// Clients of the driver that leave out a wait between queues, GPUs and the host, where the right
// bytes come out all the same: NV-RACE-003 finds each, no other rule does, and the twin that waits
// is silent. In lockstep, so that work is in flight together.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/os/host.h"
#include "drivers/nv/device.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/machine.h"
#include "tests/support/golden.h"

namespace doorbell::nv {
namespace {

constexpr u64 kBytes = 768;

struct NvAgentRacesTest : ::testing::TestWithParam<const char*> {
  void start(bool judged) {
    finish();
    const std::string chip = GetParam();
    machine = *emu::nvgpu::Machine::create({.gpus = chip + "," + chip,
                                            .checks = judged ? "error,NV-RACE=warn" : "error",
                                            .lockstep = true});
    files = machine->files(os::host_files());
    clock = machine->clock(os::host_clock());
    nvk = *Nvk::open(*files, *clock);
    for (i64 i = 0; i < 2; ++i) {
      core::DeviceSpec spec;
      spec.name = "NV";
      spec.ordinal = i;
      devices[i] = *NvDevice::open(spec, nvk, {.host_accesses = machine->host_accesses()});
    }
    signal = *nvk->signals().make();
    // out[block][i] = in[block][63 - i] * k; tests/drivers/nv/hw/words.h.
    const std::string bytes = testing::read_source("tests/fuzz/corpus/nv_cubin/tinygrad_" + chip);
    core::Binary binary;
    binary.name = "scale";
    binary.image.assign(bytes.begin(), bytes.end());
    binary.param_count = 2;
    binary.variable_count = 1;
    binary.grid_groups[0] = 3;
    binary.group_items[0] = 64;
    program = *devices[0]->load(binary);
    for (std::unique_ptr<NvkMemory>& one : memory) {
      one = *devices[0]->gpu().allocate(
          {.bytes = 4096, .kind = MemoryKind::VisibleVideo, .what = "some bytes"});
      ASSERT_TRUE(one->map_to(devices[1]->gpu()));
    }
    ASSERT_TRUE(devices[0]->synchronize());
  }
  void finish() {
    program.reset();
    for (auto& one : memory) one.reset();
    for (auto& device : devices) device.reset();
    nvk.reset();
  }
  void TearDown() override { finish(); }

  // memory[to] from memory[from].
  std::unique_ptr<hcq::CommandBuffer> kernel(int to, int from) {
    auto commands = devices[0]->compute_queue().make_commands();
    launch(*commands, to, from);
    return commands;
  }
  void launch(hcq::CommandBuffer& commands, int to, int from) {
    const hcq::Operand buffers[] = {memory[to]->address(), memory[from]->address()};
    const hcq::Operand k[] = {u64{0}};
    commands.exec({.program = program.get(), .buffers = buffers, .variables = k});
  }
  void submit(NvDevice& device, bool copies, hcq::CommandBuffer& commands) {
    const auto done = (copies ? device.copy_queue() : device.compute_queue()).submit(commands);
    ASSERT_TRUE(done) << done.error().message;
  }
  // The host accesses memory, as a driver tells it.
  void access_by_host(int which, bool is_write) {
    if (os::HostAccesses* accesses = machine->host_accesses()) {
      EXPECT_TRUE(accesses->access(memory[which]->host(), kBytes, is_write));
    }
  }
  // A kernel that writes memory[1], and a copy of it by the device.
  void copy_after_kernel(NvDevice& device, bool waits) {
    auto work = kernel(1, 0);
    work->signal(signal.address(), 1);
    submit(*devices[0], false, *work);
    auto copy = device.copy_queue().make_commands();
    if (waits) copy->wait(signal.address(), 1);
    copy->copy(memory[2]->address(), memory[1]->address(), kBytes);
    submit(device, true, *copy);
  }
  void expect_race_unless_it_waits(const std::function<void(bool)>& work) {
    for (const bool judged : {false, true})
      for (const bool waits : {false, true}) {
        SCOPED_TRACE(fmt::format("judged {}, waits {}", judged, waits));
        start(judged);
        work(waits);
        for (auto& device : devices) {
          const Result<void> done = device->synchronize();
          ASSERT_TRUE(done) << done.error().message;
        }
        const auto reports = machine->checks().reports();
        EXPECT_EQ(reports.empty(), !judged || waits);
        for (const emu::Report& report : reports)
          if (waits || report.check != &emu::nvgpu::kAgentRace) ADD_FAILURE() << to_string(report);
      }
  }

  std::unique_ptr<emu::nvgpu::Machine> machine;
  std::unique_ptr<os::Files> files;
  std::unique_ptr<os::Clock> clock;
  std::shared_ptr<Nvk> nvk;
  std::unique_ptr<NvDevice> devices[2];
  std::unique_ptr<core::Program> program;
  std::unique_ptr<NvkMemory> memory[3];
  hcq::Signal signal;
};

TEST_P(NvAgentRacesTest, ACopyOfWhatAKernelWrites) {
  expect_race_unless_it_waits([&](bool waits) { copy_after_kernel(*devices[0], waits); });
}

// Grids that a wait separates are not chained, and run at the same time without a wait for idle.
TEST_P(NvAgentRacesTest, AKernelBehindAWaitWritesWhatOneBeforeReads) {
  expect_race_unless_it_waits([&](bool waits) {
    auto work = kernel(1, 0);
    if (waits) work->memory_barrier();
    work->wait(signal.address(), u64{0});
    launch(*work, 0, 2);
    submit(*devices[0], false, *work);
  });
}

TEST_P(NvAgentRacesTest, AKernelReadsWhatItsQueueCopies) {
  expect_race_unless_it_waits([&](bool waits) {
    auto work = devices[0]->compute_queue().make_commands();
    work->copy(memory[1]->address(), memory[2]->address(), kBytes);
    if (waits) work->memory_barrier();
    launch(*work, 0, 1);
    submit(*devices[0], false, *work);
  });
}

// A copy of a compute queue waits for the grids before it by itself.
TEST_P(NvAgentRacesTest, ACopyOfWhatItsQueueComputesIsOrdered) {
  start(true);
  auto work = kernel(1, 0);
  work->copy(memory[2]->address(), memory[1]->address(), kBytes);
  submit(*devices[0], false, *work);
  ASSERT_TRUE(devices[0]->synchronize());
  EXPECT_TRUE(machine->checks().reports().empty());
}

TEST_P(NvAgentRacesTest, AnotherGpusCopyOfWhatAKernelWrites) {
  expect_race_unless_it_waits([&](bool waits) { copy_after_kernel(*devices[1], waits); });
}

TEST_P(NvAgentRacesTest, AKernelThatReadsWhatIsCopied) {
  expect_race_unless_it_waits([&](bool waits) {
    auto copy = devices[0]->copy_queue().make_commands();
    copy->copy(memory[1]->address(), memory[2]->address(), kBytes);
    copy->signal(signal.address(), 1);
    submit(*devices[0], true, *copy);
    auto wait = devices[0]->compute_queue().make_commands();
    wait->wait(signal.address(), 1);
    if (waits) submit(*devices[0], false, *wait);
    submit(*devices[0], false, *kernel(0, 1));
  });
}

TEST_P(NvAgentRacesTest, WorkThatTheHostOrders) {
  expect_race_unless_it_waits([&](bool waits) {
    submit(*devices[0], false, *kernel(1, 0));
    if (waits) {
      ASSERT_TRUE(devices[0]->synchronize());
    }
    auto copy = devices[1]->copy_queue().make_commands();
    copy->copy(memory[2]->address(), memory[1]->address(), kBytes);
    submit(*devices[1], true, *copy);
  });
}

TEST_P(NvAgentRacesTest, TheHostReadsWhatAKernelWrites) {
  expect_race_unless_it_waits([&](bool waits) {
    submit(*devices[0], false, *kernel(1, 0));
    if (waits) {
      ASSERT_TRUE(devices[0]->synchronize());
    }
    access_by_host(1, false);
  });
}

TEST_P(NvAgentRacesTest, ADoorbellIsBehindWhatTheHostHasWritten) {
  expect_race_unless_it_waits([&](bool waits) {
    if (waits) access_by_host(0, true);
    submit(*devices[0], false, *kernel(1, 0));
    if (!waits) access_by_host(0, true);
  });
}

INSTANTIATE_TEST_SUITE_P(Chips, NvAgentRacesTest, ::testing::Values("sm_86", "sm_90"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace doorbell::nv
