// The sweep: decides which values are stored. Every stored value has Ranges of its own over its
// axes; consumers hand theirs to producers, through movement ops as functions on indexes. Where the
// consumers of a value do not read it alike, or where a loop that the value does not vary with
// would compute it again each time, the value is a candidate for storing. fuse.h decides whether a
// candidate is cheap enough to be computed twice instead; cut.h cuts kernels that are too large.
#pragma once

#include <vector>

#include "core/schedule/lazy_graph.h"
#include "core/schedule/moves.h"
#include "core/schedule/schedule.h"

namespace doorbell::core {

enum class Stored : u8 {
  No,         // part of the kernel of its owner
  Candidate,  // stored unless it is cheap
  Must,
};

// A stored value as one kernel reads it, this many times.
struct Use {
  LazyId owner;
  f64 reads;
  u32 next;  // in Sweep::uses, or kNoUse
};
inline constexpr u32 kNoUse = ~u32{0};

struct Sweep {
  std::vector<Stored> stored;  // by node
  std::vector<LazyId> owner;   // the stored node whose kernel computes this one; kNoNode if dead
  std::vector<u32> first_use;  // by node, into uses
  std::vector<Use> uses;
  std::vector<f64> work;  // by stored node: operations of its kernel as swept
};

// The cost of one evaluation of `op`; a load and an addition cost 1.
f64 work_of(Op op);

Sweep sweep(LazyGraph& graph, Moves& moves, Arena& arena, const ScheduleOptions& options);

}  // namespace doorbell::core
