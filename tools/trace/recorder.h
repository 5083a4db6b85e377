// Recorder: records inside a client's process how it uses AMD GPUs: ioctls, mappings, and the
// packets that it puts into its queues, by name and field. For the interception see interpose.cc,
// which `doorbell trace` preloads.
//
// Packets are found by polling the queues' write pointers, so they appear when they are written,
// not when they run; packets that a client overwrites between two polls are lost, and reported as
// lost. Doorbells are not recorded.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "drivers/amd/hw/stream/stream.h"
#include "emulator/core/trace.h"

namespace doorbell::tools {

// Copies memory of this process; returns false for memory that cannot be read.
bool read_own_memory(u64 address, std::span<u8> into);

// The family of a GPU, by its id in ioctls, from the kernel's topology.
std::optional<amd::hw::Generation> generation_of_gpu(u32 gpu_id);

// Thread safety: from any thread.
class Recorder {
 public:
  using FindGeneration = std::function<std::optional<amd::hw::Generation>(u32 gpu_id)>;

  // `trace` outlives the recorder.
  Recorder(emu::Trace* trace, FindGeneration find_generation)
      : trace_(trace), find_generation_(std::move(find_generation)) {}

  // To be called after an ioctl, with its argument and its errno or 0. True if it was one of KFD or
  // DRM.
  bool ioctl(int descriptor, u32 request, const void* argument, int error);
  // To be called after every mmap; records those of descriptors that had ioctls.
  void mapped(int descriptor, u64 address, u64 bytes, u64 offset);
  // Polls the queues. True while there are any.
  bool poll();

 private:
  struct Queue {
    u32 id = 0, gpu_id = 0;
    amd::hw::StreamKind kind = amd::hw::StreamKind::Pm4;
    amd::hw::Generation generation = amd::hw::Generation::Gfx11;
    u64 ring = 0, write_pointer = 0, read_pointer = 0;
    u64 words = 0;  // of the ring
    u64 at = 0;     // words recorded
  };

  void queue_call(u32 number, const void* argument);
  void create(const void* argument);
  void poll(Queue* queue);
  // Words of the ring from `at` on; empty when they cannot be read.
  std::vector<u32> ring_words(const Queue& queue, u64 at, u64 count) const;
  void write_packets(const Queue& queue, std::span<const u32> words);
  void line(const Queue& queue, std::string_view kind, std::string_view text,
            std::string_view fields = {});

  emu::Trace* const trace_;
  const FindGeneration find_generation_;
  std::mutex mutex_;
  std::vector<Queue> queues_;
  std::vector<int> descriptors_;  // that ioctls were seen of
};

}  // namespace doorbell::tools
