// Queries the device and describes what it lacks.
#include "conformance/target.h"

#include <fmt/format.h>

#include "base/util/try.h"
#include "core/device/registry.h"
#include "runtime/compilers.h"

namespace doorbell::conformance {

Result<Target> Target::of(core::Device& device) {
  Target target;
  target.device = &device;
  TRY(target.caps, runtime::caps_of(device));
  target.queues = hcq::Device::of(device);
  const core::DeviceSpec& spec = device.spec();
  const std::string kind = spec.name.substr(0, spec.name.find(':'));
  Result<core::Device*> second =
      core::Registry::instance().open(fmt::format("{}:{}", kind, spec.ordinal + 1));
  if (second) {
    target.second = *second;
    target.second_queues = hcq::Device::of(**second);
  } else {
    target.no_second = second.error().message;
  }
  return target;
}

bool Target::has(core::DType dtype) const {
  // Narrow floats are computed in f32 and stored as integers where the device has neither.
  if (dtype.is_float() && dtype.bytes() < 4) return true;
  return caps.storage_dtypes[static_cast<usize>(dtype.scalar)] && caps.has(dtype);
}

std::optional<std::string> Target::lacks(const Needs& needs) const {
  for (core::DType dtype : needs.dtypes)
    if (!has(dtype))
      return fmt::format("the device declares no {}", core::long_name_of(dtype.scalar));
  if (needs.runs && !device->runs()) return "the device compiles and never runs";
  if (needs.second_device && second == nullptr)
    return fmt::format("no second device: {}", no_second);
  if (needs.queues && queues == nullptr) return "the device has no hardware queues";
  if (needs.queues && needs.second_device && second_queues == nullptr)
    return "the second device has no hardware queues";
  if (needs.private_arrays && !caps.private_arrays)
    return "the device declares no arrays of a work item's own";
  if (needs.subnormals && caps.flushes_subnormals)
    return "the device declares that it flushes subnormal float32";
  return std::nullopt;
}

}  // namespace doorbell::conformance
