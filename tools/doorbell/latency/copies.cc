// Figures of copies, from one word to the largest that fits. A sample ends when the copy is
// complete.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tensor/engine/must.h"
#include "tools/doorbell/latency/kernel.h"
#include "tools/doorbell/latency/measured.h"

namespace doorbell::tools::latency {
namespace {

using core::Buffer;
using core::Ref;
using engine::must;

struct Memory {
  std::vector<u8> host;
  Ref<Buffer> first, second;  // of the device
};

// Null if the device has too little memory.
std::unique_ptr<Memory> allocate(core::Device& device, i64 bytes) {
  Result<Ref<Buffer>> first = Buffer::allocate(device, bytes);
  if (!first) return nullptr;
  Result<Ref<Buffer>> second = Buffer::allocate(device, bytes);
  if (!second) return nullptr;
  auto memory = std::make_unique<Memory>();
  memory->host.assign(static_cast<usize>(bytes), 1);
  memory->first = std::move(*first);
  memory->second = std::move(*second);
  // Written once, so that no copy touches a page for the first time.
  must(memory->first->copy_in(memory->host.data(), bytes));
  must(memory->second->copy_in(memory->host.data(), bytes));
  return memory;
}

Distribution on_queue(hcq::Device& device, const Memory& memory, const Sampling& sampling) {
  hcq::Queue& queue = device.copy_queue();
  const std::unique_ptr<hcq::CommandBuffer> commands = queue.make_commands();
  commands->copy(must(device.address_of(*memory.second)), must(device.address_of(*memory.first)),
                 static_cast<u64>(memory.first->bytes()));
  return sample(
      [&] {
        const hcq::Point end = must(queue.submit(*commands));
        must(queue.wait(end.position));
      },
      sampling);
}

struct Direction {
  const char *id, *what;
  Distribution (*measure)(hcq::Device& device, Memory& memory, const Sampling& sampling);
};

constexpr Direction kDirections[] = {
    {"host_to_device", "host to device",
     [](hcq::Device&, Memory& memory, const Sampling& sampling) {
       const i64 bytes = memory.first->bytes();
       return sample([&] { must(memory.first->copy_in(memory.host.data(), bytes)); }, sampling);
     }},
    {"device_to_host", "device to host",
     [](hcq::Device&, Memory& memory, const Sampling& sampling) {
       const i64 bytes = memory.first->bytes();
       return sample([&] { must(memory.first->copy_out(memory.host.data(), bytes)); }, sampling);
     }},
    {"device_to_device", "device to device",
     [](hcq::Device&, Memory& memory, const Sampling& sampling) {
       const i64 bytes = memory.first->bytes();
       return sample([&] { must(copy_between(*memory.second, 0, *memory.first, 0, bytes)); },
                     sampling);
     }},
    {"queue", "device to device by its copy queue",
     [](hcq::Device& device, Memory& memory, const Sampling& sampling) {
       return on_queue(device, memory, sampling);
     }},
};

std::vector<i64> sizes_up_to(i64 largest) {
  std::vector<i64> sizes;
  for (const i64 bytes : {i64{4}, i64{4} << 10, i64{1} << 20})
    if (bytes < largest) sizes.push_back(bytes);
  sizes.push_back(largest);
  return sizes;
}

std::string size_text(i64 bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  usize unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

}  // namespace

std::vector<Series> measure_copy(const Request& request) {
  hcq::Device& device = request.device;
  std::vector<Series> all;
  for (i64 bytes : sizes_up_to(request.largest_copy)) {
    std::unique_ptr<Memory> memory;
    if (device.runs())
      while (memory = allocate(device, bytes), memory == nullptr && bytes > 4) bytes /= 2;
    for (const Direction& direction : kDirections) {
      Series series;
      series.id = fmt::format("copy.{}.{}", direction.id, bytes);
      series.group = "copy";
      series.what = fmt::format("copy of {}, {}", size_text(bytes), direction.what);
      series.bytes = bytes;
      const char* why = !device.runs()      ? "its memory has no contents to copy"
                        : memory == nullptr ? "it is out of memory"
                                            : nullptr;
      all.push_back(why != nullptr ? unmeasured(request, std::move(series), why)
                                   : measured(request, std::move(series), [&] {
                                       return direction.measure(device, *memory, request.sampling);
                                     }));
    }
  }
  return all;
}

}  // namespace doorbell::tools::latency
