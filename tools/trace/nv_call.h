// Calls of NVIDIA's kernel modules as text: the escape or UVM's ioctl with the fields that are not
// 0, and the parameters that RM_ALLOC and RM_CONTROL point to. What has no record here is shown as
// bytes. For the records see drivers/nv/hw/rm and uvm.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "drivers/nv/hw/rm/abi.h"
#include "drivers/nv/hw/rm/other_calls.h"

namespace doorbell::tools {

// Copies memory of this process; nothing for memory that cannot be read.
std::optional<std::vector<std::byte>> read_client(u64 address, usize bytes);

// An escape of /dev/nvidiactl or /dev/nvidiaN without its transfer, if it has one.
struct NvEscape {
  u8 number = 0;
  std::vector<std::byte> argument;
};
// Nothing for an ioctl that is no escape.
std::optional<NvEscape> escape_of(unsigned long request, const void* argument);

// RM_ALLOC in either form.
std::optional<nv::hw::RmAllocWithRights> alloc_of(const NvEscape& escape, nv::hw::DriverAbi abi);

template <class Record>
std::optional<Record> record_of(std::span<const std::byte> bytes, nv::hw::DriverAbi abi) {
  Result<Record> record = nv::hw::unpack<Record>(bytes, abi);
  return record ? std::optional<Record>(*record) : std::nullopt;
}
// The parameters at an address of this process.
template <class Record>
std::optional<Record> record_at(u64 address, nv::hw::DriverAbi abi) {
  const auto bytes = read_client(address, nv::hw::packed_size<Record>(abi));
  return bytes ? record_of<Record>(*bytes, abi) : std::nullopt;
}

// `error`: the errno of the call, or 0.
std::string text_of(const NvEscape& escape, nv::hw::DriverAbi abi, int error);
std::string text_of_uvm(u32 request, const void* argument, nv::hw::DriverAbi abi, int error);

}  // namespace doorbell::tools
