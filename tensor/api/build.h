// Inside the tensor API: the cell behind a Tensor, and the few functions through which every
// operation makes its node. They check what the graph only asserts. Not for users.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <absl/container/inlined_vector.h>
#include <absl/functional/function_ref.h>

#include "core/device/device.h"
#include "tensor/api/observer.h"
#include "tensor/api/tensor.h"

namespace doorbell::detail {

using core::Op;
using core::TensorGraph;
using core::UOp;
using core::UOpRef;

// Gives the node of a marked leaf an identity of its own, so that backward finds the cell. The cell
// outlives nothing: it takes itself out when it dies, and so a gradient that mentions the leaf does
// not keep it.
struct LeafTag final : core::Payload {
  std::atomic<Cell*> cell{nullptr};
};

struct Alias;
struct ViewStep;

// What a Tensor shares with its copies.
struct Cell {
  Cell(UOpRef value, bool tracked);
  ~Cell();
  void ref() { refs.fetch_add(1, std::memory_order_relaxed); }
  void unref() {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // False where the last handle is gone already.
  bool try_ref() {
    u32 count = refs.load(std::memory_order_relaxed);
    while (count != 0 && !refs.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) {
    }
    return count != 0;
  }
  void set_value(UOpRef new_value, bool new_tracked);
  // The same value, stored.
  void set_stored(UOpRef stored);
  // The node to compute with; `with_gradient`: that of a marked leaf has its tag.
  UOpRef node(bool with_gradient);
  // From now on its elements are its own. Its views, if it has any, keep theirs.
  void unlink();
  void set_gradient(Tensor new_gradient, bool lost = false);
  // Throws where it was lost.
  const Tensor& gradient() const;

  std::atomic<u32> refs{1};
  UOpRef value;
  bool tracked;            // backward from here reaches a marked leaf
  bool is_leaf = false;    // marked by requires_grad
  LeafTag* tag = nullptr;  // counted; made when first marked
  UOpRef leaf_node;        // Detach(value) with the tag, made when first used
  Tensor grad;
  // Gives the value when it is first asked for: of a read through a mask, which may only be meant
  // as the place of an assignment. `value` is empty until then.
  std::unique_ptr<std::function<Tensor()>> deferred;
  void resolve();
  // Before anyone looks at `value`.
  void bring_up_to_date() {
    if (deferred) [[unlikely]]
      resolve();
    if (is_view && is_old()) [[unlikely]]
      refresh();
  }
  void refresh();
  // It had a gradient that a jitted function used up and did not keep: asking for it is an error.
  bool gradient_lost = false;
  u64 born = 0;  // the number of the observer while which it was made, or 0

  // ---- views (view.h)
  // With whom it shares elements; null where it never did. Shared because views may outlive the
  // tensor that they were made of.
  std::shared_ptr<Alias> alias;
  // Of a view: the way from the owner's elements to its own, but for the last `moves` steps, which
  // are the topmost nodes of `value`.
  std::shared_ptr<const std::vector<ViewStep>> steps;
  u64 seen = 0;  // the version of the alias that `value` is of
  u32 moves = 0;
  bool is_view = false;
  bool is_row_major = true;      // without gaps in the owner's elements
  bool is_expanded = false;      // a step repeats elements
  bool is_detached = false;      // gradients neither leave nor enter it
  bool is_of_leaf_view = false;  // made of a view that is a marked leaf
  bool is_old() const;
};

struct Access {
  static Cell& cell(const Tensor& tensor) { return tensor.cell(); }
  // The same without telling the observer; null for no tensor.
  static Cell* cell_untraced(const Tensor& tensor) {
    if (tensor.cell_ != nullptr) tensor.cell_->bring_up_to_date();
    return tensor.cell_;
  }
  static Tensor deferred(std::function<Tensor()> read) {
    auto* cell = new Cell({}, false);
    cell->deferred = std::make_unique<std::function<Tensor()>>(std::move(read));
    return Tensor(cell);
  }
  static Tensor handle(Cell& cell) {
    cell.ref();
    return Tensor(&cell);
  }
  // Of a defined tensor, as it is.
  static Cell& known(const Tensor& tensor) { return *tensor.cell_; }
  // Takes over a count.
  static Tensor adopted(Cell& cell) { return Tensor(&cell); }
};

// ---- nodes

// Checks rank and devices, and remembers whether gradients flow.
Tensor make(Op op, DType dtype, std::span<const Tensor* const> srcs, std::span<const i64> args = {},
            std::span<const UOpRef> sizes = {}, core::Payload* payload = nullptr);
// The most elements of a shape, and so the largest size of an axis: a core::Dim keeps 63 bits.
inline constexpr i64 kMaxElements = (i64{1} << 62) - 1;
// Throws: the shape has more elements than that.
[[noreturn]] void refuse_count(const Shape& shape);
// Throws where 64 bits do not hold it.
i64 bytes_of(i64 count, DType dtype);
Tensor make(Op op, DType dtype, std::initializer_list<const Tensor*> srcs,
            std::initializer_list<i64> args = {});
// x, read from memory where it would be computed again: another kernel may round it otherwise, and
// then no element equals what is the maximum of all. Movement stays above what is stored.
Tensor from_memory(const Tensor& x);

Tensor unary(Op op, const Tensor& x);
// Operands of one dtype; checks that the shapes broadcast. Comparisons give bool.
Tensor binary(Op op, const Tensor& a, const Tensor& b);
Tensor select(const Tensor& condition, const Tensor& yes, const Tensor& no);
// Keeps reduced axes with size 1. Bit i of the mask: axis i.
Tensor reduce_axes(Op op, const Tensor& x, i64 mask);
// A number as integers of `dtype` hold it, in 64 bits: wrapped, without its fraction. Throws for
// one of 2^63 and more where that is not u64.
i64 integer_bits(const Number& value, DType dtype);
// Throws for a number that would become another one in integers of `dtype`. One below 0 may become
// an unsigned one, as in PyTorch, and a float may lose its fraction.
void check_holds(DType dtype, const Number& value);
// A 0-d constant; converted to what `dtype` can hold.
Tensor constant(Number value, DType dtype);

// A size, symbolic or not, as a 0-d tensor.
Tensor size_tensor(const Size& size, DType dtype);

// ---- places: see Node::device -------------------------------------------------------------------
// Of named devices; copies where they are several.
u16 place_named(const Devices& devices);
// Where a tensor is; the default device where nothing says.
u16 place_of(const Tensor& x);
// The value at another place; as it is for place 0, and on one device where it is nowhere yet.
Tensor moved_to(const Tensor& x, u16 at);
// Fresh memory, with the bytes of `data` on each device or undefined.
UOpRef make_storage(u16 at, DType dtype, const std::vector<i64>& sizes,
                    std::span<const std::byte> data);
// The value in memory of its own.
Tensor stored_at(const Tensor& x, u16 at);
// Throws where a value on several devices could not be stored.
void refuse_symbolic(const Tensor& tensor);

// The buffer {key, counter} of the next draw of `count` random elements on a device.
UOpRef next_draw(core::Device& device, i64 count);

// ---- dtypes -------------------------------------------------------------------------------------
DType promote(DType tensor, Number number);
Tensor as_tensor(const Operand& x, DType beside);
// Both as tensors of the common dtype.
std::pair<Tensor, Tensor> promote(const Operand& a, const Operand& b);
// Ints and bools as f32; floats as they are.
Tensor as_float(const Tensor& x);
Tensor widened(const Tensor& x);                        // at least f32
Tensor narrowed(const Tensor& value, const Tensor& x);  // as the dtype of a float function of x
inline DType float_dtype(DType dtype) { return dtype.is_float() ? dtype : dtypes::f32; }
// Wide enough that a sum of many does not overflow or drown at once.
DType accumulator(DType dtype);
Number lowest(DType dtype);   // the identity of max
Number highest(DType dtype);  // the identity of min

// ---- axes and shapes

// In 0..rank-1. Throws Error for an axis that is not there.
i64 resolve_axis(i64 axis, i64 rank);
// The same for what runs along one axis: a scalar has axis 0 in name only, as in PyTorch.
inline void check_axis(i64 axis, i64 rank) { (void)resolve_axis(axis, rank == 0 ? 1 : rank); }
std::vector<bool> resolve_axes(const Axes& axes, i64 rank);
Shape broadcast_shapes(const Shape& a, const Shape& b);
// Whatever its symbolic sizes are bound to.
bool is_always_empty(const Tensor& x);
// One value per spatial axis.
std::vector<i64> per_axis(const PerAxis& values, usize count, const char* what);

// ---- shared compositions

using Amounts = std::vector<std::pair<i64, i64>>;
// Before and after each of the last `count` axes: one number, one per axis, or two per axis, the
// last axis first, as PyTorch's pad has them (left, right, top, bottom).
Amounts both_sides(const PerAxis& padding, usize count);
// The windows of the last kernel.size() axes: x (..., spatial) gives (..., out, kernel).
Tensor pool(const Tensor& x, std::span<const i64> kernel, std::span<const i64> stride,
            std::span<const i64> dilation);
// Pads with any value; an identity of a reduction, say.
Tensor pad_value(const Tensor& x, const PadAmounts& amounts, Number value);
// What {start, stop} of each axis hold, which are known to lie inside.
Tensor window(const Tensor& x, const std::vector<std::pair<Size, Size>>& windows);
// Throws Error, which begins with `what`, unless low <= high for what is bound now, and lets each
// later call of a function that is being captured do the same.
void require(const Size& low, const Size& high, absl::FunctionRef<std::string()> what);
// x between zeros: `starts` of them before it on each axis, in a tensor of shape `whole`.
Tensor pad_into(const Tensor& x, const Shape& starts, const Shape& whole);
// Numbers as i32, or i64 where the size needs that; those out of lowest..size stay out of it.
Tensor narrow_index(const Tensor& index, i64 lowest, i64 size);
// With the setting CHECK_INDEX computes the index, and throws where one of its numbers is not in
// lowest..size-1; `axis` is for the message. `counted`, where it is defined, says of which that
// matters. Nothing in a function that jit captures.
void check_index(const Tensor& index, i64 lowest, i64 size, i64 axis, const Tensor& counted = {});
// Pads with elements of x: mirrored, repeated or wrapped around.
Tensor pad_from_inside(const Tensor& x, const std::vector<std::pair<i64, i64>>& amounts,
                       PadMode mode);
// Both of integers of one dtype.
Tensor integer_power(const Tensor& base, const Tensor& exponent);
// The loss of all elements as what is asked for.
Tensor reduced(const Tensor& loss, Reduction reduction);
// Bool: where class numbers 0..classes-1 laid along `axis` equal x.
Tensor one_hot_mask(const Tensor& x, i64 classes, i64 axis);

}  // namespace doorbell::detail
