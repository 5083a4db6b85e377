// Grids that a descriptor (QMD) in the GPU's memory describes: the descriptor's checks, and the
// launch of the code and constants that it points to. Who sends descriptors, and what follows a
// grid, is host/gpu.h's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "drivers/nv/hw/qmd/qmd.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"
#include "emulator/core/races/agent_races.h"
#include "emulator/nv/compute/data_cache.h"
#include "emulator/nv/compute/launch.h"
#include "emulator/nv/isa/register_rules.h"
#include "emulator/nv/model.h"

namespace doorbell::emu::nvgpu {

// What a GPU's caches hold of code and constants. Nothing is served from them unless memory is
// still the same, or the hardware is adversarial.
class GridCaches {
 public:
  struct Code {
    std::vector<u8> bytes;   // from the address on
    std::vector<u8> before;  // of what lies before it, as much as the code may jump to
    Program program;
    std::vector<RegisterUses> uses;
    bool is_current = true;  // not invalidated
  };
  // The code at an address, decoded for a chip (86 of sm_86). `before`: what is mapped before it,
  // of which functions may be part that the code calls. `is_stale`: memory has changed, and
  // the cache was not invalidated since. `serve_stale`: then the old code.
  std::shared_ptr<const Code> code(u64 address, std::span<const u8> before,
                                   std::span<const u8> bytes, u32 chip, bool serve_stale,
                                   bool* is_stale);
  void invalidate_code();

  // The same of a constant buffer's bytes.
  std::vector<u8> constants(u64 address, std::span<const u8> bytes, bool is_invalidated,
                            bool serve_stale, bool* is_stale);
  void invalidate_constants() { constants_.clear(); }

 private:
  std::map<u64, std::shared_ptr<Code>> code_;
  std::map<u64, std::vector<u8>> constants_;
};

struct QmdGrid {
  const Model& model;
  u64 address;                 // of the descriptor
  std::span<const u32> words;  // of the descriptor, as many as the newest version has; borrowed
  AddressSpace& space;
  Checks& checks;
  GridCaches& caches;
  DataCaches* data_caches;  // null: none
  // As the methods of the compute class set them.
  u64 shared_window, local_window;
  u64 local_memory, local_bytes_of_tpc;
  u64 most_instructions;  // of a warp; 0: no limit
  Counts* counts;         // Launch::counts
  bool adversarial;
  std::string who;  // "GPU 0, channel 1": for reports
  // What the grid is among others that run; null: races are not judged. Borrowed.
  RaceTask* task = nullptr;
  // Sees a constant buffer as the grid reads it, and may change it; null: nobody.
  std::function<void(u32 number, std::vector<u8>* bytes)> show_bank;
};

// Reports what is wrong with the descriptor; fails with the message where a rule says that the grid
// cannot run.
Result<nv::hw::Qmd> check_qmd(const QmdGrid& grid);
// Runs the grid; what stopped it, or nothing. Fails like check_qmd().
Result<std::optional<Fault>> run_qmd(const QmdGrid& grid, const nv::hw::Qmd& qmd);
// "grid (4, 1, 1), block (32, 1, 1), code at 0x..."
std::string describe_grid(const QmdGrid& grid, const nv::hw::Qmd& qmd);

}  // namespace doorbell::emu::nvgpu
