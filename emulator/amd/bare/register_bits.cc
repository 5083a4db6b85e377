// The list, and the registers of a queue.
#include "emulator/amd/bare/register_bits.h"

#include <array>

#include "drivers/amd/hw/bare/mqd.h"

namespace doorbell::emu::amdgpu {
namespace {

using amd::hw::BareChip;
using Bits = std::array<u32, amd::hw::kRegisters>;
using QueueBits = std::array<u32, amd::hw::kHqdRegisters>;

constexpr Bits bits_of(BareChip chip) {
  Bits bits;
  bits.fill(~u32{0});
#define DOORBELL_BITS(name, gc11, gc12, gc94)                                    \
  bits[static_cast<usize>(amd::hw::Reg::name)] = chip == BareChip::Gc11   ? gc11 \
                                                 : chip == BareChip::Gc12 ? gc12 \
                                                                          : gc94;
#include "emulator/amd/bare/register_bits.def"
#undef DOORBELL_BITS
  return bits;
}
constexpr Bits kBits[amd::hw::kBareChips] = {bits_of(BareChip::Gc11), bits_of(BareChip::Gc12),
                                             bits_of(BareChip::Gc94)};

// [gc_11_0_0_sh_mask.h, gc_12_0_0_sh_mask.h, gc_9_4_3_sh_mask.h CP_MQD_BASE_ADDR to
// CP_HQD_PQ_WPTR_HI, as register_bits.def has it; CP_HQD_HQ_STATUS0 with bits 14, which has a name
// on GC 12 alone, and 29, which has none; the kernel and tinygrad write both:
// kfd_mqd_manager_v11.c init_mqd(), "DISPATCH_PTR", amdgpu_amdkfd_have_atomics_support(); tinygrad
// ip.py AM_GFX.setup_ring()]
// clang-format off
constexpr QueueBits kQueueBits[amd::hw::kBareChips] = {{
    0xfffffffc, 0x0000ffff, 0x00000003, 0x03ff0f0f, 0xffffff83, 0x00000003, 0x0000000f, 0x80003f11,
    0xffffffff, 0x000000ff, 0xffffffff, 0xfffffffc, 0x0000ffff, 0xfffffff8, 0x0000ffff, 0xffffffff,
    0x00000000, 0xfffcffff, 0xfffffffc, 0x0000ffff, 0x000fffff, 0x87bfffff, 0xffffffff, 0x0000003f,
    0x0000071f, 0x0000003f, 0x00000307, 0x00000077, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
    0xef70ffff, 0xffffffff, 0x0780310f, 0xffffffff, 0xffffffff, 0xffffffff, 0x000000ff, 0xe7e0713f,
    0xf0001fff, 0x1fff9fff, 0x00010fff, 0xfffff000, 0x0000ffff, 0x00800018, 0x0000fffc, 0x0000f000,
    0x03fffffc, 0x03fff000, 0x0003f3f3, 0x000fff3f, 0x00001fff, 0xffffffff, 0xffffffff, 0xffffffff,
  }, {
    0xfffffffc, 0x0000ffff, 0x00000003, 0x03ff0f0f, 0xffffff83, 0x00000003, 0x0000000f, 0x80003f11,
    0xffffffff, 0x000000ff, 0xffffffff, 0xfffffffc, 0x0000ffff, 0xfffffff8, 0x0000ffff, 0xffffffff,
    0x00000000, 0xfbfcffff, 0xfffffffc, 0x0000ffff, 0x000fffff, 0xc3bfffff, 0xfbffffff, 0x0000003f,
    0x0000071f, 0x0000003f, 0x00000000, 0x00000077, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
    0xef70ffff, 0xffffffff, 0x0380310f, 0xffffffff, 0xffffffff, 0xffffffff, 0x000000ff, 0x03e0713f,
    0xf0001fff, 0x1fff9fff, 0x00010fff, 0xfffff000, 0x0000ffff, 0x00800018, 0x0000fffc, 0x0000f000,
    0x03fffffc, 0x03fff000, 0x0003f3f3, 0x000fbf3f, 0x00001fff, 0xffffffff, 0xffffffff, 0xffffffff,
  }, {
    0xfffffffc, 0x0000ffff, 0x00000003, 0x03ff0f0f, 0xffe3ff01, 0x00000003, 0x0000000f, 0x80003f11,
    0xffffffff, 0x000000ff, 0xffffffff, 0xfffffffc, 0x0000ffff, 0xfffffff8, 0x0000ffff, 0xffffffff,
    0x00000000, 0xfff7ffff, 0xfffffffc, 0x0000ffff, 0x000fffff, 0xc1bfffff, 0xf3ffffff, 0x0000003f,
    0x00000717, 0x0000003f, 0x00000007, 0x00000077, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
    0xffffffff, 0xffffffff, 0x0180310f, 0xffffffff, 0xffffffff, 0xffffffff, 0x000000ff, 0xe1e0713f,
    0xf0001fff, 0x1fff9fff, 0x00010fff, 0xfffff000, 0x0000ffff, 0x00800008, 0x0000fffc, 0x0000f000,
    0x07fffffc, 0x07fff000, 0x0003f3f3, 0x000fff3f, 0x00001fff, 0xffffffff, 0xffffffff, 0xffffffff,
  }};
// clang-format on

}  // namespace

u32 defined_bits(amd::hw::Reg reg, BareChip chip) {
  return kBits[static_cast<usize>(chip)][static_cast<usize>(reg)];
}

u32 defined_queue_bits(u32 index, BareChip chip) {
  return kQueueBits[static_cast<usize>(chip)][index];
}

}  // namespace doorbell::emu::amdgpu
