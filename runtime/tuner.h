// Tuner: the plan of each kernel, from earlier searches, or from a search now. For the search see
// codegen/search/beam.h; docs/tuning.md is for users.
//
// Thread safety: from any thread. Searches follow one another, so that nothing else runs while one
// times its candidates, as far as this process can see to it.
#pragma once

#include <mutex>
#include <optional>

#include "base/os/system.h"
#include "codegen/search/tuned_plans.h"
#include "core/device/device.h"

namespace doorbell::runtime {

class Tuner {
 public:
  Tuner(const os::System& system, std::string path)
      : system_(system), plans_(system.files, std::move(path)) {}

  // Nothing: the heuristic's. `width` is that of a search where none was made yet; 0: none is made.
  std::optional<codegen::Plan> plan_of(const core::KernelAst& kernel, core::Device& device,
                                       const codegen::Backend& backend, int width);
  codegen::TunedPlans& plans() { return plans_; }

 private:
  codegen::TunedPlan search(const core::KernelAst& kernel, core::Device& device,
                            const codegen::Backend& backend, int width);

  const os::System& system_;
  codegen::TunedPlans plans_;
  std::mutex searches_;  // held by the one that searches
};

// Of this process, with the file in its cache folder.
Tuner& tuner();

}  // namespace doorbell::runtime
