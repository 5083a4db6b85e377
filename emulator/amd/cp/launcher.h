// The way from a command processor to the shader engines: it hands over a Dispatch and gets a grid
// that runs in slices. Gpu's launcher makes grids of emulator/amd/compute; tests make their own.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/compute/saved_context.h"
#include "emulator/amd/cp/queue_description.h"

namespace doorbell::emu::amdgpu {

class Caches;

enum class GridState : u8 {
  Running,  // more to do
  Polling,  // the same, but its waves, which are all there is room for, only look at memory
  Waiting,  // its waves only wait for memory that others write
  Done,     // all waves have retired
  Failed,   // fault() or exception() says why
};

class RunningGrid {
 public:
  virtual ~RunningGrid() = default;
  // At most about `budget` wave instructions.
  virtual GridState run(u64 budget) = 0;
  // After Failed, exactly one of them.
  virtual std::optional<MemoryFault> fault() const { return std::nullopt; }
  virtual std::optional<HwException> exception() const { return std::nullopt; }
  // Its waves as a preemption saves them, into the context of their XCC.
  virtual void save_waves(const SaveOptions& options, std::span<SavedContext> xccs) const {
    static_cast<void>(options);
    static_cast<void>(xccs);
  }
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // `caches`: what the waves' accesses go through, in adversarial mode; else null. Borrowed for as
  // long as the grid lives.
  virtual std::unique_ptr<RunningGrid> launch(const Dispatch& dispatch, Caches* caches) = 0;
};

}  // namespace doorbell::emu::amdgpu
