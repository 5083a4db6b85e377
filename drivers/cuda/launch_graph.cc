// Building a CUDA graph of launches, and keeping its arguments up to date.
#include "drivers/cuda/launch_graph.h"

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/cuda/launch_arguments.h"

namespace doorbell::cuda {
namespace {

const CudaProgram& program_of(Command command) {
  return *reinterpret_cast<const CudaProgram*>(command.operand(0));
}

KernelNodeParams node_params(const CudaProgram& form, LaunchArguments& arguments) {
  KernelNodeParams params = form.shape();
  params.kernel_params = arguments.values();
  params.extra = arguments.extra();
  return params;
}

}  // namespace

Result<std::unique_ptr<LaunchGraph>> LaunchGraph::make(std::shared_ptr<Context> context,
                                                       const u32* begin, const u32* end) {
  std::unique_ptr<LaunchGraph> graph(new LaunchGraph(std::move(context)));
  Context& here = *graph->context_;
  TRY(here.check(here.api().cuGraphCreate(&graph->graph_, 0), "cuGraphCreate"));
  TRY(graph->add_nodes(begin, end));
  TRY(here.check(here.api().cuGraphInstantiateWithFlags(&graph->executable_, graph->graph_, 0),
                 "cuGraphInstantiateWithFlags"));
  return graph;
}

LaunchGraph::~LaunchGraph() {
  const Api& api = context_->api();
  if (!api.process.is_same_process()) return;
  const Current current(*context_);
  if (executable_ != nullptr) (void)api.cuGraphExecDestroy(executable_);
  if (graph_ != nullptr) (void)api.cuGraphDestroy(graph_);
}

Result<void> LaunchGraph::add_nodes(const u32* begin, const u32* end) {
  std::vector<CUgraphNode> before, now;
  for (Command command{begin}; command.words != end; command = {command.next()}) {
    if (command.header().kind == CommandKind::Barrier) {
      if (now.empty()) continue;
      TRY(before, join(std::move(now)));
      now.clear();
      continue;
    }
    CHECK(command.header().kind == CommandKind::Exec, "a command of kind {} in a graph of launches",
          static_cast<int>(command.header().kind));
    TRY(add_node(command, before));
    now.push_back(nodes_.back().node);
  }
  return {};
}

Result<void> LaunchGraph::add_node(Command command, const std::vector<CUgraphNode>& after) {
  TRY(const CudaProgram* form, program_of(command).form_for(command.arguments()));
  LaunchArguments arguments(command.argument_words());
  TRY(arguments.set(*form));
  const KernelNodeParams params = node_params(*form, arguments);
  CUgraphNode node = nullptr;
  TRY(context_->check(
      context_->api().cuGraphAddKernelNode(&node, graph_, after.data(), after.size(), &params),
      "cuGraphAddKernelNode of kernel " + program_of(command).name()));
  const std::span<const u32> words = command.argument_words();
  nodes_.push_back({node, command, {words.begin(), words.end()}});
  return {};
}

Result<std::vector<CUgraphNode>> LaunchGraph::join(std::vector<CUgraphNode> nodes) {
  if (nodes.size() == 1) return nodes;
  CUgraphNode joined = nullptr;
  TRY(context_->check(
      context_->api().cuGraphAddEmptyNode(&joined, graph_, nodes.data(), nodes.size()),
      "cuGraphAddEmptyNode"));
  return std::vector<CUgraphNode>{joined};
}

Result<void> LaunchGraph::launch(CUstream stream) {
  const Api& api = context_->api();
  for (Node& node : nodes_) {
    const std::span<const u32> words = node.command.argument_words();
    if (std::ranges::equal(words, node.applied)) continue;
    TRY(const CudaProgram* form, program_of(node.command).form_for(node.command.arguments()));
    LaunchArguments arguments(words);
    TRY(arguments.set(*form));
    const KernelNodeParams params = node_params(*form, arguments);
    TRY(context_->check(
        api.cuGraphExecKernelNodeSetParams(executable_, node.node, &params),
        "cuGraphExecKernelNodeSetParams of kernel " + program_of(node.command).name()));
    std::ranges::copy(words, node.applied.begin());
  }
  return context_->check(api.cuGraphLaunch(executable_, stream), "cuGraphLaunch");
}

}  // namespace doorbell::cuda
