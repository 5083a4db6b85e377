// The emulated machine's files, but for the region with doorbells.
#include "bench/support/pci_sink.h"

#include "tensor/engine/must.h"

namespace doorbell::bench {

using engine::must;

namespace {

class DoorbellNode final : public SinkNode {
 public:
  Result<int> ioctl(unsigned long, void*) override { return 0; }
  int descriptor() const override { return -1; }
};

}  // namespace

std::unique_ptr<emu::amdgpu::Machine> make_bare_machine(const std::string& gpu) {
  emu::amdgpu::MachineOptions options;
  options.gpus = {gpu};
  options.bare = true;
  return must(emu::amdgpu::Machine::create(std::move(options)));
}

PciSink::PciSink()
    : machine_(make_bare_machine("gfx1100")), files_(machine_->files(os::host_files())) {}

// The device goes before the machine.
PciSink::~PciSink() { const std::unique_ptr<amd::AmdDevice> going = std::move(device_); }

amd::AmdDevice& PciSink::open() {
  core::DeviceSpec spec;
  spec.name = "AMD";
  kernel_ = must(amd::PciKernel::open(*this, *this));
  device_ = must(amd::AmdDevice::open(spec, must(amd::Kfd::open(*kernel_, *this)), amd::Options{}));
  return *device_;
}

Result<std::unique_ptr<os::File>> PciSink::open(const std::string& path, os::Access access) {
  if (path.ends_with("/resource2")) return std::make_unique<DoorbellNode>();
  return files_->open(path, access);
}

Result<os::Mapping> PciSink::map_anonymous(const os::MapRequest& request) {
  return files_->map_anonymous(request);
}

Result<std::vector<std::string>> PciSink::list(const std::string& path) {
  return files_->list(path);
}

bool PciSink::exists(const std::string& path) { return files_->exists(path); }

}  // namespace doorbell::bench
