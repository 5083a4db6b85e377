// Looking up, searching, keeping.
#include "runtime/tuner.h"

#include "base/os/host.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "codegen/search/beam.h"
#include "core/util/config.h"
#include "runtime/plan_bench.h"

namespace doorbell::runtime {
namespace {

// What a kernel is like, for what moves bring: contractions, other reductions, the rest.
const char* kind_of(const codegen::KernelInfo& info, const codegen::Plan& plan) {
  if (codegen::has_opt(plan, codegen::OptOp::Stage)) return "staged";
  if (codegen::has_opt(plan, codegen::OptOp::Tile)) return "tiled";
  return info.reduces.empty() ? "elementwise" : "reduction";
}

// The heuristic's plan, and the kernel's name.
Result<codegen::TunedPlan> heuristic_of(const core::KernelAst& kernel,
                                        const codegen::Backend& backend) {
  codegen::Backend uncached = backend;
  uncached.cache = nullptr;
  TRY(const codegen::CompiledKernel made, codegen::compile_kernel(kernel, uncached));
  codegen::TunedPlan tuned;
  TRY(tuned.plan, codegen::parse_plan(made.plan));
  tuned.kernel = made.binary.name, tuned.target = codegen::tuning_target(backend);
  return tuned;
}

Result<codegen::BeamResult> run_search(const core::KernelAst& kernel, core::Device& device,
                                       const codegen::Backend& backend, const codegen::Plan& plan,
                                       int width, os::Clock& clock, codegen::TunedPlans* plans) {
  core::Arena arena;
  const codegen::KernelInfo info = codegen::merged_info(kernel, arena);
  TRY(const std::unique_ptr<DevicePlanBench> bench,
      DevicePlanBench::make(kernel, info, device, backend, clock));
  const std::string target = codegen::tuning_target(backend);
  codegen::MoveGains gains = plans->gains(target);
  const codegen::BeamOptions options{.width = width, .kind = kind_of(info, plan)};
  Result<codegen::BeamResult> result =
      codegen::search_plans(info, backend.caps, plan, *bench, clock, &gains, options);
  plans->store_gains(target, gains);
  return result;
}

}  // namespace

codegen::TunedPlan Tuner::search(const core::KernelAst& kernel, core::Device& device,
                                 const codegen::Backend& backend, int width) {
  Result<codegen::TunedPlan> tuned = heuristic_of(kernel, backend);
  if (!tuned) return {};  // compiling it will say why
  Result<codegen::BeamResult> result =
      run_search(kernel, device, backend, tuned->plan, width, system_.clock, &plans_);
  if (!result) {
    log().warn("no search for {}: {}", tuned->kernel, result.error().message);
    return std::move(*tuned);
  }
  log().debug("{}: {:.1f} us, {:.2f} of the heuristic's, of {} plans: {}", tuned->kernel,
              result->ns / 1e3, result->ns / result->heuristic_ns, result->timed,
              codegen::print(result->plan));
  tuned->plan = std::move(result->plan);
  tuned->ns = result->ns, tuned->heuristic_ns = result->heuristic_ns;
  return std::move(*tuned);
}

std::optional<codegen::Plan> Tuner::plan_of(const core::KernelAst& kernel, core::Device& device,
                                            const codegen::Backend& backend, int width) {
  if (backend.compiler == nullptr || !device.runs()) return std::nullopt;
  if (width <= 0 && plans_.is_empty()) return std::nullopt;
  const codegen::CacheKey key = codegen::tuning_key(kernel, backend);
  std::optional<codegen::TunedPlan> found = plans_.find(key);
  if (!found && width > 0) {
    std::lock_guard lock(searches_);
    found = plans_.find(key);
    if (!found) {
      found = search(kernel, device, backend, width);
      if (found->kernel.empty()) return std::nullopt;
      plans_.store(key, *found);
    }
  }
  return found ? std::optional(std::move(found->plan)) : std::nullopt;
}

Tuner& tuner() {
  const core::Config& config = core::config();
  const bool keeps = config.cache_level >= 1 && !config.cache_directory.empty();
  // Never freed: kernels may compile while the process exits. The first caller's directory counts.
  static Tuner& tuner =
      *new Tuner(os::host_system(), keeps ? config.cache_directory + "/plans.db" : std::string());
  return tuner;
}

}  // namespace doorbell::runtime
