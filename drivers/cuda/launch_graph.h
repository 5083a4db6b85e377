// LaunchGraph: launches that follow each other in resident commands, as a CUDA graph. One call
// submits all of them, and launches that no barrier separates may run at the same time, which those
// of a stream may not. Arguments that changed since the last run are set in the graph's nodes.
//
// Thread safety: one thread at a time, with the context current.
#pragma once

#include <memory>
#include <vector>

#include "drivers/cuda/command.h"
#include "drivers/cuda/context.h"

namespace doorbell::cuda {

class LaunchGraph {
 public:
  // Of the commands from `begin` to `end`, all of them Exec or Barrier, which outlive this. The
  // arguments are those in the words now. shared_ptr: see context.h.
  static Result<std::unique_ptr<LaunchGraph>> make(std::shared_ptr<Context> context,
                                                   const u32* begin, const u32* end);
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;

  // With the arguments in the words now.
  Result<void> launch(CUstream stream);

 private:
  struct Node {
    CUgraphNode node;
    Command command;
    std::vector<u32> applied;  // arguments that the executable graph has
  };
  explicit LaunchGraph(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  Result<void> add_nodes(const u32* begin, const u32* end);
  Result<void> add_node(Command command, const std::vector<CUgraphNode>& after);
  // What launches behind a barrier wait for: the nodes, or one node that waits for them.
  Result<std::vector<CUgraphNode>> join(std::vector<CUgraphNode> nodes);

  const std::shared_ptr<Context> context_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  std::vector<Node> nodes_;
};

}  // namespace doorbell::cuda
