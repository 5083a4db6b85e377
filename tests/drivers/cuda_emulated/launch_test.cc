// Launches, one by one and as CUDA graphs, with a kernel of the test itself, not machine code.
#include <algorithm>
#include <cstring>

#include "emulator/nv/isa/tensor_map.h"
#include "tests/drivers/cuda_emulated/emulated_test.h"

namespace doorbell::cuda {
namespace {

using emu::cuda::Code;
using emu::cuda::KernelFacts;

// Of a kernel whose first two arguments are u64* log and i64 value.
class LogCode : public Code {
 public:
  explicit LogCode(KernelFacts kernel) : kernels_{std::move(kernel)} {}
  const std::vector<KernelFacts>& kernels() const override { return kernels_; }
  u64 global_bytes() const override { return 0; }
  std::span<const u8> place(u64) override { return {}; }

 protected:
  static u64 argument(const Grid& grid, usize number) {
    u64 value = 0;
    std::memcpy(&value, grid.parameters.data() + number * sizeof value, sizeof value);
    return value;
  }

 private:
  std::vector<KernelFacts> kernels_;
};

// append(u64* log, i64 value): log[++log[0]] = value, for each block.
class AppendCode final : public LogCode {
 public:
  static inline u32 last_shared = 0;  // dynamic bytes of the last launch

  AppendCode()
      : LogCode({.name = "append",
                 .parameter_bytes = 16,
                 .parameters = {{0, 8}, {8, 8}},
                 .required_block = {32, 1, 1}}) {}
  Result<std::string> run(const KernelFacts&, const Grid& grid, emu::AddressSpace& memory,
                          emu::Checks&) const override {
    const u64 log = argument(grid, 0), value = argument(grid, 1);
    last_shared = grid.shared_bytes;
    for (u32 block = 0; block < grid.grid[0]; ++block) {
      auto* count = reinterpret_cast<u64*>(memory.at(log, 8, true));
      if (count == nullptr) return fmt::format("append: {:#x} is not mapped", log);
      *count += 1;
      *reinterpret_cast<u64*>(memory.at(log + *count * 8, 8, true)) = value;
    }
    return std::string();
  }
};

// append_map(u64* log, i64 value, map): appends the address that the map says, and the value.
constexpr u32 kMapAt = 0x70;  // no multiple of its alignment: where the bank begins counts too
class AppendMapCode final : public LogCode {
 public:
  AppendMapCode()
      : LogCode({.name = "append",
                 .parameter_bytes = kMapAt + 128,
                 .parameters = {{0, 8}, {8, 8}, {kMapAt, 128}}}) {}
  Result<std::string> run(const KernelFacts&, const Grid& grid, emu::AddressSpace& memory,
                          emu::Checks&) const override {
    const u64 log = argument(grid, 0), value = argument(grid, 1);
    last_map = emu::nvgpu::read_tensor_map(
        std::span(grid.parameters).subspan<kMapAt, emu::nvgpu::TensorMap::kBytes>());
    auto* words = reinterpret_cast<u64*>(memory.at(log, 512, true));
    if (words == nullptr || !last_map) return std::string("append: no memory, or no map");
    for (const u64 one : {last_map->address, value}) words[++words[0]] = one;
    return std::string();
  }
  static inline std::optional<emu::nvgpu::TensorMap> last_map;
};

struct LaunchTest : EmulatedTest {
  template <class Kernels = AppendCode>
  void boot_with(emu::cuda::DriverOptions options) {
    options.load = [](const void*, const emu::cuda::Chip&) -> Result<std::unique_ptr<Code>> {
      return std::unique_ptr<Code>(std::make_unique<Kernels>());
    };
    boot(std::move(options));
  }
  LaunchTest() { boot_with({}); }

  static core::Binary binary(i64 blocks = 1) {
    core::Binary made;
    made.name = "append";
    made.image.resize(64);
    made.param_count = made.variable_count = 1;
    made.grid_groups[0] = blocks;
    made.group_items[0] = 32;
    return made;
  }
  static Ref<Buffer> make_log(CudaDevice& device) {
    Ref<Buffer> log = *Buffer::allocate(device, 512);
    const std::vector<u64> zeros(64);
    EXPECT_TRUE(log->copy_in(zeros.data(), 512));
    return log;
  }
  static std::vector<u64> values(const Buffer& log) {
    std::vector<u64> words(64);
    const Result<void> read = log.copy_out(words.data(), 512);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return {words.begin() + 1, words.begin() + 1 + static_cast<i64>(words[0])};
  }
  // Appends slot 1, slot 1 + 1, ... to the log in slot 0.
  static std::unique_ptr<hcq::CommandBuffer> appends(hcq::Queue& queue, core::Program& program,
                                                     u64 count, bool barriers) {
    auto commands = queue.make_commands();
    const hcq::Operand buffers[] = {hcq::Operand::of_slot(0)};
    for (u64 i = 0; i < count; ++i) {
      if (barriers) commands->memory_barrier();
      const hcq::Operand variables[] = {hcq::Operand::of_slot(1) + i};
      commands->exec({&program, buffers, variables});
    }
    return commands;
  }
  static usize graphs() { return emu::cuda::driver()->executables.size(); }
};

TEST_F(LaunchTest, AProgramRunsAllBlocks) {
  const auto device = open(0);
  const auto program = device->load(binary(3));
  ASSERT_TRUE(program) << program.error().message;
  const Ref<Buffer> log = make_log(*device);
  const core::BufferView views[] = {{log.get(), 0}};
  const i64 variables[] = {7};
  ASSERT_TRUE((*program)->launch(views, variables));
  EXPECT_EQ(values(*log), (std::vector<u64>{7, 7, 7}));
}

TEST_F(LaunchTest, RunsOfTheSameWordsBecomeOneGraph) {
  for (const u64 seed : {1, 2, 3, 4, 5}) {
    boot_with({.adversarial = true, .seed = seed});
    const auto device = open(0);
    auto program = *device->load(binary());
    const Ref<Buffer> log = make_log(*device), other = make_log(*device);
    hcq::Queue& queue = device->compute_queue();
    const auto commands = appends(queue, *program, 6, true);
    {
      const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
      for (u64 run_number = 0; run_number < 3; ++run_number) {
        EXPECT_EQ(graphs(), run_number < 2 ? 0u : 1u);
        const u64 slots[] = {log->memory().address, 10 * run_number};
        run(queue, *bound, slots);
      }
      const u64 slots[] = {other->memory().address, 20};
      run(queue, *bound, slots);
    }
    EXPECT_EQ(values(*log),
              (std::vector<u64>{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25}));
    EXPECT_EQ(values(*other), (std::vector<u64>{20, 21, 22, 23, 24, 25}));
    program.reset();
    EXPECT_TRUE(device->synchronize());
  }
}

// What no barrier separates may run in any order; the emulated driver shows it.
TEST_F(LaunchTest, OnlyBarriersOrderTheLaunchesOfAGraph) {
  bool was_mixed = false;
  for (const u64 seed : {1, 2, 3, 4, 5}) {
    boot_with({.adversarial = true, .seed = seed});
    const auto device = open(0);
    auto program = *device->load(binary());
    const Ref<Buffer> log = make_log(*device), last = make_log(*device);
    hcq::Queue& queue = device->compute_queue();
    const auto commands = appends(queue, *program, 4, false);
    commands->memory_barrier();
    const hcq::Operand buffers[] = {hcq::Operand::of_slot(0)}, variables[] = {u64{99}};
    commands->exec({program.get(), buffers, variables});
    const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
    const u64 first[] = {last->memory().address, 0}, second[] = {log->memory().address, 0};
    run(queue, *bound, first);
    run(queue, *bound, second);
    std::vector<u64> order = values(*log);
    ASSERT_EQ(order.size(), 5u);
    EXPECT_EQ(order.back(), 99u);
    was_mixed |= !std::ranges::is_sorted(order);
    std::ranges::sort(order);
    EXPECT_EQ(order, (std::vector<u64>{0, 1, 2, 3, 99}));
  }
  EXPECT_TRUE(was_mixed);
}

TEST_F(LaunchTest, WithoutGraphsLaunchesAreOneByOne) {
  const auto device = open(0, {.graphs = false});
  auto program = *device->load(binary());
  const Ref<Buffer> log = make_log(*device);
  hcq::Queue& queue = device->compute_queue();
  const auto commands = appends(queue, *program, 5, true);
  const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
  const u64 slots[] = {log->memory().address, 1};
  for (int i = 0; i < 3; ++i) run(queue, *bound, slots);
  EXPECT_EQ(graphs(), 0u);
  EXPECT_EQ(values(*log).size(), 15u);
}

TEST_F(LaunchTest, FewLaunchesStayLaunches) {
  const auto device = open(0);
  auto program = *device->load(binary());
  const Ref<Buffer> log = make_log(*device);
  hcq::Queue& queue = device->compute_queue();
  const auto commands = appends(queue, *program, 3, true);
  const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
  const u64 slots[] = {log->memory().address, 1};
  for (int i = 0; i < 3; ++i) run(queue, *bound, slots);
  EXPECT_EQ(graphs(), 0u);
}

// Code goes when its launches are done; unloading it earlier would be CUDA-LNC-003, an error.
TEST_F(LaunchTest, ProgramsGoWhenTheirWorkIsDone) {
  const auto device = open(0);
  hcq::SignalPool signals(device->shared_memory());
  const hcq::Signal start = *signals.make();
  auto program = *device->load(binary());
  const Ref<Buffer> log = make_log(*device);
  hcq::Queue& queue = device->compute_queue();
  const auto commands = queue.make_commands();
  commands->wait(start.address(), 1);
  const hcq::Operand buffers[] = {log->memory().address}, variables[] = {u64{3}};
  commands->exec({program.get(), buffers, variables});
  ASSERT_TRUE(queue.submit(*commands));
  program.reset();
  ASSERT_TRUE(device->load(binary()));  // looks for what can go
  start.store(1);
  EXPECT_EQ(values(*log), (std::vector<u64>{3}));
}

TEST_F(LaunchTest, AFaultNamesTheCallAndWhatTheEmulatorSaw) {
  boot_with({.checks = "off"});
  const auto device = open(0, {.explain = [] { return emu::cuda::driver()->last_fault; }});
  auto program = *device->load(binary());
  const auto commands = device->compute_queue().make_commands();
  const hcq::Operand buffers[] = {u64{0x1000}}, variables[] = {u64{3}};
  commands->exec({program.get(), buffers, variables});
  ASSERT_TRUE(device->compute_queue().submit(*commands));
  const Result<void> done = device->synchronize();
  ASSERT_FALSE(done);
  EXPECT_TRUE(contains(done.error().message, "CUDA_ERROR_ILLEGAL_ADDRESS (700)"))
      << done.error().message;
  EXPECT_TRUE(contains(done.error().message, "append: 0x1000 is not mapped"))
      << done.error().message;
}

// With and without a graph, beyond the 48 KiB that need no attribute.
TEST_F(LaunchTest, LaunchesHaveTheirSharedMemory) {
  const auto device = open(0);
  for (const i64 bytes : {0, 100'000, 227 << 10}) {
    core::Binary made = binary();
    made.dynamic_shared_bytes = bytes;
    const auto program = device->load(made);
    ASSERT_TRUE(program) << program.error().message;
    const Ref<Buffer> log = make_log(*device);
    const core::BufferView views[] = {{log.get(), 0}};
    const i64 variables[] = {7};
    ASSERT_TRUE((*program)->launch(views, variables));
    EXPECT_EQ(values(*log), std::vector<u64>{7});
    EXPECT_EQ(AppendCode::last_shared, bytes);
    hcq::Queue& queue = device->compute_queue();
    const auto commands = appends(queue, **program, 4, true);
    const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
    const u64 slots[] = {log->memory().address, 1};
    for (int i = 0; i < 3; ++i) run(queue, *bound, slots);
    EXPECT_EQ(graphs(), 1u);
    EXPECT_EQ(AppendCode::last_shared, bytes);
  }
}

// A map of rows of 128 bytes, of a tensor of 100 x 40 halves that begins at byte 64 of slot 0.
core::Binary binary_with_map() {
  core::Binary made = LaunchTest::binary();
  made.tensor_maps = {{0, 64, 2, {{100, 2, 64}, {40, 208, 8}}}};
  return made;
}

TEST_F(LaunchTest, MapsAreEncodedForTheBuffersOfALaunch) {
  boot_with<AppendMapCode>({});
  const auto device = open(0);
  const auto program = device->load(binary_with_map());
  ASSERT_TRUE(program) << program.error().message;
  const Ref<Buffer> log = make_log(*device);
  const core::BufferView views[] = {{log.get(), 0}};
  const i64 variables[] = {7};
  ASSERT_TRUE((*program)->launch(views, variables));
  EXPECT_EQ(values(*log), (std::vector<u64>{log->memory().address + 64, 7}));
  const emu::nvgpu::TensorMap& map = *AppendMapCode::last_map;
  EXPECT_EQ(map.rank, 2u);
  EXPECT_EQ(map.element_bytes, 2u);
  EXPECT_EQ(map.swizzle_units, 8u);
  EXPECT_EQ((std::vector<u64>{map.size[0], map.size[1]}), (std::vector<u64>{100, 40}));
  EXPECT_EQ(map.stride[1], 208u);
  EXPECT_EQ((std::vector<u32>{map.box[0], map.box[1]}), (std::vector<u32>{64, 8}));
  EXPECT_EQ((std::vector<u32>{map.every[0], map.every[1]}), (std::vector<u32>{1, 1}));
}

// libcuda whose calls of cuTensorMapEncodeTiled are counted.
struct CountedMaps {
  Api api;
  static inline decltype(Api::cuTensorMapEncodeTiled) encode = nullptr;
  static inline usize count = 0;
  explicit CountedMaps(const Api& real) : api(real) {
    encode = real.cuTensorMapEncodeTiled;
    count = 0;
    api.cuTensorMapEncodeTiled = [](auto... arguments) { return ++count, encode(arguments...); };
  }
};

TEST_F(LaunchTest, MapsOfKnownBuffersAreNotEncodedAgain) {
  boot_with<AppendMapCode>({});
  const CountedMaps counted(*api);
  api = &counted.api;
  const auto device = open(0);
  const auto program = *device->load(binary_with_map());
  std::vector<Ref<Buffer>> logs;
  for (usize i = 0; i < 6; ++i) logs.push_back(make_log(*device));
  const auto launch = [&](usize log, i64 value) {
    const core::BufferView views[] = {{logs[log].get(), 0}};
    ASSERT_TRUE(program->launch(views, std::span(&value, 1)));
  };
  for (const i64 value : {1, 2, 3})
    for (const usize log : {0, 1, 2, 3}) launch(log, value);
  EXPECT_EQ(CountedMaps::count, 4u);
  // Two more take the places of the first two.
  for (const usize log : {4, 5, 4, 5, 2, 3}) launch(log, 4);
  EXPECT_EQ(CountedMaps::count, 6u);
  launch(0, 5);
  EXPECT_EQ(CountedMaps::count, 7u);
  const u64 first = logs[0]->memory().address + 64;
  EXPECT_EQ(values(*logs[0]), (std::vector<u64>{first, 1, first, 2, first, 3, first, 5}));
}

TEST_F(LaunchTest, AGraphsMapsFollowItsSlots) {
  boot_with<AppendMapCode>({});
  const CountedMaps counted(*api);
  api = &counted.api;
  const auto device = open(0);
  const auto program = *device->load(binary_with_map());
  const Ref<Buffer> log = make_log(*device), other = make_log(*device);
  hcq::Queue& queue = device->compute_queue();
  const auto commands = appends(queue, *program, 4, true);
  const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
  for (const auto& [to, first] : {std::pair{&log, u64{0}}, {&log, 4}, {&other, 8}, {&log, 12}}) {
    const u64 slots[] = {(*to)->memory().address, first};
    run(queue, *bound, slots);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(CountedMaps::count, 2u);
  const auto expected = [](const Ref<Buffer>& to, std::initializer_list<u64> starts) {
    std::vector<u64> words;
    for (const u64 start : starts)
      for (u64 i = 0; i < 4; ++i) words.insert(words.end(), {to->memory().address + 64, start + i});
    return words;
  };
  EXPECT_EQ(values(*log), expected(log, {0, 4, 12}));
  EXPECT_EQ(values(*other), expected(other, {8}));
}

TEST_F(LaunchTest, MapsThatNoTensorHasAreRefused) {
  boot_with<AppendMapCode>({.checks = "off"});
  const auto device = open(0);
  const Ref<Buffer> log = make_log(*device);
  const core::BufferView views[] = {{log.get(), 0}};
  const i64 variables[] = {7};
  using Dimensions = std::vector<core::TensorMap::Dimension>;
  const Dimensions stride{{100, 2, 64}, {40, 200, 8}}, box{{100, 2, 64}, {400, 208, 257}},
      row{{200, 2, 128}, {40, 416, 8}}, size{{0, 2, 64}};
  for (const auto& [offset, dimensions] : {std::pair{i64{0}, stride},
                                           {0, box},
                                           {0, row},
                                           {0, size},
                                           {8, Dimensions{{100, 2, 64}, {40, 208, 8}}}}) {
    core::Binary made = binary();
    made.tensor_maps = {{0, offset, 2, dimensions}};
    const auto launched = (*device->load(made))->launch(views, variables);
    ASSERT_FALSE(launched);
    EXPECT_TRUE(contains(launched.error().message, "cuTensorMapEncodeTiled of kernel append: "))
        << launched.error().message;
  }
}

TEST_F(LaunchTest, MoreSharedMemoryThanTheChipHasIsRefused) {
  boot_with({.checks = "off"});
  const auto device = open(0);
  core::Binary large = binary();
  large.dynamic_shared_bytes = (227 << 10) + 1;
  const auto program = device->load(large);
  ASSERT_FALSE(program);
  EXPECT_TRUE(contains(program.error().message,
                       "cuFuncSetAttribute of kernel append, for 232449 bytes of shared memory"))
      << program.error().message;
}

TEST_F(LaunchTest, BlocksLargerThanTheKernelTakesAreRefused) {
  const auto device = open(0);
  core::Binary wide = binary();
  wide.group_items[0] = 2048;
  const auto program = device->load(wide);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message,
            "kernel append has blocks of 2048 threads, but CUDA runs at most 1024 of its");
}

}  // namespace
}  // namespace doorbell::cuda
