// The driver of NVIDIA's kernel modules on emulated ones.
#include "drivers/nv/device.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

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
    emu::nvgpu::MachineOptions options;
    options.gpus = chip;
    options.driver = driver;
    options.lockstep = true;
    machine = *emu::nvgpu::Machine::create(options);
    files = machine->files(os::host_files());
    clock = machine->clock(os::host_clock());
    Result<std::unique_ptr<Nvk>> opened = Nvk::open(*files, *clock);
    EXPECT_TRUE(opened) << opened.error().message;
    nvk = std::move(*opened);
    core::DeviceSpec spec;
    spec.name = "NV";
    Options device_options;
    device_options.explain = [this] { return machine->last_fault(0); };
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

struct KernelTest : EmulatedNvTest {
  void run(const std::string& chip) {
    open(chip);
    const Ref<Buffer> in = make(counting()), out = make(std::vector<float>(192));
    Result<std::unique_ptr<core::Program>> program = device->load(scale(chip));
    ASSERT_TRUE(program) << program.error().message;
    const core::BufferView views[] = {{out.get(), 0}, {in.get(), 0}};
    const i64 k[] = {std::bit_cast<i32>(2.5f)};
    ASSERT_TRUE((*program)->launch(views, k));
    EXPECT_EQ(read(*out, 192), scaled(counting(), 2.5f)) << chip;
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
  open();
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
