// The threads of a group that meet: each is a fiber, which runs to its next barrier or to its next
// function on matrices of its simdgroup. Those are carried out when all 32 threads have come to
// one. Compiling kernels and running grids are in kernel.cc.
#pragma once

#include <optional>
#include <vector>

#include "emulator/metal/kernel.h"

namespace doorbell::emu::metal {

struct Position {
  u32 x, y, z;
};
using RunItem = void(void* const* arguments, const Position* group, const Position* item);

// Runs one group; the threads of a simdgroup are neighbours in `items`. Nothing, or a broken rule.
// One call at a time for the process.
std::optional<KernelFault> run_group(RunItem* run, void* const* arguments, const Position& group,
                                     const std::vector<Position>& items);

// What a fiber calls. d = a * b + c, of matrices of 8 by 8 of which a thread gives two elements
// each.
void wait_at_barrier();
void multiply_matrices(const f32* a, const f32* b, const f32* c, f32* d);

}  // namespace doorbell::emu::metal
