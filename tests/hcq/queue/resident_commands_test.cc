// Words, data and patches in resident memory, on a queue that records its submissions.
#include "hcq/queue/resident_commands.h"

#include <gtest/gtest.h>

#include "base/os/host.h"
#include "base/util/stop.h"
#include "hcq/memory/host_memory.h"

namespace doorbell::hcq {
namespace {

// An operation is one word of its kind and its operands; kernels put their arguments into data.
class ToyCommands final : public CommandBuffer {
 public:
  void wait(Operand address, Operand value) override { three(1, address, value); }
  void signal(Operand address, Operand value) override { three(2, address, value); }
  void timestamp(Operand address) override { three(3, address, u64{0}); }
  void memory_barrier() override { put(add_words(1), Bits{31, 0}, 4); }
  void exec(const Launch& launch) override {
    const u32 word = add_words(3);
    put(word, Bits{31, 0}, 5);
    const u32 data = add_data(static_cast<u32>(launch.buffers.size() * 2), 4);
    put_data_address(word + 1, Bits{63, 0}, data);
    for (u32 i = 0; i < launch.buffers.size(); ++i)
      put_data(data + 2 * i, Bits{63, 0}, launch.buffers[i]);
  }
  void copy(Operand, Operand, u64) override {}
  void write(Operand, Operand) override {}
  void poll(Operand, Operand, u64) override {}

 private:
  void three(u32 kind, Operand a, Operand b) {
    const u32 word = add_words(5);
    put(word, Bits{31, 0}, kind);
    put_64(word + 1, a);
    put_64(word + 3, b);
  }
};

class ToyQueue final : public Queue {
 public:
  using Queue::Queue;
  std::unique_ptr<CommandBuffer> make_commands() override {
    return std::make_unique<ToyCommands>();
  }
  void finish(Position position) { timeline().signal_at(position).signal.store(position); }

  std::vector<std::vector<u32>> placed;
  bool refuse = false;

 protected:
  Result<void> write(std::span<const Segment> segments, Position) override {
    if (refuse) return fail(ErrorKind::DeviceLost, "gone");
    std::vector<u32>& words = placed.emplace_back();
    for (const Segment& segment : segments) {
      words.insert(words.end(), segment.words.begin(), segment.words.end());
      if (segment.resident != nullptr) words.push_back(0xb0);
    }
    return {};
  }
  std::string running() override { return "kernel toy"; }
};

struct ResidentCommandsTest : ::testing::Test {
  HostMemory memory;
  SignalPool signals{memory};
  std::unique_ptr<ToyQueue> make_queue(core::Allocator& words) {
    Queue::Parts parts{"TOY", "compute", &words, &signals, &os::host_clock(), nullptr};
    return std::make_unique<ToyQueue>(parts, *Timeline::make(signals));
  }
};

TEST_F(ResidentCommandsTest, PatchesWordsAndDataAndOnlyWhatChanged) {
  auto queue = make_queue(memory);
  ToyCommands commands;
  const Operand buffers[] = {Operand::of_slot(1), u64{0x70}};
  commands.exec({nullptr, buffers});
  commands.signal(u64{0x1000}, Operand::of_slot(0));
  auto bound = *ResidentCommands::bind(*queue, commands, 1);
  ResidentCommands::Instance* instance = *bound->next();
  auto* words = static_cast<u32*>(instance->words->memory.host);
  bound->patch(*instance, std::array<u64, 2>{9, 0x200000003});
  EXPECT_EQ(words[0], 5u);
  u64 data = 0;
  std::memcpy(&data, words + 1, 8);
  EXPECT_EQ(data, instance->words->memory.address + 256);  // the next 64 words
  EXPECT_EQ(words[64], 3u);
  EXPECT_EQ(words[65], 2u);
  EXPECT_EQ(words[66], 0x70u);
  EXPECT_EQ(std::vector<u32>(words + 3, words + 8), (std::vector<u32>{2, 0x1000, 0, 9, 0}));
  // A place whose slot is as before is not written.
  words[64] = 0xdead;
  bound->patch(*instance, std::array<u64, 2>{10, 0x200000003});
  EXPECT_EQ(words[64], 0xdeadu);
  EXPECT_EQ(words[6], 10u);
}

TEST_F(ResidentCommandsTest, InstancesTakeTurnsAndWaitForTheirLastRun) {
  auto queue = make_queue(memory);
  ToyCommands commands;
  commands.memory_barrier();
  auto bound = *ResidentCommands::bind(*queue, commands, 2);
  ResidentCommands::Instance* first = *bound->next();
  EXPECT_EQ(*bound->next(), first);  // nothing runs
  {
    std::lock_guard lock(queue->mutex());
    ASSERT_TRUE(queue->reserve(2));
  }
  first->last = 1;
  ResidentCommands::Instance* second = *bound->next();
  EXPECT_NE(first->words->memory.host, second->words->memory.host);
  second->last = 2;
  queue->finish(1);
  EXPECT_EQ(*bound->next(), first);
  first->last = 0;
  EXPECT_EQ(*bound->next(), first);
}

TEST_F(ResidentCommandsTest, MemoryInFlightIsGivenBackLater) {
  HostMemory words;
  auto queue = make_queue(words);
  ToyCommands commands;
  commands.memory_barrier();
  auto bound = *ResidentCommands::bind(*queue, commands, 1);
  {
    std::lock_guard lock(queue->mutex());
    ASSERT_TRUE(queue->reserve(1));
  }
  (*bound->next())->last = 1;
  bound.reset();
  EXPECT_GT(words.stats().in_use, 0);
  queue->finish(1);
  ASSERT_TRUE(queue->synchronize());
  EXPECT_EQ(words.stats().in_use, 0);
}

TEST_F(ResidentCommandsTest, OutOfMemoryHoldsNothing) {
  HostMemory words(6000);
  auto queue = make_queue(words);
  ToyCommands commands;
  for (int i = 0; i < 1000; ++i) commands.memory_barrier();
  auto refused = ResidentCommands::bind(*queue, commands, 2);  // the second does not fit
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::OutOfMemory);
  EXPECT_EQ(words.stats().in_use, 0);
}

TEST_F(ResidentCommandsTest, SubmissionsWaitForOtherQueuesOnlyWhereTheyAreNotDone) {
  auto one = make_queue(memory), two = make_queue(memory);
  ToyCommands commands;
  commands.memory_barrier();
  const Point first = *one->submit(commands);
  EXPECT_EQ(first, (Point{one.get(), 1}));
  ASSERT_TRUE(two->submit(commands, Fence(first)));
  const u64 signal = one->timeline().signal_at(1).signal.address().value;
  const u64 own = two->timeline().signal_at(1).signal.address().value;
  const auto low = [](u64 a) { return static_cast<u32>(a); };
  const auto high = [](u64 a) { return static_cast<u32>(a >> 32); };
  EXPECT_EQ(two->placed.at(0), (std::vector<u32>{1, low(signal), high(signal), 1, 0, 4, 2, low(own),
                                                 high(own), 1, 0}));
  one->finish(1);
  ASSERT_TRUE(two->submit(commands, Fence(first)));
  EXPECT_EQ(two->placed.at(1), (std::vector<u32>{4, 2, low(own), high(own), 2, 0}));
}

TEST_F(ResidentCommandsTest, AHangNamesQueuePositionSignalAndKernel) {
  auto queue = make_queue(memory);
  ToyCommands commands;
  ASSERT_TRUE(queue->submit(commands));
  ASSERT_TRUE(queue->submit(commands));
  queue->finish(1);
  auto hang = queue->wait(2, 3'000'000);
  ASSERT_FALSE(hang);
  EXPECT_EQ(hang.error().kind, ErrorKind::Timeout);
  EXPECT_EQ(hang.error().device, "TOY");
  const std::string& message = hang.error().message;
  EXPECT_EQ(message.substr(0, message.find("0x")),
            "TOY compute queue hangs: position 2 of 2 not reached in 3 ms, its signal at ");
  EXPECT_EQ(message.substr(message.find(" is ")), " is 1, awaited 2; it runs kernel toy");
}

TEST_F(ResidentCommandsTest, AWaitEndsWhereTheThreadIsToStop) {
  auto queue = make_queue(memory);
  ToyCommands commands;
  ASSERT_TRUE(queue->submit(commands));
  static int asked = 0;
  set_stop_check([] { return ++asked == 2; });
  Result<void> waited = queue->synchronize();
  set_stop_check(nullptr);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().message, "the wait for the TOY compute queue was stopped");
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(stop_asked());
  queue->finish(1);  // a queue that cannot drop its work continues
  EXPECT_TRUE(queue->wait(1));
  EXPECT_FALSE(queue->was_abandoned(1));
}

// A queue that has a wait for another in its ring may come to it when that one is gone.
TEST_F(ResidentCommandsTest, SignalsGoBackWhereNobodyWaitsForThem) {
  const auto address_of_new = [&] {
    const std::unique_ptr<ToyQueue> queue = make_queue(memory);
    return queue->timeline().signal_at(0).signal.address();
  };
  const GpuAddr first = address_of_new();
  EXPECT_EQ(address_of_new(), first);
  std::unique_ptr<ToyQueue> queue = make_queue(memory), other = make_queue(memory);
  const GpuAddr held = queue->timeline().signal_at(0).signal.address();
  auto commands = queue->make_commands();
  const Point point = *queue->submit(*commands);
  ASSERT_TRUE(other->submit(*commands, Fence(point)));
  queue->finish(1);
  queue.reset();
  EXPECT_NE(address_of_new(), held);
}

TEST_F(ResidentCommandsTest, ARefusedSubmissionIsReported) {
  auto queue = make_queue(memory);
  queue->refuse = true;
  ToyCommands commands;
  auto refused = queue->submit(commands);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "gone");
}

TEST_F(ResidentCommandsTest, SlotsAreForBoundQueues) {
  auto queue = make_queue(memory);
  ToyCommands commands;
  commands.signal(u64{0}, Operand::of_slot(0));
  EXPECT_THROW((void)queue->submit(commands), InternalError);
}

}  // namespace
}  // namespace doorbell::hcq
