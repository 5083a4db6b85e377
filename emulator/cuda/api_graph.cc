// Graphs of kernels. An executable graph is a copy of the graph that it was made of; its nodes keep
// their names there.
#include <algorithm>

#include "emulator/cuda/functions.h"
#include "emulator/cuda/launch.h"

namespace doorbell::emu::cuda {
namespace {

int add_node(const Call& call, Handle* node, Handle graph, const Handle* after, usize count,
             std::shared_ptr<const KernelLaunch> launch) {
  Driver& driver = call.driver();
  const auto found = driver.graphs.find(graph);
  if (found == driver.graphs.end()) return call.no_handle("graph", graph);
  GraphNode made{graph, {}, std::move(launch)};
  for (usize i = 0; i < count; ++i) {
    const auto before = driver.nodes.find(after[i]);
    if (before == driver.nodes.end() || before->second.graph != graph)
      return call.broken(
          kGraphNode, kInvalidValue,
          fmt::format("dependency {:#x} is no node of graph {:#x}", after[i], graph));
    made.after.push_back(after[i]);
  }
  *node = driver.next_handle();
  driver.nodes.emplace(*node, std::move(made));
  found->second.nodes.push_back(*node);
  return kSuccess;
}

std::shared_ptr<const KernelLaunch> launch_of(const Call& call, const KernelNodeParams& params,
                                              int* status) {
  return make_launch(call,
                     {params.func,
                      {params.grid[0], params.grid[1], params.grid[2]},
                      {params.block[0], params.block[1], params.block[2]},
                      params.shared_bytes,
                      params.kernel_params,
                      params.extra},
                     status);
}

}  // namespace

int cuGraphCreate(Handle* graph, u32 flags) {
  Call call("cuGraphCreate", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (graph == nullptr || flags != 0) return kInvalidValue;
  *graph = call.driver().next_handle();
  call.driver().graphs[*graph] = {};
  return kSuccess;
}

int cuGraphDestroy(Handle graph) {
  Call call("cuGraphDestroy", Call::Needs::Init);
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  if (driver.graphs.erase(graph) == 0) return call.no_handle("graph", graph);
  std::erase_if(driver.nodes, [graph](const auto& entry) { return entry.second.graph == graph; });
  return kSuccess;
}

int cuGraphAddEmptyNode(Handle* node, Handle graph, const Handle* after, usize count) {
  Call call("cuGraphAddEmptyNode", Call::Needs::Init);
  return call.ok() ? add_node(call, node, graph, after, count, nullptr) : call.status();
}

int cuGraphAddKernelNode_v2(Handle* node, Handle graph, const Handle* after, usize count,
                            const KernelNodeParams* parameters) {
  Call call("cuGraphAddKernelNode");
  if (!call.ok()) return call.status();
  int status = kSuccess;
  const std::shared_ptr<const KernelLaunch> launch = launch_of(call, *parameters, &status);
  return launch == nullptr ? status : add_node(call, node, graph, after, count, launch);
}

int cuGraphInstantiateWithFlags(Handle* executable, Handle graph, u64 flags) {
  Call call("cuGraphInstantiate");
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.graphs.find(graph);
  if (found == driver.graphs.end()) return call.no_handle("graph", graph);
  if (flags != 0) return kNotSupported;
  Executable made{graph, {}};
  for (Handle node : found->second.nodes) made.nodes.emplace_back(node, driver.nodes.at(node));
  *executable = driver.next_handle();
  driver.executables.emplace(*executable, std::move(made));
  return kSuccess;
}

int cuGraphExecKernelNodeSetParams_v2(Handle executable, Handle node,
                                      const KernelNodeParams* parameters) {
  Call call("cuGraphExecKernelNodeSetParams");
  if (!call.ok()) return call.status();
  const auto found = call.driver().executables.find(executable);
  if (found == call.driver().executables.end())
    return call.no_handle("executable graph", executable);
  auto& nodes = found->second.nodes;
  const auto at = std::ranges::find_if(nodes, [node](const auto& entry) {
    return entry.first == node && entry.second.launch != nullptr;
  });
  if (at == nodes.end())
    return call.broken(
        kGraphNode, kInvalidValue,
        fmt::format("{:#x} is no kernel node of executable graph {:#x}", node, executable));
  int status = kSuccess;
  if (std::shared_ptr<const KernelLaunch> launch = launch_of(call, *parameters, &status))
    at->second.launch = std::move(launch);
  return status;
}

int cuGraphLaunch(Handle executable, Handle handle) {
  Call call("cuGraphLaunch");
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.executables.find(executable);
  if (found == driver.executables.end()) return call.no_handle("executable graph", executable);
  Stream* stream = call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  for (usize node : driver.order_of(found->second)) {
    const std::shared_ptr<const KernelLaunch>& launch = found->second.nodes[node].second.launch;
    if (launch == nullptr) continue;
    if (!driver.functions.contains(launch->function))
      return call.no_handle("function (of a node)", launch->function);
    Operation operation{.kind = Operation::Kind::Kernel};
    operation.launch = launch;
    driver.submit(*stream, std::move(operation));
  }
  return kSuccess;
}

int cuGraphExecDestroy(Handle executable) {
  Call call("cuGraphExecDestroy", Call::Needs::Init);
  if (!call.ok()) return call.status();
  return call.driver().executables.erase(executable) == 1
             ? kSuccess
             : call.no_handle("executable graph", executable);
}

}  // namespace doorbell::emu::cuda
