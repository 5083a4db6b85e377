// Sharding: the last pass over tensor-graph nodes. A graph of values on several devices becomes one
// in which every value that is computed is on one device: a value split along an axis becomes one
// part per device, copies become one node each, and where an op needs elements of another part they
// are cut out, copied and joined. Which placement a value has was decided when its node was made
// (core/uop/placement.h); for adding up over devices see allreduce.h, for what processes exchange
// exchange.h.
//
// Several processes make the same graph, each from its own memory. A value on one device of this
// process stands for the same value in all of them, so that taking parts of it moves nothing. Nodes
// on other processes' devices are made all the same, because the order of exchanges follows from
// the graph; whoever runs the schedule leaves their kernels out.
//
// Needs: a walk with its order. Guarantees: a kernel reads memory of its own device only.
#pragma once

#include <vector>

#include "core/schedule/graph_key.h"

namespace doorbell::core {

// A root of the graph before: these of the roots after. One of them, unless it is on several
// devices.
struct ShardedRoot {
  u32 first, count;
  i64 layout;  // of several: see Op::Multi
};

struct ShardedGraph {
  GraphKey key;  // its order, inputs and variables; the latter as they were before
  std::vector<UOp> roots;
  std::vector<ShardedRoot> by_root;
  std::vector<UOpRef> made;  // the nodes that were not there before
};

// Whether a graph names another device than the default one.
bool needs_sharding(const GraphKey& key, u16 default_device);
ShardedGraph shard_graph(const GraphKey& key, std::span<const UOp> roots);

}  // namespace doorbell::core
