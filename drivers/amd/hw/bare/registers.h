// Registers of a GPU that no kernel driver runs: names, and where they lie. See registers.def for
// the lists, fields.h for what is in them; discovery.h reads the base addresses.
#pragma once

#include <array>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::amd::hw {

// A part of the GPU with registers of its own, as the discovery table lists them.
// [torvalds/linux soc15_hw_ip.h *_HWID; amdgpu_discovery.c hw_id_map]
enum class Block : u8 { Gc, MmHub, Nbio, Mp0, Mp1, Hdp, OssSys, SmuIo, Sdma0 };
inline constexpr usize kBlocks = 9;

struct BlockName {
  u16 hardware_id;
  std::string_view name;
};
inline constexpr std::array<BlockName, kBlocks> kBlockNames{{{11, "GC"},
                                                             {34, "MMHUB"},
                                                             {108, "NBIF"},
                                                             {255, "MP0"},
                                                             {1, "MP1"},
                                                             {41, "HDP"},
                                                             {40, "OSSSYS"},
                                                             {4, "SMUIO"},
                                                             {42, "SDMA0"}}};
constexpr u16 hardware_id(Block block) {
  return kBlockNames[static_cast<usize>(block)].hardware_id;
}
constexpr std::string_view name_of(Block block) {
  return kBlockNames[static_cast<usize>(block)].name;
}

enum class Reg : u16 {
#define DOORBELL_REGISTER(name, ...) name,
#include "drivers/amd/hw/bare/registers.def"
#undef DOORBELL_REGISTER
};

inline constexpr usize kRegisters = 0
#define DOORBELL_REGISTER(...) +1
#include "drivers/amd/hw/bare/registers.def"
#undef DOORBELL_REGISTER
    ;

struct RegisterPlace {
  std::string_view name;  // the vendor's; empty: the chip has none, or none that is used
  Block block;
  u8 segment;
  u32 offset;  // in words
};

// Chips whose registers lie alike, by their graphics core: 11.0.0, 12.0.x, 9.4.3.
enum class BareChip : u8 { Gc11, Gc12, Gc94 };
inline constexpr usize kBareChips = 3;

using RegisterPlaces = std::array<RegisterPlace, kRegisters>;
namespace detail {
#define DOORBELL_REGISTER(name, text, block, segment, offset) \
  places[static_cast<usize>(Reg::name)] = {text, Block::block, segment, offset};
constexpr RegisterPlaces places_of_gc11() {
  RegisterPlaces places{};
#include "drivers/amd/hw/bare/registers.def"
  return places;
}
constexpr RegisterPlaces places_of_gc12() {
  RegisterPlaces places{};
#include "drivers/amd/hw/bare/registers_gc12.def"
  return places;
}
constexpr RegisterPlaces places_of_gc94() {
  RegisterPlaces places{};
#include "drivers/amd/hw/bare/registers_gc94.def"
  return places;
}
#undef DOORBELL_REGISTER
}  // namespace detail
inline constexpr RegisterPlaces kRegisterPlaces[kBareChips] = {
    detail::places_of_gc11(), detail::places_of_gc12(), detail::places_of_gc94()};
// Each lies on some chip.
static_assert([] {
  for (usize i = 0; i < kRegisters; ++i) {
    bool lies = false;
    for (const RegisterPlaces& places : kRegisterPlaces) lies |= !places[i].name.empty();
    if (!lies) return false;
  }
  return true;
}());

constexpr const RegisterPlaces& places_of(BareChip chip) {
  return kRegisterPlaces[static_cast<usize>(chip)];
}
constexpr const RegisterPlace& place_of(Reg reg, BareChip chip) {
  return places_of(chip)[static_cast<usize>(reg)];
}

// Where the size of the memory in MiB lies, before any base address is known: an absolute address,
// in words. The discovery table lies 64 KiB below the end of that memory.
// [amdgpu_discovery.c mmRCC_CONFIG_MEMSIZE, DISCOVERY_TMR_OFFSET; tinygrad amdev.py
// _run_discovery()]
inline constexpr u32 kConfigMemsize = 0xde3;
inline constexpr u64 kDiscoveryFromEnd = u64{64} << 10, kDiscoveryBytes = u64{10} << 10;

// A window to all of the GPU's memory, for what the memory's region does not show: an address'
// upper bits, its lower 31 with bit 31 (MM_APER: of the memory, not of a register), then the word.
// Absolute, in words, on all GPUs. [amdgpu_device.c amdgpu_device_mm_access(); nbio_4_3_0_offset.h
// BIF_BX_PF0_MM_INDEX, _MM_DATA, _MM_INDEX_HI; nbio_7_9_0_sh_mask.h MM_APER; tinygrad amdev.py
// _read_vram()]
inline constexpr u32 kMmIndex = 0, kMmData = 1, kMmIndexHi = 6, kMmAperture = 0x8000'0000;

// The window of NBIO 7.9 to registers of its other dies (AIDs): PCIE_INDEX2 has an address in
// bytes, of 40 bits, of which 33:32 is the die and 34 says so; then the word. [aqua_vanjaram.c
// aqua_vanjaram_encode_ext_smn_addressing(); tinygrad amdev.py indirect_wreg_pcie()]
inline constexpr u32 kOtherAid = 4;  // in PCIE_INDEX2_HI
// A GPU that XGMI joins to others: MMMC_VM_XGMI_LFB_CNTL PF_MAX_REGION (7:4) is not 0. They are
// reset together. [tinygrad amdev.py is_hive(); mmhub_1_8_0_sh_mask.h]
inline constexpr u32 kXgmiMaxRegion = 0xf0;

// The mailboxes of the power controller that debug messages take, and the message that resets the
// whole GPU. [smu_v13_0_0_ppt.c and smu_v14_0_2_ppt.c: DEBUGSMC_MSG_Mode1Reset,
// *_set_smu_mailbox_registers(); tinygrad ip.py AM_SMU.mode1_reset()]
inline constexpr u32 kDebugMode1Reset = 2;

// Messages to the power controller of MP1 13.0.0, 14.0.2 and 14.0.3, alike. [smu_v13_0_0_ppsmc.h,
// smu_v14_0_2_ppsmc.h] ResetGpu is no number of theirs: it is a debug message there.
enum class SmuMessage : u32 {
  TestMessage = 1,
  GetSmuVersion = 2,
  EnableAllSmuFeatures = 6,
  SetDriverDramAddrHigh = 0xe,
  SetDriverDramAddrLow = 0xf,
  SetSoftMinByFreq = 0x19,
  SetSoftMaxByFreq = 0x1a,
  GetDpmFreqByIndex = 0x1f,
  ResetGpu = 0x10000,
};
inline constexpr SmuMessage kSmuMessages[] = {SmuMessage::TestMessage,
                                              SmuMessage::GetSmuVersion,
                                              SmuMessage::EnableAllSmuFeatures,
                                              SmuMessage::SetDriverDramAddrHigh,
                                              SmuMessage::SetDriverDramAddrLow,
                                              SmuMessage::SetSoftMinByFreq,
                                              SmuMessage::SetSoftMaxByFreq,
                                              SmuMessage::GetDpmFreqByIndex,
                                              SmuMessage::ResetGpu};
// A message's number on a chip. Those of MP1 13.0.6: [smu_v13_0_6_ppsmc.h, as tinygrad a9069c1
// smu_13_0_6.py has it; ResetGpu is GfxDriverReset, with kSmuResetMode1: smu_v13_0_6_ppt.c
// smu_v13_0_6_mode1_reset(), tinygrad ip.py AM_SMU.mode1_reset()]
constexpr u32 number_of(SmuMessage message, BareChip chip) {
  if (chip != BareChip::Gc94) return static_cast<u32>(message);
  switch (message) {
    case SmuMessage::TestMessage: return 1;
    case SmuMessage::GetSmuVersion: return 2;
    case SmuMessage::ResetGpu: return 3;
    case SmuMessage::EnableAllSmuFeatures: return 5;
    case SmuMessage::SetDriverDramAddrHigh: return 0xd;
    case SmuMessage::SetDriverDramAddrLow: return 0xe;
    case SmuMessage::SetSoftMinByFreq: return 0x13;
    case SmuMessage::SetSoftMaxByFreq: return 0x14;
    case SmuMessage::GetDpmFreqByIndex: return 0x17;
  }
  return 0;
}
inline constexpr u32 kSmuResetMode1 = 1;
// Answers. [smu_cmn.c SMU_RESP_*]
inline constexpr u32 kSmuOk = 1, kSmuUnknownMessage = 0xfe, kSmuRejected = 0xfd;
// Clocks that a driver sets. [smu13_driver_if_v13_0_0.h,
// smu14_driver_if_v14_0.h PPCLK_e]
enum class SmuClock : u32 { Gfx = 0, Soc = 1, Memory = 2, Fabric = 3 };

// Doorbells: 64 bits each, by number. [amdgpu_doorbell.h AMDGPU_NAVI10_DOORBELL_MEC_RING0,
// _sDMA_ENGINE0; registers count 32-bit words]
inline constexpr u32 kFirstComputeDoorbell = 3, kFirstCopyDoorbell = 256;

}  // namespace doorbell::amd::hw
