// The device under test and what it declares about itself. Every skip is derived from here: from
// the code generator's Caps and from core::Device, never from a device's name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "codegen/caps.h"
#include "core/device/device.h"
#include "hcq/device.h"

namespace doorbell::conformance {

// What a case needs of a device.
struct Needs {
  std::vector<core::DType> dtypes{};  // in memory and in arithmetic
  bool runs = false;                  // the case checks values or state, not only plans
  bool second_device = false;
  bool queues = false;
  bool subnormals = false;  // of f32
  bool private_arrays = false;
};

struct Target {
  core::Device* device = nullptr;
  codegen::Caps caps;
  core::Device* second = nullptr;  // the next of the same kind; null: see no_second
  std::string no_second;
  hcq::Device* queues = nullptr;  // the device, where it has hardware queues
  hcq::Device* second_queues = nullptr;

  // Queries the device, and opens the next one of its kind.
  static Result<Target> of(core::Device& device);
  // Why a case with these needs cannot run here; empty: it can.
  std::optional<std::string> lacks(const Needs& needs) const;
  bool has(core::DType dtype) const;
};

}  // namespace doorbell::conformance
