// From the command processor to the shaders: a Launcher of grids of emulator/amd/compute.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "emulator/amd/breakpoints.h"
#include "emulator/amd/compute/grid.h"
#include "emulator/amd/cp/launcher.h"
#include "emulator/amd/isa/chip.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"
#include "emulator/core/undefined_memory.h"

namespace doorbell::emu::amdgpu {

struct GridLauncherOptions {
  const Chip* chip = nullptr;                  // borrowed, static
  const AddressSpace* space = nullptr;         // borrowed: outlives the launcher
  ComputeUnits compute_units;                  // of each XCC
  u64 seed = 0;                                // of the order of waves; 0: the fastest one
  bool poison = false;                         // what a launch leaves undefined is noise
  Checks* checks = nullptr;                    // borrowed; judge AMD-INI, AMD-RES and AMD-BAR
  UndefinedMemory* undefined = nullptr;        // borrowed; null: those rules are off
  std::function<void(std::string_view)> dump;  // of the waves of a grid that stops; or null
  Breakpoints* breakpoints = nullptr;          // borrowed; null: there are none
  Counts* counts = nullptr;                    // borrowed; null: nothing is counted
  bool returns_from_traps = false;             // GridOptions has it
};

// Thread safety: used by the GPU's thread only.
class GridLauncher final : public Launcher {
 public:
  explicit GridLauncher(const GridLauncherOptions& options);
  ~GridLauncher() override;

  std::unique_ptr<RunningGrid> launch(const Dispatch& dispatch, Caches* caches) override;

 private:
  GridLauncherOptions options_;
  std::unique_ptr<CodeCache> code_;  // made at the first launch, when the decoder is opened
  DirectMemory memory_;
  void set_breaks(const Dispatch& dispatch, GridOptions* grid) const;
  void judge_races(const Dispatch& dispatch, GridOptions* grid);

  UndefinedTracking undefined_;
  u64 launches_ = 0;
  // Of the last launch whose races in memory are judged: its other XCCs share them.
  std::weak_ptr<GlobalRaces> races_;
  u64 races_code_ = 0;
  u32 races_xcc_ = 0;
};

}  // namespace doorbell::emu::amdgpu
