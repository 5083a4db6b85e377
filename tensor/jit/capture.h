// Capture: one call of a function as jit() sees it. Everything from outside that the function
// touches gets, for the time of the call, a Buffer node of its own over the same memory, so that
// the recorded graphs tell apart what happens to hold one value now and may not at the next call.
// Laying out and replaying is engine/replay.h's; the calls in between are jit.h's.
//
// Not for users. One thread's: work that the function hands to other threads is not seen.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "tensor/api/bound_size.h"
#include "tensor/api/build.h"
#include "tensor/engine/recorder.h"
#include "tensor/engine/replay.h"
#include "tensor/export/export.h"
#include "tensor/jit/jit.h"

namespace doorbell::detail {

// What a tensor must be to take the place of another. What its symbolic sizes are bound to may
// differ.
struct Form {
  DType dtype;
  u16 device = 0;  // index + 1
  Shape shape;     // without bindings
  bool is_symbolic = false;

  static Form of(UOp node);
  bool fits(UOp node) const;
  std::string str() const;  // "f32 of shape (2, n) on CPU"
};

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
  std::vector<core::PlacedRoot> results_;  // which of the Replay's, which are Buffers
  bool has_parts_ = false;                 // otherwise they are the same
  std::vector<i32> outputs_;               // the result that each is; -1: not defined
  // By result: its shape without bindings where that is symbolic, else empty.
  std::vector<Shape> result_shapes_;
  bool training_ = false;
  bool writes_argument_ = false;
  absl::flat_hash_set<const Cell*> written_state_;  // looked up, never iterated
  std::unique_ptr<engine::Replay> replay_;
  bool running_ = false;  // replay() is
};

class Capture final : public Observer {
 public:
  Capture(Arguments arguments, std::span<const Size> sizes);
  // Without finish(): what the function assigned stays, the rest is as it was.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // What the function is called with in place of its arguments.
  const std::vector<Tensor>& stand_ins() const { return stand_ins_; }
  // Computes what the function left to do, gives everyone their values and replaces the outputs by
  // new tensors.
  std::unique_ptr<JitProgram> finish(std::span<Tensor* const> outputs);

  // ---- while this is the thread's observer ----
  void use(Cell& cell) override {
    if (!made(cell.born)) touch_outside(cell);
  }
  void use_gradient(Cell& cell, GradientAccess access) override;
  void draw(core::Device& device, i64 count, const UOpRef& node) override;
  void require(const Size& low, const Size& high, const std::string& what) override;

 private:
  struct Held {
    Tensor outside = {};   // the caller's
    Cell* cell = nullptr;  // what the function sees: the same, or a stand-in
    Tensor stand_in = {};
    UOpRef before = {}, place = {};          // the value, and what stands for it
    Tensor gradient = {}, gradient_in = {};  // likewise; undefined where there was none
    UOpRef gradient_place = {};
    bool gradient_written = false, gradient_used = false;  // used: read after the last writing
  };

  void touch_outside(Cell& cell);
  bool touch_owner(Cell& view);
  void hold(Held held, JitProgram::Holder holder);
  void add_slots(JitProgram::Slot slot, const UOpRef& place);
  void hold_gradient(u32 holder);
  void read_gradient(u32 holder);
  i32 want(const Tensor& tensor);
  void want_gradient(u32 holder);
  void want_changes();
  std::vector<UOpRef> compute_wanted();
  void give_back(std::span<const UOpRef> results);
  void name_variables();
  void refuse_inner_bindings(const Bindings& bound) const;
  std::vector<UOpRef> buffers_of(std::span<const UOpRef> results);

  engine::Recorder recorder_;
  std::unique_ptr<engine::Recorder::Scope> scope_;
  std::unique_ptr<JitProgram> program_;
  std::vector<Tensor> arguments_, stand_ins_;
  std::vector<Held> held_;                           // by holder
  absl::flat_hash_map<const Cell*, u32> holder_of_;  // looked up, never iterated
  absl::flat_hash_set<const Cell*> views_;           // likewise: of tensors from outside
  std::vector<UOpRef> places_;                       // by slot
  std::vector<UOpRef> wanted_;
};

// A stored value as the Buffers on its devices.
inline u32 part_count(UOp stored) {
  return stored.is(Op::Multi) ? static_cast<u32>(stored.nsrc()) : 1;
}
inline UOp part_of(UOp stored, u32 part) {
  return stored.is(Op::Multi) ? stored.src(part) : stored;
}

// Throws where it is on DISK.
void refuse_part_of_file(const Tensor& tensor);
// The node with a tensor's value in memory (engine::materialized_node), computed if need be. Owned
// by the tensor.
UOp stored_value(const Tensor& tensor);

}  // namespace doorbell::detail
