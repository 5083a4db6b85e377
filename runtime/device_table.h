// The one table of devices: the kinds of devices.def, then those that the program added. Opening
// devices is left to the drivers, compiling to codegen.
//
// Thread safety: add_to_table() before other threads read, which is before the runtime starts.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device_kind.h"

namespace doorbell::runtime {

// Kinds keep their address.
const std::deque<DeviceKind>& device_table();
void add_to_table(DeviceKind kind);

// Null where there is none of the name.
const DeviceKind* find_device(std::string_view name);
// Those that compute, which DEV may choose, in order.
std::vector<const DeviceKind*> computing_devices();
std::vector<std::string> device_names();  // of computing_devices()

// Of all kinds, in order.
std::vector<DeclaredSetting> device_settings();
// Fails for a name that no kind declares, and for what is no value of the setting.
Result<void> check_device_settings(const SettingValues& values);

// A renderer by the name that it has for one kind of device.
struct NamedRenderer {
  std::string name;
  const RendererKind* kind;  // of the table
  const DeviceKind* owner;

  bool is_built() const { return kind->make != nullptr; }
};
// Where names meet, a renderer that is built hides one that is not.
std::vector<NamedRenderer> renderers_of(const DeviceKind& device);

// Why a device or renderer of the table that is not built is refused.
inline constexpr std::string_view kNotBuilt = "not part of this version of Doorbell yet";

}  // namespace doorbell::runtime
