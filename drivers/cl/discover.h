// Finding OpenCL devices, with their handles. What the rest of the program learns of them is
// device.h's DeviceInfo.
#pragma once

#include "drivers/cl/api.h"
#include "drivers/cl/device.h"

namespace doorbell::cl {

struct Found {
  cl_platform_id platform;
  cl_device_id device;
  DeviceInfo info;
};

// As find_devices(); names what was there instead when nothing is left.
Result<std::vector<Found>> discover(const Api& api, const std::string& platform);

}  // namespace doorbell::cl
