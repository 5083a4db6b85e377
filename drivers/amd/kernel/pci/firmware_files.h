// Firmware of AMD's GPUs as distributions install it: plain, or compressed with xz or zstd.
#pragma once

#include <string>
#include <vector>

#include "base/os/files.h"
#include "drivers/amd/hw/bare/discovery.h"
#include "drivers/amd/hw/bare/firmware.h"

namespace doorbell::amd {

// The file's bytes. Where there is none, the error says which package has it.
Result<std::vector<u8>> read_firmware_file(os::Files& files, const std::string& name);

// All that a GPU is started with, and the files that the images borrow from.
// Where the command processor's processors begin; PFP and ME on GPUs alone that have them begun.
struct ProcessorEntries {
  u64 pfp = 0, me = 0, mec = 0;
};
struct Firmware {
  std::vector<std::vector<u8>> files;
  std::vector<hw::PspImage> psp;
  hw::FirmwareFile smu;
  ProcessorEntries entries;
  struct Version {
    std::string name;
    u32 version = 0;
  };
  std::vector<Version> versions;          // of each file, in the order of loading
  std::vector<hw::FirmwareImage> images;  // without the SMU's, in the order of loading
};
Result<Firmware> read_firmware(os::Files& files, const hw::Discovery& discovery, u16 pci_device);
// Of the command processor's alone.
Result<ProcessorEntries> read_entries(os::Files& files, const hw::Discovery& discovery);

}  // namespace doorbell::amd
