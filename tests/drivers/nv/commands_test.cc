// The words of our queues against those that tinygrad emits for the same work, see hw/words.h.
// Where they differ on purpose, the test says so.
#include "drivers/nv/compute_commands.h"

#include <gtest/gtest.h>

#include "drivers/nv/hw/compute/methods.h"
#include "drivers/nv/hw/copy/methods.h"
#include "tests/drivers/nv/hw/words.h"
#include "tests/drivers/nv/test_device.h"

namespace doorbell::nv {
namespace {

using hw::QmdField;
using hw::testing::words_of;
using Words = std::vector<u32>;

constexpr u64 kSignal = 0x10fffff040;

Words slice(std::span<const u32> words, usize first, usize count) {
  return {words.begin() + static_cast<i64>(first), words.begin() + static_cast<i64>(first + count)};
}

struct CommandsTest : DeviceTest {
  // What both chips of the goldens have.
  void check_compute(std::string_view chip, const std::string& golden_name) {
    NvDevice& nv = open(chip);
    const Words golden = words_of(golden_name + "_compute.pushbuffer");
    ComputeCommands commands(nv);
    commands.set_up();
    // We bind the copy class, too.
    EXPECT_EQ(slice(commands.words(), 2, 8), slice(golden, 0, 8));
    commands.clear();
    commands.set_local_memory(0x1020000000, 0x480000);
    EXPECT_EQ(slice(commands.words(), 0, 7), slice(golden, 8, 7));
    commands.clear();
    commands.wait(kSignal, u64{7});
    EXPECT_EQ(slice(commands.words(), 0, 6), slice(golden, 15, 6));
    commands.clear();
    auto first = *nv.load(scale(chip, {300, 2, 1}, {64, 1, 1}));
    auto second = *nv.load(scale(chip, {17, 1, 5}, {32, 4, 2}));
    const hcq::Operand buffers[] = {u64{0x1111}, u64{0x2222}}, variables[] = {u64{7}};
    commands.memory_barrier();
    commands.exec({first.get(), buffers, variables});
    commands.memory_barrier();
    commands.exec({second.get(), buffers, variables});
    // One grid is sent, the other is chained. The descriptor's address is not known yet.
    Words sent = slice(commands.words(), 0, 6), expected = slice(golden, 21, 6);
    expected[3] = 0;
    EXPECT_EQ(sent, expected);
    EXPECT_EQ(commands.words().size(), 6u);
    check_qmds(commands, chip, golden_name);
    commands.clear();
    commands.signal(kSignal, u64{9});
    expected = slice(golden, 27, 8);
    expected[5] &= ~(1u << 25);  // tinygrad's signals have a timestamp
    EXPECT_EQ(slice(commands.words(), 0, 8), expected);
  }

  // Of the data: two constant banks, each with its QMD behind it.
  void check_qmds(const ComputeCommands& commands, std::string_view chip,
                  const std::string& golden_name) {
    const bool is_blackwell = chip == "sm_120";
    const auto version = is_blackwell ? hw::QmdVersion::V5_0 : hw::QmdVersion::V3_0;
    const usize bank_words = is_blackwell ? 0x100 : 0x80;  // with what aligns the QMD
    const Words memory = words_of(golden_name + ".kernargs");
    Words data(commands.data().begin(), commands.data().end());
    constexpr u64 kData = 0x10'3000'0000;
    commands.relocate_data(data, hcq::GpuAddr{kData});
    const usize stride = bank_words + (qmd_words(version) + 63) / 64 * 64;
    for (usize i = 0; i < 2; ++i) {
      const usize at = i * stride + bank_words, golden_at = i * 0x180 + bank_words;
      const auto ours =
          *hw::Qmd::from_words(version, std::span<const u32>(data).subspan(at, qmd_words(version)));
      const auto theirs = *hw::Qmd::from_words(
          version, std::span<const u32>(memory).subspan(golden_at, qmd_words(version)));
      compare(ours, theirs);
      EXPECT_EQ(ours.get(QmdField::ConstantBufferAddr), kData + i * stride * 4);
      // tinygrad writes bytes where the field counts units of 16 bytes.
      EXPECT_EQ(ours.get(QmdField::ConstantBufferSize) * 16,
                (theirs.get(QmdField::ConstantBufferSize) + 255) / 256 * 256);
      EXPECT_EQ(ours.get(QmdField::DependentQmd0Pointer) << 8,
                i == 0 ? kData + (stride + bank_words) * 4 : 0);
      EXPECT_EQ(data[i * stride + (is_blackwell ? 0xe0 : 0x58)], 0x1111u);
    }
  }

  static void compare(const hw::Qmd& ours, const hw::Qmd& theirs) {
    using enum QmdField;
    const std::vector<QmdField> others = {
        // Addresses.
        ProgramAddress, ProgramPrefetchAddrLowerShifted, ConstantBufferAddr, DependentQmd0Pointer,
        // Signals of ours are the host engine's.
        Release0Enable, Release0Addr, Release0Payload, Release1Enable, Release1Addr,
        // See the header of the test above, and: of the kernel, not the most of all kernels;
        // counted twice by tinygrad on sm_120.
        ConstantBufferSize, ShaderLocalMemoryHighSize, SharedMemorySize};
    for (usize i = 0; i < hw::kQmdFields; ++i) {
      const auto field = static_cast<QmdField>(i);
      if (std::ranges::find(others, field) != others.end()) continue;
      for (u32 element = 0; element < hw::Qmd::elements(field); ++element)
        EXPECT_EQ(ours.get(field, element), theirs.get(field, element)) << hw::Qmd::name(field);
    }
    EXPECT_EQ(ours.get(SharedMemorySize), 0x500u);
    EXPECT_EQ(ours.get(ShaderLocalMemoryHighSize), 0x240u);
    EXPECT_EQ(ours.stray_bits(), (std::array<u32, hw::kQmdMaxWords>{}));
  }
};

TEST_F(CommandsTest, OfAmpereAreTinygrads) { check_compute("sm_86", "ga10x"); }
TEST_F(CommandsTest, OfBlackwellAreTinygrads) { check_compute("sm_120", "gb20x"); }

// tinygrad does not flush each copy; its signals have a timestamp, ours one word.
TEST_F(CommandsTest, CopiesAreTinygrads) {
  for (const auto& [chip, name] : {std::pair("sm_86", "ga10x"), std::pair("sm_120", "gb20x")}) {
    const Words golden = words_of(std::string(name) + "_copy.pushbuffer");
    NvCommands commands(*hw::find_classes(chip));
    commands.set_up();
    commands.wait(kSignal, u64{9});
    EXPECT_EQ(slice(commands.words(), 0, 8), slice(golden, 0, 8));
    commands.clear();
    commands.copy(u64{0x1200000000}, u64{0x1100000000}, (u64{1} << 31) + 0x10);
    Words copies = slice(golden, 8, 2 * 9);
    copies[8] |= 1u << 2;  // LAUNCH_DMA_FLUSH_ENABLE
    copies[17] |= 1u << 2;
    EXPECT_EQ(Words(commands.words().begin(), commands.words().end()), copies);
    commands.clear();
    commands.signal(kSignal, u64{10});
    Words signal = slice(golden, 26, 6);
    signal[5] ^= 3u << 3;  // semaphore type 1 for 2
    signal[5] |=
        2u << 5;  // LAUNCH_DMA_INTERRUPT_TYPE_NON_BLOCKING; tinygrad's host engine interrupts
    EXPECT_EQ(slice(commands.words(), 0, 6), signal);
    device.reset();
  }
}

struct PollTest : ::testing::Test {
  NvCommands commands{*hw::find_classes("sm_90")};

  hw::Semaphore semaphore(usize index) {
    return decode<hw::Semaphore>(commands.words().subspan(index * 6 + 1).first<5>());
  }
};

TEST_F(PollTest, OfAllBitsIsOneAcquire) {
  commands.poll(u64{0x1000}, u64{5}, ~u64{0});
  ASSERT_EQ(commands.words().size(), 6u);
  EXPECT_EQ(semaphore(0).operation, hw::SemOperation::Acquire);
  EXPECT_EQ(semaphore(0).payload, 5u);
}

TEST_F(PollTest, OfSomeBitsIsAnAcquireEach) {
  commands.poll(u64{0x1000}, u64{0x10}, 0x30);
  ASSERT_EQ(commands.words().size(), 12u);
  EXPECT_EQ(semaphore(0).operation, hw::SemOperation::AcqAnd);
  EXPECT_EQ(semaphore(0).payload, 0x10u);
  EXPECT_EQ(semaphore(1).operation, hw::SemOperation::AcqNor);
  EXPECT_EQ(semaphore(1).payload, ~u64{0x20});
}

}  // namespace
}  // namespace doorbell::nv
