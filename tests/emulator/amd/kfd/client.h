// A client of an emulated machine, as tests write it: ioctls by their structs, memory, a queue.
#pragma once

#include <sys/mman.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/os/host.h"
#include "drivers/amd/hw/drm.h"
#include "drivers/amd/hw/kfd.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/amd/machine.h"

namespace doorbell::emu::amdgpu::testing {

namespace hw = amd::hw;

// Records its calls.
class FakeEngine final : public Engine {
 public:
  Result<QueueId> add_queue(const QueueDescription& description) override {
    queues.push_back(description);
    return static_cast<QueueId>(queues.size() - 1);
  }
  Result<void> remove_queue(QueueId id) override {
    removed.push_back(id);
    return {};
  }
  Result<void> update_queue(QueueId id, const QueueDescription& description) override {
    queues.at(id) = description;
    return {};
  }
  Result<std::vector<SavedContext>> save_waves(QueueId, const SaveOptions& options) override {
    saves.push_back(options);
    return saved;
  }
  void ring(QueueId id, u64 value, unsigned bytes) override { rings.push_back({id, value, bytes}); }
  void unmapped(u64 start, u64) override { unmaps.push_back(start); }

  struct Ring {
    QueueId queue;
    u64 value;
    unsigned bytes;
    bool operator==(const Ring&) const = default;
  };
  std::vector<QueueDescription> queues;
  std::vector<QueueId> removed;
  std::vector<Ring> rings;
  std::vector<u64> unmaps;
  std::vector<SaveOptions> saves;
  std::vector<SavedContext> saved;
};

struct Memory {
  u64 handle = 0, va = 0, bytes = 0, offset = 0;
  os::Mapping mapping;
};

class ClientTest : public ::testing::Test {
 protected:
  static constexpr u32 kAll = hw::kKfdMemWritable | hw::kKfdMemExecutable | hw::kKfdMemPublic;
  static constexpr u32 kUncachedGtt =
      kAll | hw::kKfdMemGtt | hw::kKfdMemCoherent | hw::kKfdMemUncached;

  ClientTest() {
    open({.gpus = {"gfx1100", "gfx1100"}, .checks = "warn"});
    put_fake_engines();
  }
  void put_fake_engines() {
    for (const auto& device : machine_->kfd().devices()) {
      engines_.push_back(std::make_unique<FakeEngine>());
      real_engines_.push_back(device->engine);
      device->engine = engines_.back().get();
    }
  }
  ~ClientTest() override {
    kfd().queues().destroy_all();
    for (usize i = 0; i < real_engines_.size(); ++i)
      machine_->kfd().devices()[i]->engine = real_engines_[i];
  }

  // With the machine's own engines.
  explicit ClientTest(MachineOptions options) { open(std::move(options)); }

  void open(MachineOptions options) {
    machine_ = std::move(*Machine::create(std::move(options)));
    files_ = machine_->files(os::host_files());
    kfd_ = std::move(*files_->open("/dev/kfd", os::Access::ReadWrite));
    for (u32 gpu = 0; gpu < machine_->kfd().devices().size(); ++gpu)
      render_.push_back(std::move(
          *files_->open("/dev/dri/renderD" + std::to_string(128 + gpu), os::Access::ReadWrite)));
  }

  // 0 or the errno.
  template <class T>
  int call(T& arguments) {
    Result<int> answer = kfd_->ioctl(hw::kRequest<T>, &arguments);
    return answer ? 0 : answer.error().os_errno;
  }
  template <class T>
  int call(T&& arguments) {
    T copy = arguments;
    return call<T>(copy);
  }

  u32 id(u32 gpu = 0) { return machine_->kfd().devices()[gpu]->slot.gpu_id(); }
  Kfd& kfd() { return machine_->kfd(); }
  Checks& checks() { return machine_->checks(); }
  AddressSpace& space(u32 gpu = 0) { return kfd().devices()[gpu]->space; }
  FakeEngine& engine(u32 gpu = 0) { return *engines_[gpu]; }

  void acquire(u32 gpu = 0) {
    ASSERT_EQ(call(hw::KfdAcquireVm{.drm_fd = static_cast<u32>(render_[gpu]->descriptor()),
                                    .gpu_id = id(gpu)}),
              0);
  }

  int map(const Memory& memory, u32 gpu = 0) {
    u32 ids[] = {id(gpu)};
    hw::KfdMapMemory map{.handle = memory.handle,
                         .device_ids_array_ptr = reinterpret_cast<u64>(ids),
                         .n_devices = 1};
    return call(map);
  }
  int unmap(const Memory& memory, u32 gpu = 0) {
    u32 ids[] = {id(gpu)};
    hw::KfdUnmapMemory unmap{.handle = memory.handle,
                             .device_ids_array_ptr = reinterpret_cast<u64>(ids),
                             .n_devices = 1};
    return call(unmap);
  }

  // Reserved, allocated, mapped for the host and for the GPU.
  Memory allocate(u64 bytes, u32 flags = kUncachedGtt, u32 gpu = 0) {
    Memory memory;
    memory.bytes = bytes;
    // The addresses are the buffer's mapping's from now on.
    void* reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory.va = reinterpret_cast<u64>(reserved);
    hw::KfdAllocMemory allocate{
        .va_addr = memory.va, .size = bytes, .gpu_id = id(gpu), .flags = flags};
    EXPECT_EQ(call(allocate), 0);
    memory.handle = allocate.handle;
    memory.offset = allocate.mmap_offset;
    memory.mapping = std::move(*render_[gpu]->map({.size = bytes,
                                                   .offset = allocate.mmap_offset,
                                                   .writable = true,
                                                   .at = static_cast<u8*>(reserved)}));
    EXPECT_EQ(map(memory, gpu), 0);
    return memory;
  }

  // What CREATE_QUEUE of a PM4 queue wants on a gfx1100: ring, pointers, end of pipe, save area.
  struct QueueMemory {
    Memory ring, pointers, eop, save;
    hw::KfdCreateQueue arguments;
  };
  QueueMemory queue_memory(u32 gpu = 0) {
    QueueMemory memory{.ring = allocate(0x10000, kUncachedGtt, gpu),
                       .pointers = allocate(0x1000, kUncachedGtt, gpu),
                       .eop = allocate(0x1000, kAll | hw::kKfdMemVram, gpu),
                       // 96 units: 46006272 + 40960 bytes of state, 98304 for the debugger.
                       .save = allocate(46047232 + 98304, kAll | hw::kKfdMemVram, gpu),
                       .arguments = {}};
    memory.arguments.ring_base_address = memory.ring.va;
    memory.arguments.ring_size = 0x10000;
    memory.arguments.write_pointer_address = memory.pointers.va;
    memory.arguments.read_pointer_address = memory.pointers.va + 8;
    memory.arguments.gpu_id = id(gpu);
    memory.arguments.queue_type = hw::kKfdQueueCompute;
    memory.arguments.queue_percentage = 100;
    memory.arguments.queue_priority = 7;
    memory.arguments.eop_buffer_address = memory.eop.va;
    memory.arguments.eop_buffer_size = 0x1000;
    memory.arguments.ctx_save_restore_address = memory.save.va;
    memory.arguments.ctx_save_restore_size = 46047232;
    memory.arguments.ctl_stack_size = 40960;
    return memory;
  }

  std::unique_ptr<Machine> machine_;
  std::vector<std::unique_ptr<FakeEngine>> engines_;
  std::vector<Engine*> real_engines_;
  std::unique_ptr<os::Files> files_;
  std::unique_ptr<os::File> kfd_;
  std::vector<std::unique_ptr<os::File>> render_;
};

}  // namespace doorbell::emu::amdgpu::testing
