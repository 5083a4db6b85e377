// NvkSink: NVIDIA's kernel modules without a GPU, see sink.h.
#pragma once

#include <memory>
#include <string>

#include "bench/support/sink.h"
#include "drivers/nv/device.h"

namespace doorbell::bench {

class NvkSink final : public Sink<nv::NvDevice> {
 public:
  // Opens the device on the sink, an sm_86; it lives as long as the sink.
  nv::NvDevice& open();

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
};

}  // namespace doorbell::bench
