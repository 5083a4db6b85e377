// The list of rules, made of the files that define them.
#include "emulator/nv/rules.h"

#include <vector>

#include "emulator/nv/compute/rules.h"

namespace doorbell::emu::nvgpu {

std::span<const Check* const> all_checks() {
  static const std::vector<const Check*>& all = *[] {
    auto* list = new std::vector<const Check*>{
#define DOORBELL_RULE(name, ...) &name,
#include "emulator/nv/rules.def"
#undef DOORBELL_RULE
    };
    list->insert(list->end(), std::begin(kAllRules), std::end(kAllRules));
    return list;
  }();
  return all;
}

}  // namespace doorbell::emu::nvgpu
