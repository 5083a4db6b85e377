// Grids as the command processor sees them, and what their stops are called in the kernel.
#include "emulator/amd/grid_launcher.h"

#include <fmt/format.h>

#include "base/util/hash.h"
#include "emulator/amd/cp/adversarial_memory.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/isa/handlers.h"
#include "emulator/amd/kernel_names.h"

namespace doorbell::emu::amdgpu {
namespace {

const Check& rule_of(Use use) {
  switch (use) {
    case Use::Address: return kUndefinedAddress;
    case Use::Branch: return kUndefinedBranch;
    case Use::Lanes: return kUndefinedLanes;
    case Use::Operand: break;
  }
  return kUndefinedOperand;
}

const Check& rule_of(const GridStop& stop) {
  if (stop.kind == GridStop::Kind::Deadlock) return kBarrierDeadlock;
  switch (stop.exit.limit) {
    case Exit::Limit::Registers: return kBeyondRegisters;
    case Exit::Limit::Lds: return kBeyondLds;
    case Exit::Limit::Scratch: return kBeyondScratch;
    case Exit::Limit::Alignment: break;
  }
  return kAtomicAlignment;
}

class LaunchedGrid final : public RunningGrid {
 public:
  // Waves go through `own`, if there is one, else straight to memory.
  LaunchedGrid(const Chip& chip, CodeCache& code, DirectMemory& direct,
               std::unique_ptr<AdversarialMemory> own, const Dispatch& dispatch,
               const GridOptions& options, const GridLauncherOptions& launcher)
      : launcher_(launcher),
        own_(std::move(own)),
        grid_(chip, code, own_ ? static_cast<Memory&>(*own_) : direct, dispatch, options) {}

  GridState run(u64 budget) override {
    stop_ = grid_.run(budget);
    switch (stop_.kind) {
      case GridStop::Kind::Running:
        if (stop_.waiting) return GridState::Waiting;
        return stop_.spinning ? GridState::Polling : GridState::Running;
      case GridStop::Kind::Done: return GridState::Done;
      default: break;
    }
    if (launcher_.dump) launcher_.dump(stop_.what + "\n" + grid_.describe_waves());
    return GridState::Failed;
  }

  std::optional<MemoryFault> fault() const override {
    if (stop_.kind != GridStop::Kind::Fault) return std::nullopt;
    return MemoryFault{.va = stop_.fault.address,
                       .not_present = stop_.fault.kind == AccessFault::Kind::NotPresent,
                       .read_only = stop_.fault.kind == AccessFault::Kind::ReadOnly,
                       .no_execute = stop_.fault.kind == AccessFault::Kind::NoExecute,
                       .what = stop_.what};
  }

  void save_waves(const SaveOptions& options, std::span<SavedContext> xccs) const override {
    const u32 xcc = grid_.dispatch().xcc;
    if (xcc < xccs.size()) grid_.save_waves(options, xccs[xcc]);
  }

  std::optional<HwException> exception() const override {
    if (stop_.kind == GridStop::Kind::Fault) return std::nullopt;
    const bool illegal = stop_.kind == GridStop::Kind::Illegal;
    return HwException{
        .what = stop_.what,
        .cause = illegal ? HwException::Cause::Instruction : HwException::Cause::Other,
        .judged = is_judged()};
  }

 private:
  // `broken`, `undefined`, `missing_wait` and `race` have reported these, and at which level.
  bool is_judged() const {
    switch (stop_.kind) {
      case GridStop::Kind::Undefined:
      case GridStop::Kind::Wait:
      case GridStop::Kind::Race: return true;
      case GridStop::Kind::Deadlock:
      case GridStop::Kind::Bounds: return launcher_.checks->level(rule_of(stop_)) == Level::Error;
      default: return false;
    }
  }

  const GridLauncherOptions& launcher_;  // borrowed
  std::unique_ptr<AdversarialMemory> own_;
  Grid grid_;
  GridStop stop_;
};

// A grid that cannot even start.
class RefusedGrid final : public RunningGrid {
 public:
  explicit RefusedGrid(std::string why) : why_(std::move(why)) {}
  GridState run(u64) override { return GridState::Failed; }
  std::optional<HwException> exception() const override {
    return HwException{.what = why_, .cause = HwException::Cause::Other};
  }

 private:
  std::string why_;
};

}  // namespace

GridLauncher::GridLauncher(const GridLauncherOptions& options)
    : options_(options), memory_(*options.space) {
  undefined_ = {.memory = options.undefined,
                .space = options.space,
                .report = [checks = options.checks](Use use, const std::string& what) {
                  return checks->report(rule_of(use), what) == Level::Error;
                }};
}

GridLauncher::~GridLauncher() = default;

void GridLauncher::set_breaks(const Dispatch& dispatch, GridOptions* grid) const {
  if (options_.breakpoints == nullptr || !options_.breakpoints->ask_for_names()) return;
  const Breakpoints::Kernel kernel{kernel_name_at(*options_.space, dispatch.code), dispatch.code};
  grid->breaks = options_.breakpoints->addresses(kernel);
  grid->at_break = [kernel, &given = options_](const WorkGroup& group, usize wave) {
    return given.breakpoints->reach(kernel, *given.chip, *given.space, group, wave);
  };
}

void GridLauncher::judge_races(const Dispatch& dispatch, GridOptions* grid) {
  const auto judged_by = [checks = options_.checks](const Check& rule) {
    return [checks, &rule](const std::string& what) {
      return checks->report(rule, what) == Level::Error;
    };
  };
  if (options_.checks->level(kLdsRace) != Level::Off) grid->race = judged_by(kLdsRace);
  grid->space = options_.space;
  grid->agent_race = judged_by(kAgentRace);
  if (options_.checks->level(kMemoryRace) == Level::Off) return;
  grid->memory_race = judged_by(kMemoryRace);
  // A command processor launches on one XCC after the other.
  grid->races = races_.lock();
  if (!grid->races || dispatch.code != races_code_ || dispatch.xcc <= races_xcc_ ||
      dispatch.xcc_count == 1)
    grid->races =
        std::make_shared<GlobalRaces>(race_rules(*options_.chip), waves_per_group(dispatch));
  races_ = grid->races;
  races_code_ = dispatch.code;
  races_xcc_ = dispatch.xcc;
}

std::unique_ptr<RunningGrid> GridLauncher::launch(const Dispatch& dispatch, Caches* caches) {
  if (!code_) {
    auto code = CodeCache::create(*options_.chip, handler_set());
    if (!code)
      return std::make_unique<RefusedGrid>("no instruction can be decoded: " +
                                           code.error().message);
    code_ = std::move(*code);
  }
  GridOptions options{.poison = options_.poison, .compute_units = options_.compute_units};
  options.returns_from_traps = options_.returns_from_traps;
  options.broken = [checks = options_.checks](const GridStop& stop) {
    return checks->report(rule_of(stop), stop.what) == Level::Error;
  };
  if (caches) options.cache_units = caches->shape().units;
  if (options_.undefined) options.undefined = &undefined_;
  if (options_.checks->level(kLoadWait) != Level::Off && options_.counts == nullptr)
    options.missing_wait = [checks = options_.checks](const std::string& what) {
      return checks->report(kLoadWait, what) == Level::Error;
    };
  if (options_.counts == nullptr) judge_races(dispatch, &options);
  if (options_.counts != nullptr) {
    options.counts = options_.counts;
    options.counted_as = kernel_name_at(*options_.space, dispatch.code);
    if (options.counted_as.empty())
      options.counted_as = fmt::format("kernel at {:#x}", dispatch.code);
  }
  if (options_.seed) options.seed = hash_combine(options_.seed, ++launches_) | 1;
  set_breaks(dispatch, &options);
  std::unique_ptr<AdversarialMemory> own;
  if (caches) {
    std::string kernel =
        dispatch.kernel.empty() ? fmt::format("at {:#x}", dispatch.code) : dispatch.kernel;
    own = std::make_unique<AdversarialMemory>(*options_.space, *caches, options_.chip->generation,
                                              dispatch.xcc, std::move(kernel));
  }
  return std::make_unique<LaunchedGrid>(*options_.chip, *code_, memory_, std::move(own), dispatch,
                                        options, options_);
}

}  // namespace doorbell::emu::amdgpu
