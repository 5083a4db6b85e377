// Sink: a kernel driver without a GPU: memory is host memory, doorbells are mapped memory, as on
// hardware, and nothing reads what is submitted. So the time of a call is the driver's own. Waits
// return at once.
#pragma once

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "hcq/queue/queue.h"

namespace doorbell::bench {

// A file of a sink: empty, and mapped as host memory.
class SinkNode : public os::File {
 public:
  Result<usize> read_at(u64, std::span<u8>) override { return usize{0}; }
  Result<void> write_at(u64, std::span<const u8>) override { return {}; }
  Result<u64> size() override { return u64{0}; }
  Result<os::Mapping> map(const os::MapRequest& request) override {
    os::MapRequest memory;
    memory.size = request.size;
    memory.writable = true;
    return os::host_files().map_anonymous(memory);
  }
};

// `Device` is the driver's; a sink derives from this, opens its nodes and makes the device.
template <class Device>
class Sink : public os::Files, public os::Clock {
 public:
  // Empties device_ first: queues wait while they are destroyed, when finish() must not touch them.
  ~Sink() override { const std::unique_ptr<Device> going = std::move(device_); }

  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override {
    return os::host_files().map_anonymous(request);
  }
  Result<void> rename(const std::string&, const std::string&) override { return {}; }
  Result<void> remove(const std::string&) override { return {}; }
  Result<void> make_folders(const std::string&) override { return {}; }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return fail_errno(ENOTDIR, "list {}", path);
  }
  bool exists(const std::string&) override { return true; }

  u64 now_ns() override { return os::host_clock().now_ns(); }
  void sleep_until(u64) override {}
  // Every wait calls this, and then returns.
  void relax(u32) override { finish(); }
  // Marks all that was submitted as done.
  void finish() {
    if (!device_) return;
    for (hcq::Queue* queue : {&device_->compute_queue(), &device_->copy_queue()}) {
      const hcq::Timeline::SignalValue last = queue->timeline().signal_at(queue->last().position);
      last.signal.store(last.value);
    }
  }

 protected:
  std::unique_ptr<Device> device_;
};

}  // namespace doorbell::bench
