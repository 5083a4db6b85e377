// Copies texts out of plans and graphs, so that the log keeps no node, buffer or program alive.
#include "tensor/engine/graph_log.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "core/device/registry.h"
#include "core/uop/op.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan.h"

namespace doorbell::engine {
namespace {

using core::UOp;
using core::WalkNode;
using nlohmann::json;
using Kind = core::ScheduleBuffer::Kind;

constexpr usize kMaxGraphs = 1000;  // a browser could not open a larger page

std::atomic<GraphLog*> g_log{nullptr};

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Input: return "input";
    case Kind::Output: return "output";
    default: return "temporary";
  }
}

std::string describe(const core::ScheduleBuffer& buffer, u32 number) {
  return fmt::format("{} {}: {} x {}", name_of(buffer.kind), number, buffer.count,
                     buffer.dtype.str());
}

}  // namespace

GraphLog* GraphLog::of_process() { return g_log.load(std::memory_order_acquire); }
void GraphLog::set_of_process(GraphLog* log) { g_log.store(log, std::memory_order_release); }

std::vector<GraphLog::Node> GraphLog::nodes_of(const core::GraphKey& key,
                                               std::span<const UOp> roots) {
  absl::flat_hash_map<const core::Node*, u32> numbers;  // looked up, never iterated
  std::vector<Node> nodes;
  nodes.reserve(key.order.size());
  for (const WalkNode& entry : key.order) {
    Node node;
    node.op = core::name_of(entry.node.op());
    node.dtype = entry.node.dtype().str();
    for (usize axis = 0; axis < entry.node.ndim(); ++axis) {
      const core::Dim dim = entry.node.dim(axis);
      node.shape.push_back(dim.is_const() ? dim.value() : dim.expr().vmax());
    }
    node.is_root = std::find(roots.begin(), roots.end(), entry.node) != roots.end();
    if (entry.input >= 0) {
      node.detail = fmt::format("input {}", entry.input);
    } else if (entry.variable >= 0) {
      const core::BoundVariable& bound = key.variables[static_cast<usize>(entry.variable)];
      node.detail = fmt::format("{} = {}", core::interned_name(bound.name), bound.value);
    } else {
      if (!entry.node.args().empty())
        node.detail = fmt::format("{}", fmt::join(entry.node.args(), ", "));
      for (UOp source : entry.node.srcs()) {
        const auto found = numbers.find(source.node());
        if (found != numbers.end()) node.sources.push_back(found->second);
      }
    }
    numbers.emplace(entry.node.node(), static_cast<u32>(nodes.size()));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

void GraphLog::add(const core::GraphKey& key, std::span<const UOp> roots,
                   const core::Schedule& schedule, const Plan& plan) {
  Graph graph;
  graph.nodes = nodes_of(key, roots);
  graph.schedule_ms = plan.schedule_seconds * 1e3;
  graph.compile_ms = plan.compile_seconds * 1e3;
  std::lock_guard lock(mutex_);
  if (graphs_.size() == kMaxGraphs) return;
  for (usize i = 0; i < plan.work->items.size(); ++i) {
    const ExecutionPlan::Item& planned = plan.work->items[i];
    Item item;
    item.device = planned.device->name();
    for (u32 buffer : schedule.items[i].buffers)
      item.buffers.push_back(describe(schedule.buffers[buffer], buffer));
    if (const LoadedKernel* kernel = planned.kernel.get()) {
      static const KernelText kNone;
      const KernelText& text = kernel->text ? *kernel->text : kNone;
      const auto [at, is_new] = numbers_.try_emplace({item.device, kernel->name + text.graph},
                                                     static_cast<i64>(kernels_.size()));
      if (is_new)
        kernels_.push_back({kernel->name, item.device, text.graph, text.plan, text.linear,
                            text.source, text.code, kernel->flops, kernel->bytes});
      item.kernel = at->second;
    }
    graph.items.push_back(std::move(item));
  }
  graphs_.push_back(std::move(graph));
}

json GraphLog::json() const {
  std::lock_guard lock(mutex_);
  nlohmann::json graphs = nlohmann::json::array(), kernels = nlohmann::json::array();
  for (const Graph& graph : graphs_) {
    nlohmann::json nodes = nlohmann::json::array(), items = nlohmann::json::array();
    for (const Node& node : graph.nodes)
      nodes.push_back({{"op", node.op},
                       {"dtype", node.dtype},
                       {"shape", node.shape},
                       {"detail", node.detail},
                       {"sources", node.sources},
                       {"root", node.is_root}});
    for (const Item& item : graph.items)
      items.push_back(
          {{"kernel", item.kernel}, {"device", item.device}, {"buffers", item.buffers}});
    graphs.push_back({{"nodes", nodes},
                      {"items", items},
                      {"schedule_ms", graph.schedule_ms},
                      {"compile_ms", graph.compile_ms}});
  }
  for (const Kernel& kernel : kernels_)
    kernels.push_back({{"name", kernel.name},
                       {"device", kernel.device},
                       {"flops", kernel.flops},
                       {"bytes", kernel.bytes},
                       {"graph", kernel.graph},
                       {"plan", kernel.plan},
                       {"linear", kernel.linear},
                       {"source", kernel.source},
                       {"code", kernel.code}});
  return {{"graphs", graphs}, {"kernels", kernels}};
}

}  // namespace doorbell::engine
