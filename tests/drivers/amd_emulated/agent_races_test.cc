// Clients of the driver that leave out a wait between kernels, queues, GPUs and the host, where the
// right bytes come out all the same: AMD-RACE-003 finds each, no other rule does, and the twin that
// waits is silent. In lockstep, so that work is in flight together.
#include <array>
#include <cstring>

#include "emulator/amd/cp/rules.h"
#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::amd {
namespace {

// out[i] = in[i] + 1 of 32 items.
constexpr const char* kKernel = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @next(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %item
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %item
  %value = load i32, ptr addrspace(1) %from
  %next = add i32 %value, 1
  store i32 %next, ptr addrspace(1) %to
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="32,32" "amdgpu-no-implicitarg-ptr" }
)";
constexpr u64 kBytes = 128;

struct Case {
  const char* gpu;
  Options::Packets packets;
};

struct AgentRacesTest : EmulatedTest, ::testing::WithParamInterface<Case> {
  void start(bool judged) {
    const std::string gpu = gpu_for(GetParam().gpu, GetParam().packets);
    second.reset(), first.reset();
    boot({.gpus = {gpu, gpu},
          .checks = judged ? "error,AMD-RACE=warn" : "error,AMD-INI=error,AMD-LOAD=error",
          .lockstep = true});
    first = open(0, {.packets = GetParam().packets});
    second = open(1, {.packets = GetParam().packets});
    signal = *kfd->signals().make();
    core::Binary binary;
    binary.name = "next";
    binary.image = *testing::compile_ir(kKernel, GetParam().gpu);
    binary.param_count = 2;
    binary.group_items[0] = 32;
    program = *first->load(binary);
    for (std::unique_ptr<KfdMemory>& one : memory) {
      const MemoryKind kind = &one == &memory[2] ? MemoryKind::Host : MemoryKind::Vram;
      one = *first->gpu().allocate({.bytes = 4096, .kind = kind, .what = "some bytes"});
      ASSERT_TRUE(one->map_to(second->gpu()));
    }
    // Defined by a copy, which the host waits for.
    auto commands = first->copy_queue().make_commands();
    const Ref<Buffer> zeros = *Buffer::allocate(*first, 4096);
    const std::vector<u8> bytes(4096);
    ASSERT_TRUE(zeros->copy_in(bytes.data(), 4096));
    for (const std::unique_ptr<KfdMemory>& one : memory)
      commands->copy(one->address(), zeros->memory().address, 4096);
    submit(first->copy_queue(), *commands);
    ASSERT_TRUE(first->synchronize());
  }
  void TearDown() override {
    program.reset();
    for (auto& one : memory) one.reset();
  }

  void exec(hcq::CommandBuffer& commands, int from, int to) {
    const hcq::Operand buffers[] = {memory[from]->address(), memory[to]->address()};
    commands.exec({.program = program.get(), .buffers = buffers, .variables = {}});
  }
  static void submit(hcq::Queue& queue, hcq::CommandBuffer& commands) {
    const auto done = queue.submit(commands);
    ASSERT_TRUE(done) << done.error().message;
  }
  // The host accesses memory[2], as a driver tells it.
  void access_by_host(bool is_write) {
    if (os::HostAccesses* accesses = machine->host_accesses()) {
      EXPECT_TRUE(accesses->access(memory[2]->host(), kBytes, is_write));
    }
    u8 byte = 0;
    std::memcpy(is_write ? memory[2]->host() : &byte, is_write ? &byte : memory[2]->host(), 1);
  }
  // `work(waits)` races only if it does not wait.
  template <class Work>
  void expect_race_unless_it_waits(Work&& work) {
    for (const bool judged : {false, true})
      for (const bool waits : {false, true}) {
        SCOPED_TRACE(fmt::format("judged {}, waits {}", judged, waits));
        start(judged);
        work(waits);
        for (AmdDevice* device : {first.get(), second.get()}) {
          const Result<void> done = device->synchronize();
          ASSERT_TRUE(done) << done.error().message;
        }
        const auto reports = machine->checks().reports();
        EXPECT_EQ(reports.empty(), !judged || waits);
        for (const emu::Report& report : reports)
          if (waits || report.check != &emu::amdgpu::kAgentRace) ADD_FAILURE() << to_string(report);
        TearDown();
      }
  }

  std::unique_ptr<AmdDevice> first, second;
  std::unique_ptr<core::Program> program;
  std::unique_ptr<KfdMemory> memory[3];
  hcq::Signal signal;
};

TEST_P(AgentRacesTest, KernelsOfOneQueue) {
  expect_race_unless_it_waits([&](bool waits) {
    auto commands = first->compute_queue().make_commands();
    exec(*commands, 0, 1);
    if (waits) commands->memory_barrier();
    exec(*commands, 1, 2);
    submit(first->compute_queue(), *commands);
  });
}

TEST_P(AgentRacesTest, ACopyOfWhatAKernelWrites) {
  expect_race_unless_it_waits([&](bool waits) {
    auto kernel = first->compute_queue().make_commands();
    exec(*kernel, 0, 1);
    kernel->signal(signal.address(), 1);
    submit(first->compute_queue(), *kernel);
    auto copy = first->copy_queue().make_commands();
    if (waits) copy->wait(signal.address(), 1);
    copy->copy(memory[2]->address(), memory[1]->address(), kBytes);
    submit(first->copy_queue(), *copy);
  });
}

TEST_P(AgentRacesTest, AKernelThatReadsWhatIsCopied) {
  expect_race_unless_it_waits([&](bool waits) {
    auto copy = first->copy_queue().make_commands();
    copy->copy(memory[1]->address(), memory[2]->address(), kBytes);
    copy->signal(signal.address(), 1);
    submit(first->copy_queue(), *copy);
    auto kernel = first->compute_queue().make_commands();
    if (waits) kernel->wait(signal.address(), 1);
    exec(*kernel, 1, 0);
    submit(first->compute_queue(), *kernel);
  });
}

TEST_P(AgentRacesTest, AnotherGpusCopyOfWhatAKernelWrites) {
  expect_race_unless_it_waits([&](bool waits) {
    auto kernel = first->compute_queue().make_commands();
    exec(*kernel, 0, 1);
    kernel->signal(signal.address(), 1);
    submit(first->compute_queue(), *kernel);
    auto copy = second->copy_queue().make_commands();
    if (waits) copy->wait(signal.address(), 1);
    copy->copy(memory[2]->address(), memory[1]->address(), kBytes);
    submit(second->copy_queue(), *copy);
  });
}

// The host waits, or submits at once.
TEST_P(AgentRacesTest, WorkThatTheHostOrders) {
  expect_race_unless_it_waits([&](bool waits) {
    auto kernel = first->compute_queue().make_commands();
    exec(*kernel, 0, 1);
    submit(first->compute_queue(), *kernel);
    if (waits) {
      ASSERT_TRUE(first->synchronize());
    }
    auto copy = first->copy_queue().make_commands();
    copy->copy(memory[2]->address(), memory[1]->address(), kBytes);
    submit(first->copy_queue(), *copy);
  });
}

TEST_P(AgentRacesTest, TheHostReadsWhatAKernelWrites) {
  expect_race_unless_it_waits([&](bool waits) {
    auto kernel = first->compute_queue().make_commands();
    exec(*kernel, 0, 2);
    submit(first->compute_queue(), *kernel);
    if (waits) {
      ASSERT_TRUE(first->synchronize());
    }
    access_by_host(false);
  });
}

TEST_P(AgentRacesTest, TheHostWritesWhatACopyReads) {
  expect_race_unless_it_waits([&](bool waits) {
    auto copy = second->copy_queue().make_commands();
    copy->copy(memory[0]->address(), memory[2]->address(), kBytes);
    submit(second->copy_queue(), *copy);
    if (waits) {
      ASSERT_TRUE(second->synchronize());
    }
    access_by_host(true);
  });
}

// Before the doorbell, or behind it.
TEST_P(AgentRacesTest, ADoorbellIsBehindWhatTheHostHasWritten) {
  expect_race_unless_it_waits([&](bool waits) {
    auto kernel = first->compute_queue().make_commands();
    exec(*kernel, 2, 1);
    if (waits) access_by_host(true);
    submit(first->compute_queue(), *kernel);
    if (!waits) access_by_host(true);
  });
}

// A copy to the host by one device waits for its own work, not for another device's.
TEST_P(AgentRacesTest, ACopyOutWhileAnotherDeviceWrites) {
  expect_race_unless_it_waits([&](bool waits) {
    std::unique_ptr<AmdDevice> third = open(0, {.packets = GetParam().packets, .sdma = false});
    const Ref<Buffer> buffer = *Buffer::allocate(*third, 4096);
    const Result<hcq::GpuAddr> address = second->address_of(*buffer);
    ASSERT_TRUE(address) << address.error().message;
    auto copy = second->copy_queue().make_commands();
    copy->copy(*address, memory[0]->address(), kBytes);
    submit(second->copy_queue(), *copy);
    if (waits) {
      ASSERT_TRUE(second->synchronize());
    }
    std::array<u8, kBytes> bytes;
    ASSERT_TRUE(buffer->copy_out(bytes.data(), kBytes));
    ASSERT_TRUE(second->synchronize());
  });
}

INSTANTIATE_TEST_SUITE_P(Chips, AgentRacesTest,
                         ::testing::Values(Case{"gfx1030", Options::Packets::Pm4},
                                           Case{"gfx1100", Options::Packets::Pm4},
                                           Case{"gfx1100", Options::Packets::Aql},
                                           Case{"gfx1201", Options::Packets::Pm4},
                                           Case{"gfx942", Options::Packets::Aql}),
                         name_of_packets);

}  // namespace
}  // namespace doorbell::amd
