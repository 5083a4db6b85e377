// ShadowMemory: memory that the host and a GPU both see, where the GPU reaches none of the host's
// and the host maps none of the GPU's: it lies in the GPU's memory, and the host has a copy. push()
// sends what the host wrote, pull() fetches what the GPU wrote.
//
// What the host wrote is found by looking: pages that were never touched are skipped, the others
// are compared with what was sent last. What a driver says that it copies (os::HostAccesses) is
// moved as it says, and not looked for.
//
// Of words that both write at once, the host's may be lost; nobody does that. A word that the GPU
// writes is seen whole, if it is aligned and of 8 bytes at most.
//
// Thread safety: from any thread.
// Memory ordering: push() sends words of small memory (signals) behind all others that the thread
// wrote before. What access() reads is newer than what the last pull() showed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/os/device_memory.h"
#include "base/os/files.h"
#include "base/os/host_accesses.h"

namespace doorbell::amd {

class ShadowMemory final : public os::HostAccesses {
 public:
  // Memory of at most so many bytes that has no code is zeroed, and is what pull() looks at.
  static constexpr u64 kSmallBytes = 64 << 10;

  // `files` is borrowed.
  explicit ShadowMemory(os::Files& files);
  ~ShadowMemory() override;

  // The host's copy of `remote`, whole pages, which must outlive it.
  Result<u8*> add(os::DeviceMemory remote, bool is_executable);
  void remove(const u8* host);
  // Neither side looks at what the other writes there.
  void ignore(const u8* host);

  // Errors are the region's: os::DeviceMemory::state().
  void push();
  void pull();

  // A write goes with the next push() of the same thread, which has written by then.
  Result<void> access(const void* at, u64 bytes, bool is_write) override;

 private:
  struct Region;
  struct Announced {
    std::thread::id thread;
    Region* region = nullptr;
    u64 offset = 0, bytes = 0;
  };
  Region* find(const void* at, u64 bytes);
  void send_announced();
  void send_page(Region& region, u64 page, std::span<const u64> now);

  os::Files& files_;
  std::mutex mutex_;                                      // guards what follows
  std::map<const u8*, std::unique_ptr<Region>> regions_;  // by the copy's first byte
  std::vector<Announced> announced_;
};

}  // namespace doorbell::amd
