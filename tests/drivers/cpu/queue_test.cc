// The CPU's queues: every command, order, waits between queues, wrap, and death.
#include "hcq/software/queue.h"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "base/os/host.h"
#include "drivers/cpu/executor.h"
#include "hcq/queue/resident_commands.h"
#include "tests/hcq/support/kernels.h"

namespace doorbell::cpu {
namespace {

using hcq::Fence;
using hcq::Operand;
using hcq::Point;
using hcq::Queue;
using testing::address;
using testing::load;
using testing::make_cpu;

struct CpuQueueTest : ::testing::Test {
  std::unique_ptr<CpuDevice> device = make_cpu(0, {.threads = 2});
  Queue& queue = device->compute_queue();
  std::unique_ptr<hcq::CommandBuffer> commands = queue.make_commands();
};

TEST_F(CpuQueueTest, RunsEachCommandInOrder) {
  auto program = load(*device, "add", testing::add_variable, 2, 1);
  i64 values[4] = {1, 2, 3, 4};
  u64 stamps[2] = {0, 0};
  std::atomic<u64> flag{0};
  commands->timestamp(address(&stamps[0]));
  commands->write(address(&values[0]), 10);
  const Operand buffers[] = {address(&values[1]), address(&values[0])};
  const Operand variables[] = {u64{5}};
  commands->exec({program.get(), buffers, variables});  // values[1] = 15
  commands->memory_barrier();
  commands->copy(address(&values[2]), address(&values[1]), 8);
  commands->write(address(&flag), 15);
  commands->poll(address(&flag), 0x5, 0x7);  // 15 & 7 is 7; the host writes 13 below
  commands->timestamp(address(&stamps[1]));
  auto point = queue.submit(*commands);
  ASSERT_OK(point);
  while (flag != 15) std::this_thread::yield();
  EXPECT_FALSE(queue.done(point->position));
  flag = 13;
  ASSERT_OK(queue.wait(point->position));
  EXPECT_EQ(values[0], 10);
  EXPECT_EQ(values[1], 15);
  EXPECT_EQ(values[2], 15);
  EXPECT_EQ(values[3], 4);
  EXPECT_GT(stamps[0], 0u);
  EXPECT_GE(stamps[1], stamps[0]);
}

TEST_F(CpuQueueTest, WaitsForASignalOfTheHost) {
  const hcq::Signal signal = *device->signals().make();
  i64 value = 0;
  commands->wait(signal.address(), 3);
  commands->write(address(&value), 1);
  auto point = queue.submit(*commands);
  ASSERT_OK(point);
  signal.store(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // long enough to sleep
  EXPECT_FALSE(queue.done(point->position));
  hcq::raise(signal.cell(), 3);
  ASSERT_OK(queue.wait(point->position));
  EXPECT_EQ(value, 1);
}

TEST_F(CpuQueueTest, SplitsAKernelOverWorkers) {
  auto program = load(
      *device, "meet",
      [](void* const* buffers, const i64*, i64 thread) {
        auto* arrived = static_cast<std::atomic<i64>*>(buffers[0]);
        arrived->fetch_add(1 + thread * 10);
        while (arrived->load() != 12) std::this_thread::yield();  // both parts at once
      },
      1, 0, 2);
  std::atomic<i64> arrived{0};
  const Operand buffers[] = {address(&arrived)};
  commands->exec({program.get(), buffers});
  ASSERT_OK(queue.submit(*commands));
  ASSERT_OK(queue.synchronize());
  EXPECT_EQ(arrived, 12);
}

TEST_F(CpuQueueTest, ManySubmissionsFromManyThreads) {
  auto program = load(*device, "increment", testing::increment, 1, 0);
  i64 value = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      auto mine = queue.make_commands();
      const Operand buffers[] = {address(&value)};
      for (int i = 0; i < 3000; ++i) {
        mine->clear();
        mine->exec({program.get(), buffers});
        ASSERT_OK(queue.submit(*mine));
      }
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(queue.synchronize());
  EXPECT_EQ(value, 9000);
}

TEST(CpuQueue, QueuesOfDevicesWaitForEachOtherWhileTimelinesWrap) {
  auto one = make_cpu(0, {.threads = 1, .timeline_limit = 3});
  auto two = make_cpu(1, {.threads = 1, .timeline_limit = 5});
  auto on_one = load(*one, "increment", testing::increment, 1, 0);
  auto on_two = load(*two, "increment", testing::increment, 1, 0);
  i64 value = 0;
  const Operand buffers[] = {address(&value)};
  Fence last;
  for (int i = 0; i < 1000; ++i) {
    CpuDevice& device = i % 2 == 0 ? *one : *two;
    Queue& queue = i % 3 == 0 ? device.copy_queue() : device.compute_queue();
    auto commands = queue.make_commands();
    commands->exec({i % 2 == 0 ? on_one.get() : on_two.get(), buffers});
    auto point = queue.submit(*commands, last);
    ASSERT_OK(point);
    last = Fence(*point);
  }
  for (const Point& point : last) ASSERT_OK(point.queue->wait(point.position));
  EXPECT_EQ(value, 1000);
}

TEST_F(CpuQueueTest, LaunchesFollowWhatTheQueuesHold) {
  auto slow = load(
      *device, "slow",
      [](void* const* buffers, const i64*, i64) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        ++*static_cast<i64*>(buffers[0]);
      },
      1, 0);
  auto buffer = *core::Buffer::allocate(*device, 8);
  auto* value = static_cast<i64*>(buffer->host());
  *value = 0;
  const Operand buffers[] = {address(value)};
  commands->exec({slow.get(), buffers});
  ASSERT_OK(queue.submit(*commands));
  auto twice = load(
      *device, "twice",
      [](void* const* buffers, const i64*, i64) { *static_cast<i64*>(buffers[0]) *= 2; }, 1, 0);
  const core::BufferView view[] = {{buffer.get(), 0}};
  ASSERT_OK(twice->launch(view, {}));
  EXPECT_EQ(*value, 2);
}

TEST_F(CpuQueueTest, ASubmissionTooLargeIsRefusedAndTheQueueGoesOn) {
  i64 value = 0;
  for (int i = 0; i < 20'000; ++i) commands->write(address(&value), 1);  // 480 KB
  auto refused = queue.submit(*commands);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  commands->clear();
  commands->write(address(&value), 7);
  ASSERT_OK(queue.submit(*commands));
  ASSERT_OK(queue.synchronize());
  EXPECT_EQ(value, 7);
}

TEST_F(CpuQueueTest, CountsOfArgumentsAndDevicesAreChecked) {
  auto program = load(*device, "increment", testing::increment, 1, 0);
  EXPECT_THROW(commands->exec({program.get()}), InternalError);
  auto other = make_cpu(1, {.threads = 1});
  const Operand buffers[] = {u64{0}};
  EXPECT_THROW(other->compute_queue().make_commands()->exec({program.get(), buffers}),
               InternalError);
}

void throws(void* const*, const i64*, i64) { throw std::runtime_error("out of luck"); }

TEST_F(CpuQueueTest, DeathNamesKernelPositionAndSignalAtTheNextSynchronise) {
  i64 value = 0;
  commands->write(address(&value), 1);
  ASSERT_OK(queue.submit(*commands));
  auto bad = load(*device, "unlucky", throws, 0, 0);
  commands->clear();
  commands->exec({bad.get()});
  ASSERT_OK(queue.submit(*commands));
  auto lost = device->synchronize();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::DeviceLost);
  EXPECT_EQ(lost.error().device, "CPU");
  const std::string& message = lost.error().message;
  EXPECT_EQ(message.substr(0, message.find("0x")),
            "CPU compute queue died in kernel unlucky before position 2 of 2: out of luck; its "
            "signal at ");
  EXPECT_EQ(message.substr(message.find(" was")), " was 1");
  // It stays dead, and says so.
  EXPECT_FALSE(queue.submit(*commands));
  EXPECT_FALSE(device->synchronize());
}

TEST_F(CpuQueueTest, AnythingMayBeThrown) {
  auto bad = load(*device, "odd", [](void* const*, const i64*, i64) { throw 42; }, 0, 0, 4);
  commands->exec({bad.get()});
  ASSERT_OK(queue.submit(*commands));
  auto lost = queue.synchronize();
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("it threw what is no std::exception"), std::string::npos)
      << lost.error().message;
}

TEST_F(CpuQueueTest, AKernelOfManyPartsMayThrowToo) {
  auto bad = load(*device, "unlucky", throws, 0, 0, 8);
  commands->exec({bad.get()});
  ASSERT_OK(queue.submit(*commands));
  EXPECT_FALSE(queue.synchronize());
}

TEST(CpuQueue, AnEndedThreadIsReportedAndOthersGoOn) {
  auto one = make_cpu(0, {.threads = 1}), two = make_cpu(1, {.threads = 1});
  auto bad =
      load(*one, "exits", [](void* const*, const i64*, i64) { pthread_exit(nullptr); }, 0, 0);
  auto commands = one->compute_queue().make_commands();
  const hcq::Signal go = *one->signals().make();
  commands->wait(go.address(), 1);
  commands->exec({bad.get()});
  auto dead = one->compute_queue().submit(*commands);
  ASSERT_OK(dead);
  // A queue that waits for it reports the error at its own synchronise, and continues.
  auto others = two->compute_queue().make_commands();
  i64 value = 0;
  others->write(address(&value), 1);
  ASSERT_OK(two->compute_queue().submit(*others, Fence(*dead)));
  go.store(1);
  auto lost = one->synchronize();
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("in kernel exits before position 1 of 1: its thread was "
                                      "ended"),
            std::string::npos)
      << lost.error().message;
  auto told = two->synchronize();
  ASSERT_FALSE(told);
  EXPECT_TRUE(told.error().message.starts_with(
      "CPU:1 compute queue waited before position 1 for position 1 of the CPU compute queue, but: "
      "CPU compute queue died in kernel exits before position 1 of 1: its thread was ended"))
      << told.error().message;
  // Later work need not run.
  auto late = two->compute_queue().submit(*others, Fence(*dead));
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().message.starts_with("CPU compute queue died before position 1: "))
      << late.error().message;
  ASSERT_OK(two->compute_queue().submit(*others));
  ASSERT_OK(two->synchronize());
}

TEST_F(CpuQueueTest, AHangNamesTheKernel) {
  static std::atomic<bool> go;
  go = false;
  auto slow = load(
      *device, "endless",
      [](void* const*, const i64*, i64) {
        while (!go) std::this_thread::yield();
      },
      0, 0);
  commands->exec({slow.get()});
  ASSERT_OK(queue.submit(*commands));
  while (true) {
    auto hang = queue.synchronize(5'000'000);
    ASSERT_FALSE(hang);
    EXPECT_EQ(hang.error().kind, ErrorKind::Timeout);
    if (hang.error().message.find("; it runs kernel endless") != std::string::npos) break;
  }
  go = true;
  ASSERT_OK(queue.synchronize());
}

TEST(CpuQueue, EndsWhileItWaits) {
  auto one = make_cpu(0, {.threads = 1}), two = make_cpu(1, {.threads = 1});
  auto commands = one->compute_queue().make_commands();
  const hcq::Signal never = *one->signals().make();
  commands->wait(never.address(), 1);
  auto stuck = one->compute_queue().submit(*commands);
  ASSERT_OK(stuck);
  auto after = two->compute_queue().make_commands();
  ASSERT_OK(two->compute_queue().submit(*after, Fence(*stuck)));
  two.reset();  // its thread sleeps on a signal that never comes
  one.reset();
}

// Work that waits for a slower queue does not hang before that one does.
TEST(CpuQueue, IsAsPatientAsWhatItWaitsFor) {
  auto slow = make_cpu(0, {.threads = 1});
  hcq::HostMemory memory;
  hcq::SignalPool signals(memory);
  hcq::Queue::Parts parts{"CPU:1", "compute", &memory, &signals, &os::host_clock(), nullptr};
  parts.timeout_ns = 20'000'000;
  auto hasty =
      *hcq::SoftwareQueue::make(parts, std::make_unique<CpuExecutor>(*slow, os::host_clock()), 0);
  const hcq::Signal go = *slow->signals().make(), never = *signals.make();
  auto held = slow->compute_queue().make_commands();
  held->wait(go.address(), 1);
  const Fence after(*slow->compute_queue().submit(*held));
  auto commands = hasty->make_commands();
  const hcq::Point point = *hasty->submit(*commands, after);
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    go.store(1);
  });
  ASSERT_OK(hasty->wait(point.position));
  opens.join();
  commands->wait(never.address(), 1);
  const hcq::Point stuck = *hasty->submit(*commands);
  auto hang = hasty->wait(stuck.position);
  ASSERT_FALSE(hang);
  EXPECT_EQ(hang.error().kind, ErrorKind::Timeout);
  never.store(1);
  ASSERT_OK(hasty->wait(stuck.position));
}

// Tiny bound words are run by the submitter once their cost is known: no thread hand-over.
TEST_F(CpuQueueTest, TinyBoundWordsRunOnTheSubmitter) {
  static std::thread::id ran_on;
  auto program = load(
      *device, "where", [](void* const*, const i64*, i64) { ran_on = std::this_thread::get_id(); },
      0, 0);
  const Operand value_slot = Operand::of_slot(1), address_slot = Operand::of_slot(0);
  commands->exec({program.get()});
  commands->signal(address_slot, value_slot);
  auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
  bool here = false;
  for (int i = 0; i < 1000 && !here; ++i) {
    hcq::ResidentCommands::Instance& instance = **bound->next();
    {
      std::lock_guard lock(queue.mutex());
      const hcq::Position position = *queue.reserve(1) + 1;
      const auto target = queue.timeline().signal_at(position);
      instance.last = position;
      bound->patch(instance, std::array<u64, 2>{target.signal.address().value, target.value});
      const hcq::Segment segment{{}, instance.words.get()};
      ASSERT_OK(queue.write({&segment, 1}, position));
    }
    ASSERT_OK(queue.synchronize());
    here = ran_on == std::this_thread::get_id();
  }
  EXPECT_TRUE(here);
}

// The kernel that runs ends between two of its parts, what follows is passed over, and the queue is
// there for the next.
TEST_F(CpuQueueTest, GivesUpWhatIsNotDone) {
  struct Parts {
    std::atomic<i64> begun{0};
    std::atomic<bool> go{false};
  } parts;
  constexpr i64 kParts = 1000;
  auto slow = load(
      *device, "slow",
      [](void* const* buffers, const i64*, i64) {
        Parts& parts = *static_cast<Parts*>(buffers[0]);
        ++parts.begun;
        while (!parts.go) std::this_thread::yield();
      },
      1, 0, kParts);
  i64 after = 0, copied = 7, later = 0;
  const Operand buffers[] = {address(&parts)};
  commands->exec({slow.get(), buffers});
  commands->copy(address(&after), address(&copied), 8);
  auto abandoned = queue.submit(*commands);
  ASSERT_OK(abandoned);
  while (parts.begun == 0) std::this_thread::yield();
  queue.abandon();
  EXPECT_TRUE(queue.was_abandoned(abandoned->position));
  auto next = queue.make_commands();
  next->write(address(&later), 5);
  auto point = queue.submit(*next);
  ASSERT_OK(point);
  parts.go = true;
  EXPECT_EQ(queue.wait(abandoned->position).error().message,
            "the CPU compute queue was stopped between positions 1 and 1");
  ASSERT_OK(queue.wait(point->position));
  EXPECT_FALSE(queue.was_abandoned(point->position));
  ASSERT_OK(queue.synchronize());
  EXPECT_LE(parts.begun, 2);  // one of each thread
  EXPECT_EQ(after, 0);
  EXPECT_EQ(later, 5);
}

TEST_F(CpuQueueTest, WaitsForOthersAreGivenUpToo) {
  const hcq::Signal signal = *device->signals().make();
  commands->wait(signal.address(), 3);
  auto point = queue.submit(*commands);
  ASSERT_OK(point);
  queue.abandon();
  EXPECT_EQ(queue.wait(point->position).error().kind, ErrorKind::Timeout);
  ASSERT_OK(queue.synchronize());
}

TEST_F(CpuQueueTest, GivesUpNothingWhereItIsIdle) {
  queue.abandon();
  ASSERT_OK(queue.submit(*commands));
  ASSERT_OK(queue.synchronize());
  queue.abandon();
  EXPECT_FALSE(queue.was_abandoned(1));
}

// The exit status of a forked child that runs `body`; a child that hangs is ended by a signal.
int status_of_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

TEST_F(CpuQueueTest, AForkedChildStartsAThreadOfItsOwn) {
  ASSERT_OK(queue.submit(*commands));
  ASSERT_OK(queue.synchronize());
  EXPECT_EQ(status_of_child([&] {
              i64 value = 0;
              commands->write(address(&value), 7);
              return queue.submit(*commands) && queue.synchronize() && value == 7;
            }),
            0);
  ASSERT_OK(queue.submit(*commands));
  ASSERT_OK(queue.synchronize());
}

TEST_F(CpuQueueTest, AForkedChildIsToldOfWorkInFlight) {
  const hcq::Signal signal = *device->signals().make();
  commands->wait(signal.address(), 1);
  auto point = queue.submit(*commands);
  ASSERT_OK(point);
  EXPECT_EQ(status_of_child([&] {
              const Result<void> waited = queue.wait(point->position);
              return !waited && !queue.submit(*commands) &&
                     waited.error().message.starts_with(
                         "the CPU compute queue had work in flight when this process was forked");
            }),
            0);
  hcq::raise(signal.cell(), 1);
  ASSERT_OK(queue.wait(point->position));
}

}  // namespace
}  // namespace doorbell::cpu
