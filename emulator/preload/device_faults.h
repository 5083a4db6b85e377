// Registers of devices in a program that is not ours: what the program maps lies beyond the end of
// a file, so that each access is a SIGBUS. The handler carries the instruction out on the device,
// and the program goes on behind it. However the program maps the file, by whatever function, no
// store is missed.
//
// Thread safety: from any thread; a device is called on the thread that accesses it, one at a time.
#pragma once

#include <functional>
#include <string>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {

// Offsets are in the file; an access has 4 or 8 bytes, and begins at a multiple of 4.
struct DeviceRegisters {
  std::function<u64(u64 offset, unsigned bytes)> read;
  std::function<void(u64 offset, unsigned bytes, u64 value)> write;
};

// The descriptor of a new file whose mappings are these registers, for the process's life: whoever
// opens it again maps them. x86-64 alone has it.
Result<int> make_register_file(const std::string& name, DeviceRegisters registers);

}  // namespace doorbell::emu
