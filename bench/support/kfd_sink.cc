// Answers that are enough for the driver to run.
#include "bench/support/kfd_sink.h"

#include <algorithm>

#include "drivers/amd/hw/kfd.h"
#include "drivers/amd/hw/topology.h"

namespace doorbell::bench {
namespace {

namespace hw = amd::hw;

// Text of /sys, and the nodes.
class KfdNode final : public SinkNode {
 public:
  explicit KfdNode(std::string text) : text_(std::move(text)) {}

  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    const usize begin = std::min<usize>(offset, text_.size());
    const usize count = std::min(into.size(), text_.size() - begin);
    std::copy_n(text_.begin() + static_cast<i64>(begin), count, into.begin());
    return count;
  }
  Result<u64> size() override { return u64{text_.size()}; }
  Result<int> ioctl(unsigned long request, void* argument) override {
    if (request == hw::kRequest<hw::KfdGetVersion>) {
      *static_cast<hw::KfdGetVersion*>(argument) = {hw::kKfdMajor, hw::kKfdMinor};
    } else if (request == hw::kRequest<hw::KfdAllocMemory>) {
      static_cast<hw::KfdAllocMemory*>(argument)->handle = ++handles_;
    } else if (request == hw::kRequest<hw::KfdCreateEvent>) {
      auto& event = *static_cast<hw::KfdCreateEvent*>(argument);
      event.event_id = event.event_slot_index = ++events_;
    } else if (request == hw::kRequest<hw::KfdCreateQueue>) {
      auto& queue = *static_cast<hw::KfdCreateQueue*>(argument);
      queue.queue_id = ++queues_;
      queue.doorbell_offset = queues_ * u64{8};
    }
    return 0;
  }
  int descriptor() const override { return -1; }

 private:
  const std::string text_;
  u64 handles_ = 0;
  u32 events_ = 0, queues_ = 0;
};

}  // namespace

Result<std::unique_ptr<os::File>> KfdSink::open(const std::string& path, os::Access) {
  if (path.ends_with("gpu_id")) return std::make_unique<KfdNode>("1");
  return std::make_unique<KfdNode>(
      "simd_count 192\nsimd_per_cu 2\nmax_waves_per_simd 16\narray_count 12\n"
      "simd_arrays_per_engine 2\nlds_size_in_kb 64\nmax_slots_scratch_cu 32\n"
      "gfx_target_version 110000\ndrm_render_minor 128\n");
}

Result<std::vector<std::string>> KfdSink::list(const std::string& path) {
  if (path == hw::kTopologyNodes) return std::vector<std::string>{"1"};
  return Sink::list(path);
}

amd::AmdDevice& KfdSink::open() {
  core::DeviceSpec spec;
  spec.name = "AMD";
  amd::Options options;
  device_ = *amd::AmdDevice::open(spec, *amd::Kfd::open(*this, *this), options);
  return *device_;
}

}  // namespace doorbell::bench
