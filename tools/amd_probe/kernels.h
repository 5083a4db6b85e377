// The probe's kernels, assembled beforehand for every generation (kernels/*.s), so that they run
// where no compiler is; packed into code objects as the driver loads them.
#pragma once

#include <string_view>
#include <vector>

#include "core/device/program.h"
#include "drivers/amd/caps.h"

namespace doorbell::tools {

// The descriptor's words, then the code's; empty for a kernel that there is not.
std::span<const u32> kernel_words(std::string_view name, amd::hw::Generation generation);

struct KernelShape {
  u32 params = 0, variables = 0;
  u32 items = 64, groups = 1;
  u32 local_bytes = 0;
};
Result<core::Binary> probe_kernel(std::string_view name, const amd::Caps& caps,
                                  const KernelShape& shape);

}  // namespace doorbell::tools
