// Vector clocks: for each queue, how far it knows each other queue to be. A wait that the clock
// already knows is not made.
#include "hcq/graph/order.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::hcq {
namespace {

// By queue: nodes known to be done, as a count of the nodes of that queue.
using VectorClock = std::vector<u32>;

// Edges to other queues that nothing else implies, by node; at most one for each queue.
std::vector<std::vector<u32>> needed_edges(const std::vector<OrderNode>& nodes,
                                           const std::vector<u32>& rank, u32 queues) {
  std::vector<std::vector<u32>> needed(nodes.size());
  std::vector<VectorClock> after(nodes.size());  // what is known once the node has run
  std::vector<VectorClock> known(queues, VectorClock(queues, 0));
  for (usize n = 0; n < nodes.size(); ++n) {
    VectorClock& clock = known[nodes[n].queue];
    // The latest first: its clock may make other waits unnecessary.
    std::vector<u32> edges = nodes[n].after;
    std::sort(edges.begin(), edges.end(), std::greater<>());
    for (u32 edge : edges) {
      CHECK(edge < n, "node {} after node {}", n, edge);
      const u32 queue = nodes[edge].queue;
      if (queue == nodes[n].queue || clock[queue] >= rank[edge]) continue;
      needed[n].push_back(edge);
      for (u32 q = 0; q < queues; ++q) clock[q] = std::max(clock[q], after[edge][q]);
    }
    clock[nodes[n].queue] = rank[n];
    after[n] = clock;
  }
  return needed;
}

// What `next_run` needs of the last run, as the first signal at or after each node.
void carry(const std::vector<OrderNode>& nodes, const std::vector<OrderNode>& next_run,
           const std::vector<u32>& covering, Order* order) {
  for (const OrderNode& node : next_run)
    for (u32 edge : node.after) {
      if (edge >= nodes.size() || nodes[edge].queue == node.queue) continue;
      const u32 queue = nodes[edge].queue, signal = covering[edge];
      auto& waits = order->carried[node.queue];
      auto held = std::find_if(waits.begin(), waits.end(),
                               [&](const OrderWait& wait) { return wait.queue == queue; });
      if (held == waits.end())
        waits.push_back({queue, signal});
      else
        held->signal = std::max(held->signal, signal);
    }
}

}  // namespace

Order make_order(const std::vector<OrderNode>& nodes, const std::vector<OrderNode>& next_run,
                 u32 queues) {
  Order order;
  order.nodes.resize(nodes.size());
  order.signals.resize(queues);
  order.carried.resize(queues);
  std::vector<u32> rank(nodes.size()), count(queues);  // 1-based, within the queue
  for (usize n = 0; n < nodes.size(); ++n) rank[n] = ++count[nodes[n].queue];

  const std::vector<std::vector<u32>> needed = needed_edges(nodes, rank, queues);
  for (const auto& edges : needed)
    for (u32 edge : edges) order.nodes[edge].signal = 1;
  for (usize n = 0; n < nodes.size(); ++n)
    if (rank[n] == count[nodes[n].queue]) order.nodes[n].signal = 1;
  for (usize n = 0; n < nodes.size(); ++n)
    if (order.nodes[n].signal != 0) order.nodes[n].signal = ++order.signals[nodes[n].queue];

  std::vector<u32> barrier(queues);  // rank of the last node before the queue's last barrier
  for (usize n = 0; n < nodes.size(); ++n) {
    const u32 queue = nodes[n].queue;
    for (u32 edge : needed[n])
      order.nodes[n].waits.push_back({nodes[edge].queue, order.nodes[edge].signal});
    for (u32 edge : nodes[n].after)
      if (nodes[edge].queue == queue && rank[edge] > barrier[queue]) order.nodes[n].barrier = true;
    if (order.nodes[n].barrier) barrier[queue] = rank[n] - 1;
  }

  // The signal after which a node is done: its own or the next one of its queue.
  std::vector<u32> covering(nodes.size()), later = order.signals;
  for (usize n = nodes.size(); n-- > 0;) {
    if (order.nodes[n].signal != 0) later[nodes[n].queue] = order.nodes[n].signal;
    covering[n] = later[nodes[n].queue];
  }
  carry(nodes, next_run, covering, &order);
  return order;
}

}  // namespace doorbell::hcq
