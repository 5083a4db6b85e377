// Building a CUDA graph of launches, and keeping its arguments up to date.
#include "drivers/cuda/launch_graph.h"

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/cuda/program.h"

namespace doorbell::cuda {
namespace {

const CudaProgram& program_of(Command command) {
  return *reinterpret_cast<const CudaProgram*>(command.operand(0));
}

// A launch's arguments in the form that the API takes. It points into itself.
struct NodeArguments {
  usize bytes;
  void* extra[5];
  KernelNodeParams params;

  NodeArguments(Command command, const KernelNodeParams& shape)
      : bytes(command.argument_bytes()),
        extra{kParamBufferPointer, const_cast<u32*>(command.arguments()), kParamBufferSize, &bytes,
              kParamEnd},
        params(shape) {
    params.extra = extra;
  }
  NodeArguments(const NodeArguments&) = delete;
  NodeArguments& operator=(const NodeArguments&) = delete;
};

std::span<const u32> arguments_of(Command command) { return {command.arguments(), command.next()}; }

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
  TRY(const KernelNodeParams* shape, program_of(command).shape_for(command.arguments()));
  const NodeArguments arguments(command, *shape);
  CUgraphNode node = nullptr;
  TRY(context_->check(context_->api().cuGraphAddKernelNode(&node, graph_, after.data(),
                                                           after.size(), &arguments.params),
                      "cuGraphAddKernelNode of kernel " + program_of(command).name()));
  const std::span<const u32> words = arguments_of(command);
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
    const std::span<const u32> words = arguments_of(node.command);
    if (std::ranges::equal(words, node.applied)) continue;
    TRY(const KernelNodeParams* shape,
        program_of(node.command).shape_for(node.command.arguments()));
    const NodeArguments arguments(node.command, *shape);
    TRY(context_->check(
        api.cuGraphExecKernelNodeSetParams(executable_, node.node, &arguments.params),
        "cuGraphExecKernelNodeSetParams of kernel " + program_of(node.command).name()));
    std::ranges::copy(words, node.applied.begin());
  }
  return context_->check(api.cuGraphLaunch(executable_, stream), "cuGraphLaunch");
}

}  // namespace doorbell::cuda
