// The process as in the KFD driver: its GPUs, memory, queues and events behind ioctls of /dev/kfd
// and of the render nodes, and the interrupts from the GPUs. For paths and descriptors see
// kfd_files.h and the preload shim; an Engine runs the queues.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "drivers/amd/hw/ioctl_text.h"
#include "emulator/amd/kfd/buffers.h"
#include "emulator/amd/kfd/events.h"
#include "emulator/amd/kfd/queues.h"
#include "emulator/core/trace.h"

namespace doorbell::emu::amdgpu {

struct KfdOptions {
  std::vector<Slot> slots;               // one GPU each, by index
  Checks* checks = nullptr;              // borrowed: outlives the Kfd
  Trace* trace = nullptr;                // borrowed, or null
  UndefinedMemory* undefined = nullptr;  // borrowed, or null: not tracked
  AgentRaces* races = nullptr;           // borrowed, or null: not judged
  bool polled_doorbells = false;         // stores to doorbells cannot be trapped: preload
  bool silent_waves = false;             // see MachineOptions
  std::function<u64()> now_ns;           // null: the machine's clock
};

// Thread safety: from any thread. Functions that return int give 0 or an errno.
class Kfd {
 public:
  static Result<std::unique_ptr<Kfd>> create(KfdOptions options);
  ~Kfd();
  Kfd(const Kfd&) = delete;
  Kfd& operator=(const Kfd&) = delete;

  int ioctl(u32 request, u64 argument);
  int render_ioctl(u32 gpu, u32 request, u64 argument);

  std::span<const std::unique_ptr<Device>> devices() const { return devices_; }
  std::vector<Slot> slots() const {
    std::vector<Slot> slots;
    for (const auto& device : devices_) slots.push_back(device->slot);
    return slots;
  }
  // The memory that /dev/kfd maps: the doorbells of each GPU.
  Backing& doorbell_memory() { return *doorbell_memory_; }
  Buffers& buffers() { return *buffers_; }
  Queues& queues() { return *queues_; }
  Events& events() { return *events_; }
  Checks& checks() { return *options_.checks; }
  Trace* trace() { return options_.trace; }
  AgentRaces* races() { return options_.races; }
  u64 now_ns() const;
  // In lockstep a trace is the same in every run: it omits what differs.
  amd::hw::ClientPointers traced_pointers() const {
    using amd::hw::ClientPointers;
    return options_.now_ns ? ClientPointers::Out : ClientPointers::In;
  }

  // Called by the engine of each GPU.
  Interrupts& interrupts(u32 gpu);
  // A description of what stopped the GPU last, with more detail than the kernel has; empty:
  // nothing did.
  std::string last_fault(u32 gpu_id) const;

  // Binds the GPU's address space to this open file of its render node, which stays open; only
  // once.
  enum class Acquired { Now, Before, OtherNode, TooManyFiles };
  Acquired acquire(u32 gpu, int descriptor);

  // The device whose node this descriptor is: a GPU's index, kKfdNode, or kNoNode.
  static constexpr int kKfdNode = -1, kNoNode = -2;
  int node_of(int descriptor) const;

  // Whether the kernel allows this mapping of a node's memory: 0 or an errno, which was reported.
  struct MapCall {
    u64 offset = 0, bytes = 0;  // of mmap(); bytes need not be whole pages
    bool is_copy = false;       // MAP_PRIVATE, with some access
  };
  int judge_map(int node, const MapCall& call);

  // Index of the GPU with KFD's number, or -1.
  int gpu_index(u32 gpu_id) const;
  u64 next_ioctl() { return ++ioctls_; }
  u64 ioctl_number() const { return ioctls_; }

  std::atomic<bool> runtime_enabled{false};  // RUNTIME_ENABLE was called

 private:
  class GpuInterrupts;
  explicit Kfd(KfdOptions options);

  KfdOptions options_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Backing> doorbell_memory_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<Buffers> buffers_;
  std::unique_ptr<Queues> queues_;
  std::vector<std::unique_ptr<GpuInterrupts>> interrupts_;
  using FileId = std::pair<u64, u64>;  // device and inode
  static FileId file_id(int descriptor);
  std::vector<FileId> files_;      // of each GPU's memory, then of the doorbells
  std::mutex acquire_mutex_;       // guards render_files_
  std::vector<int> render_files_;  // by GPU: a copy of the descriptor that acquired it, or -1
  std::atomic<u64> ioctls_{0};
  mutable std::mutex faults_mutex_;  // guards faults_
  std::vector<std::string> faults_;  // by GPU
};

}  // namespace doorbell::emu::amdgpu
