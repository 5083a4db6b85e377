// The order of streams, values that they write and wait for, events.
#include <atomic>
#include <vector>

#include "tests/emulator/cuda/api_test.h"

namespace doorbell::emu::cuda {
namespace {

void add(std::vector<int>* log, int value) { log->push_back(value); }
struct Entry {
  std::vector<int>* log;
  int value;
};
void note(void* entry) {
  const Entry& given = *static_cast<Entry*>(entry);
  add(given.log, given.value);
}

TEST_F(ApiTest, AStreamWaitsForAValueAndOthersGoOn) {
  u64* cells = pinned_memory(2);
  const Handle first = stream(), second = stream();
  ASSERT_EQ(cuStreamWaitValue64_v2(first, number(cells), 3, kWaitGeq), kSuccess);
  ASSERT_EQ(cuStreamWriteValue64_v2(first, number(cells + 1), 9, 0), kSuccess);
  EXPECT_EQ(cuStreamQuery(first), kNotReady);
  EXPECT_EQ(cells[1], 0u);
  ASSERT_EQ(cuStreamWriteValue64_v2(second, number(cells), 3, 0), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(first), kSuccess);
  EXPECT_EQ(cells[1], 9u);
  EXPECT_EQ(cuStreamQuery(first), kSuccess);
}

// [cuda.h, CUstreamWaitValue_flags] the comparison is of signed differences.
TEST_F(ApiTest, AtLeastIsCyclic) {
  u64* cells = pinned_memory(1);
  cells[0] = ~u64{0};
  const Handle queue = stream();
  ASSERT_EQ(cuStreamWaitValue64_v2(queue, number(cells), 1, kWaitGeq), kSuccess);
  EXPECT_EQ(cuStreamQuery(queue), kNotReady);
  __atomic_store_n(cells, ~u64{0} >> 1, __ATOMIC_RELEASE);
  EXPECT_EQ(cuStreamSynchronize(queue), kSuccess);
  // The difference wraps: 2^64 - 1 is one before 0.
  ASSERT_EQ(cuStreamWaitValue64_v2(queue, number(cells), u64{0} - 5, kWaitGeq), kSuccess);
  __atomic_store_n(cells, 0, __ATOMIC_RELEASE);
  EXPECT_EQ(cuStreamSynchronize(queue), kSuccess);
}

TEST_F(ApiTest, ValuesLieAlignedInMemoryOfTheDevice) {
  u64* cells = pinned_memory(2);
  u64 pageable = 0;
  const Handle queue = stream();
  EXPECT_EQ(cuStreamWriteValue64_v2(queue, number(cells) + 4, 1, 0), kInvalidValue);
  EXPECT_EQ(cuStreamWaitValue64_v2(queue, number(&pageable), 1, kWaitGeq), kInvalidValue);
  EXPECT_EQ(count(kValueAddress), 2u);
}

TEST_F(ApiTest, ADestroyedStreamRunsWhatItHolds) {
  u64* cells = pinned_memory(2);
  const Handle queue = stream();
  ASSERT_EQ(cuStreamWaitValue64_v2(queue, number(cells), 1, kWaitEq), kSuccess);
  ASSERT_EQ(cuStreamWriteValue64_v2(queue, number(cells + 1), 4, 0), kSuccess);
  ASSERT_EQ(cuStreamDestroy_v2(queue), kSuccess);
  EXPECT_EQ(cells[1], 0u);
  __atomic_store_n(cells, 1, __ATOMIC_RELEASE);
  ASSERT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(cells[1], 4u);
}

// An event stands for its last recording at the time of the call.
TEST_F(ApiTest, StreamsWaitForTheRecordingThatWas) {
  u64* cells = pinned_memory(3);
  const Handle first = stream(), second = stream(), mark = event();
  EXPECT_EQ(cuEventQuery(mark), kSuccess);  // never recorded
  ASSERT_EQ(cuStreamWaitValue64_v2(first, number(cells), 1, kWaitGeq), kSuccess);
  ASSERT_EQ(cuEventRecord(mark, first), kSuccess);
  ASSERT_EQ(cuStreamWaitEvent(second, mark, 0), kSuccess);
  ASSERT_EQ(cuStreamWriteValue64_v2(second, number(cells + 1), 1, 0), kSuccess);
  // Recorded again behind another wait: the second stream does not wait for that.
  ASSERT_EQ(cuStreamWaitValue64_v2(first, number(cells), 2, kWaitGeq), kSuccess);
  ASSERT_EQ(cuEventRecord(mark, first), kSuccess);
  EXPECT_EQ(cuStreamQuery(second), kNotReady);
  __atomic_store_n(cells, 1, __ATOMIC_RELEASE);
  ASSERT_EQ(cuStreamSynchronize(second), kSuccess);
  EXPECT_EQ(cells[1], 1u);
  EXPECT_EQ(cuEventQuery(mark), kNotReady);
  __atomic_store_n(cells, 2, __ATOMIC_RELEASE);
  EXPECT_EQ(cuEventSynchronize(mark), kSuccess);
}

TEST_F(ApiTest, TimesAreOfRecordedEventsWithTiming) {
  const Handle queue = stream(), begin = event(), end = event();
  float ms = -1;
  EXPECT_EQ(cuEventElapsedTime(&ms, begin, end), kInvalidHandle);
  const Handle without = event(kEventDisableTiming);
  ASSERT_EQ(cuEventRecord(begin, queue), kSuccess);
  ASSERT_EQ(cuEventRecord(without, queue), kSuccess);
  ASSERT_EQ(cuEventRecord(end, queue), kSuccess);
  ASSERT_EQ(cuEventSynchronize(end), kSuccess);
  EXPECT_EQ(cuEventElapsedTime(&ms, begin, without), kInvalidHandle);
  EXPECT_EQ(count(kEventTime), 2u);
  EXPECT_EQ(cuEventElapsedTime(&ms, begin, end), kSuccess);
  EXPECT_GE(ms, 0.f);
}

// [CUDA Driver API, "Stream synchronization behavior"] The default stream is in order with streams
// that block, not with those that do not.
TEST_F(ApiTest, TheDefaultStreamOrdersBlockingStreams) {
  for (const u64 seed : {1, 2, 3, 4, 5}) {
    boot({.adversarial = true, .seed = seed});
    std::vector<int> log;
    Entry entries[] = {{&log, 1}, {&log, 2}, {&log, 3}};
    u64* cells = pinned_memory(1);
    const Handle first = stream(0), second = stream(0);
    ASSERT_EQ(cuStreamWaitValue64_v2(first, number(cells), 1, kWaitGeq), kSuccess);
    ASSERT_EQ(cuLaunchHostFunc(first, note, &entries[0]), kSuccess);
    ASSERT_EQ(cuLaunchHostFunc(kStreamDefault, note, &entries[1]), kSuccess);
    ASSERT_EQ(cuLaunchHostFunc(second, note, &entries[2]), kSuccess);
    const Handle free = stream(kStreamNonBlocking);
    ASSERT_EQ(cuStreamWriteValue64_v2(free, number(cells), 1, 0), kSuccess);
    ASSERT_EQ(cuCtxSynchronize(), kSuccess);
    EXPECT_EQ(log, (std::vector<int>{1, 2, 3})) << "seed " << seed;
  }
}

}  // namespace
}  // namespace doorbell::emu::cuda
