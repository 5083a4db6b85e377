// What stands in the brackets of x[{...}]: an int drops an axis, a Slice keeps part of it, None
// adds an axis of size 1, Ellipsis stands for all axes not named. A list or a Tensor of integers
// picks elements; a Tensor of bool stands for the axes of its shape and picks where it holds.
//
// Several that pick are one: they broadcast with each other, and their axes take the place of the
// first, or come first where slices stand between them (PyTorch's rule). An int, and a number of a
// list, out of range is an error. A Tensor's is not looked at: reading gives 0 there, and assigning
// does nothing. For applying all this see tensor/api/index.cc.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "tensor/api/size.h"

namespace doorbell {

class Tensor;

struct NoneType {};
inline constexpr NoneType None;
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis;

// A bound that is not given.
using Bound = std::optional<Size>;

// Start included, stop excluded, as in Python: negative bounds count from the end, bounds out of
// range are clipped, a negative step walks backwards. None leaves a bound open.
struct Slice {
  Bound start, stop;
  i64 step = 1;

  Slice() = default;  // the whole axis
  explicit Slice(Size stop) : stop(std::move(stop)) {}
  Slice(Size start, Size stop, i64 step = 1)
      : start(std::move(start)), stop(std::move(stop)), step(step) {}
  Slice(NoneType, Size stop, i64 step = 1) : stop(std::move(stop)), step(step) {}
  Slice(Size start, NoneType, i64 step = 1) : start(std::move(start)), step(step) {}
  Slice(NoneType, NoneType, i64 step = 1) : step(step) {}
};

class Index {
 public:
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  // NOLINTNEXTLINE(google-explicit-constructor): all of these are what brackets hold.
  Index(T value) : item_(Size(value)) {}
  Index(Size value) : item_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Index(Slice slice) : item_(std::move(slice)) {}           // NOLINT(google-explicit-constructor)
  Index(NoneType) : item_(None) {}                          // NOLINT(google-explicit-constructor)
  Index(EllipsisType) : item_(Ellipsis) {}                  // NOLINT(google-explicit-constructor)
  Index(const Tensor& tensor);                              // NOLINT(google-explicit-constructor)
  Index(std::vector<i64> list) : item_(std::move(list)) {}  // NOLINT(google-explicit-constructor)
  Index(std::initializer_list<i64> list) : item_(std::vector<i64>(list)) {}

  // What it holds; null where it is something else.
  const Size* integer() const { return std::get_if<Size>(&item_); }
  const Slice* slice() const { return std::get_if<Slice>(&item_); }
  const std::vector<i64>* list() const { return std::get_if<std::vector<i64>>(&item_); }
  bool is_none() const { return std::holds_alternative<NoneType>(item_); }
  bool is_ellipsis() const { return std::holds_alternative<EllipsisType>(item_); }
  const Tensor* tensor() const {
    const auto* held = std::get_if<std::shared_ptr<const Tensor>>(&item_);
    return held == nullptr ? nullptr : held->get();
  }

 private:
  // The pointer is shared only because Tensor is incomplete here and Index must be copyable.
  std::variant<Size, Slice, NoneType, EllipsisType, std::vector<i64>, std::shared_ptr<const Tensor>>
      item_;
};

}  // namespace doorbell
