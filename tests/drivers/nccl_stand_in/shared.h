// What the processes of a communicator of the stand-in share: a file in memory, by the name that
// the unique id holds. Whoever waits gives up when its communicator is aborted.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "drivers/cuda/nccl/api.h"

namespace doorbell::stand_in {

using cuda::nccl::Combine;
using cuda::nccl::Status;
using cuda::nccl::Type;

inline constexpr int kMaxRanks = 8;
inline constexpr usize kChunk = 64 << 10, kLetter = 4 << 10;

enum class Kind : u8 { AllReduce, ReduceScatter, AllGather, Broadcast, Send, Recv };

// What the calls of all processes must agree on.
struct Promise {
  u64 number = 0;  // of the call
  Kind kind = Kind::Send;
  u64 count = 0;
  Type type = Type::U8;
  Combine combine = Combine::Sum;
  int root = 0;
  bool operator==(const Promise&) const = default;
};

struct Letter {
  std::atomic<u32> bytes;  // 0: empty
  u64 total;               // of the message that it is a part of
  u8 data[kLetter];
};

struct Shared {
  std::atomic<u32> arrived;
  std::atomic<u64> barriers;  // arrivals at barriers
  Promise promises[kMaxRanks];
  u8 data[kMaxRanks][kChunk];
  Letter letters[kMaxRanks][kMaxRanks];  // from, to
};

// Null: there is no memory for it.
inline Shared* open_shared(const char* name) {
  const std::string path = std::string("/dev/shm/") + name;
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Shared*>(memory);
}
inline void remove_shared(const char* name) { unlink((std::string("/dev/shm/") + name).c_str()); }

// False: it was aborted before.
inline bool wait_until(const std::atomic<bool>& aborted, const std::function<bool()>& ready) {
  while (!ready()) {
    if (aborted.load()) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

}  // namespace doorbell::stand_in
