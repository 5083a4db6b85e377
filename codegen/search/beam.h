// A beam search over plans: from the heuristic's plan, moves (moves.h) make candidates, which are
// compiled and timed; the best few are the next step's beam. Who compiles and times is passed in,
// so that tests need neither: runtime/tune.h does it on a device.
//
// The result is never slower than the heuristic's plan: at the end both are timed again, in turns,
// and the heuristic's stays where the other is not clearly faster.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/os/clock.h"
#include "codegen/search/move_gains.h"
#include "codegen/search/moves.h"

namespace doorbell::codegen {

// A plan's code, ready to run.
struct BuiltPlan {
  u64 code = 0;  // equal exactly for equal code
  std::shared_ptr<void> program;
};

class PlanBench {
 public:
  virtual ~PlanBench() = default;
  // By plan; nothing for those that do not compile, or whose results are wrong.
  virtual std::vector<std::optional<BuiltPlan>> build(std::span<const Plan> plans) = 0;
  // The nanoseconds of one run. Fails if it cannot run.
  virtual Result<f64> run(const BuiltPlan& built) = 0;
};

struct BeamOptions {
  int width = 1;
  int max_steps = 8;
  u64 budget_ns = 4'000'000'000;  // no step begins later; with width, more
  std::string kind;               // of the kernel, for `gains`
};

struct BeamResult {
  Plan plan;  // the heuristic's if none is faster
  f64 ns = 0, heuristic_ns = 0;
  int timed = 0, built = 0;
};

// Fails if the heuristic's plan does not run. Deterministic, if the bench and the clock are.
Result<BeamResult> search_plans(const KernelInfo& info, const Caps& caps, const Plan& heuristic,
                                PlanBench& bench, os::Clock& clock, MoveGains* gains,
                                const BeamOptions& options);

}  // namespace doorbell::codegen
