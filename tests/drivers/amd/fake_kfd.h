// FakeKfd: /dev/kfd of a test: writes down every ioctl with its arguments, gives out memory of the
// host, and runs what a copy queue is rung for, so that bytes get where they should. What compute
// queues are rung for is for the test to look at.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os/forwarded_files.h"
#include "base/os/mmio.h"
#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/kfd.h"
#include "tests/support/fake_system.h"

namespace doorbell::testing {

class FakeKfd final : public os::ForwardedFiles, private os::MmioTrap {
 public:
  static constexpr u32 kGpuId = 0x4d5a;

  struct Memory {
    amd::hw::KfdAllocMemory arguments;
    std::vector<u64> storage;  // of the host
    u64 host_address = 0;
  };
  struct Queue {
    amd::hw::KfdCreateQueue arguments;
    u64 doorbell = 0, rings = 0, read = 0;
    // AQL: its descriptor each time that the queue was put on the hardware.
    std::vector<amd::hw::AmdQueue> connected;
  };

  // One GPU, of a usual gfx1100, as node 1.
  FakeKfd();

  FakeFiles files;  // of /sys; and what is not there is not there
  u32 major = 1, minor = 17;
  // The next call of this name fails so.
  std::map<std::string, int> fail;
  // What happens while the next call of this name is under way.
  std::map<std::string, std::function<void()>> meanwhile;
  // So many calls of this name are answered EAGAIN.
  std::map<std::string, int> later;
  // What GET_QUEUE_WAVE_STATE says is used; the area is the test's to fill.
  u32 control_stack_used = 0, save_area_used = 0;
  // The data that WAIT_EVENTS returns once, by event id.
  std::map<u32, amd::hw::KfdEventData> events;

  std::vector<std::string> calls;  // "MAP_MEMORY_TO_GPU handle=0x3 ..."
  // What the last call of a request, by its type and number, had in memory before it was answered,
  // for who reads it by another header than the driver's.
  std::map<unsigned long, std::vector<u8>> last_bytes;
  std::map<u64, Memory> memory;    // by handle
  std::map<u32, Queue> queues;     // by id
  std::map<u32, u32> event_types;  // by id
  u64 doorbell_bytes = 0;          // of them that are mapped

  // Changes the topology's properties of the GPU.
  void set_property(const std::string& name, u64 value);
  // Where the host sees an address of the GPU; fails the test where nothing is.
  u8* at(u64 va);
  u64& cell(u64 va) { return *reinterpret_cast<u64*>(at(va)); }
  // The calls of one name.
  std::vector<std::string> calls_of(const std::string& name) const;
  // The ring of a queue, from where it was read to where it was rung.
  std::vector<u32> take_words(u32 queue);

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;

  Result<int> ioctl(unsigned long request, void* argument);
  Result<os::Mapping> map(const os::MapRequest& request);
  os::MappedRegisters registers(u64 size) {
    doorbell_bytes = size;
    return {{}, os::Mmio(*this, size)};
  }

 private:
  u64 read(u64, unsigned) override { return 0; }
  void write(u64 offset, unsigned bytes, u64 value) override;
  void run_copies(Queue& queue);
  int answer(const std::string& name, void* argument);
  void connect(Queue& queue);

  u64 next_handle_ = 0;
  u32 next_queue_ = 0, next_event_ = 0;
};

}  // namespace doorbell::testing
