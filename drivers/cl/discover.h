// Finds OpenCL devices, with their handles. For their properties see DeviceInfo in device.h.
#pragma once

#include "drivers/cl/api.h"
#include "drivers/cl/device.h"

namespace doorbell::cl {

struct Found {
  cl_platform_id platform;
  cl_device_id device;
  DeviceInfo info;
};

// As find_devices(); if none is left, the error names the devices that were found.
Result<std::vector<Found>> discover(const Api& api, const std::string& platform);

}  // namespace doorbell::cl
