// The one table device <-> interfaces <-> renderers. Opening devices is the drivers', compiling is
// codegen's; this says which belong together and what this version has.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doorbell::runtime {

struct RendererRow {
  std::string name;
  bool built;
};

struct DeviceRow {
  std::string name;
  std::vector<std::string> interfaces;  // those a fallback tries first, then emulators (EMU...)
  std::vector<RendererRow> renderers;   // the first that is built is the default
  bool built;
  int fallback;  // place in the order tried without DEV; 0: never by itself
};

std::span<const DeviceRow> device_table();
const DeviceRow* find_device(std::string_view name);
std::vector<std::string> device_names();
// Before the runtime starts, and by one thread: see extension.h.
void add_device_row(DeviceRow row);

// Why a device or renderer of the table that is not built is refused.
inline constexpr std::string_view kNotBuilt = "not part of this version of Doorbell yet";

}  // namespace doorbell::runtime
