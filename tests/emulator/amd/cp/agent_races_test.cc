// Accesses of grids, queues, copy engines and GPUs that nothing orders, each with a twin that
// something does: packets by hand, and grids that only tell what they access. AQL's are in
// aql_test.cc. Words as in the tests that pm4_words.h, test_kernel.h and sdma_test.cc cite.
#include <array>
#include <map>

#include "emulator/amd/all_checks.h"
#include "emulator/core/races/queue_races.h"
#include "tests/emulator/amd/cp/pm4_words.h"
#include "tests/emulator/amd/cp/test_kernel.h"

namespace doorbell::emu::amdgpu {
namespace {

using Texts = std::vector<std::string>;
using Words = std::vector<u32>;

// EVENT_WRITE 0x46 of event 7, CS_PARTIAL_FLUSH, index 4.
Words flush() { return {packet3(0x46, 1), 7 | 4 << 8}; }
// RELEASE_MEM of a value of 64 bits.
Words release(u64 va, u64 value) { return release_mem(2, 0, va, value); }
// WAIT_REG_MEM 0x3c of memory, by `function`: 3 ==, 5 >=.
Words wait(u64 va, u32 value, u32 function = 5) {
  return {packet3(0x3c, 6), function | 1 << 4, lo(va), hi(va), value, ~0u, 4};
}
// SDMA: COPY_LINEAR, FENCE, POLL_REGMEM of memory, >=, for ever.
Words copy(u64 to, u64 from, u32 bytes) {
  return {1, bytes - 1, 0, lo(from), hi(from), lo(to), hi(to)};
}
Words fence(u64 va, u32 value) { return {5 | 3 << 16, lo(va), hi(va), value}; }
Words poll(u64 va, u32 value) {
  return {8 | 1u << 31 | 5u << 28, lo(va), hi(va), value, ~0u, 0xfffu << 16 | 4};
}

class AgentRacesTest : public KernelTestGpu {
 protected:
  static constexpr u64 kSignal = kBase + 0x5000, kOther = kData + 0x1000;
  static constexpr u32 kBytes = 256;

  // A queue of its own ring, on either GPU.
  class TestQueue {
   public:
    TestQueue(AgentRacesTest& test, QueueKind kind, Gpu& gpu)
        : test_(test), gpu_(gpu), is_sdma_(kind == QueueKind::Sdma) {
      const u64 number = test.queues_++;
      ring_ = kBase + 0x20000 + number * kRingBytes;
      pointers_ = kBase + 0x30000 + number * 0x100;
      test.poke<u64>(pointers_, 0), test.poke<u64>(pointers_ + 8, 0);
      id_ = gpu.add_queue({.kind = kind,
                           .ring = ring_,
                           .ring_bytes = kRingBytes,
                           .read_pointer = pointers_,
                           .write_pointer = pointers_ + 8,
                           .eop = kEop,
                           .eop_bytes = 4096})
                .value();
    }
    // Nothing runs yet.
    void ring(const Words& words) {
      test_.put_words(ring_ + put_ * 4, words);
      put_ += words.size();
      const u64 end = is_sdma_ ? put_ * 4 : put_;
      test_.poke<u64>(pointers_ + 8, end);
      gpu_.ring(id_, end);
    }
    void destroy() { gpu_.remove_queue(id_).value(); }

   private:
    AgentRacesTest& test_;
    Gpu& gpu_;
    const bool is_sdma_;
    u64 ring_ = 0, pointers_ = 0, put_ = 0;
    QueueId id_ = 0;
  };

  void SetUp() override { restart(); }
  void TearDown() override {
    other_.reset();
    gpu_.reset();
    launcher_.dispatches.clear();
  }
  void restart() {
    TearDown();
    races_ = std::make_unique<AgentRaces>();
    launcher_.look = [this](usize dispatch) { return access(launcher_.dispatches[dispatch]); };
    found_.clear();
    kernels_.clear();
    queues_ = 0;
    std::memset(host(kSignal), 0, 0x100);
    put_kernel();
    open({.generation = hw::Generation::Gfx11, .races = races_.get()}, QueueKind::Pm4);
    EXPECT_TRUE(checks_->configure("error,AMD-RACE-003=warn", all_checks()));
  }
  void open_other() {
    GpuOptions options{.generation = hw::Generation::Gfx11, .index = 1};
    options.memory = &other_space_, options.interrupts = &interrupts_;
    options.checks = checks_.get(), options.launcher = &launcher_;
    options.races = races_.get(), options.lockstep = true;
    other_ = std::make_unique<Gpu>(options);
  }
  TestQueue queue(QueueKind kind) { return {*this, kind, *gpu_}; }
  TestQueue other_queue(QueueKind kind) { return {*this, kind, *other_}; }

  // A kernel is what it accesses, by its arguments' address.
  struct Access {
    u64 va;
    AgentAccess access;
    u32 bytes = kBytes;
  };
  Words kernel(std::vector<Access> accesses) {
    const u64 arguments = kArguments + 16 * kernels_.size();
    kernels_[arguments] = std::move(accesses);
    return dispatch(arguments);
  }
  Words writes(u64 va) { return kernel({{va, AgentAccess::Write}}); }
  Words reads(u64 va) { return kernel({{va, AgentAccess::Read}}); }

  void run() {
    Gpu* const all[] = {gpu_.get(), other_.get()};
    run_until_rest(std::span(all).first(other_ ? 2 : 1), ~u64{0});
  }
  // What was found; the machine starts anew.
  Texts found() {
    run();
    Texts told = found_;
    for (const Report& report : checks_->reports()) told.push_back(to_string(report));
    EXPECT_EQ(stopped(), "");
    restart();
    return told;
  }
  void expect_race(std::string_view part) {
    const Texts told = found();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told[0].find(part), told[0].npos) << told[0] << "\nhas no part " << part;
  }
  void expect_none() { EXPECT_EQ(found(), Texts{}); }

  std::unique_ptr<AgentRaces> races_;
  std::unique_ptr<Gpu> other_;
  AddressSpace other_space_;
  u64 queues_ = 0;

 private:
  GridState access(const Dispatch& grid) {
    const u64 arguments = grid.user_sgprs[0] | u64{grid.user_sgprs[1]} << 32;
    for (const Access& one : kernels_[arguments])
      if (const auto conflict = grid.task->access(host(one.va), one.bytes, one.access))
        found_.push_back(fmt::format("{} at {:#x}, {}", grid.task->who(), one.va,
                                     grid.task->describe(*conflict)));
    return GridState::Running;
  }

  std::map<u64, std::vector<Access>> kernels_;
  Texts found_;
};

constexpr const char* kOneQueue = "; no packet between them waits for the first";
constexpr const char* kTwoQueues = "; nothing orders their queues";

TEST_F(AgentRacesTest, GridsOfAQueueOverlapUnlessAPacketWaits) {
  queue(QueueKind::Pm4).ring(writes(kData) + reads(kData));
  expect_race(kOneQueue);
  queue(QueueKind::Pm4).ring(writes(kData) + flush() + reads(kData));
  expect_none();
  queue(QueueKind::Pm4).ring(reads(kData) + writes(kData));
  expect_race(kOneQueue);
  queue(QueueKind::Pm4).ring(writes(kData) + writes(kData));
  expect_race(kOneQueue);
  queue(QueueKind::Pm4).ring(reads(kData) + reads(kData));
  expect_none();
  queue(QueueKind::Pm4).ring(writes(kData) + writes(kData + kBytes));
  expect_none();
}

// RELEASE_MEM waits at the end of the pipe, where the processor is not.
TEST_F(AgentRacesTest, AnEndOfPipeEventOrdersWhoWaitsForIt) {
  queue(QueueKind::Pm4).ring(writes(kData) + release(kSignal, 1) + reads(kData));
  expect_race(kOneQueue);
  queue(QueueKind::Pm4).ring(writes(kData) + release(kSignal, 1) + wait(kSignal, 1) + reads(kData));
  expect_none();
}

TEST_F(AgentRacesTest, TheProcessorsOwnCopiesOverlapItsGrids) {
  // DMA_DATA 0x50 from memory to memory, whose end it waits for (CP_SYNC).
  const Words dma{packet3(0x50, 6), 1u << 31, lo(kData), hi(kData), lo(kOther), hi(kOther), 64};
  queue(QueueKind::Pm4).ring(writes(kData) + dma);
  expect_race("reads memory at 0x7f0000008000, 0x8000 bytes into GTT buffer 0");
  queue(QueueKind::Pm4).ring(writes(kData) + flush() + dma);
  expect_none();
  queue(QueueKind::Pm4).ring(writes(kData) + write_data(kData + 8, {7}));
  expect_race(kOneQueue);
  queue(QueueKind::Pm4).ring(write_data(kData + 8, {7}) + reads(kData));
  expect_none();
}

TEST_F(AgentRacesTest, QueuesAreOrderedBySignals) {
  for (const bool waits : {false, true}) {
    auto first = queue(QueueKind::Pm4), second = queue(QueueKind::Pm4);
    first.ring(writes(kData) + release(kSignal, 1));
    second.ring(waits ? wait(kSignal, 1) + reads(kData) : reads(kData));
    if (waits)
      expect_none();
    else
      expect_race(kTwoQueues);
  }
}

// When it looks, the signal is past both: hardware may look in between.
TEST_F(AgentRacesTest, AWaitOrdersWithTheFirstValueThatEndsIt) {
  for (const u32 value : {1, 2}) {
    auto first = queue(QueueKind::Pm4), second = queue(QueueKind::Pm4);
    first.ring(release(kSignal, 1) + writes(kData) + release(kSignal, 2));
    second.ring(wait(kSignal, value) + reads(kData));
    if (value == 2)
      expect_none();
    else
      expect_race(kTwoQueues);
  }
}

// A value that has fallen is no count: the wait ends with what is there.
TEST_F(AgentRacesTest, AWaitForASignalThatWasResetIsBehindItsLastWriter) {
  auto first = queue(QueueKind::Pm4), second = queue(QueueKind::Pm4);
  first.ring(release(kSignal, 5) + release(kSignal, 0) + writes(kData) + release(kSignal, 7));
  second.ring(wait(kSignal, 3) + reads(kData));
  expect_none();
}

TEST_F(AgentRacesTest, ACopyEngineRunsBesideTheKernels) {
  for (const bool waits : {false, true}) {
    auto compute = queue(QueueKind::Pm4), engine = queue(QueueKind::Sdma);
    compute.ring(writes(kData) + release(kSignal, 1));
    engine.ring((waits ? poll(kSignal, 1) : Words{}) + copy(kOther, kData, kBytes));
    if (waits)
      expect_none();
    else
      expect_race("COPY (0x00000001) of GPU 0 queue 2 (SDMA), ring byte 0x0 read");
  }
}

TEST_F(AgentRacesTest, AKernelRunsBesideACopy) {
  for (const bool waits : {false, true}) {
    auto engine = queue(QueueKind::Sdma), compute = queue(QueueKind::Pm4);
    engine.ring(copy(kData, kOther, kBytes) + fence(kSignal, 1));
    compute.ring((waits ? wait(kSignal, 1) : Words{}) + reads(kData));
    if (waits)
      expect_none();
    else
      expect_race("COPY (0x00000001) of GPU 0 queue 1 (SDMA), ring byte 0x0 wrote");
  }
}

TEST_F(AgentRacesTest, CopyEnginesRunBesideEachOther) {
  for (const bool waits : {false, true}) {
    auto first = queue(QueueKind::Sdma), second = queue(QueueKind::Sdma);
    first.ring(copy(kData, kOther, kBytes) + fence(kSignal, 1));
    second.ring((waits ? poll(kSignal, 1) : Words{}) + copy(kData, kOther + 0x800, kBytes));
    if (waits)
      expect_none();
    else
      expect_race(kTwoQueues);
  }
}

// One engine works in order.
TEST_F(AgentRacesTest, CopiesOfOneQueueAreInOrder) {
  queue(QueueKind::Sdma).ring(copy(kData, kOther, kBytes) + copy(kOther, kData, kBytes));
  expect_none();
}

// The host may have seen what was released before it rang.
TEST_F(AgentRacesTest, ADoorbellIsBehindWhatTheHostMayHaveSeen) {
  for (const bool releases : {false, true}) {
    auto first = queue(QueueKind::Pm4), second = queue(QueueKind::Pm4);
    first.ring(releases ? writes(kData) + release(kSignal, 1) : writes(kData));
    run();
    second.ring(reads(kData));
    if (releases)
      expect_none();
    else
      expect_race(kTwoQueues);
  }
}

// And before it wrote a value for which a packet waits.
TEST_F(AgentRacesTest, AValueOfTheHostIsBehindWhatItMayHaveSeen) {
  for (const bool releases : {false, true}) {
    auto first = queue(QueueKind::Pm4), second = queue(QueueKind::Pm4);
    second.ring(wait(kSignal + 8, 1) + reads(kData));
    first.ring(releases ? writes(kData) + release(kSignal, 1) : writes(kData));
    run();
    poke<u32>(kSignal + 8, 1);
    if (releases)
      expect_none();
    else
      expect_race(kTwoQueues);
  }
}

TEST_F(AgentRacesTest, TheHostKnowsThatADestroyedQueueDoesNothing) {
  auto first = queue(QueueKind::Pm4), second = queue(QueueKind::Pm4);
  first.ring(writes(kData));
  run();
  first.destroy();
  second.ring(reads(kData));
  expect_none();
}

// A queue reads its ring, which may have been another one's, before it begins a packet.
TEST_F(AgentRacesTest, AQueueIsBehindThoseThatWereDestroyedBeforeIt) {
  alignas(8) std::array<u8, 8> word{};
  auto before = std::make_unique<QueueRaces>(*races_);
  before->begin_packet(0, "the queue before");
  EXPECT_FALSE(before->processor().access(word.data(), word.size(), AgentAccess::Write));
  QueueRaces beside(*races_);
  const auto conflict = beside.processor().access(word.data(), word.size(), AgentAccess::Read);
  ASSERT_TRUE(conflict);
  EXPECT_NE(beside.processor().describe(*conflict).find("the queue before"), std::string::npos);
  EXPECT_NE(beside.processor().who().find("before its first packet"), std::string::npos);
  before.reset();
  QueueRaces behind(*races_);
  EXPECT_FALSE(behind.processor().access(word.data(), word.size(), AgentAccess::Read));
}

TEST_F(AgentRacesTest, FreedMemoryIsForgotten) {
  auto first = queue(QueueKind::Pm4), second = queue(QueueKind::Pm4);
  first.ring(writes(kData));
  run();
  races_->forget(host(kData), kBytes);
  second.ring(reads(kData));
  expect_none();
}

TEST_F(AgentRacesTest, AtomicOperationsDoNotRaceWithEachOther) {
  for (const AgentAccess access :
       {AgentAccess::AtomicWrite, AgentAccess::AtomicRead, AgentAccess::LooseWrite}) {
    queue(QueueKind::Pm4)
        .ring(kernel({{kData, AgentAccess::AtomicWrite}}) + kernel({{kData, access}}));
    expect_none();
    queue(QueueKind::Pm4).ring(kernel({{kData, AgentAccess::Write}}) + kernel({{kData, access}}));
    expect_race(kOneQueue);
  }
}

// Two GPUs that map the same memory at addresses of their own.
TEST_F(AgentRacesTest, GpusShareMemory) {
  const u32 buffer = other_space_.add_buffer({.va = kBase, .bytes = 1 << 20, .kind = "GTT"});
  other_space_
      .map(kBase, 1 << 20, memory_.data(), true, true, {Place::Peer, Caching::Uncached}, buffer)
      .value();
  for (const bool waits : {false, true}) {
    open_other();
    auto engine = other_queue(QueueKind::Sdma), compute = queue(QueueKind::Pm4);
    compute.ring(writes(kData) + release(kSignal, 1));
    engine.ring((waits ? poll(kSignal, 1) : Words{}) + copy(kOther, kData, kBytes));
    if (waits)
      expect_none();
    else
      expect_race("of GPU 1 queue");
  }
}

// However many kernels a queue runs, few agents are needed to tell them apart.
TEST_F(AgentRacesTest, AgentsAreUsedAgain) {
  auto first = queue(QueueKind::Pm4);
  for (u32 i = 0; i < 20; ++i) {
    first.ring(writes(kData) + flush() + release(kSignal, i + 1) + wait(kSignal, i + 1));
    run();
  }
  EXPECT_LE(races_->agents(), 5u);
  expect_none();
}

// Two grids in flight on queues of their own, which hand over by a word in memory.
struct HandOverTest : ::testing::Test {
  void release(RaceTask& task, u32 value) {
    const auto* bytes = reinterpret_cast<const u8*>(&value);
    EXPECT_FALSE(task.access(flag, 4, AgentAccess::AtomicWrite));
    task.release(flag, std::span(bytes, sizeof value));
    std::memcpy(flag, &value, sizeof value);
  }
  void acquire(RaceTask& task) {
    u64 cell = 0;
    std::memcpy(&cell, flag, sizeof cell);
    task.acquire({.host = flag, .bytes = 4, .cell = cell, .holds = {}});
    EXPECT_FALSE(task.access(flag, 4, AgentAccess::AtomicRead));
  }

  AgentRaces races;
  QueueRaces one{races}, two{races};
  std::shared_ptr<RaceTask> writer = one.launch("kernel a", 1), reader = two.launch("kernel b", 1);
  alignas(4096) u8 memory[4096] = {};
  u8* const flag = memory + 1024;
};

TEST_F(HandOverTest, ByAnAtomicOperation) {
  EXPECT_FALSE(writer->access(memory, 4, AgentAccess::Write));
  release(*writer, 1);
  acquire(*reader);
  EXPECT_FALSE(reader->access(memory, 4, AgentAccess::Read));
}

TEST_F(HandOverTest, WhoDoesNotLookIsBehindNothing) {
  EXPECT_FALSE(writer->access(memory, 4, AgentAccess::Write));
  release(*writer, 1);
  const auto conflict = reader->access(memory, 4, AgentAccess::Read);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(*conflict->other->who, "kernel a");
  EXPECT_EQ(conflict->at, memory);
  // Each pair is told once.
  EXPECT_FALSE(reader->access(memory + 2, 2, AgentAccess::Read));
}

TEST_F(HandOverTest, WhatIsWrittenBehindItIsNotHandedOver) {
  release(*writer, 1);
  acquire(*reader);
  EXPECT_FALSE(writer->access(memory, 4, AgentAccess::Write));
  EXPECT_TRUE(reader->access(memory, 4, AgentAccess::Read));
}

// An atomic store of gfx10 and gfx11 is a plain one.
TEST_F(HandOverTest, ByAPlainStoreThatAnAtomicLoadMeets) {
  EXPECT_FALSE(writer->access(memory, 4, AgentAccess::LooseWrite));
  EXPECT_FALSE(writer->access(flag, 4, AgentAccess::LooseWrite));
  acquire(*reader);
  EXPECT_FALSE(reader->access(memory, 4, AgentAccess::Read));
}

// Bytes of one dword, and of neighbouring pages.
TEST_F(HandOverTest, BytesAreApart) {
  EXPECT_FALSE(writer->access(memory + 62, 4, AgentAccess::Write));
  EXPECT_FALSE(reader->access(memory + 60, 2, AgentAccess::Read));
  EXPECT_FALSE(reader->access(memory + 66, 2, AgentAccess::Read));
  const auto conflict = reader->access(memory + 65, 1, AgentAccess::Read);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->at, memory + 65);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
