// Device memory, pinned memory, copies and fills.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "tests/emulator/cuda/api_test.h"

namespace doorbell::emu::cuda {
namespace {

TEST_F(ApiTest, FreeWantsTheStartOfAnAllocation) {
  const u64 memory = device_memory(100);
  EXPECT_EQ(cuMemFree_v2(memory + 4), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(memory), kSuccess);
  EXPECT_EQ(cuMemFree_v2(memory), kInvalidValue);
  EXPECT_EQ(cuMemFreeHost(reinterpret_cast<void*>(memory)), kInvalidValue);
  EXPECT_EQ(count(kFree), 3u);
  u64 none = 1;
  EXPECT_EQ(cuMemAlloc_v2(&none, 0), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(0), kSuccess);
}

TEST_F(ApiTest, CopiesStayWithinAnAllocation) {
  const u64 memory = device_memory(100);
  std::array<u8, 128> host{};
  EXPECT_EQ(cuMemcpyHtoD_v2(memory, host.data(), 101), kInvalidValue);
  EXPECT_EQ(cuMemcpyHtoD_v2(memory + 50, host.data(), 51), kInvalidValue);
  EXPECT_EQ(cuMemcpyDtoD_v2(memory, memory + (u64{1} << 30), 4), kInvalidValue);
  EXPECT_EQ(count(kRange), 3u);
  EXPECT_EQ(cuMemcpyHtoD_v2(memory + 50, host.data(), 50), kSuccess);
}

TEST_F(ApiTest, BytesArriveByEveryWay) {
  const u64 first = device_memory(64), second = device_memory(64);
  std::vector<u32> sent(16), received(16);
  for (u32 i = 0; i < 16; ++i) sent[i] = i * 3 + 1;
  ASSERT_EQ(cuMemcpyHtoD_v2(first, sent.data(), 64), kSuccess);
  ASSERT_EQ(cuMemcpyDtoD_v2(second, first, 64), kSuccess);
  ASSERT_EQ(cuMemcpyDtoH_v2(received.data(), second, 64), kSuccess);
  EXPECT_EQ(received, sent);
  ASSERT_EQ(cuMemsetD32_v2(second + 4, 0x01020304, 2), kSuccess);
  ASSERT_EQ(cuMemcpy(number(received.data()), second, 16), kSuccess);
  EXPECT_EQ(received[0], 1u);
  EXPECT_EQ(received[1], 0x01020304u);
  EXPECT_EQ(received[2], 0x01020304u);
  EXPECT_EQ(received[3], 10u);
}

TEST_F(ApiTest, DeviceMemoryIsNotTheHosts) {
  const u64 memory = device_memory(64);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  // The kernel would fault as the process does.
  EXPECT_EQ(write(ends[1], reinterpret_cast<void*>(memory), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ApiTest, FreshMemoryIsPoisonedInAdversarialMode) {
  boot({.adversarial = true});
  const u64 memory = device_memory(64);
  u32 value = 0;
  ASSERT_EQ(cuMemcpyDtoH_v2(&value, memory, 4), kSuccess);
  EXPECT_EQ(value, 0xa5a5a5a5u);
}

TEST_F(ApiTest, MemoryRunsOut) {
  usize before = 0, after = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), kSuccess);
  EXPECT_EQ(total, usize{80} << 30);
  u64 memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, usize{81} << 30), kOutOfMemory);
  EXPECT_EQ(cuMemAlloc_v2(&memory, usize{1} << 20), kSuccess);
  ASSERT_EQ(cuMemGetInfo_v2(&after, &total), kSuccess);
  EXPECT_EQ(before - after, usize{1} << 20);
}

// The stream waits for the host, so that the copy behind is still to come.
TEST_F(ApiTest, FreeingWhatACopyStillNeedsIsABrokenRule) {
  u64* signal = pinned_memory(1);
  const u64 memory = device_memory(64);
  const Handle busy = stream();
  ASSERT_EQ(cuStreamWaitValue64_v2(busy, number(signal), 1, kWaitGeq), kSuccess);
  ASSERT_EQ(cuMemcpyAsync(memory, memory + 32, 32, busy), kSuccess);
  EXPECT_EQ(cuMemFree_v2(memory), kInvalidValue);
  EXPECT_EQ(cuMemFreeHost(signal), kInvalidValue);
  EXPECT_EQ(count(kFreedInUse), 2u);
  __atomic_store_n(signal, 1, __ATOMIC_RELEASE);
  ASSERT_EQ(cuStreamSynchronize(busy), kSuccess);
  EXPECT_EQ(cuMemFree_v2(memory), kSuccess);
  EXPECT_EQ(cuMemFreeHost(signal), kSuccess);
}

TEST_F(ApiTest, PointersTellWhoseTheyAre) {
  const u64 memory = device_memory(64);
  u64* host = pinned_memory(1);
  u32 type = 0;
  int gpu = -1;
  EXPECT_EQ(cuPointerGetAttribute(&type, kPointerMemoryType, memory + 3), kSuccess);
  EXPECT_EQ(type, 2u);
  EXPECT_EQ(cuPointerGetAttribute(&gpu, kPointerDeviceOrdinal, memory), kSuccess);
  EXPECT_EQ(gpu, 0);
  EXPECT_EQ(cuPointerGetAttribute(&type, kPointerMemoryType, number(host)), kSuccess);
  EXPECT_EQ(type, 1u);
  EXPECT_EQ(cuPointerGetAttribute(&type, kPointerMemoryType, number(&gpu)), kInvalidValue);
}

// A copy goes to another GPU without more; a value of a stream needs access to the peer.
TEST_F(ApiTest, PeersAreReachedAfterEnabling) {
  Handle second = 0;
  ASSERT_EQ(cuCtxCreate_v2(&second, 0, 1), kSuccess);
  const u64 theirs = device_memory(64);
  ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), kSuccess);
  const u64 ours = device_memory(64);
  u64 value = 77, seen = 0;
  ASSERT_EQ(cuMemcpyHtoD_v2(ours, &value, 8), kSuccess);
  ASSERT_EQ(cuMemcpyDtoD_v2(theirs, ours, 8), kSuccess);
  ASSERT_EQ(cuMemcpyDtoH_v2(&seen, theirs, 8), kSuccess);
  EXPECT_EQ(seen, 77u);
  const Handle queue = stream();
  EXPECT_EQ(cuStreamWriteValue64_v2(queue, theirs, 5, 0), kInvalidValue);
  EXPECT_EQ(count(kPeer), 1u);
  int can = 0;
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), kSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), kSuccess);
  EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), kPeerAccessAlreadyEnabled);
  EXPECT_EQ(cuStreamWriteValue64_v2(queue, theirs, 5, 0), kSuccess);
  ASSERT_EQ(cuStreamSynchronize(queue), kSuccess);
  ASSERT_EQ(cuMemcpyDtoH_v2(&seen, theirs, 8), kSuccess);
  EXPECT_EQ(seen, 5u);
}

}  // namespace
}  // namespace doorbell::emu::cuda
