// A graph as text.
#include <fmt/format.h>

#include "base/util/check.h"
#include "hcq/graph/graph.h"

namespace doorbell::hcq {

std::string Graph::str() const {
  CHECK(bound_, "the queues of a graph are in order once it is bound");
  const auto name_of = [&](u32 lane) {
    return fmt::format("{} {}", lanes_[lane].queue->device_name(), lanes_[lane].queue->name());
  };
  std::string text;
  for (usize n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    const Order::Node& order = order_.nodes[n];
    text += fmt::format("{}: {}{}", name_of(node.lane), order.barrier ? "| " : "", node.exec.name);
    if (node.exec.program == nullptr) text += fmt::format(" {} bytes", node.copy_bytes);
    if (order.signal != 0) text += fmt::format(" -> {}", order.signal);
    for (usize i = 0; i < order.waits.size(); ++i)
      text += fmt::format("{} {} {}", i == 0 ? "; after" : ",", name_of(order.waits[i].queue),
                          order.waits[i].signal);
    text += "\n";
  }
  return text;
}

}  // namespace doorbell::hcq
