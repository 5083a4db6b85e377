// The named arguments of the tensor API, written as designated initialisers at the call:
//   x.pad({{1, 1}}, {.value = 3});  x.sum(1, {.keepdim = true});
// A default here is PyTorch's default. For those of networks' layers and losses see
// layer_options.h.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/api/number.h"
#include "tensor/api/size.h"

namespace doorbell {

// Of the functions that make tensors. No dtype: that of the data, f32 for the rest. No device: the
// default one; several names with commas between them: a copy on each.
struct TensorOptions {
  std::optional<DType> dtype{};
  std::string device{};
  bool requires_grad = false;
};

// Which axes: one, several, or (default) all. Negative ones count from the last.
class Axes {
 public:
  Axes() : all_(true) {}
  template <class T>
    requires std::is_integral_v<T>
  Axes(T axis) : axes_{static_cast<i64>(axis)} {}  // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<i64> axes) : axes_(axes) {}
  Axes(std::vector<i64> axes) : axes_(std::move(axes)) {}  // NOLINT(google-explicit-constructor)

  bool all() const { return all_; }                       // then there is no list
  const std::vector<i64>& axes() const { return axes_; }  // as given

 private:
  std::vector<i64> axes_;
  bool all_ = false;
};

struct ReduceOptions {
  bool keepdim = false;          // reduced axes stay, with size 1
  std::optional<DType> dtype{};  // sum, prod: convert to this first; none: see Tensor::sum
};

struct VarOptions {
  bool keepdim = false;
  f64 correction = 1;  // divides by n - correction
};

enum class PadMode : u8 { Constant, Reflect, Replicate, Circular };

// How much before and after each axis; sizes that Variables are bound to are not negative.
class PadAmounts {
 public:
  PadAmounts() = default;
  PadAmounts(std::initializer_list<std::pair<Size, Size>> amounts) : amounts_(amounts) {}
  // NOLINTBEGIN(google-explicit-constructor): computed ones are amounts too.
  PadAmounts(std::vector<std::pair<Size, Size>> amounts) : amounts_(std::move(amounts)) {}
  PadAmounts(const std::vector<std::pair<i64, i64>>& amounts)
      : amounts_(amounts.begin(), amounts.end()) {}
  // NOLINTEND(google-explicit-constructor)

  usize size() const { return amounts_.size(); }
  const std::pair<Size, Size>& operator[](usize axis) const { return amounts_[axis]; }
  // As numbers. Throws Error where one is symbolic.
  std::vector<std::pair<i64, i64>> values() const;

 private:
  std::vector<std::pair<Size, Size>> amounts_;
};

struct PadOptions {
  Number value = 0.0;  // of Constant
  PadMode mode = PadMode::Constant;
};

struct ClampOptions {
  std::optional<Number> min{}, max{};
};

struct CloseOptions {
  f64 rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};

// Names and sizes of axes in a formula.
using AxisSizes = std::vector<std::pair<std::string, i64>>;

enum class Indexing : u8 { Ij, Xy };
enum class Combine : u8 { Sum, Product, Mean, Max, Min };
enum class Rounding : u8 { None, Trunc, Floor };
enum class Gelu : u8 { Exact, Tanh };

}  // namespace doorbell
