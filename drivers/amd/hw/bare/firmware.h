// AMD's firmware files: a common header, one more of the file's kind, and images, which go to the
// security processor each under a type of its own. Where files lie is for
// drivers/amd/kernel/pci/firmware_files.h.
#pragma once

#include <span>
#include <vector>

#include "base/util/result.h"
#include "drivers/amd/hw/bare/psp.h"

namespace doorbell::amd::hw {

// P2s: the power controller's file where its table alone is loaded.
enum class FirmwareKind : u8 { Smu, Sdma, Pfp, Me, Mec, Imu, Rlc, P2s };

// What one LOAD_IP_FW command loads. Bytes are borrowed from the file.
struct FirmwareImage {
  PspFirmware type;
  std::span<const u8> bytes;
};
struct FirmwareFile {
  u32 version = 0;
  std::vector<FirmwareImage> images;  // in the order in which they are loaded
  u64 entry = 0;                      // of Pfp, Me, Mec: of the first instruction
};
// The power controller's table that a card of MP1 13.0.6 takes, by its PCI device.
// [smu_v13_0_6_ppt.c P2S_TABLE_ID_X, P2S_TABLE_ID_3; smu_v13_0_6_init_microcode(): "if (var ==
// 0x5)". tinygrad's amdev.py AMFirmware takes X for all, of which it starts none that ends in 5]
inline constexpr u32 kP2sTableX = 0x50325358, kP2sTable3 = 0x50325303;
constexpr u32 p2s_table_of(u16 pci_device) {
  return (pci_device & 0xf) == 5 ? kP2sTable3 : kP2sTableX;
}
// Any bytes: a header of a version that is not known, or images outside of the file, are refused.
// `p2s_table` is for P2s alone.
Result<FirmwareFile> read_firmware(FirmwareKind kind, std::span<const u8> file,
                                   u32 p2s_table = kP2sTableX);

// The parts of psp_*_sos.bin.
struct PspImage {
  PspPart part;
  std::span<const u8> bytes;
};
Result<std::vector<PspImage>> read_psp_file(std::span<const u8> file);
// What a file of any kind says of itself.
Result<u32> read_firmware_version(std::span<const u8> file);

}  // namespace doorbell::amd::hw
