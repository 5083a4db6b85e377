// A LaunchDevice without memory and programs.
#include "tensor/engine/host_copier.h"

#include "hcq/software/launch_device.h"

namespace doorbell::engine {
namespace {

class HostCopier final : public hcq::LaunchDevice {
 public:
  using LaunchDevice::LaunchDevice;
  ~HostCopier() override { stop_queue(); }

  core::Allocator& allocator() override { return memory_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override {
    return fail(ErrorKind::Unsupported, "{} runs no kernel: {}", name(), binary.name);
  }
  std::string description() const override { return "copies between other devices"; }
  // Copies are complete when they return.
  Result<void> finish() override { return {}; }

 private:
  hcq::HostMemory memory_;
};

}  // namespace

hcq::Device& host_copier() {
  // Never closed: work may outlive main().
  static HostCopier& copier = *new HostCopier(core::DeviceSpec{.name = "HOST"});
  return copier;
}

}  // namespace doorbell::engine
