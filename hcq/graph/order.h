// Order: turns "must follow" edges into barriers within a queue, and signals and waits between
// queues, without redundant ones. A pure function of the edges, so that it can be tested without a
// device.
#pragma once

#include <vector>

#include "base/util/types.h"

namespace doorbell::hcq {

struct OrderNode {
  u32 queue;
  std::vector<u32> after;  // earlier nodes, any order
};

// The signals that a queue raises in one run are numbered from 1; the last one is its end.
struct OrderWait {
  u32 queue;
  u32 signal;
  bool operator==(const OrderWait&) const = default;
};

struct Order {
  struct Node {
    std::vector<OrderWait> waits;  // before it
    bool barrier = false;          // before it: it follows a node of its own queue
    u32 signal = 0;                // raised after it, or 0
  };
  std::vector<Node> nodes;
  std::vector<u32> signals;  // by queue: how many a run raises; 0: no node is on it
  // By queue: the part of the last run that must be done before this run starts on it.
  std::vector<std::vector<OrderWait>> carried;
};

// `next_run` has the edges of the same nodes in a second run that follows the first: numbers below
// nodes.size() mean nodes of the first run.
Order make_order(const std::vector<OrderNode>& nodes, const std::vector<OrderNode>& next_run,
                 u32 queues);

}  // namespace doorbell::hcq
