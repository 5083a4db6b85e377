// A compiled kernel for tests of the driver, from the seeds of the code objects' fuzz target.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/device/program.h"

namespace doorbell::amd {

// b[i] = a[i] + 7 for groups of 32 items of a gfx1100, by llc 22 -mcpu=gfx1100 from
//   define amdgpu_kernel void @kernel(ptr addrspace(1) %a, ptr addrspace(1) %b)
// `gfx1100_gather`: b[i] = a[a[i]], made so too.
inline core::Binary compiled_kernel(const std::string& object = "gfx1100", i64 groups = 1) {
  const std::string path = std::string(std::getenv("DOORBELL_SOURCE_ROOT")) +
                           "/tests/fuzz/corpus/amd_code_object/" + object;
  std::ifstream file(path, std::ios::binary);
  core::Binary binary;
  binary.name = "kernel";
  binary.image.assign(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(binary.image.empty()) << path;
  binary.param_count = 2;
  binary.grid_groups[0] = groups;
  binary.group_items[0] = 32;
  return binary;
}

}  // namespace doorbell::amd
