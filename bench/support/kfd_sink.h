// KfdSink: a /dev/kfd behind which nothing runs: memory is the host's, doorbells are mapped memory,
// as on hardware, and what is submitted stays where it is. So the time of a call is the driver's
// own. Who waits is told that all is done.
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
  // Queues that go wait too, when others have gone: nobody finishes those.
  ~KfdSink() override { const std::unique_ptr<amd::AmdDevice> going = std::move(device_); }

  // The device is opened on the sink, and lives as long.
  amd::AmdDevice& open();

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override {
    return os::host_files().map_anonymous(request);
  }
  Result<void> rename(const std::string&, const std::string&) override { return {}; }
  Result<void> remove(const std::string&) override { return {}; }
  Result<void> make_folders(const std::string&) override { return {}; }
  // One GPU; all else are files.
  Result<std::vector<std::string>> list(const std::string& path) override {
    if (path != amd::hw::kTopologyNodes) return fail_errno(ENOTDIR, "list {}", path);
    return std::vector<std::string>{"1"};
  }
  bool exists(const std::string&) override { return true; }

  u64 now_ns() override { return os::host_clock().now_ns(); }
  void sleep_until(u64) override {}
  // Whoever waits waits for this.
  void relax(u32) override { finish(); }
  void finish();

 private:
  std::unique_ptr<amd::AmdDevice> device_;
};

}  // namespace doorbell::bench
