// UOp: the immutable, hash-consed node of the one IR, from tensor graph to linear program, and the
// handles to it. Nodes are made and freed by Arena (a kernel's private graph, freed whole) and
// TensorGraph (counted, shared by threads). Identity means equality within one graph only.
//
// Thread safety: a node never changes after it is published, but for `scratch` (a pass's private
// mark; arenas only), `refs` (atomic; tensor graph only) and `realized` (atomic, set once).
#pragma once

#include <atomic>
#include <span>

#include "base/util/types.h"
#include "core/dtype/dtype.h"
#include "core/uop/op.h"

namespace doorbell::core {

class UOp;

// An object that a node keeps alive: the Buffer behind a Buffer node.
class Payload {
 public:
  virtual ~Payload() = default;
  // While only the caller knows it, or owns it, no other thread changes the count: that spares an
  // exchange among processors.
  void ref() const {
    if (refs_.load(std::memory_order_relaxed) == 0)
      refs_.store(1, std::memory_order_relaxed);
    else
      refs_.fetch_add(1, std::memory_order_relaxed);
  }
  void unref() const {
    if (refs_.load(std::memory_order_acquire) == 1 ||
        refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  u32 ref_count() const { return refs_.load(std::memory_order_acquire); }

 private:
  mutable std::atomic<u32> refs_{0};
};

// A size in the args of a movement op that is not constant: kDynamicDim + k stands for src[1 + k].
inline constexpr i64 kDynamicDim = INT64_MIN;
inline constexpr bool is_dynamic_dim(i64 arg) { return arg < kDynamicDim + 64; }
inline constexpr usize dynamic_dim_index(i64 arg) { return static_cast<usize>(arg - kDynamicDim); }

// Bounds saturate to these, which mean minus and plus infinity.
inline constexpr i64 kMinusInf = INT64_MIN, kPlusInf = INT64_MAX;

class Dim;

// The memory of a node. Sources, then args, then (tensor graph only) dims trail it in one block.
struct Node {
  u64 hash;
  mutable std::atomic<u32> refs;  // tensor graph: owners. Arena: unused.
  u32 id;                         // creation number in its graph; later nodes have higher ids
  DType dtype;
  Op op;
  u8 ndim;  // tensor graph: rank of the value
  u16 nsrc, narg;
  u16 device;  // tensor graph: see placement.h; 0 where none is fixed (constants)
  // Bounds of the value; exact meaning for Index, ints and Bool; floats have [-inf, inf].
  i64 vmin, vmax;
  // Ranges the value varies with: bit (range id & 63). Exact while all range ids are below 64.
  // Reduce and End remove the Ranges they close.
  u64 range_mask;
  Payload* payload;                           // owned (counted) or null
  mutable void* scratch;                      // a pass's mark, see Arena::new_epoch
  mutable u32 epoch;                          // `scratch` is meaningful when this is the arena's
  mutable u8 flags;                           // Flag bits below
  mutable std::atomic<const Node*> realized;  // tensor graph: the Buffer node that holds this value

  enum Flag : u8 { kCanonical = 1, kTensor = 2 };

  const Node* const* srcs() const { return reinterpret_cast<const Node* const*>(this + 1); }
  const i64* args() const { return reinterpret_cast<const i64*>(srcs() + nsrc); }
  const u64* dims() const { return reinterpret_cast<const u64*>(args() + narg); }
};

// An 8-byte borrowed handle: valid while its graph (arena, or an owning UOpRef) keeps the node.
class UOp {
 public:
  constexpr UOp() = default;
  constexpr explicit UOp(const Node* node) : node_(node) {}

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const UOp&) const = default;
  const Node* node() const { return node_; }

  Op op() const { return node_->op; }
  bool is(Op op) const { return node_->op == op; }
  DType dtype() const { return node_->dtype; }
  u32 id() const { return node_->id; }
  usize nsrc() const { return node_->nsrc; }
  UOp src(usize i) const { return UOp(node_->srcs()[i]); }
  std::span<const UOp> srcs() const {
    static_assert(sizeof(UOp) == sizeof(const Node*));
    return {reinterpret_cast<const UOp*>(node_->srcs()), node_->nsrc};
  }
  usize narg() const { return node_->narg; }
  i64 arg(usize i) const { return node_->args()[i]; }
  std::span<const i64> args() const { return {node_->args(), node_->narg}; }
  Payload* payload() const { return node_->payload; }

  i64 vmin() const { return node_->vmin; }
  i64 vmax() const { return node_->vmax; }
  u64 range_mask() const { return node_->range_mask; }

  // Const: the value. The dtype says which of the two is meant.
  bool is_const() const { return node_->op == Op::Const; }
  bool is_const(i64 value) const { return is_const() && !dtype().is_float() && arg(0) == value; }
  i64 const_int() const { return arg(0); }
  f64 const_float() const;
  // Range.
  i64 range_id() const { return arg(0); }
  AxisType axis_type() const { return static_cast<AxisType>(arg(1)); }
  i64 range_size() const { return src(0).arg(0); }  // only when src(0) is Const
  // Reduce.
  Op reduce_op() const { return static_cast<Op>(arg(0)); }

  // Tensor graph: shape and device of the value.
  usize ndim() const { return node_->ndim; }
  Dim dim(usize axis) const;
  u16 device() const { return node_->device; }

 private:
  const Node* node_ = nullptr;
};

// A size: a constant, or an Index expression of a tensor graph (borrowed: it lives as long as a
// node whose shape names it). Eight bytes: constants are stored as value * 2 + 1.
class Dim {
 public:
  constexpr Dim() : bits_(1) {}
  constexpr Dim(i64 value) : bits_(static_cast<u64>(value) << 1 | 1) {}  // NOLINT: implicit
  explicit Dim(UOp expr) : bits_(0) {
    if (expr.is_const())
      bits_ = static_cast<u64>(expr.const_int()) << 1 | 1;
    else
      bits_ = reinterpret_cast<u64>(expr.node());
  }
  static Dim from_bits(u64 bits) {
    Dim d;
    d.bits_ = bits;
    return d;
  }
  u64 bits() const { return bits_; }
  bool is_const() const { return bits_ & 1; }
  i64 value() const { return static_cast<i64>(bits_) >> 1; }              // only when is_const()
  UOp expr() const { return UOp(reinterpret_cast<const Node*>(bits_)); }  // only when !is_const()
  i64 max() const { return is_const() ? value() : expr().vmax(); }
  i64 min() const { return is_const() ? value() : expr().vmin(); }
  bool operator==(const Dim&) const = default;

 private:
  u64 bits_;
};

inline Dim UOp::dim(usize axis) const { return Dim::from_bits(node_->dims()[axis]); }

// An owning handle to a tensor-graph node.
class UOpRef {
 public:
  UOpRef() = default;
  // Takes one more count.
  explicit UOpRef(UOp uop) : uop_(uop) {
    if (uop_) uop_.node()->refs.fetch_add(1, std::memory_order_relaxed);
  }
  // Takes over a count that the caller holds.
  static UOpRef adopt(UOp uop) {
    UOpRef r;
    r.uop_ = uop;
    return r;
  }
  UOpRef(const UOpRef& o) : UOpRef(o.uop_) {}
  UOpRef(UOpRef&& o) noexcept : uop_(o.uop_) { o.uop_ = UOp(); }
  UOpRef& operator=(UOpRef o) noexcept {
    UOp t = uop_;
    uop_ = o.uop_;
    o.uop_ = t;
    return *this;
  }
  ~UOpRef() {
    if (uop_) release();
  }

  UOp get() const { return uop_; }
  const UOp* operator->() const { return &uop_; }
  UOp operator*() const { return uop_; }
  explicit operator bool() const { return static_cast<bool>(uop_); }
  bool operator==(const UOpRef& o) const { return uop_ == o.uop_; }

 private:
  void release();  // in graph.cc: drops the count; frees iteratively at zero
  UOp uop_;
};

// Names of Variables (and other words a node refers to), interned for the process.
i64 intern_name(std::string_view name);
std::string_view interned_name(i64 id);

}  // namespace doorbell::core
