// GraphLog: a record of planned graphs for display: each tensor graph with its schedule, and each
// kernel with its graph, plan, linear program, source and machine code. For the page see
// tensor/export/graph_page.h.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/graph_key.h"
#include "core/schedule/kernel.h"

namespace doorbell::engine {

struct Plan;

class GraphLog {
 public:
  // The process's log if one was requested (GRAPH_FILE); otherwise null.
  static GraphLog* of_process();
  // Called by the runtime before the first tensor. It outlives the process's plans.
  static void set_of_process(GraphLog* log);

  // A graph that was planned: `key` was walked with its order, `plan` has its kernels loaded.
  void add(const core::GraphKey& key, std::span<const core::UOp> roots,
           const core::Schedule& schedule, const Plan& plan);

  // {"graphs": [{"nodes", "items", "schedule_ms", "compile_ms"}], "kernels": [{"name", "device",
  // "flops", "bytes", "graph", "plan", "linear", "source", "code"}]}. Items name kernels by number.
  nlohmann::json json() const;

 private:
  struct Node {
    std::string op, dtype, detail;
    std::vector<i64> shape;
    std::vector<u32> sources;  // in the graph's nodes
    bool is_root = false;
  };
  struct Kernel {
    std::string name, device, graph, plan, linear, source, code;
    f64 flops = 0, bytes = 0;
  };
  struct Item {
    i64 kernel = -1;  // in kernels_; -1: a copy
    std::string device;
    std::vector<std::string> buffers;  // "temporary 3, 4096 bytes"
  };
  struct Graph {
    std::vector<Node> nodes;
    std::vector<Item> items;
    f64 schedule_ms = 0, compile_ms = 0;
  };
  static std::vector<Node> nodes_of(const core::GraphKey& key, std::span<const core::UOp> roots);

  mutable std::mutex mutex_;  // guards the members below
  std::vector<Graph> graphs_;
  std::vector<Kernel> kernels_;
  std::map<std::pair<std::string, std::string>, i64> numbers_;  // device, source or graph
};

}  // namespace doorbell::engine
