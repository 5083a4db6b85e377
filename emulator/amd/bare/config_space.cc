// [PCI Local Bus 3.0, 6.1, figure 6-1, and 6.2.5.1; torvalds/linux include/uapi/linux/pci_regs.h]
#include "emulator/amd/bare/config_space.h"

#include "emulator/amd/bare/bare_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u32 kVendor = 0x1002, kVgaController = 0x030000;
// Of a base address: it has 64 bits; reading it has no effect.
constexpr u64 kIs64 = 4, kPrefetchable = 8;

}  // namespace

ConfigSpace make_config_space(const BareGpu& gpu, u16 device_id) {
  ConfigSpace space{};
  const auto put = [&space](usize at, u64 value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) space[at + i] = static_cast<u8>(value >> 8 * i);
  };
  put(0x00, kVendor, 2);
  put(0x02, device_id, 2);
  put(0x04, gpu.command_word(), 2);
  put(0x09, kVgaController, 3);
  put(0x10, gpu.shown_address() | kIs64 | kPrefetchable, 8);
  put(0x18, gpu.doorbell_address() | kIs64 | kPrefetchable, 8);
  put(0x24, gpu.register_address(), 4);
  put(0x2c, kVendor, 2);
  put(0x2e, device_id, 2);
  return space;
}

}  // namespace doorbell::emu::amdgpu
