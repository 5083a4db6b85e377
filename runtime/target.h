// DEV: which devices to use, through which interface, renderer and architecture.
//
//   DEV = target[;target...]    target = [IFACE[:indices]+]DEVICE[:RENDERER[:ARCH]]
//   CPU:CLANG    PCI:0,2+NV:PTX:sm_89    AMD::gfx950    :LLVM
//
// The first target is the default device; the others say how their own device is opened. Devices,
// renderers and interfaces in any case; the architecture is kept as written. See
// device_table.h for those that exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::runtime {

struct Target {
  std::string iface;
  std::vector<int> indices;
  std::string device;    // empty: whichever opens
  std::string renderer;  // empty: the device's first
  std::string arch;      // empty: as found

  bool operator==(const Target&) const = default;
};

// Checks every word against the device table. No text: no targets. Errors begin with `source`, the
// variable or option that the text is of.
Result<std::vector<Target>> parse_targets(std::string_view text, std::string_view source = "DEV");

// The first target that is for the device, or for any; null where none is.
const Target* target_for(const std::vector<Target>& targets, std::string_view device);

}  // namespace doorbell::runtime
