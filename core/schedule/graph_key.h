// The walk over an unrealised tensor graph that finds its schedule again: a compact key of the
// graph with buffers and bound values taken out as parameters. Made once per realisation, so it
// creates no nodes. The scheduler imports the graph by the same walk, so both number inputs alike;
// the engine keeps finished schedules by key.
//
// Order: depth first from the roots in order, sources from left to right. A node that the graph
// holds in a Buffer (TensorGraph::realized) stands for that Buffer and is not entered; one held in
// a Multi stands for that Multi, whose Buffers are inputs. Inputs and variables are numbered when
// first met.
//
// Thread safety: one thread per GraphKey; other threads may realise nodes meanwhile. Each node's
// realisation is read once per walk, so a walk is consistent in itself; two walks may differ.
#pragma once

#include <span>
#include <vector>

#include "core/uop/graph.h"

namespace doorbell::core {

struct BoundVariable {
  i64 name;   // interned
  i64 value;  // not part of the key
};

// A node of the walk, for importing.
struct WalkNode {
  UOp node;
  i32 input = -1;     // >= 0: its value is inputs[input]; its sources are not part of the walk
  i32 variable = -1;  // >= 0: a Bind of variables[variable]; likewise
  UOp stored = {};    // the Multi that holds its value; likewise
};

class GraphKey {
 public:
  // Equal words mean graphs that differ at most in the inputs' contents and the variables' values.
  // Sharing counts: a + a is not a + b.
  std::vector<u64> words;
  u64 hash = 0;
  std::vector<UOp> inputs;  // Buffer nodes
  std::vector<BoundVariable> variables;
  // The name of a Variable that the graph binds to two values, or -1.
  i64 conflict = -1;
  // Every distinct node, sources before users. Only filled when asked for.
  std::vector<WalkNode> order;

  // Replaces the contents by the walk from `roots`. Keeps its memory from one walk to the next.
  void walk(std::span<const UOp> roots, bool with_order = false);

 private:
  struct Seen {
    const Node* node = nullptr;
    u32 number = 0, epoch = 0, input = 0;
  };
  // The entry of a node: its own, or a free one, which has another epoch.
  Seen& find(const Node* node);
  void remember(Seen* seen, const Node* node, u32 input);
  void grow();
  void back_reference(const Seen& seen);
  void push_sources(UOp node);
  void visit(UOp node, bool shared, bool with_order);
  void visit_input(UOp node, UOp buffer, Seen* seen, bool with_order);
  void visit_bind(UOp bind, bool with_order);
  void visit_new(UOp node, bool shared, bool with_order);
  void sort_order(std::span<const UOp> roots);

  std::vector<Seen> seen_;  // open addressing; entries of older epochs are free
  u32 epoch_ = 0, count_ = 0;
  std::vector<UOp> stack_;
};

}  // namespace doorbell::core
