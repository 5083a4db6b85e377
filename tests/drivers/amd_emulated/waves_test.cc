// Hangs and faults of kernels on emulated chips: the waves that the driver reports stand where the
// assembler put the instructions, and go on when what they wait for comes.
#include <atomic>
#include <functional>
#include <map>
#include <regex>
#include <thread>

#include "base/elf/elf_file.h"
#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::amd {
namespace {

struct Chip {
  const char* name;
  u32 lanes;
};
constexpr Chip kChips[] = {{"gfx942", 64}, {"gfx1030", 32}, {"gfx1100", 32}, {"gfx1201", 32}};

using Case = std::tuple<Chip, Options::Packets>;

// Instructions whose names the chips have in different ways.
std::string in_words_of(std::string text, const std::string& chip) {
  const bool gfx12 = chip == "gfx1201", gfx11 = gfx12 || chip == "gfx1100";
  const std::pair<const char*, const char*> words[] = {
      {"WAIT", gfx12 ? "s_wait_idle" : "s_waitcnt lgkmcnt(0)"},
      {"LOAD2", gfx11 ? "s_load_b64" : "s_load_dwordx2"},
      {"LOAD1", gfx11 ? "s_load_b32" : "s_load_dword"},
      {"STORE", gfx11 ? "global_store_b32" : "global_store_dword"},
      {"BARRIER", gfx12 ? "s_barrier_signal -1\ns_barrier_wait 0xffff" : "s_barrier"}};
  for (const auto& [word, instruction] : words) {
    const std::string pattern = word;
    for (usize at; (at = text.find(pattern)) != std::string::npos;)
      text.replace(at, pattern.size(), instruction);
  }
  return text;
}

// What follows is of a kernel(flag, out): s[4:5] and s[6:7], out's item in v2.
constexpr const char* kStart = R"(
  LOAD2 s[4:5], s[0:1], 0x0
  LOAD2 s[6:7], s[0:1], 0x8
  v_lshlrev_b32 v2, 2, v0
  v_mul_u32_u24 v1, 3, v0
  s_movk_i32 s10, 0x1234
  WAIT
)";
constexpr const char* kEnd = R"(
  v_add_u32_e32 v1, s10, v1
  STORE v2, v1, s[6:7]
  s_endpgm
the_end:
)";

// Until the flag is not 0.
constexpr const char* kSpin = R"(
spin:
  LOAD1 s8, s[4:5], 0x0
  WAIT
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 spin
spun:
)";

struct WavesTest : EmulatedTest, ::testing::WithParamInterface<Case> {
  explicit WavesTest(bool with_silent_waves = false) : silent_waves(with_silent_waves) {}

  const Chip chip = std::get<0>(GetParam());
  const bool silent_waves;
  std::unique_ptr<AmdDevice> device = boot_chips();
  const hcq::Signal flag = *kfd->signals().make();
  std::map<std::string, u64> labels;  // of the kernel's code
  static constexpr u32 kItems = 128;  // of a group, so that both sizes of waves make several

  std::unique_ptr<AmdDevice> boot_chips() {
    const std::string gpu = gpu_for(chip.name, std::get<1>(GetParam()));
    boot({.gpus = {gpu, gpu}, .silent_waves = silent_waves});
    return open_chip(0);
  }
  std::unique_ptr<AmdDevice> open_chip(int ordinal) {
    return open(ordinal, {.packets = std::get<1>(GetParam()), .timeout_ns = 150'000'000});
  }

  std::unique_ptr<core::Program> load(const std::string& body, i64 groups) {
    std::string text = in_words_of(kStart + body, chip.name);
    // gfx9's addition with a carry has the other's name.
    const std::string add = chip.lanes == 64 ? "v_add_u32_e32" : "v_add_nc_u32_e32";
    text = std::regex_replace(text, std::regex("v_add_u32_e32"), add);
    core::Binary binary;
    binary.name = "kernel";
    binary.image = *testing::assemble(testing::assembly_kernel(chip.name, text), chip.name);
    binary.param_count = 2;
    binary.group_items[0] = kItems;
    binary.grid_groups[0] = groups;
    find_labels(binary.image);
    return *device->load(binary);
  }

  void find_labels(std::span<const u8> image) {
    const elf::ElfFile file = *elf::ElfFile::parse(image);
    for (const elf::Section& section : file.sections()) {
      Result<std::vector<elf::Symbol>> symbols = file.symbols(section);
      if (!symbols) continue;
      for (const elf::Symbol& symbol : *symbols) labels[std::string(symbol.name)] = symbol.value;
    }
    ASSERT_EQ(labels.at("kernel"), 0u);
  }

  // Waves by where they stand, of a report that has them all.
  static std::map<u64, usize> places(const std::string& message) {
    std::map<u64, usize> found;
    const std::regex place(R"((\d+) at kernel\+0x([0-9a-f]+) \(0x[0-9a-f]+\))");
    for (std::sregex_iterator at(message.begin(), message.end(), place), end; at != end; ++at)
      found[std::stoull((*at)[2], nullptr, 16)] += std::stoull((*at)[1]);
    return found;
  }
  // Of waves between two labels.
  usize between(const std::map<u64, usize>& found, const char* from, const char* to) const {
    usize waves = 0;
    for (const auto& [offset, count] : found)
      if (offset >= labels.at(from) && offset < labels.at(to)) waves += count;
    return waves;
  }

  void launch(core::Program& program, const Ref<Buffer>& out) {
    core::Allocation cell;
    cell.address = flag.address().value;
    cell.bytes = 8;
    Ref<Buffer> wrapped = Buffer::wrap(*device, cell);
    const core::BufferView views[] = {{wrapped.get(), 0}, {out.get(), 0}};
    Result<void> launched = program.launch(views, {});
    ASSERT_TRUE(launched) << launched.error().message;
  }
  // On a busy host, waves take a while to get where they will hang.
  static constexpr int kTries = 100;
  std::string hang(const std::function<bool(const std::string&)>& there) {
    std::string message;
    for (int i = 0; i < kTries && !there(message); ++i) {
      Result<void> done = device->synchronize();
      EXPECT_FALSE(done);
      if (done) return {};
      EXPECT_EQ(done.error().kind, ErrorKind::Timeout) << done.error().message;
      message = done.error().message;
    }
    return message;
  }
  Result<void> wait_for_end() {
    Result<void> done = device->synchronize();
    for (int i = 0; i < kTries && !done && done.error().kind == ErrorKind::Timeout; ++i)
      done = device->synchronize();
    return done;
  }
  // Nothing of the waves was lost by looking at them.
  void expect_end(const Ref<Buffer>& out) {
    flag.store(1);
    Result<void> done = wait_for_end();
    ASSERT_TRUE(done) << done.error().message;
    std::array<u32, kItems> values{};
    ASSERT_TRUE(out->copy_out(values.data(), sizeof values));
    for (u32 i = 0; i < kItems; ++i) ASSERT_EQ(values[i], 3 * i + 0x1234) << i;
  }
};

TEST_P(WavesTest, AreReportedInTheLoopTheySpinIn) {
  auto program = load(kSpin + std::string(kEnd), 2);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  const usize waves = 2 * kItems / chip.lanes;
  const std::string message =
      hang([&](const std::string& text) { return between(places(text), "spin", "spun") >= waves; });
  const std::map<u64, usize> found = places(message);
  EXPECT_GE(between(found, "spin", "spun"), waves) << message;
  EXPECT_EQ(between(found, "spin", "spun"), between(found, "kernel", "the_end")) << message;
  EXPECT_NE(message.find(fmt::format("; {} waves: ", between(found, "spin", "spun"))),
            std::string::npos)
      << message;
  EXPECT_NE(message.find(chip.lanes == 64 ? "exec 0xffffffffffffffff" : "exec 0xffffffff"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("it runs kernel kernel of position 1"), std::string::npos) << message;
  EXPECT_NE(message.find("group 0,0,0"), std::string::npos) << message;
  expect_end(out);
}

TEST_P(WavesTest, AreCountedByPlaceAndLanes) {
  auto program = load(std::string(R"(
  v_readfirstlane_b32 s9, v0
  s_cmp_ge_u32 s9, 64
  s_cbranch_scc1 other
spin:
  LOAD1 s8, s[4:5], 0x0
  WAIT
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 spin
  s_branch spun
other:
  s_mov_b32 exec_lo, 15
again:
  s_sleep 1
  LOAD1 s8, s[4:5], 0x0
  WAIT
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 again
  s_mov_b32 exec_lo, -1
spun:
)") + kEnd,
                      1);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  const usize half = kItems / chip.lanes / 2;
  const std::string message = hang([&](const std::string& text) {
    return between(places(text), "spin", "other") == half &&
           between(places(text), "again", "spun") == half;
  });
  EXPECT_EQ(between(places(message), "spin", "other"), half) << message;
  EXPECT_EQ(between(places(message), "again", "spun"), half) << message;
  EXPECT_NE(message.find(chip.lanes == 64 ? "exec 0xffffffff0000000f" : "exec 0xf,"),
            std::string::npos)
      << message;
  expect_end(out);
}

TEST_P(WavesTest, AreReportedAtABarrierThatOthersDoNotReach) {
  auto program = load(std::string(R"(
  v_readfirstlane_b32 s9, v0
  s_cmp_ge_u32 s9, 64
  s_cbranch_scc1 meet
spin:
  LOAD1 s8, s[4:5], 0x0
  WAIT
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 spin
meet:
  BARRIER
met:
  s_nop 0
)") + kEnd,
                      1);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  const usize half = kItems / chip.lanes / 2;
  const std::string message = hang([&](const std::string& text) {
    return between(places(text), "spin", "meet") == half && places(text)[labels.at("met")] == half;
  });
  EXPECT_EQ(between(places(message), "spin", "meet"), half) << message;
  // They go on behind it.
  EXPECT_EQ(places(message)[labels.at("met")], half) << message;
  // gfx12 does not say so.
  EXPECT_EQ(message.find("waiting at a barrier") != std::string::npos,
            std::string_view(chip.name) != "gfx1201")
      << message;
  expect_end(out);
}

TEST_P(WavesTest, AreReportedWithAFault) {
  auto program = load(R"(
  s_mov_b64 s[6:7], 0
touch:
  STORE v2, v1, s[6:7]
touched:
  s_endpgm
)",
                      1);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  Result<void> done = wait_for_end();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  const std::string& message = done.error().message;
  EXPECT_NE(message.find("memory fault at 0x0"), std::string::npos) << message;
  EXPECT_NE(message.find(fmt::format("1 at kernel+{:#x} (", labels.at("touch"))), std::string::npos)
      << message;
  EXPECT_NE(message.find(", which faulted, exec"), std::string::npos) << message;
}

TEST_P(WavesTest, AreNoneWhereTheQueueItselfWaits) {
  hcq::Queue& queue = device->compute_queue();
  auto commands = queue.make_commands();
  commands->wait(flag.address(), 1);
  ASSERT_TRUE(queue.submit(*commands));
  const auto empty = [](const std::string& text) {
    return text.find("; it has no waves") != std::string::npos;
  };
  EXPECT_TRUE(empty(hang(empty)));
  flag.store(1);
  EXPECT_TRUE(wait_for_end());
}

TEST_P(WavesTest, AreReportedWithAnInstructionThatIsNone) {
  auto program = load(R"(
  s_nop 0
wrong:
  .long 0xbfff0000
  s_endpgm
)",
                      1);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  Result<void> done = wait_for_end();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
  EXPECT_NE(done.error().message.find(fmt::format("at kernel+{:#x} (", labels.at("wrong"))),
            std::string::npos)
      << done.error().message;
  EXPECT_NE(done.error().message.find(", stopped by an illegal instruction, exec"),
            std::string::npos)
      << done.error().message;
}

struct SilentWavesTest : WavesTest {
  SilentWavesTest() : WavesTest(true) {}
};

// As on silicon: no trap handler is there to tell of it. [cwsr_trap_handler_gfx10.asm
// L_NO_NEXT_TRAP: the wave is halted; kfd_int_process_v11.c event_interrupt_wq_v11(): a line in the
// kernel's log]
TEST_P(SilentWavesTest, HangAtAnInstructionThatIsNone) {
  auto program = load(R"(
  s_nop 0
wrong:
  .long 0xbfff0000
  s_endpgm
)",
                      1);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  const auto stopped = [](const std::string& text) {
    return text.find(", stopped by an illegal instruction, exec") != std::string::npos;
  };
  const std::string message = hang(stopped);
  EXPECT_TRUE(stopped(message)) << message;
  EXPECT_NE(message.find(fmt::format("at kernel+{:#x} (", labels.at("wrong"))), std::string::npos)
      << message;
  EXPECT_EQ(device->compute_queue().synchronize().error().kind, ErrorKind::Timeout);
}

// The kernel's handler returns behind it. [cwsr_trap_handler_gfx10.asm L_TRAP_CASE]
TEST_P(SilentWavesTest, GoOnBehindATrap) {
  auto program = load("  s_trap 2\n" + std::string(kEnd), 1);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  const Result<void> done = device->synchronize();
  EXPECT_TRUE(done) << done.error().message;
}

// Of the same GPU and of another one.
TEST_P(WavesTest, LetOtherQueuesGoOn) {
  auto program = load(kSpin + std::string(kEnd), 1);
  Ref<Buffer> out = *Buffer::allocate(*device, kItems * 4);
  launch(*program, out);
  std::unique_ptr<AmdDevice> second = open_chip(1);
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    while (!over) EXPECT_FALSE(device->compute_queue().synchronize());
  });
  for (AmdDevice* other : {device.get(), second.get()}) {
    for (int i = 0; i < 20; ++i) {
      auto commands = other->copy_queue().make_commands();
      const hcq::Signal copied = *kfd->signals().make();
      commands->signal(copied.address(), 7);
      ASSERT_TRUE(other->copy_queue().submit(*commands));
      Result<void> done = other->copy_queue().synchronize();
      for (int t = 0; t < kTries && !done; ++t) done = other->copy_queue().synchronize();
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(copied.value(), 7u);
    }
  }
  over = true;
  waiter.join();
  expect_end(out);
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(std::get<0>(info.param).name) +
         (std::get<1>(info.param) == Options::Packets::Pm4 ? "Pm4" : "Aql");
}

INSTANTIATE_TEST_SUITE_P(Chips, WavesTest,
                         ::testing::Combine(::testing::ValuesIn(kChips),
                                            ::testing::Values(Options::Packets::Pm4,
                                                              Options::Packets::Aql)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Chips, SilentWavesTest,
                         ::testing::Combine(::testing::ValuesIn(kChips),
                                            ::testing::Values(Options::Packets::Pm4,
                                                              Options::Packets::Aql)),
                         name_of);

}  // namespace
}  // namespace doorbell::amd
