// The list of rules, made of the files that define them.
#include "emulator/amd/all_checks.h"

#include "emulator/amd/bare/bare_checks.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {

std::span<const Check* const> all_checks() {
#define DOORBELL_RULE(name, ...) &name,
  static constexpr const Check* kAll[] = {
#include "emulator/amd/kfd/kfd_checks.def"
// After the kernel's, those of the command processors.
#include "emulator/amd/cp/rules.def"
// And of GPUs without a kernel driver.
#include "emulator/amd/bare/bare_checks.def"
  };
#undef DOORBELL_RULE
  return kAll;
}

}  // namespace doorbell::emu::amdgpu
