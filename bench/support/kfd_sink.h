// KfdSink: a /dev/kfd without a GPU, see sink.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/support/sink.h"
#include "drivers/amd/device.h"

namespace doorbell::bench {

class KfdSink final : public Sink<amd::AmdDevice> {
 public:
  // Opens the device on the sink; it lives as long as the sink.
  amd::AmdDevice& open();

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  // One GPU; all other paths are files.
  Result<std::vector<std::string>> list(const std::string& path) override;
};

}  // namespace doorbell::bench
