// Moves: the plans that are one step from a plan, for a search (beam.h). What a step does is also a
// word, so that what was learned of it on one kernel serves others (move_gains.h).
#pragma once

#include <string>
#include <vector>

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"

namespace doorbell::codegen {

struct Move {
  std::string word;  // "vector*2", "tile.k/2", "upcast+"
  Plan plan;
};

// In an order that depends on the arguments only, each plan once. apply() takes most of them; the
// others fail a CHECK there.
std::vector<Move> moves_from(const KernelInfo& info, const Caps& caps, const Plan& plan);

}  // namespace doorbell::codegen
