// JitProgram: a captured function as it is replayed. What it reads at each call, what it changes,
// and what must be as it was captured. For laying out and running the kernels see engine/replay.h.
//
// Not for users. Thread safety: one call at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "core/device/device.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/cell.h"
#include "tensor/engine/replay.h"
#include "tensor/export/export.h"
#include "tensor/jit/form.h"
#include "tensor/jit/jit_parts.h"

namespace doorbell::detail {

// Borrowed for a call.
using Arguments = std::span<Tensor* const>;

// A captured function: what it reads at each call, and what it changes.
class JitProgram {
 public:
  // A tensor that is not made by the function: an argument, or one that it refers to.
  struct Holder {
    i32 argument = -1;
    Tensor tensor;  // where it is no argument
    Form form;
    bool is_defined = true;
    bool is_leaf = false;
    bool is_written = false;   // the function assigns to it, or changes its gradient
    i8 gradient_defined = -1;  // whether it had a gradient, where the function looked; -1: not
  };
  struct Slot {
    enum class Kind : u8 { Value, Gradient, Draw } kind;
    u32 holder = 0;
    u32 part = 0;                    // of a value on several devices
    Form form = {};                  // of a gradient
    core::Device* device = nullptr;  // of a draw
    i64 count = 0;
  };
  struct Write {
    u32 holder;
    bool is_gradient;
    i32 result;  // or one of these, of a gradient:
    static constexpr i32 kNone = -1, kLost = -2;
    bool operator==(const Write&) const = default;
  };
  // That one size is no larger than another, with the beginning of the error.
  struct Requirement {
    Size low, high;
    std::string what;
    bool operator==(const Requirement&) const = default;
  };
  // Runs it with these arguments; the outputs as new tensors. Throws before anything has changed.
  void replay(Arguments arguments, std::span<const Size> sizes, JitOutputs* outputs);
  // Throws where the arguments or the state are not as they were captured.
  void check(Arguments arguments, std::span<const Size> sizes) const;
  // In words, in what another capture did something else; empty where it did not.
  std::string difference(const JitProgram& other) const;
  // Throws where one tensor has two parts in a call that changes one of them.
  void refuse_aliases(Arguments arguments) const;

  // Throws for what ahead-of-time code cannot do.
  ExportedFunction exported(const ExportOptions& options) const;

  usize argument_count() const { return argument_count_; }
  usize launches() const { return replay_->launches(); }
  i64 arena_bytes() const { return replay_->arena_bytes(); }

 private:
  friend class Capture;
  Cell& cell_of(const Holder& holder, Arguments arguments) const;
  // What the variables are bound to in this call, by place in `variables_`.
  struct Values;
  void check_all(Arguments arguments, std::span<const Size> sizes, Values* values) const;
  void check_arguments(Arguments arguments, Values* values) const;
  void check_sizes(std::span<const Size> sizes, Values* values) const;
  void check_state(Arguments arguments, Values* values) const;
  void check_requirements(const Values& values) const;
  UOpRef result_as_bound(usize result, UOp buffer, const Values& values) const;
  UOp value_of(usize slot, Arguments arguments) const;
  bool is_written_state(const Cell& cell) const;
  static void write(const Write& write, Cell& cell, std::span<const UOpRef> results);
  void write_all(Arguments arguments, std::span<const UOpRef> results, const hcq::Fence& until);

  // A view that the function refers to is read and written as part of its owner, a holder.
  struct StateView {
    Tensor view;
    std::shared_ptr<Alias> alias;  // shared with the view and its owner
  };
  std::vector<Holder> holders_;  // the arguments first
  std::vector<StateView> views_;
  std::vector<Size> sizes_;  // arguments too, as they were
  // Names of the variables that each call binds: by its sizes and by its tensors' shapes.
  std::vector<i64> variables_;
  std::vector<Requirement> requirements_;
  usize argument_count_ = 0;
  std::vector<Slot> slots_;
  std::vector<Write> writes_;
  std::vector<core::ShardedRoot> results_;  // which of the Replay's, which are Buffers
  bool has_parts_ = false;                  // otherwise they are the same
  std::vector<i32> outputs_;                // the result that each is; -1: not defined
  // By result: its shape without bindings where that is symbolic, else empty.
  std::vector<Shape> result_shapes_;
  bool training_ = false;
  bool writes_argument_ = false;
  absl::flat_hash_set<const Cell*> written_state_;  // looked up, never iterated
  std::unique_ptr<engine::Replay> replay_;
  bool running_ = false;  // replay() is
};

}  // namespace doorbell::detail
