// Tensor: a lazy n-dimensional array. Operations only build a graph; realize, or asking for
// numbers, computes it. What can be done with one is declared by topic in tensor/api/methods, which
// are part of this class; nn, io and saving stand apart. docs/api.md is the guide. Semantics are
// those of PyTorch's documentation where a name is the same. Building graphs is left to core,
// computing to tensor/engine.
//
// A Tensor is a shared handle: copies see each other's assign(). Errors of use are thrown at the
// call that made them, as doorbell::Error with both values in the message.
//
// Thread safety: one handle by one thread at a time; different tensors that share a graph by any.
#pragma once

#include <array>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/util/error.h"
#include "core/uop/graph.h"
#include "tensor/api/devices.h"
#include "tensor/api/layer_options.h"
#include "tensor/api/number.h"
#include "tensor/api/options.h"
#include "tensor/api/scopes.h"
#include "tensor/api/size.h"
#include "tensor/api/slice.h"

namespace doorbell {

class Selection;
struct Operand;
struct Picked;
struct Pooled;
struct QR;
struct SVD;
struct Unique;
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

  // ---- what it is ----
  Shape shape() const;
  Size size(i64 axis) const;
  i64 ndim() const;
  i64 numel() const;        // with symbolic sizes as they are bound now
  Shape max_shape() const;  // with the largest that each symbolic size can be
  i64 nbytes() const;       // throws where 64 bits do not hold it
  DType dtype() const;
  i64 element_size() const { return dtype().bytes(); }
  bool is_floating_point() const { return dtype().is_float(); }
  std::string device() const;  // "CPU"; "CPU,CPU:1" where it is on both
  std::vector<std::string> devices() const;
  // The axis along which the devices share it; none where it is on one, or on all of them.
  std::optional<i64> shard_axis() const;

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
  // This tensor, its copies and all that share elements with it now hold x's value, which is
  // broadcast and converted; the device is the same. What was computed from the old value keeps
  // it. Slices with any step, chosen integers, transpose, permute, expand, squeeze, unsqueeze,
  // diagonal, split and chunk, detach, and reshape where PyTorch's does, give views: they share the
  // elements of the tensor that they were made of, as in PyTorch. Throws where a view shows an
  // element several times.
  Tensor& assign(const Tensor& x) &;
  // Of a value in between: also throws where nobody could see the assignment, as of what a - b or
  // x.flip() gives.
  Tensor assign(const Tensor& x) &&;
  // This handle and its copies now hold x's value, of any shape, dtype and device. Views of what it
  // was keep that.
  Tensor& replace(const Tensor& x);
  Tensor& operator+=(const Operand& x);
  Tensor& operator-=(const Operand& x);
  Tensor& operator*=(const Operand& x);
  Tensor& operator/=(const Operand& x);
  Tensor& operator%=(const Operand& x);
  Tensor& operator&=(const Operand& x);
  Tensor& operator|=(const Operand& x);
  Tensor& operator^=(const Operand& x);
  Tensor& operator<<=(const Operand& x);
  Tensor& operator>>=(const Operand& x);

  // ---- where it is (devices.cc)
  Tensor to(const Devices& devices) const;  // a copy on each
  // Even parts along an axis, one on each device; without an axis a copy on each. Operations work
  // on the parts, and give what they would give on one device.
  Tensor shard(const Devices& devices, std::optional<i64> axis = {}) const;
  Tensor shard_like(const Tensor& other) const;  // where and as other is
  Tensor& to_(const Devices& devices);           // this handle and its copies; a leaf stays one
  Tensor& shard_(const Devices& devices, std::optional<i64> axis = {});
  Tensor clone() const;                // own storage
  Tensor contiguous() const;           // stored in row-major order where it is computed
  Tensor detach() const;               // the value; gradients stop here
  Tensor contiguous_backward() const;  // the gradient is stored where it is computed

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
  // The gradients of this with respect to `targets`; nothing else changes. That of a target that
  // this was not computed from is zeros.
  std::vector<Tensor> gradient(std::span<const Tensor> targets) const;
  std::vector<Tensor> gradient(std::span<const Tensor> targets, const Tensor& upstream) const;
  std::vector<Tensor> gradient(std::initializer_list<Tensor> targets) const {
    return gradient(std::span(targets.begin(), targets.size()));
  }
  std::vector<Tensor> gradient(std::initializer_list<Tensor> targets,
                               const Tensor& upstream) const {
    return gradient(std::span(targets.begin(), targets.size()), upstream);
  }

  // ---- operations, by topic
#include "tensor/api/methods/binary.def"
#include "tensor/api/methods/create.def"
#include "tensor/api/methods/elementwise.def"
#include "tensor/api/methods/layers.def"
#include "tensor/api/methods/movement.def"
#include "tensor/api/methods/products.def"
#include "tensor/api/methods/reduce.def"
#include "tensor/api/methods/select.def"

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

// What max_pool2d_with_indices gives: `indices` (i32) count the elements of the spatial axes.
struct Pooled {
  Tensor values, indices;
};

// x = Q R; x = U diag(S) Vh.
struct QR {
  Tensor Q, R;
};
struct SVD {
  Tensor U, S, Vh;
};

// What unique gives: values in order, for each element (i32, in its shape) the place of its value,
// and how often each value is there (i32).
struct Unique {
  Tensor values, inverse, counts;
};

// Values taken from a tensor, and where along the axis they stood (i32).
struct Picked {
  Tensor values, indices;
};

// One tensor per input (vectors or scalars), all of the shape that the inputs span. Ij: the first
// runs along axis 0; Xy: along axis 1, the second along axis 0.
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes, Indexing indexing = Indexing::Ij);

// "tensor([[1., 2.], [3., 4.]])", realized; large tensors are shortened.
std::ostream& operator<<(std::ostream& os, const Tensor& tensor);

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
#include "tensor/api/selection.h"
