// Arena: a private graph. Its own hash-cons table, no counts, borrowed handles, freed whole; one
// thread at a time, so kernels lower in parallel. Passes over it are in core/rewrite and codegen.
#pragma once

#include <bit>
#include <memory>
#include <span>
#include <vector>

#include "core/uop/uop.h"

namespace doorbell::core {

class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The node with these parts, made if it is new. Sources must be of this arena. `payload` takes
  // part in identity and is counted until the arena dies.
  UOp make(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args = {},
           Payload* payload = nullptr);
  UOp make(Op op, DType dtype, std::initializer_list<UOp> srcs,
           std::initializer_list<i64> args = {}) {
    return make(op, dtype, std::span(srcs.begin(), srcs.size()),
                std::span(args.begin(), args.size()));
  }
  // The same op, dtype and args over other sources.
  UOp with_srcs(UOp uop, std::span<const UOp> srcs);

  UOp const_int(DType dtype, i64 value) { return make(Op::Const, dtype, {}, {value}); }
  UOp const_float(DType dtype, f64 value) {
    return make(Op::Const, dtype, {}, {std::bit_cast<i64>(value)});
  }
  // A zero, one, ... of any dtype; vectors are Splats of it.
  UOp const_of(DType dtype, i64 value);
  UOp index(i64 value) { return const_int(dtypes::index, value); }
  UOp range(i64 id, AxisType type, UOp size) {
    return make(Op::Range, dtypes::index, {size}, {id, static_cast<i64>(type)});
  }
  UOp range(i64 id, AxisType type, i64 size) { return range(id, type, index(size)); }

  // Starts a pass: all scratch marks of earlier passes are void. `scratch(u)` is null until set.
  void new_epoch() { ++epoch_; }
  void* scratch(UOp u) const { return u.node()->epoch == epoch_ ? u.node()->scratch : nullptr; }
  void set_scratch(UOp u, void* value) {
    u.node()->scratch = value;
    u.node()->epoch = epoch_;
  }

  u32 node_count() const { return count_; }
  usize bytes() const { return bytes_; }

 private:
  void* allocate(usize bytes);
  void grow();

  std::vector<Node*> table_;  // open addressing, power of two
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<Payload*> payloads_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  u32 count_ = 0, epoch_ = 0;
  usize bytes_ = 0;
};

// Sources before users, each once, in the order of a depth-first walk from `roots`. No recursion.
std::vector<UOp> topological_order(Arena& arena, std::span<const UOp> roots);

namespace detail {
// Shared by Arena and TensorGraph.
u64 hash_parts(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args,
               const Payload* payload);
bool same_parts(const Node& node, Op op, DType dtype, std::span<const UOp> srcs,
                std::span<const i64> args, const Payload* payload);
// Fills a fresh node but for refs, ndim, device and dims.
void init_node(Node* node, u64 hash, u32 id, Op op, DType dtype, std::span<const UOp> srcs,
               std::span<const i64> args, Payload* payload);
}  // namespace detail

// Computes bounds and range mask of a node from those of its sources. Called once, when it is made.
void compute_bounds(Node* node);

}  // namespace doorbell::core
