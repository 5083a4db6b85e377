// The OpenCL devices of this machine for tests, and why there are none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "drivers/cl/device.h"

namespace doorbell::cl::testing {

// "Portable Computing Language", "rusticl": one test run each.
inline std::vector<std::string> platforms() {
  std::vector<std::string> names;
  if (const Result<std::vector<DeviceInfo>> found = find_devices())
    for (const DeviceInfo& info : *found)
      if (std::find(names.begin(), names.end(), info.platform) == names.end())
        names.push_back(info.platform);
  if (names.empty()) names.push_back("");
  return names;
}

// Skips where there is no OpenCL.
class PlatformTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const Result<std::vector<DeviceInfo>> found = find_devices(); !found)
      GTEST_SKIP() << found.error().message;
  }
  std::unique_ptr<ClDevice> open(Options options = {}) {
    core::DeviceSpec spec;
    spec.name = "CL";
    options.platform = GetParam();
    return *open_device(std::move(spec), options);
  }
};

inline std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (char c : info.param)
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
  return name.empty() ? "None" : name;
}

#define INSTANTIATE_PLATFORMS(suite)                    \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite); \
  INSTANTIATE_TEST_SUITE_P(Platforms, suite, ::testing::ValuesIn(platforms()), test_name)

}  // namespace doorbell::cl::testing
