// KfdSink: a /dev/kfd without a GPU: memory is host memory, doorbells are mapped memory, as on
// hardware, and nothing reads what is submitted. So the time of a call is the driver's own. Waits
// return at once.
#pragma once

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "drivers/amd/device.h"
#include "drivers/amd/hw/topology.h"

namespace doorbell::bench {

class KfdSink final : public os::Files, public os::Clock {
 public:
  // Empties device_ first: queues wait while they are destroyed, when finish() must not touch them.
  ~KfdSink() override { const std::unique_ptr<amd::AmdDevice> going = std::move(device_); }

  // Opens the device on the sink; it lives as long as the sink.
  amd::AmdDevice& open();

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override {
    return os::host_files().map_anonymous(request);
  }
  Result<void> rename(const std::string&, const std::string&) override { return {}; }
  Result<void> remove(const std::string&) override { return {}; }
  Result<void> make_folders(const std::string&) override { return {}; }
  // One GPU; all other paths are files.
  Result<std::vector<std::string>> list(const std::string& path) override {
    if (path != amd::hw::kTopologyNodes) return fail_errno(ENOTDIR, "list {}", path);
    return std::vector<std::string>{"1"};
  }
  bool exists(const std::string&) override { return true; }

  u64 now_ns() override { return os::host_clock().now_ns(); }
  void sleep_until(u64) override {}
  // Every wait calls this, and then returns.
  void relax(u32) override { finish(); }
  void finish();

 private:
  std::unique_ptr<amd::AmdDevice> device_;
};

}  // namespace doorbell::bench
