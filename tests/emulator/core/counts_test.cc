// Counts that are worked out by hand: bank conflicts, sectors, and their sums by kernel.
#include "emulator/core/counts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "emulator/core/counts_file.h"
#include "emulator/core/instruction_counter.h"

namespace doorbell::emu {
namespace {

// The conflicts of `lanes` lanes, lane i of which accesses `bytes` at i * stride.
u64 conflicts(u32 lanes, u64 stride, u32 bytes) {
  std::vector<SharedAccess> accesses;
  for (u32 lane = 0; lane < lanes; ++lane) accesses.push_back({lane, lane * stride, bytes});
  return bank_conflicts(accesses, false, neighbours_cycle);
}

TEST(BankConflicts, NeighboursHaveNone) {
  for (const u32 bytes : {1u, 2u, 4u, 8u, 16u}) EXPECT_EQ(conflicts(32, bytes, bytes), 0u) << bytes;
  EXPECT_EQ(conflicts(64, 4, 4), 0u);
}

// CUDA Programming Guide, "Shared Memory": a stride of two words has two-way conflicts, of three
// none, of 32 words all lanes are in one bank.
TEST(BankConflicts, GrowWithTheStride) {
  EXPECT_EQ(conflicts(32, 2 * 4, 4), 1u);
  EXPECT_EQ(conflicts(32, 3 * 4, 4), 0u);
  EXPECT_EQ(conflicts(32, 4 * 4, 4), 3u);
  EXPECT_EQ(conflicts(32, 32 * 4, 4), 31u);
  EXPECT_EQ(conflicts(32, 33 * 4, 4), 0u);
  // Two halves of 32 lanes, each of which takes a cycle without conflicts.
  EXPECT_EQ(conflicts(64, 32 * 4, 4), 2 * 31u);
}

// Of 16 bytes, eight lanes are served at once: rows of 128 bytes are in the same banks, and 16
// bytes of padding put them beside each other.
TEST(BankConflicts, OfWideAccesses) {
  EXPECT_EQ(conflicts(32, 128, 16), 4 * 7u);
  EXPECT_EQ(conflicts(32, 128 + 16, 16), 0u);
  EXPECT_EQ(conflicts(32, 64, 16), 4 * 3u);
  EXPECT_EQ(conflicts(32, 128, 8), 2 * 15u);
}

// One word for all lanes is read once, and so are bytes of one word.
TEST(BankConflicts, NotWithinAWord) {
  EXPECT_EQ(conflicts(32, 0, 4), 0u);
  EXPECT_EQ(conflicts(32, 1, 1), 0u);
  EXPECT_EQ(bank_conflicts({{0, 0, 4}, {1, 128, 4}, {2, 128, 4}}, false, neighbours_cycle), 1u);
}

TEST(BankConflicts, LanesThatTakeNoPartCostNothing) {
  EXPECT_EQ(bank_conflicts({}, false, neighbours_cycle), 0u);
  EXPECT_EQ(bank_conflicts({{0, 0, 4}, {31, 128, 4}}, false, neighbours_cycle), 1u);
  // In different cycles.
  EXPECT_EQ(bank_conflicts({{0, 0, 8}, {31, 128, 8}}, false, neighbours_cycle), 0u);
}

TEST(InstructionCounter, CountsBytesAndSectors) {
  KernelCounts counts;
  InstructionCounter counter(counts, neighbours_cycle);
  counter.begin(InstructionClass::Global);
  for (u32 lane = 0; lane < 32; ++lane) counter.note_global(0x1000 + 4 * lane, 4, false);
  counter.end();
  EXPECT_EQ(counts.bytes_read, 128u);
  EXPECT_EQ(counts.sectors, 4u);
  // The same word for all lanes, and a store across the end of a sector.
  counter.begin(InstructionClass::Global);
  for (u32 lane = 0; lane < 32; ++lane) counter.note_global(0x1000, 4, false);
  counter.end();
  counter.begin(InstructionClass::Global);
  counter.note_global(0x101e, 4, true);
  counter.end();
  EXPECT_EQ(counts.bytes_read, 256u);
  EXPECT_EQ(counts.bytes_written, 4u);
  EXPECT_EQ(counts.sectors, 4u + 1 + 2);
  EXPECT_EQ(counts.of(InstructionClass::Global), 3u);
  EXPECT_EQ(counts.all_instructions(), 3u);
}

// Two accesses of one instruction do not conflict with each other; those of matrix units and
// barriers are not judged.
TEST(InstructionCounter, JudgesEachAccessOfLanes) {
  KernelCounts counts;
  InstructionCounter counter(counts, neighbours_cycle);
  counter.begin(InstructionClass::Shared);
  counter.note_shared(0, 0, 4, false);
  counter.end_shared();
  counter.note_shared(0, 128, 4, false);
  counter.end();
  EXPECT_EQ(counts.bank_conflicts, 0u);
  for (const auto& [kind, conflicts] :
       {std::pair(InstructionClass::Matrix, 0u), std::pair(InstructionClass::Barrier, 0u),
        std::pair(InstructionClass::Shared, 1u)}) {
    counter.begin(kind);
    counter.note_shared(0, 0, 4, false);
    counter.note_shared(1, 128, 4, false);
    counter.end();
    EXPECT_EQ(counts.bank_conflicts, conflicts);
  }
}

TEST(Counts, AddsByKernel) {
  Counts counts;
  counts.add("one", {.launches = 1, .bytes_read = 4});
  counts.add("two", {.launches = 1});
  counts.add("one", {.launches = 1, .bytes_read = 6, .bytes_written = 1});
  const CountsByKernel kernels = counts.kernels();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels.at("one").launches, 2u);
  EXPECT_EQ(kernels.at("one").bytes_read, 10u);
  EXPECT_EQ(kernels.at("one").bytes_written, 1u);
  counts.clear();
  EXPECT_TRUE(counts.kernels().empty());
}

TEST(Counts, AreLinesOfJson) {
  KernelCounts one{.launches = 2, .bank_conflicts = 5};
  one.of(InstructionClass::Matrix) = 7;
  EXPECT_EQ(
      to_json("mat\"mul", one),
      "{\"kernel\": \"mat?mul\", \"launches\": 2, \"vector\": 0, \"matrix\": 7, \"scalar\": 0, "
      "\"constant\": 0, \"shared\": 0, \"global\": 0, \"local\": 0, \"bulk\": 0, \"branch\": 0, "
      "\"barrier\": 0, \"other\": 0, \"bank conflicts\": 5, \"bytes read\": 0, "
      "\"bytes written\": 0, \"sectors\": 0}\n");
}

TEST(Counts, AreAppendedToTheFile) {
  const std::string path = ::testing::TempDir() + "counts_" + std::to_string(getpid());
  Counts counts;
  ASSERT_TRUE(append_counts(counts, path));
  EXPECT_FALSE(std::filesystem::exists(path));  // nothing to write
  counts.add("one", {.launches = 1});
  ASSERT_TRUE(append_counts(counts, path));
  ASSERT_TRUE(append_counts(counts, path));
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), to_json("one", {.launches = 1}) + to_json("one", {.launches = 1}));
  std::filesystem::remove(path);
  const auto failed = append_counts(counts, "/nowhere/at/all");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace doorbell::emu
