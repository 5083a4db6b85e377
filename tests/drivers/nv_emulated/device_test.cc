// The driver of NVIDIA's kernel modules on emulated ones.
#include "drivers/nv/device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/os/host.h"
#include "emulator/nv/machine.h"
#include "hcq/graph/graph.h"
#include "tests/support/golden.h"

namespace doorbell::nv {
namespace {

using core::Buffer;
using core::Ref;

struct EmulatedNvTest : ::testing::Test {
  std::unique_ptr<emu::nvgpu::Machine> machine;
  std::unique_ptr<os::Files> files;
  std::unique_ptr<os::Clock> clock;
  std::shared_ptr<Nvk> nvk;
  std::unique_ptr<NvDevice> device;

  NvDevice& open(const std::string& chip = "sm_86", const std::string& driver = "580.95.05") {
    return open_on({.gpus = chip, .driver = driver, .lockstep = true});
  }
  NvDevice& open_on(emu::nvgpu::MachineOptions options, u64 timeout_ns = hcq::Queue::kTimeout_ns) {
    machine = *emu::nvgpu::Machine::create(std::move(options));
    files = machine->files(os::host_files());
    clock = machine->clock(os::host_clock());
    Result<std::unique_ptr<Nvk>> opened = Nvk::open(*files, *clock);
    EXPECT_TRUE(opened) << opened.error().message;
    nvk = std::move(*opened);
    core::DeviceSpec spec;
    spec.name = "NV";
    Options device_options;
    device_options.timeout_ns = timeout_ns;
    device_options.host_accesses = machine->host_accesses();
    device_options.explain = [this] {
      const std::string fault = machine->last_fault(0);
      return fault.empty() ? machine->waits(0) : fault;
    };
    Result<std::unique_ptr<NvDevice>> made = NvDevice::open(spec, nvk, device_options);
    EXPECT_TRUE(made) << made.error().message;
    device = std::move(*made);
    return *device;
  }
  ~EmulatedNvTest() override {
    device.reset();
    nvk.reset();
  }

  // out[block][i] = in[block][63 - i] * k; tests/drivers/nv/hw/words.h.
  core::Binary scale(const std::string& chip) {
    const std::string bytes = testing::read_source("tests/fuzz/corpus/nv_cubin/tinygrad_" + chip);
    core::Binary binary;
    binary.name = "scale";
    binary.image.assign(bytes.begin(), bytes.end());
    binary.param_count = 2;
    binary.variable_count = 1;
    binary.grid_groups[0] = 3;
    binary.group_items[0] = 64;
    return binary;
  }
  Ref<Buffer> make(const std::vector<float>& values) {
    const i64 bytes = static_cast<i64>(values.size() * sizeof(float));
    Ref<Buffer> buffer = *Buffer::allocate(*device, bytes);
    Result<void> copied = buffer->copy_in(values.data(), bytes);
    EXPECT_TRUE(copied) << copied.error().message;
    return buffer;
  }
  std::vector<float> read(const Buffer& buffer, usize count) {
    std::vector<float> values(count);
    Result<void> copied = buffer.copy_out(values.data(), static_cast<i64>(count * sizeof(float)));
    EXPECT_TRUE(copied) << copied.error().message;
    return values;
  }
  static std::vector<float> counting() {
    std::vector<float> values(192);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
  }
  static std::vector<float> scaled(const std::vector<float>& in, float k) {
    std::vector<float> out(in.size());
    for (usize i = 0; i < in.size(); ++i) out[i] = in[i / 64 * 64 + 63 - i % 64] * k;
    return out;
  }
};

TEST_F(EmulatedNvTest, CopiesThereAndBack) {
  open();
  EXPECT_EQ(read(*make(counting()), 192), counting());
}

// Races are judged, too, and there are none.
constexpr const char* kRaces = "error,NV-RACE=error";

struct KernelTest : EmulatedNvTest {
  void run(const std::string& chip) {
    open_on({.gpus = chip, .checks = kRaces, .lockstep = true});
    const Ref<Buffer> in = make(counting()), out = make(std::vector<float>(192));
    Result<std::unique_ptr<core::Program>> program = device->load(scale(chip));
    ASSERT_TRUE(program) << program.error().message;
    const core::BufferView views[] = {{out.get(), 0}, {in.get(), 0}};
    const i64 k[] = {std::bit_cast<i32>(2.5f)};
    ASSERT_TRUE((*program)->launch(views, k));
    EXPECT_EQ(read(*out, 192), scaled(counting(), 2.5f)) << chip;
    EXPECT_EQ(machine->checks().errors(), 0u);
  }
};
// Descriptors V03_00 and V04_00; no emulated GPU takes V05_00.
TEST_F(KernelTest, RunsOnAmpere) { run("sm_86"); }
TEST_F(KernelTest, RunsOnHopper) { run("sm_90"); }

TEST_F(EmulatedNvTest, OpensWithEachReleaseOfTheDriver) {
  for (const char* driver : {"570.86.16", "575.64.05", "580.95.05", "590.44.01", "610.10"}) {
    open("sm_86", driver);
    ASSERT_NE(device, nullptr) << driver;
    EXPECT_EQ(read(*make({1, 2}), 2), (std::vector<float>{1, 2})) << driver;
    device.reset();
    nvk.reset();
  }
}

// Kernels of a graph are chained by their descriptors.
TEST_F(EmulatedNvTest, RunsGraphs) {
  open_on({.checks = kRaces, .lockstep = true});
  const Ref<Buffer> a = make(counting()), b = make(std::vector<float>(192));
  std::unique_ptr<core::Program> program = *device->load(scale("sm_86"));
  hcq::Graph graph;
  const hcq::Operand k = graph.slot();
  const u32 x = graph.memory(graph.storage(), 0, 768, hcq::GpuAddr{a->memory().address});
  const u32 y = graph.memory(graph.storage(), 0, 768, hcq::GpuAddr{b->memory().address});
  const auto exec = [&](u32 to, u32 from) {
    graph.exec(device->compute_queue(),
               {.program = program.get(),
                .name = "scale",
                .buffers = {{to, hcq::Access::Write}, {from, hcq::Access::Read}},
                .variables = {k}});
  };
  exec(y, x);
  exec(x, y);
  ASSERT_TRUE(graph.bind());
  for (int i = 0; i < 3; ++i) {
    const u64 values[] = {std::bit_cast<u32>(2.0f)};
    Result<hcq::Fence> done = graph.replay(values);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(done->wait());
  }
  std::vector<float> expected = counting();
  for (float& value : expected) value *= 64;  // 2 to the power of 6
  EXPECT_EQ(read(*a, 192), expected);
}

TEST_F(EmulatedNvTest, NamesTheKernelThatFaults) {
  open();
  const Ref<Buffer> in = make(counting());
  std::unique_ptr<core::Program> program = *device->load(scale("sm_86"));
  auto commands = device->compute_queue().make_commands();
  const hcq::Operand buffers[] = {u64{0x3000'0000'0000}, hcq::GpuAddr{in->memory().address}};
  const hcq::Operand variables[] = {u64{0}};
  commands->exec({program.get(), buffers, variables});
  ASSERT_TRUE(device->compute_queue().submit(*commands));
  Result<void> done = device->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  EXPECT_NE(done.error().message.find("Xid"), std::string::npos) << done.error().message;
  EXPECT_NE(done.error().message.find("0x3000000000"), std::string::npos) << done.error().message;
}

// Its EXIT is taken out, so that it runs into the branch to itself behind the code.
TEST_F(EmulatedNvTest, NamesTheKernelThatNeverEnds) {
  open_on({.gpus = "sm_86", .lockstep = true, .hang_after = 100'000});
  core::Binary binary = scale("sm_86");
  constexpr u64 kExit = 0x794d, kNop = 0x7918;
  usize exits = 0;
  for (usize at = 0; at + 16 <= binary.image.size(); at += 16) {
    u64 word;
    std::memcpy(&word, binary.image.data() + at, sizeof word);
    if (word != kExit) continue;
    std::memcpy(binary.image.data() + at, &kNop, sizeof kNop);
    ++exits;
  }
  ASSERT_NE(exits, 0u);
  const Ref<Buffer> in = make(counting()), out = make(std::vector<float>(192));
  std::unique_ptr<core::Program> program = *device->load(binary);
  const core::BufferView views[] = {{out.get(), 0}, {in.get(), 0}};
  const i64 k[] = {0};
  ASSERT_TRUE(program->launch(views, k));
  const Result<void> done = device->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  EXPECT_NE(done.error().message.find("Xid 13 (graphics engine exception), kernel scale"),
            std::string::npos)
      << done.error().message;
  EXPECT_NE(done.error().message.find("instructions were executed"), std::string::npos)
      << done.error().message;
}

TEST_F(EmulatedNvTest, TellsWhatAHangingQueueWaitsFor) {
  open_on({.gpus = "sm_86", .lockstep = true}, 50'000'000);
  const hcq::Signal never = *nvk->signals().make();
  hcq::Queue& queue = device->compute_queue();
  auto commands = queue.make_commands();
  commands->wait(never.address(), u64{5});
  ASSERT_TRUE(queue.submit(*commands));
  Result<void> done = queue.synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Timeout);
  EXPECT_NE(done.error().message.find("NV compute queue hangs: position 2 of 2 not reached"),
            std::string::npos)
      << done.error().message;
  EXPECT_NE(done.error().message.find(
                fmt::format("waits for [{:#x}] AcqCircGeq 0x5, it is 0x0", never.address().value)),
            std::string::npos)
      << done.error().message;
  never.store(5);
  EXPECT_TRUE(queue.synchronize());
}

// With the emulator's own thread the host blocks until a channel interrupts.
TEST_F(EmulatedNvTest, BlocksUntilWorkIsDone) {
  open_on({.gpus = "sm_86"});
  const hcq::Signal gate = *nvk->signals().make();
  for (hcq::Queue* queue : {&device->compute_queue(), &device->copy_queue()})
    for (u64 turn = 1; turn <= 3; ++turn) {
      gate.store(0);
      auto commands = queue->make_commands();
      commands->wait(gate.address(), turn);
      ASSERT_TRUE(queue->submit(*commands));
      std::thread opener([&] {
        os::host_clock().sleep_until(os::host_clock().now_ns() + 2'000'000);
        gate.store(turn);
      });
      const Result<void> done = queue->synchronize();
      opener.join();
      EXPECT_TRUE(done) << done.error().message;
    }
}

// The kernel modules give a child nothing of its parent's.
TEST_F(EmulatedNvTest, RefusesForkedChildren) {
  open();
  const Ref<Buffer> in = make(counting()), out = make(std::vector<float>(192));
  std::unique_ptr<core::Program> program = *device->load(scale("sm_86"));
  const core::BufferView views[] = {{out.get(), 0}, {in.get(), 0}};
  const i64 k[] = {std::bit_cast<i32>(2.0f)};
  const hcq::Signal gate = *nvk->signals().make();
  auto commands = device->compute_queue().make_commands();
  commands->wait(gate.address(), u64{1});
  const hcq::Point waits = *device->compute_queue().submit(*commands);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const auto is_refused = [](const Result<void>& result) {
      return !result && result.error().message.find("forked") != std::string::npos;
    };
    float value = 0;
    const bool right = is_refused(program->launch(views, k)) && is_refused(device->synchronize()) &&
                       is_refused(waits.queue->wait(waits.position)) &&
                       is_refused(in->copy_out(&value, 4));
    _exit(right ? 7 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  gate.store(1);
  ASSERT_TRUE(program->launch(views, k));
  EXPECT_EQ(read(*out, 192), scaled(counting(), 2.0f));
}

TEST_F(EmulatedNvTest, LeavesNothing) {
  open();
  {
    std::unique_ptr<core::Program> program = *device->load(scale("sm_86"));
    (void)make(counting());
  }
  device.reset();
  nvk.reset();
  machine->tell_leaks();
}

}  // namespace
}  // namespace doorbell::nv
