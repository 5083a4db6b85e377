// PM4 packets that write registers, and the helper that writes a register's record: which register,
// where, and its value, in one expression.
//
//   set_sh_reg(Generation::Gfx11, ComputePgmRsrc2{.user_sgpr = 4})
#pragma once

#include "base/bits/record.h"
#include "base/util/check.h"
#include "drivers/amd/hw/generation.h"
#include "drivers/amd/hw/pm4/opcode.h"

namespace doorbell::amd::hw {

// The windows of the three packets: the first register, and the one past the last.
// [nvd.h PACKET3_SET_SH_REG_START, _END, SET_UCONFIG_REG_START, SET_CONTEXT_REG_START; UCONFIG ends
// where 16 bits of offset do, the header's _END is of an older chip]
inline constexpr u32 kShRegStart = 0x2c00, kShRegEnd = 0x3000;
inline constexpr u32 kContextRegStart = 0xa000, kContextRegEnd = 0xa400;
inline constexpr u32 kUconfigRegStart = 0xc000, kUconfigRegEnd = 0x1c000;

// SET_SH_REG: the payload goes to consecutive registers from kShRegStart + offset on. They hold for
// all later launches of the queue.
// [nvd.h PACKET3_SET_SH_REG; soc15d.h PACKET3_SET_SH_REG__REG_OFFSET, __VMID_SHIFT, __INDEX]
struct SetShReg {
  static constexpr Pm4Id kId{0x76, "SET_SH_REG"};
  static constexpr u32 kWords = 2, kHeader = packet3(kId);
  static constexpr bool kVariable = true;
  static constexpr u32 kFirstRegister = kShRegStart;

  u16 count = count_of(3);  // with one register
  u16 offset = 0;
  u8 vmid_shift = 0, index = 0;

  static constexpr void fields(auto& p, auto f) {
    f("count", kPacketCount, p.count);
    f("offset", word(1, 15, 0), p.offset);
    f("vmid_shift", word(1, 27, 23), p.vmid_shift);
    f("index", word(1, 31, 28), p.index);
  }
};
static_assert(sound<SetShReg>());

// SET_UCONFIG_REG: the same from kUconfigRegStart on.
// [nvd.h PACKET3_SET_UCONFIG_REG; soc15d.h PACKET3_SET_UCONFIG_REG__REG_OFFSET]
struct SetUconfigReg {
  static constexpr Pm4Id kId{0x79, "SET_UCONFIG_REG"};
  static constexpr u32 kWords = 2, kHeader = packet3(kId);
  static constexpr bool kVariable = true;
  static constexpr u32 kFirstRegister = kUconfigRegStart;

  u16 count = count_of(3);
  u16 offset = 0;
  u8 index = 0;

  static constexpr void fields(auto& p, auto f) {
    f("count", kPacketCount, p.count);
    f("offset", word(1, 15, 0), p.offset);
    f("index", word(1, 31, 28), p.index);
  }
};
static_assert(sound<SetUconfigReg>());

// SET_CONTEXT_REG: the same from kContextRegStart on; graphics state, of no use to the compute
// engines.
// [nvd.h PACKET3_SET_CONTEXT_REG]
struct SetContextReg {
  static constexpr Pm4Id kId{0x69, "SET_CONTEXT_REG"};
  static constexpr u32 kWords = 2, kHeader = packet3(kId);
  static constexpr bool kVariable = true;
  static constexpr u32 kFirstRegister = kContextRegStart;

  u16 count = count_of(3);
  u16 offset = 0;

  static constexpr void fields(auto& p, auto f) {
    f("count", kPacketCount, p.count);
    f("offset", word(1, 15, 0), p.offset);
  }
};
static_assert(sound<SetContextReg>());

// The packet that writes a record of registers: R has `kRegister`, the first of kWords registers.
template <class R>
constexpr std::array<u32, 2 + R::kWords> set_sh_reg(Generation generation, const R& value) {
  const u32 address = R::kRegister.at(generation);
  CHECK(kShRegStart <= address && address + R::kWords <= kShRegEnd,
        "{} at {:#x} is no SH register on {}", R::kRegister.name, address, name_of(generation));
  const auto header = encode(SetShReg{.count = count_of(2 + R::kWords),
                                      .offset = static_cast<u16>(address - kShRegStart)});
  const auto values = encode(value);
  std::array<u32, 2 + R::kWords> words{header[0], header[1]};
  for (u32 i = 0; i < R::kWords; ++i) words[2 + i] = values[i];
  return words;
}

}  // namespace doorbell::amd::hw
