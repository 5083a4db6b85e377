// Tensor: a lazy n-dimensional array. Operations only build a graph; realize, or asking for
// numbers, computes it. This header is the whole surface but for nn, io and saving: docs/api.md is
// its guide. Semantics are those of PyTorch's documentation where a name is the same. Building
// graphs is left to core, computing to tensor/engine.
//
// A Tensor is a shared handle: copies see each other's assign(). Errors of use are thrown at the
// call that made them, as doorbell::Error with both values in the message.
//
// Thread safety: one handle by one thread at a time; different tensors that share a graph by any.
#pragma once

#include <array>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/util/error.h"
#include "core/uop/graph.h"
#include "tensor/api/number.h"
#include "tensor/api/options.h"
#include "tensor/api/size.h"
#include "tensor/api/slice.h"

namespace doorbell {

class Selection;
struct Operand;
struct Sorted;
namespace detail {
struct Cell;
struct Access;
}  // namespace detail

class Tensor {
 public:
  // No tensor: everything but assignment, bool tests of defined() and destruction is an error.
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  bool defined() const { return cell_ != nullptr; }
  explicit operator bool() const = delete;  // a comparison is a tensor; item<bool>() reads one

  // ---- making (create.cc, storage.cc) ----
  // Of braces: of({{1, 2}, {3, 4}}). bool, i32 or f32 by what the numbers are.
  static Tensor of(const Nested& values, const TensorOptions& options = {});
  // A copy of `values`, of the dtype of T unless the options name another.
  template <class T>
  static Tensor from_data(std::span<const T> values, const Shape& shape,
                          const TensorOptions& options = {}) {
    return from_bytes(std::as_bytes(values), dtype_of<T>(), shape, options);
  }
  template <class T>
  static Tensor from_data(const std::vector<T>& values, const Shape& shape,
                          const TensorOptions& options = {}) {
    return from_data(std::span<const T>(values), shape, options);
  }
  static Tensor from_bytes(std::span<const std::byte> bytes, DType dtype, const Shape& shape,
                           const TensorOptions& options = {});
  // Memory of the caller, not copied: it must outlive every tensor made from this one.
  static Tensor from_blob(void* memory, DType dtype, const Shape& shape,
                          const TensorOptions& options = {});
  static Tensor empty(const Shape& shape, const TensorOptions& options = {});
  static Tensor full(const Shape& shape, Number value, const TensorOptions& options = {});
  static Tensor zeros(const Shape& shape, const TensorOptions& options = {});
  static Tensor ones(const Shape& shape, const TensorOptions& options = {});
  static Tensor arange(Number stop, const TensorOptions& options = {});
  static Tensor arange(Number start, Number stop, Number step = 1,
                       const TensorOptions& options = {});
  static Tensor linspace(f64 start, f64 stop, i64 steps, const TensorOptions& options = {});
  static Tensor eye(i64 rows, const TensorOptions& options = {});
  static Tensor eye(i64 rows, i64 columns, const TensorOptions& options = {});
  Tensor full_like(Number value) const;
  Tensor zeros_like() const { return full_like(0); }
  Tensor ones_like() const { return full_like(1); }

  // ---- random (random.cc): a pure function of the seed and of what was drawn before ----
  static void manual_seed(u64 seed);
  static Tensor rand(const Shape& shape, const TensorOptions& options = {});   // [0, 1)
  static Tensor randn(const Shape& shape, const TensorOptions& options = {});  // normal, 0 and 1
  static Tensor randint(i64 low, i64 high, const Shape& shape, const TensorOptions& options = {});
  static Tensor uniform(const Shape& shape, f64 low, f64 high, const TensorOptions& options = {});
  static Tensor normal(const Shape& shape, f64 mean, f64 std, const TensorOptions& options = {});
  static Tensor glorot_uniform(const Shape& shape, const TensorOptions& options = {});
  static Tensor kaiming_uniform(const Shape& shape, const TensorOptions& options = {});
  static Tensor kaiming_normal(const Shape& shape, const TensorOptions& options = {});
  static Tensor randperm(i64 count, const TensorOptions& options = {});
  Tensor rand_like() const;
  Tensor randn_like() const;

  // ---- what it is ----
  Shape shape() const;
  Size size(i64 axis) const;
  i64 ndim() const;
  i64 numel() const;  // the largest it can be where a size is symbolic
  i64 nbytes() const { return numel() * dtype().bytes(); }
  DType dtype() const;
  std::string device() const;

  // ---- computing and reading (storage.cc) ----
  // Computes now; the value is kept. Several at once share work.
  const Tensor& realize() const;
  static void realize(std::span<const Tensor> tensors);
  static void realize(std::initializer_list<Tensor> tensors) {
    realize(std::span(tensors.begin(), tensors.size()));
  }
  bool is_realized() const;
  // Realized elements in row-major order, converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  // The only element.
  template <class T>
  T item() const;
  // Realized bytes in row-major order; `bytes` has exactly nbytes().
  void copy_to(std::span<std::byte> bytes) const;
  std::vector<std::byte> to_bytes() const;
  std::string str() const;

  // ---- changing what the handle holds (storage.cc) ----
  // This tensor and its copies now hold x's value. Same shape, dtype and device. What was computed
  // from the old value keeps the old value.
  Tensor& assign(const Tensor& x);
  // As assign, with any shape, dtype and device.
  Tensor& replace(const Tensor& x);
  Tensor& operator+=(const Operand& x);
  Tensor& operator-=(const Operand& x);
  Tensor& operator*=(const Operand& x);
  Tensor& operator/=(const Operand& x);
  Tensor to(const std::string& device) const;
  Tensor clone() const;       // own storage
  Tensor contiguous() const;  // stored in row-major order where it is computed
  Tensor detach() const;      // the value; gradients stop here

  // ---- gradients (autograd.cc, gradient.cc) ----
  // Marks a leaf whose grad() backward fills.
  Tensor& requires_grad(bool on = true);
  bool needs_grad() const;  // marked, or computed from what is
  bool is_leaf() const;     // marked
  // Adds the gradient of this tensor to grad() of every marked leaf it was computed from. Without
  // an upstream gradient this must be a scalar.
  void backward() const;
  void backward(const Tensor& upstream) const;
  Tensor grad() const;  // undefined before the first backward
  void zero_grad();
  void set_grad(const Tensor& grad);
  // The gradients of this with respect to `targets`; nothing else changes. A target that this was
  // not computed from is an error.
  std::vector<Tensor> gradient(std::span<const Tensor> targets) const;
  std::vector<Tensor> gradient(std::span<const Tensor> targets, const Tensor& upstream) const;
  std::vector<Tensor> gradient(std::initializer_list<Tensor> targets) const {
    return gradient(std::span(targets.begin(), targets.size()));
  }
  std::vector<Tensor> gradient(std::initializer_list<Tensor> targets,
                               const Tensor& upstream) const {
    return gradient(std::span(targets.begin(), targets.size()), upstream);
  }

  // ---- shape (movement.cc) ----
  Tensor reshape(const Shape& shape) const;  // one size may be -1: what remains
  Tensor view(const Shape& shape) const { return reshape(shape); }
  Tensor permute(const std::vector<i64>& axes) const;
  Tensor transpose(i64 a = -2, i64 b = -1) const;
  Tensor t() const { return transpose(0, 1); }
  Tensor expand(const Shape& shape) const;  // -1 keeps a size
  Tensor flip(const Axes& axes) const;
  Tensor shrink(const std::vector<std::pair<Size, Size>>& windows) const;  // {start, stop} per axis
  // {before, after} per axis; negative amounts cut.
  Tensor pad(const std::vector<std::pair<i64, i64>>& amounts, const PadOptions& options = {}) const;
  Tensor squeeze() const;
  Tensor squeeze(i64 axis) const;
  Tensor unsqueeze(i64 axis) const;
  Tensor flatten(i64 first = 0, i64 last = -1) const;
  Tensor unflatten(i64 axis, const Shape& sizes) const;
  Tensor repeat(const std::vector<i64>& counts) const;
  Tensor repeat_interleave(i64 count, i64 axis) const;
  Tensor roll(i64 shift, i64 axis) const;
  static Tensor cat(std::span<const Tensor> tensors, i64 axis = 0);
  static Tensor stack(std::span<const Tensor> tensors, i64 axis = 0);
  static Tensor cat(std::initializer_list<Tensor> tensors, i64 axis = 0) {
    return cat(std::span(tensors.begin(), tensors.size()), axis);
  }
  static Tensor stack(std::initializer_list<Tensor> tensors, i64 axis = 0) {
    return stack(std::span(tensors.begin(), tensors.size()), axis);
  }
  std::vector<Tensor> split(i64 size, i64 axis = 0) const;
  std::vector<Tensor> split(const std::vector<i64>& sizes, i64 axis = 0) const;
  std::vector<Tensor> chunk(i64 count, i64 axis = 0) const;
  Tensor tril(i64 diagonal = 0) const;
  Tensor triu(i64 diagonal = 0) const;
  Tensor diagonal() const;  // of the last two axes
  // Windows of `size` every `step` elements of an axis; a new last axis runs through each.
  Tensor unfold(i64 axis, i64 size, i64 step) const;

  // ---- elements (index.cc) ----
  Tensor operator[](std::initializer_list<Index> indices) const;
  Tensor operator[](const Index& index) const;
  Selection operator[](std::initializer_list<Index> indices);
  Selection operator[](const Index& index);
  Tensor at(std::span<const Index> indices) const;
  void set_at(std::span<const Index> indices, const Operand& value);
  Tensor gather(i64 axis, const Tensor& index) const;
  // Elements of src go to the places named by index; where several do, the last stays.
  Tensor scatter(i64 axis, const Tensor& index, const Operand& src) const;
  Tensor scatter_add(i64 axis, const Tensor& index, const Tensor& src) const;
  // Elements of src combine with what they meet; include_self: with this tensor's element too.
  Tensor scatter_reduce(i64 axis, const Tensor& index, const Tensor& src, Combine combine,
                        bool include_self = true) const;
  Tensor one_hot(i64 classes) const;
  // The first `size` elements where mask holds, in order; `fill` where there are fewer.
  Tensor masked_select(const Tensor& mask, i64 size, Number fill = 0) const;

  // ---- elementwise (elementwise.cc, functions.cc) ----
  Tensor cast(DType dtype) const;
  Tensor bitcast(DType dtype) const;  // of the same width
  Tensor neg() const;
  Tensor logical_not() const;
  Tensor bitwise_not() const;
  Tensor reciprocal() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor square() const;
  Tensor abs() const;
  Tensor sign() const;
  Tensor exp() const;
  Tensor exp2() const;
  Tensor log() const;
  Tensor log2() const;
  Tensor log10() const;
  Tensor log1p() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tan() const;
  Tensor asin() const;
  Tensor acos() const;
  Tensor atan() const;
  Tensor sinh() const;
  Tensor cosh() const;
  Tensor tanh() const;
  Tensor asinh() const;
  Tensor acosh() const;
  Tensor atanh() const;
  Tensor erf() const;
  Tensor floor() const;
  Tensor ceil() const;
  Tensor trunc() const;
  Tensor round() const;  // halves to even
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;

  Tensor relu() const;
  Tensor relu6() const;
  Tensor leaky_relu(f64 slope = 0.01) const;
  Tensor elu(f64 alpha = 1.0) const;
  Tensor celu(f64 alpha = 1.0) const;
  Tensor selu() const;
  Tensor gelu(Gelu form = Gelu::Exact) const;
  Tensor quick_gelu() const;
  Tensor silu() const;
  Tensor mish() const;
  Tensor sigmoid() const;
  Tensor logsigmoid() const;
  Tensor hardsigmoid() const;
  Tensor hardswish() const;
  Tensor hardtanh(f64 min = -1.0, f64 max = 1.0) const;
  Tensor softplus(f64 beta = 1.0) const;
  Tensor softsign() const;

  Tensor add(const Operand& x) const;
  Tensor sub(const Operand& x) const;
  Tensor mul(const Operand& x) const;
  Tensor div(const Operand& x, Rounding rounding = Rounding::None) const;
  Tensor mod(const Operand& x) const;   // sign of the divisor
  Tensor fmod(const Operand& x) const;  // sign of the dividend
  Tensor pow(const Operand& x) const;
  Tensor maximum(const Operand& x) const;
  Tensor minimum(const Operand& x) const;
  Tensor copysign(const Operand& x) const;
  Tensor logaddexp(const Operand& x) const;
  Tensor isclose(const Operand& x, const CloseOptions& options = {}) const;
  // This as the condition.
  Tensor where(const Operand& yes, const Operand& no) const;
  Tensor masked_fill(const Tensor& mask, Number value) const;
  Tensor clamp(const ClampOptions& options) const;
  Tensor lerp(const Tensor& end, const Operand& weight) const;

  // ---- reductions (reduce.cc) ----
  // Small ints are summed in i32 or u32 and stay so; f16 and bf16 are summed in f32 and come back.
  Tensor sum(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  Tensor prod(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  Tensor max(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  Tensor min(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  Tensor mean(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  Tensor any(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  Tensor all(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  Tensor var(const Axes& axes = {}, const VarOptions& options = {}) const;
  Tensor std(const Axes& axes = {}, const VarOptions& options = {}) const;
  Tensor logsumexp(const Axes& axes = {}, const ReduceOptions& options = {}) const;
  // The first of equals; i32.
  Tensor argmax() const;
  Tensor argmax(i64 axis, const ReduceOptions& options = {}) const;
  Tensor argmin() const;
  Tensor argmin(i64 axis, const ReduceOptions& options = {}) const;
  Tensor softmax(i64 axis = -1) const;
  Tensor log_softmax(i64 axis = -1) const;
  Tensor cumsum(i64 axis = 0) const;
  Tensor cumprod(i64 axis = 0) const;
  Tensor cummax(i64 axis = 0) const;
  // Stable; NaN is the largest.
  Sorted sort(i64 axis = -1, bool descending = false) const;
  Tensor argsort(i64 axis = -1, bool descending = false) const;
  Sorted topk(i64 count, i64 axis = -1, bool largest = true) const;
  Tensor normalize(f64 p = 2.0, i64 axis = 1, f64 eps = 1e-12) const;
  // Whether all elements are close, as a number.
  bool allclose(const Tensor& x, const CloseOptions& options = {}) const;

  // ---- products and layers (linear_algebra.cc, convolution.cc, loss.cc) ----
  Tensor dot(const Tensor& x) const;     // 1-d: inner product; n-d: matmul
  Tensor matmul(const Tensor& x) const;  // leading axes broadcast
  // "ij,jk->ik", "bii->b", "i,j": letters name axes; those not in the result are summed.
  static Tensor einsum(std::string_view formula, std::initializer_list<Tensor> operands);
  Tensor linear(const Tensor& weight) const;  // weight (in, out), as dot
  Tensor linear(const Tensor& weight, const Tensor& bias) const;
  // Any number of spatial axes: x (n, c, ...), weight (out, c / groups, ...).
  Tensor conv2d(const Tensor& weight, const Conv2dOptions& options = {}) const;
  Tensor conv2d(const Tensor& weight, const Tensor& bias, const Conv2dOptions& options = {}) const;
  Tensor conv_transpose2d(const Tensor& weight, const ConvTranspose2dOptions& options = {}) const;
  Tensor max_pool2d(const std::vector<i64>& kernel = {2, 2}, const PoolOptions& options = {}) const;
  Tensor avg_pool2d(const std::vector<i64>& kernel = {2, 2}, const PoolOptions& options = {}) const;
  // The last sizes.size() axes resampled to these sizes.
  Tensor interpolate(const std::vector<i64>& sizes, const InterpolateOptions& options = {}) const;
  Tensor layernorm(const Axes& axes = -1, f64 eps = 1e-5) const;
  // mean and invstd per channel of axis 1; weight and bias may be undefined.
  Tensor batchnorm(const Tensor& weight, const Tensor& bias, const Tensor& mean,
                   const Tensor& invstd) const;
  Tensor dropout(f64 probability = 0.5) const;  // only in a training scope
  Tensor scaled_dot_product_attention(const Tensor& key, const Tensor& value,
                                      const AttentionOptions& options = {}) const;
  Tensor scaled_dot_product_attention(const Tensor& key, const Tensor& value, const Tensor& mask,
                                      const AttentionOptions& options = {}) const;
  // This as logits (n, classes, ...); labels: class numbers (n, ...) or probabilities of its shape.
  Tensor cross_entropy(const Tensor& labels, const LossOptions& options = {}) const;
  // Logits (..., classes), labels (...).
  Tensor sparse_categorical_crossentropy(const Tensor& labels,
                                         const LossOptions& options = {}) const;
  Tensor binary_crossentropy(const Tensor& labels, const LossOptions& options = {}) const;
  Tensor binary_crossentropy_logits(const Tensor& labels, const LossOptions& options = {}) const;
  Tensor nll_loss(const Tensor& labels, const LossOptions& options = {}) const;

  // ---- the graph below ----
  core::UOpRef uop() const;  // the node that stands for the present value
  static Tensor from_uop(core::UOpRef value, bool needs_grad = false);

 private:
  explicit Tensor(detail::Cell* adopted) : cell_(adopted) {}
  detail::Cell& cell() const;
  Tensor cast_for_reading(DType dtype) const;
  friend struct detail::Access;

  detail::Cell* cell_ = nullptr;  // counted
};

// What an operator takes beside a tensor: a tensor or a bare number. Borrows the tensor.
struct Operand {
  Operand(const Tensor& tensor) : tensor(&tensor) {}  // NOLINT(google-explicit-constructor)
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T number) : number(number) {}       // NOLINT(google-explicit-constructor)
  Operand(Number number) : number(number) {}  // NOLINT(google-explicit-constructor)

  const Tensor* tensor = nullptr;
  Number number = 0;
};

// What sort and topk give: `indices` (i32) say where the values stood.
struct Sorted {
  Tensor values, indices;
};

// What x[{...}] gives where x can be changed: the elements, and on the left of = their place.
class Selection : public Tensor {
 public:
  Selection(Tensor base, std::vector<Index> indices);
  Selection(const Selection&) = default;
  void operator=(const Selection& value) && { assign_to_base(static_cast<const Tensor&>(value)); }
  void operator=(const Tensor& value) && { assign_to_base(value); }
  void operator=(Number value) && { assign_to_base(value); }
  void operator+=(const Operand& value) && { assign_to_base(add(value)); }
  void operator-=(const Operand& value) && { assign_to_base(sub(value)); }
  void operator*=(const Operand& value) && { assign_to_base(mul(value)); }
  void operator/=(const Operand& value) && { assign_to_base(div(value)); }

 private:
  void assign_to_base(const Operand& value);
  Tensor base_;
  std::vector<Index> indices_;
};

// One tensor per input, all of the shape that the inputs span; the first runs along axis 0.
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes);

// "tensor([[1., 2.], [3., 4.]])", realized; large tensors are shortened.
std::ostream& operator<<(std::ostream& os, const Tensor& tensor);

// Within its life, on its thread, dropout drops and batch norm learns its statistics.
class TrainingScope {
 public:
  explicit TrainingScope(bool on = true);
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;
  static bool active();

 private:
  bool previous_;
};

// Within its life, on its thread, nothing that is computed remembers how for backward().
class NoGradScope {
 public:
  NoGradScope();
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;
  static bool active();

 private:
  bool previous_;
};

template <class T>
std::vector<T> Tensor::to_vector() const {
  Tensor converted = cast_for_reading(dtype_of<T>());
  if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no bytes to copy to
    std::vector<std::byte> bytes = converted.to_bytes();
    std::vector<bool> values(bytes.size());
    for (usize i = 0; i < bytes.size(); ++i) values[i] = bytes[i] != std::byte{0};
    return values;
  } else {
    std::vector<T> values(static_cast<usize>(converted.numel()));
    converted.copy_to(std::as_writable_bytes(std::span(values)));
    return values;
  }
}

template <class T>
T Tensor::item() const {
  if (numel() != 1) {
    throw fail(ErrorKind::Invalid, "item() of a tensor of shape {}, expected one element",
               shape().str());
  }
  return to_vector<T>()[0];
}

}  // namespace doorbell

#include "tensor/api/operators.h"
