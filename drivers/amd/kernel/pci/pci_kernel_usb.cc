// GPUs behind USB: what they and the host tell each other is exchanged by doorbells and waits.
#include "base/util/try.h"
#include "drivers/amd/kernel/pci/pci_kernel.h"
#include "drivers/amd/kernel/usb/shadow_memory.h"
#include "drivers/amd/kernel/usb/usb_files.h"

namespace doorbell::amd {
namespace {

// What the host wrote is sent in front of each doorbell.
class RemoteDoorbells final : public os::MmioTrap {
 public:
  static os::MappedRegisters wrap(os::MappedRegisters inner, PciGpu& gpu, ShadowMemory& shadow) {
    const u64 bytes = inner.mmio.size();
    auto* const trap = new RemoteDoorbells(std::move(inner), gpu, shadow);
    os::Mapping mapping(
        nullptr, bytes,
        [](void* context, u8*, usize) { delete static_cast<RemoteDoorbells*>(context); }, trap);
    return {std::move(mapping), os::Mmio(*trap, bytes)};
  }
  u64 read(u64, unsigned) override { return 0; }
  void write(u64 offset, unsigned bytes, u64 value) override {
    shadow_.push();
    gpu_.flush_host_writes();
    if (bytes == sizeof(u64))
      inner_.mmio.write64(offset, value);
    else
      inner_.mmio.write32(offset, static_cast<u32>(value));
  }

 private:
  RemoteDoorbells(os::MappedRegisters inner, PciGpu& gpu, ShadowMemory& shadow)
      : inner_(std::move(inner)), gpu_(gpu), shadow_(shadow) {}
  os::MappedRegisters inner_;
  PciGpu& gpu_;
  ShadowMemory& shadow_;
};

}  // namespace

Result<std::unique_ptr<PciKernel>> PciKernel::open_usb(os::Files& files, os::Usb& usb,
                                                       os::Clock& clock) {
  TRY(std::unique_ptr<UsbFiles> below, UsbFiles::open(files, usb, clock));
  TRY(std::unique_ptr<PciKernel> kernel, open(*below, clock));
  kernel->below_ = std::move(below);
  return kernel;
}

// Behind all addresses that Kfd gives out.
Result<void> PciKernel::map_bridge_buffer(Gpu& gpu) {
  constexpr u64 kFirst = kFirstGpuAddress + (u64{1} << 44);
  constexpr u64 kPage = kFirst + hw::kBridgeBufferBytes, kCompletion = kPage + hw::kGpuPage;
  hw::PageEntry entry;
  entry.is_system = entry.snooped = true;
  entry.readable = entry.writable = true;
  entry.policy = hw::MemoryPolicy::Uncached;
  const PciGpu::Part parts[] = {{hw::kBridgeBuffer, hw::kBridgeBufferBytes},
                                {hw::kBridgePage, hw::kGpuPage},
                                {hw::kBridgeCompletion, hw::kGpuPage}};
  TRY(gpu.gpu->map(kFirst, parts, entry));
  gpu.bridge_buffer = {.bridge = below_->bridge_of(gpu.description.id.address),
                       .data = kFirst,
                       .page = kPage,
                       .completion = kCompletion + hw::kBridgeCompletionWord};
  return {};
}

const BridgeBuffer* PciKernel::bridge_buffer(u32 number) {
  std::lock_guard lock(mutex_);
  const Gpu* const gpu = find(number);
  return gpu == nullptr || gpu->bridge_buffer.bridge == nullptr ? nullptr : &gpu->bridge_buffer;
}

os::HostAccesses* PciKernel::host_accesses() const { return shadow_.get(); }

os::MappedRegisters PciKernel::wrap_doorbells(os::MappedRegisters all, PciGpu& gpu) {
  return RemoteDoorbells::wrap(std::move(all), gpu, *shadow_);
}

Result<void> PciKernel::exchange() {
  if (shadow_ == nullptr) return {};
  shadow_->push();
  shadow_->pull();
  for (const auto& gpu : gpus_)
    if (gpu->gpu != nullptr) TRY(gpu->gpu->state());
  return {};
}

}  // namespace doorbell::amd
