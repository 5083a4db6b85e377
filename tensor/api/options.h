// The named arguments of the tensor API, written as designated initialisers at the call:
//   x.conv2d(w, {.stride = {2, 2}});  x.sum(1, {.keepdim = true});
// A default here is PyTorch's default.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/api/number.h"
#include "tensor/api/size.h"

namespace doorbell {

// Of the functions that make tensors. No dtype: that of the data, f32 for the rest. No device: the
// default one.
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

  bool all() const { return all_; }
  const std::vector<i64>& axes() const { return axes_; }

 private:
  std::vector<i64> axes_;
  bool all_ = false;
};

// A number per spatial axis; one number means it for all of them.
class PerAxis {
 public:
  PerAxis() = default;  // not given
  template <class T>
    requires std::is_integral_v<T>
  PerAxis(T value) : values_{static_cast<i64>(value)} {}  // NOLINT(google-explicit-constructor)
  PerAxis(std::initializer_list<i64> values) : values_(values) {}
  PerAxis(std::vector<i64> values) : values_(std::move(values)) {}  // NOLINT
  bool given() const { return !values_.empty(); }
  const std::vector<i64>& values() const { return values_; }

 private:
  std::vector<i64> values_;
};

struct ReduceOptions {
  bool keepdim = false;          // reduced axes stay, with size 1
  std::optional<DType> dtype{};  // sum, prod: convert to this first; none: see Tensor::sum
};

struct VarOptions {
  bool keepdim = false;
  i64 correction = 1;  // divides by n - correction
};

enum class PadMode : u8 { Constant, Reflect, Replicate, Circular };

struct PadOptions {
  Number value = 0.0;  // of Constant
  PadMode mode = PadMode::Constant;
};

struct Conv2dOptions {
  PerAxis stride = 1;
  PerAxis padding = 0;  // zeros on both sides of each spatial axis
  PerAxis dilation = 1;
  i64 groups = 1;
};

struct ConvTranspose2dOptions {
  PerAxis stride = 1;
  PerAxis padding = 0;
  PerAxis output_padding = 0;
  PerAxis dilation = 1;
  i64 groups = 1;
};

struct PoolOptions {
  PerAxis stride{};  // not given: the kernel size
  PerAxis padding = 0;
  PerAxis dilation = 1;
  bool ceil_mode = false;         // windows may start inside and end beyond the padded input
  bool count_include_pad = true;  // avg_pool2d: padding counts in the divisor
};

struct ClampOptions {
  std::optional<Number> min{}, max{};
};

enum class Reduction : u8 { Mean, Sum, None };

struct LossOptions {
  Reduction reduction = Reduction::Mean;
  f64 label_smoothing = 0.0;          // cross_entropy, sparse_categorical_crossentropy
  std::optional<i64> ignore_index{};  // sparse_categorical_crossentropy: labels left out
};

struct AttentionOptions {
  f64 dropout = 0.0;
  bool causal = false;
  std::optional<f64> scale{};  // none: 1 / sqrt(head size)
};

struct CloseOptions {
  f64 rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};

enum class Resample : u8 { Linear, Nearest, NearestExact };

struct InterpolateOptions {
  Resample mode = Resample::Linear;
  bool align_corners = false;  // Linear: the outermost elements stay in place
};

enum class Combine : u8 { Sum, Product, Mean, Max, Min };
enum class Rounding : u8 { None, Trunc, Floor };
enum class Gelu : u8 { Exact, Tanh };

}  // namespace doorbell
