// The ring of the security processor (PSP): frames that name command buffers, and the commands by
// which firmware is loaded.
// [torvalds/linux psp_gfx_if.h psp_gfx_rb_frame, psp_gfx_cmd_resp, psp_gfx_cmd_id,
// psp_gfx_fw_type; amdgpu_psp.c psp_ring_cmd_submit(), psp_prep_*_cmd_buf(); tinygrad ip.py AM_PSP]
#pragma once

#include <cstddef>
#include <span>

#include "drivers/amd/hw/bare/registers.h"

namespace doorbell::amd::hw {

// What the processor does: runs the command at cmd_buf_addr, writes its answer there, then
// fence_value to fence_addr.
struct PspFrame {
  u32 cmd_buf_addr_lo = 0, cmd_buf_addr_hi = 0, cmd_buf_size = 0;
  u32 fence_addr_lo = 0, fence_addr_hi = 0, fence_value = 0;
  u32 sid_lo = 0, sid_hi = 0;
  u8 vmid = 0, frame_type = 0;
  u8 reserved1[2] = {};
  u32 reserved2[7] = {};
};
static_assert(sizeof(PspFrame) == 64);

enum class PspCommand : u32 {
  SetupTmr = 5,      // memory for the firmware, which nobody else may touch from then on
  LoadIpFw = 6,      // one firmware
  LoadToc = 32,      // the table of contents: answers how large that memory must be
  AutoloadRlc = 33,  // all firmware is there: the RLC starts the graphics core with it
  // How many partitions the XCCs are divided into: MP0 13.0.6. [amdgpu_psp.c
  // psp_spatial_partition(), gfx_v9_4_3.c gfx_v9_4_3_switch_compute_partition()]
  SpatialPartition = 39
};

struct PspCommandBuffer {
  u32 buf_size = 0, buf_version = 0;
  PspCommand cmd_id = PspCommand::SetupTmr;
  u32 resp_buf_addr_lo = 0, resp_buf_addr_hi = 0, resp_offset = 0, resp_buf_size = 0;
  // SetupTmr:  address lo, hi, bytes, flags (bit 1: virt_phy_addr), system address lo, hi.
  // LoadIpFw:  address lo, hi, bytes, PspFirmware.
  // LoadToc:   address lo, hi, bytes.
  // SpatialPartition: partitions.
  u32 arguments[196] = {};
  u8 reserved_1[52] = {};
  u32 status = 0, session_id = 0, fw_addr_lo = 0, fw_addr_hi = 0, tmr_size = 0;
  u32 response_rest[19] = {};
  u8 reserved_2[64] = {};
};
static_assert(sizeof(PspCommandBuffer) == 1024);
static_assert(offsetof(PspCommandBuffer, arguments) == 28);
static_assert(offsetof(PspCommandBuffer, status) == 864);
inline constexpr u32 kTmrVirtualAddress = 2;

// Of a LoadIpFw command, and of the table of a discovery by name.
enum class PspFirmware : u32 {
  CpMec = 4,     // of GC 9.4.3: its code
  CpMecMe1 = 5,  // and its jump table
  RlcV = 7,
  RlcG = 8,
  Sdma0 = 9,  // of SDMA 4.4.2: one image for the first engines of all AIDs, and so on
  Sdma1 = 10,
  Smu = 18,
  RlcRestoreGpm = 20,
  RlcRestoreSrm = 21,
  RlcRestoreCntl = 22,
  RlcP = 25,
  RlcIram = 26,
  RlcDramBoot = 48,
  Sdma2 = 52,
  Sdma3 = 53,
  RegList = 67,  // last, where nothing loads by itself
  ImuI = 68,
  ImuD = 69,
  SdmaTh0 = 71,
  SdmaTh1 = 72,
  Rs64Pfp = 87,
  Rs64Me = 88,
  Rs64Mec = 89,
  Rs64PfpP0Stack = 90,
  Rs64MeP0Stack = 92,
  Rs64MecP0Stack = 94,
  P2sTable = 129,  // the power controller's table, of MP0 13.0.6
};

// Parts of the secure operating system's file. [amdgpu_ucode.h psp_fw_type]
enum class PspPart : u32 {
  Sos = 1,
  SysDrv = 2,
  Kdb = 3,
  Toc = 4,
  Spl = 5,
  Rl = 6,
  SocDrv = 7,
  IntfDrv = 8,
  DbgDrv = 9,
  RasDrv = 10,
  IpKeyManagerDrv = 11
};

// What the boot loader is told in mailbox 35, the part's address in MiB in mailbox 36.
// [amdgpu_psp.h psp_bootloader_cmd; psp_v13_0.c psp_v13_0_bootloader_load_*()]
enum class PspBootloaderCommand : u32 {
  LoadSysDrv = 0x10000,
  LoadSos = 0x20000,
  LoadKeyDatabase = 0x80000,
  LoadSocDrv = 0xb0000,
  LoadDbgDrv = 0xc0000,
  LoadIntfDrv = 0xd0000,
  LoadRasDrv = 0xe0000,
  LoadIpKeyManagerDrv = 0xf0000,
  LoadTosSplTable = 0x10000000,
};

// The order in which the kernel loads them. The table of the trusted OS's versions is, on MP0 13,
// the key database once more, on MP0 14 a part of its own. [amdgpu_psp.c psp_hw_start();
// psp_v13_0.c psp_v13_0_bootloader_load_spl(): &psp->kdb; psp_v14_0.c
// psp_v14_0_bootloader_load_spl(): &psp->spl, in older kernels &psp->kdb; tinygrad ip.py AM_PSP:
// as here.] The kernel loads the table only where the file has a part Spl, on MP0 13 too.
//
// The driver of the blocks' keys is MP0 14's alone, as psp_v13_0.c has no function for it.
// [psp_v14_0.c psp_v14_0_bootloader_load_ipkeymgr_drv(); amdgpu_ucode.h
// PSP_FW_TYPE_PSP_IPKEYMGR_DRV. tinygrad leaves it out]
struct PspBootStep {
  PspPart part;
  PspBootloaderCommand command;
};
inline constexpr PspBootStep kPspBootStepsGc11[] = {
    {PspPart::Kdb, PspBootloaderCommand::LoadKeyDatabase},
    {PspPart::Kdb, PspBootloaderCommand::LoadTosSplTable},
    {PspPart::SysDrv, PspBootloaderCommand::LoadSysDrv},
    {PspPart::SocDrv, PspBootloaderCommand::LoadSocDrv},
    {PspPart::IntfDrv, PspBootloaderCommand::LoadIntfDrv},
    {PspPart::DbgDrv, PspBootloaderCommand::LoadDbgDrv},
    {PspPart::RasDrv, PspBootloaderCommand::LoadRasDrv},
    {PspPart::Sos, PspBootloaderCommand::LoadSos},
};
inline constexpr PspBootStep kPspBootStepsGc12[] = {
    {PspPart::Kdb, PspBootloaderCommand::LoadKeyDatabase},
    {PspPart::Spl, PspBootloaderCommand::LoadTosSplTable},
    {PspPart::SysDrv, PspBootloaderCommand::LoadSysDrv},
    {PspPart::SocDrv, PspBootloaderCommand::LoadSocDrv},
    {PspPart::IntfDrv, PspBootloaderCommand::LoadIntfDrv},
    {PspPart::DbgDrv, PspBootloaderCommand::LoadDbgDrv},
    {PspPart::RasDrv, PspBootloaderCommand::LoadRasDrv},
    {PspPart::IpKeyManagerDrv, PspBootloaderCommand::LoadIpKeyManagerDrv},
    {PspPart::Sos, PspBootloaderCommand::LoadSos},
};
// None on GC 9.4.3, whose operating system the board's firmware starts. [psp_v13_0.c
// psp_v13_0_is_sos_alive(): each step returns at once]
constexpr std::span<const PspBootStep> boot_steps_of(BareChip chip) {
  if (chip == BareChip::Gc94) return {};
  if (chip == BareChip::Gc11) return kPspBootStepsGc11;
  return kPspBootStepsGc12;
}
// Mailboxes: bit 31 of 35 says that the boot loader, of 64 that the operating system is ready.
inline constexpr u32 kPspReady = 0x8000'0000, kPspStatusMask = 0xffff;
// In 64: PSP_RING_TYPE__KM creates the ring at 69, 70 of the bytes in 71; GFX_CTRL_CMD_ID_*.
inline constexpr u32 kPspCreateRing = 2 << 16, kPspDestroyRings = 3 << 16;
inline constexpr u64 kPspMiB = u64{1} << 20;

}  // namespace doorbell::amd::hw
