// The calls of a jitted function as far as they do not depend on its types: which recorded graph a
// call is for, and whether it runs the function plainly, records it or replays it.
//
// Not for users.
#pragma once

#include <any>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tensor/export/export.h"
#include "tensor/jit/jit_parts.h"

namespace doorbell::detail {

class Capture;
class JitProgram;
struct JitGraph;  // what was recorded for one combination of shapes and dtypes

class JitState {
 public:
  enum class Step : u8 { Plain, Capture, Replay };
  struct Call {
    Step step;
    usize graph;  // its number, of those that there are
    // Of a plain call with a combination that is new: counts when it has succeeded. None where
    // nothing is to be captured. Shared, because a header cannot destroy what it does not know.
    std::shared_ptr<JitGraph> fresh{};
  };

  explicit JitState(usize max_graphs);
  ~JitState();
  // A capture is open on this thread: the call is a part of it.
  static bool is_nested();
  // The outputs of such a call are new handles too.
  static void end_nested(const JitParts& outputs);
  // Which graph the arguments are for. Throws where that would be one too many.
  Call begin(const JitParts& arguments, const void* signature);
  // After a plain call: outputs as all later calls give them.
  void end_plain(const Call& call, const JitParts& outputs);
  JitOutputs replay(usize graph, const JitParts& arguments);
  void reset();
  bool is_captured() const { return graph_count() != 0; }
  usize graph_count() const;
  // Of the graph that was used last.
  usize launches() const;
  i64 arena_bytes() const;
  void export_c(const ExportOptions& options) const;
  void export_wgsl(const ExportOptions& options) const;

  // Where the process was asked to export what it captures (setting EXPORT).
  void export_if_asked() const;

  // The result with tensors that mean nothing, to be filled by each replay.
  const std::any& outputs(usize graph) const;

  std::string name;            // JitOptions'
  std::recursive_mutex mutex;  // a function may call itself

 private:
  friend class JitCall;
  const JitProgram* last_program() const;
  ExportedFunction exported(const ExportOptions& options) const;
  Error too_many(const JitParts& arguments, const void* signature) const;

  const usize max_graphs_;
  std::vector<std::shared_ptr<JitGraph>> graphs_;
  usize last_ = 0;  // used last
};

// The second call, or one that is compared with it. The arguments' tensors are replaced by
// stand-ins until it is over.
class JitCall {
 public:
  JitCall(JitState& state, usize graph, const JitParts& arguments);
  ~JitCall();
  // Keeps what was captured, or where there is a capture compares the two.
  void finish(const JitParts& outputs);
  std::any& outputs();  // as JitState's

 private:
  JitState& state_;
  const std::shared_ptr<JitGraph> graph_;  // the function may reset what it is a part of
  std::unique_ptr<Capture> capture_;
};

// A tensor without memory, for JitState::outputs.
Tensor jit_blank();

}  // namespace doorbell::detail
