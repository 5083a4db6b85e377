// What the fake answers.
#include "tests/drivers/amd/fake_kfd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"

namespace doorbell::testing {

namespace hw = amd::hw;

namespace {

constexpr u64 kDoorbells = u64{0x4000} << 13;

class FakeNode final : public os::File {
 public:
  FakeNode(FakeKfd& kfd, int descriptor) : kfd_(kfd), descriptor_(descriptor) {}

  Result<usize> read_at(u64, std::span<u8>) override { return fail_errno(EINVAL, "read"); }
  Result<void> write_at(u64, std::span<const u8>) override { return fail_errno(EINVAL, "write"); }
  Result<u64> size() override { return u64{0}; }
  Result<os::Mapping> map(const os::MapRequest& request) override { return kfd_.map(request); }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    EXPECT_EQ(request.offset, kDoorbells);
    return kfd_.registers(request.size);
  }
  Result<int> ioctl(unsigned long request, void* argument) override {
    return kfd_.ioctl(request, argument);
  }
  int descriptor() const override { return descriptor_; }

 private:
  FakeKfd& kfd_;
  int descriptor_;
};

}  // namespace

FakeKfd::FakeKfd() : ForwardedFiles(files) {
  const std::string nodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  files.add(nodes + "0/gpu_id", "0\n");
  files.add(nodes + "0/properties", "cpu_cores_count 8\nsimd_count 0\n");
  files.add(nodes + "1/gpu_id", fmt::format("{}\n", kGpuId));
  files.add(nodes + "1/name", "plum_bonito\n");
  files.add(nodes + "1/properties",
            "cpu_cores_count 0\nsimd_count 192\nmax_waves_per_simd 16\nlds_size_in_kb 64\n"
            "array_count 12\nsimd_arrays_per_engine 2\ncu_per_simd_array 8\nsimd_per_cu 2\n"
            "max_slots_scratch_cu 32\ngfx_target_version 110000\ndrm_render_minor 128\n"
            "num_sdma_engines 2\nnum_xcc 1\n");
  files.add("/dev/kfd", "");
  files.add("/dev/dri/renderD128", "");
}

void FakeKfd::set_property(const std::string& name, u64 value) {
  const std::string path = "/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties";
  std::string text = files.text(path), line = fmt::format("{} ", name);
  if (const usize at = text.find(line); at != std::string::npos)
    text.erase(at, text.find('\n', at) + 1 - at);
  files.add(path, text + fmt::format("{} {}\n", name, value));
}

Result<std::unique_ptr<os::File>> FakeKfd::open(const std::string& path, os::Access access) {
  TRY(std::unique_ptr<os::File> file, files.open(path, access));
  if (path == "/dev/kfd") return std::make_unique<FakeNode>(*this, 7);
  if (path.starts_with("/dev/dri/")) return std::make_unique<FakeNode>(*this, 8);
  return file;
}

u8* FakeKfd::at(u64 va) {
  for (auto& [handle, one] : memory)
    if (va - one.arguments.va_addr < one.arguments.size)
      return reinterpret_cast<u8*>(one.host_address + (va - one.arguments.va_addr));
  ADD_FAILURE() << fmt::format("nothing at {:#x}", va);
  static u8 nowhere[4096];
  return nowhere;
}

std::vector<std::string> FakeKfd::calls_of(const std::string& name) const {
  std::vector<std::string> found;
  for (const std::string& call : calls)
    if (call.substr(0, call.find(' ')) == name) found.push_back(call);
  return found;
}

Result<int> FakeKfd::ioctl(unsigned long request, void* argument) {
  std::string name, text;
  hw::for_each_kfd_ioctl([&](auto kind) {
    using T = decltype(kind);
    if (hw::kRequest<T> != request) return;
    name = text = T::kName;
    T::fields(*static_cast<T*>(argument), [&](const char* field, const auto& value) {
      text += fmt::format(" {}={:#x}", field, static_cast<u64>(value));
    });
  });
  EXPECT_NE(name, "") << request;
  calls.push_back(text);
  const auto* bytes = static_cast<const u8*>(argument);
  last_bytes[request & 0xffff].assign(bytes, bytes + (request >> 16 & 0x3fff));  // _IOC_SIZE
  if (auto busy = meanwhile.extract(name)) busy.mapped()();
  if (const auto failing = fail.find(name); failing != fail.end()) {
    const int code = failing->second;
    fail.erase(failing);
    return fail_errno(code, "ioctl {}", name);
  }
  if (int& times = later[name]; times > 0) {
    --times;
    return fail_errno(EAGAIN, "ioctl {}", name);
  }
  return answer(name, argument);
}

int FakeKfd::answer(const std::string& name, void* argument) {
  if (name == "GET_VERSION") {
    *static_cast<hw::KfdGetVersion*>(argument) = {major, minor};
  } else if (name == "ALLOC_MEMORY_OF_GPU") {
    auto& arguments = *static_cast<hw::KfdAllocMemory*>(argument);
    arguments.handle = ++next_handle_;
    Memory& made = memory[arguments.handle];
    made.arguments = arguments;
    made.host_address = arguments.mmap_offset;
    if ((arguments.flags & hw::kKfdMemUserptr) == 0) {
      made.storage.resize(arguments.size / 8 + 512);
      made.host_address = (reinterpret_cast<u64>(made.storage.data()) + 4095) / 4096 * 4096;
      arguments.mmap_offset = arguments.handle << 32;
    }
  } else if (name == "FREE_MEMORY_OF_GPU") {
    EXPECT_EQ(memory.erase(static_cast<hw::KfdFreeMemory*>(argument)->handle), 1u);
  } else if (name == "MAP_MEMORY_TO_GPU") {
    auto& arguments = *static_cast<hw::KfdMapMemory*>(argument);
    arguments.n_success = arguments.n_devices;
  } else if (name == "CREATE_EVENT") {
    auto& arguments = *static_cast<hw::KfdCreateEvent*>(argument);
    arguments.event_id = arguments.event_slot_index = ++next_event_;
    event_types[arguments.event_id] = arguments.event_type;
  } else if (name == "CREATE_QUEUE") {
    auto& arguments = *static_cast<hw::KfdCreateQueue*>(argument);
    arguments.queue_id = ++next_queue_;
    arguments.doorbell_offset = kDoorbells + arguments.queue_id * u64{8};
    queues[arguments.queue_id].arguments = arguments;
    connect(queues[arguments.queue_id]);
  } else if (name == "UPDATE_QUEUE") {
    const auto& arguments = *static_cast<hw::KfdUpdateQueue*>(argument);
    if (arguments.queue_percentage != 0) connect(queues.at(arguments.queue_id));
  } else if (name == "WAIT_EVENTS") {
    auto& arguments = *static_cast<hw::KfdWaitEvents*>(argument);
    auto* waited = reinterpret_cast<hw::KfdEventData*>(arguments.events_ptr);
    arguments.wait_result = hw::kKfdWaitTimeout;
    for (u32 i = 0; i < arguments.num_events; ++i)
      if (const auto told = events.find(waited[i].event_id); told != events.end()) {
        const u32 id = waited[i].event_id;
        waited[i] = told->second;
        waited[i].event_id = id;
        events.erase(told);
        arguments.wait_result = hw::kKfdWaitComplete;
      }
  } else if (name == "GET_QUEUE_WAVE_STATE") {
    auto& arguments = *static_cast<hw::KfdGetQueueWaveState*>(argument);
    arguments.ctl_stack_used_size = control_stack_used;
    arguments.save_area_used_size = save_area_used;
  } else if (name == "GET_DMABUF_INFO") {
    static_cast<hw::KfdGetDmabufInfo*>(argument)->size = 5000;
  } else if (name == "GET_CLOCK_COUNTERS") {
    static_cast<hw::KfdGetClockCounters*>(argument)->gpu_clock_counter = 1'000'000;
  }
  return 0;
}

void FakeKfd::connect(Queue& queue) {
  if (queue.arguments.queue_type != hw::kKfdQueueComputeAql) return;
  hw::AmdQueue descriptor;
  const u64 start = queue.arguments.read_pointer_address - offsetof(hw::AmdQueue, read_dispatch_id);
  std::memcpy(&descriptor, at(start), sizeof descriptor);
  queue.connected.push_back(descriptor);
}

Result<os::Mapping> FakeKfd::map(const os::MapRequest& request) {
  const auto found = memory.find(request.offset >> 32);
  if (found == memory.end()) return fail_errno(EINVAL, "map at {:#x}", request.offset);
  EXPECT_EQ(request.size, found->second.arguments.size);
  return os::Mapping(reinterpret_cast<u8*>(found->second.host_address), request.size, nullptr,
                     nullptr);
}

void FakeKfd::write(u64 offset, unsigned bytes, u64 value) {
  EXPECT_EQ(bytes, 8u);
  Queue& queue = queues.at(static_cast<u32>(offset / 8));
  queue.doorbell = value;
  ++queue.rings;
  if (queue.arguments.queue_type == hw::kKfdQueueSdma) run_copies(queue);
}

std::vector<u32> FakeKfd::take_words(u32 id) {
  Queue& queue = queues.at(id);
  const bool aql = queue.arguments.queue_type == hw::kKfdQueueComputeAql;
  const bool sdma = queue.arguments.queue_type == hw::kKfdQueueSdma;
  const u64 end = aql ? (queue.doorbell + 1) * 16 : sdma ? queue.doorbell / 4 : queue.doorbell;
  const u64 size = queue.arguments.ring_size / 4;
  const auto* ring = reinterpret_cast<const u32*>(at(queue.arguments.ring_base_address));
  std::vector<u32> words;
  for (; queue.read < end; ++queue.read) words.push_back(ring[queue.read % size]);
  return words;
}

// Copies, writes and fences, in order; nothing of it may be cut by the ring's end.
void FakeKfd::run_copies(Queue& queue) {
  const std::vector<u32> words = take_words(queue.arguments.queue_id);
  std::span<const u32> rest = words;
  const auto is = [&](const hw::SdmaId& id) { return (rest[0] & 0xff) == id.op; };
  while (!rest.empty()) {
    usize size = 1;
    if (is(hw::SdmaCopyLinear::kId)) {
      const auto copy = decode<hw::SdmaCopyLinear>(rest.first<7>());
      std::memmove(at(copy.dst), at(copy.src), copy.count + usize{1});
      size = 7;
    } else if (is(hw::SdmaFence::kId)) {
      const auto fence = decode<hw::SdmaFence>(rest.first<4>());
      std::memcpy(at(fence.addr), &fence.data, 4);
      size = 4;
    } else if (is(hw::SdmaWrite::kId)) {
      const auto write = decode<hw::SdmaWrite>(rest.first<4>());
      std::memcpy(at(write.dst), &rest[4], (write.count + usize{1}) * 4);
      size = 5 + write.count;
    } else if (is(hw::SdmaTrap::kId)) {
      size = 2;
    } else if (is(hw::SdmaPollRegmem::kId)) {
      size = 6;
    } else if (is(hw::SdmaTimestamp::kId)) {
      size = 3;
    } else {
      EXPECT_TRUE(is(hw::SdmaNop::kId)) << rest[0];
    }
    rest = rest.subspan(size);
  }
}

}  // namespace doorbell::testing
