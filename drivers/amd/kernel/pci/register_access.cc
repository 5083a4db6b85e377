// Registers beyond the mapped region are reached by an index and a data register.
// [torvalds/linux amdgpu_device.c amdgpu_device_indirect_rreg(); tinygrad amdev.py indirect_rreg()]
#include "drivers/amd/kernel/pci/register_access.h"

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::amd {

using hw::Reg;

Result<RegisterAccess> RegisterAccess::make(os::Mmio mmio, const hw::Discovery& discovery,
                                            os::Clock& clock, os::DeviceMemory way) {
  const std::optional<hw::BareChip> chip = discovery.chip();
  if (!chip) return fail(ErrorKind::Unsupported, "a graphics core that is not known");
  auto instances = std::make_shared<Instances>();
  instances->xccs = static_cast<u32>(discovery.count(hw::Block::Gc));
  instances->memory_hubs = static_cast<u32>(discovery.count(hw::Block::MmHub));
  for (usize i = 0; i < hw::kRegisters; ++i) {
    const hw::RegisterPlace& place = hw::places_of(*chip)[i];
    if (place.name.empty()) continue;
    // One at least, so that a block that the GPU lacks is an error.
    usize index = 0;
    do {
      TRY(const u64 address, discovery.address_of(static_cast<Reg>(i), index));
      instances->addresses[i].push_back(address);
    } while (++index < discovery.count(place.block));
  }
  const RegisterAccess access(mmio, clock, caps_of(*chip), way, std::move(instances));
  for (const Reg reg : {Reg::BifBxPf0RsmuIndex, Reg::BifBxPf0RsmuData})
    if (access.address(reg) * 4 + 4 > mmio.size())
      return fail(ErrorKind::Unsupported, "the GPU's registers span {:#x} bytes, {} lies at {:#x}",
                  mmio.size(), hw::place_of(reg, *chip).name, access.address(reg) * 4);
  return access;
}

u64 RegisterAccess::address(Reg reg) const {
  const std::vector<u64>& addresses = instances_->addresses[static_cast<usize>(reg)];
  CHECK(!addresses.empty(), "register {}, which the chip does not have", static_cast<u32>(reg));
  return addresses[index_ < addresses.size() ? index_ : 0];
}

u32 RegisterAccess::read_word(u64 address) const {
  if (address * 4 + 4 <= mmio_.size()) return mmio_.read32(address * 4);
  mmio_.write32(this->address(Reg::BifBxPf0RsmuIndex) * 4, static_cast<u32>(address * 4));
  return mmio_.read32(this->address(Reg::BifBxPf0RsmuData) * 4);
}

void RegisterAccess::write_word(u64 address, u32 value) const {
  if (address * 4 + 4 <= mmio_.size()) return mmio_.write32(address * 4, value);
  mmio_.write32(this->address(Reg::BifBxPf0RsmuIndex) * 4, static_cast<u32>(address * 4));
  mmio_.write32(this->address(Reg::BifBxPf0RsmuData) * 4, value);
}

Result<void> RegisterAccess::wait(Reg reg, u32 mask, u32 wanted, const char* what,
                                  u64 timeout_ns) const {
  const u64 end = clock_->now_ns() + timeout_ns;
  for (u32 turn = 0;; ++turn) {
    const u32 value = read(reg);
    TRY(state());
    if ((value & mask) == wanted) return {};
    if (value == ~u32{0} && clock_->now_ns() >= end)
      return fail(ErrorKind::DeviceLost, "{}: the GPU does not answer on the bus any more", what);
    if (clock_->now_ns() >= end)
      return fail(ErrorKind::Timeout,
                  "{}: {} is {:#x}, expected {:#x} in the bits {:#x} within {} ms", what,
                  hw::place_of(reg, caps_->chip).name, value, wanted, mask, timeout_ns / 1'000'000);
    rest(turn);
  }
}

}  // namespace doorbell::amd
