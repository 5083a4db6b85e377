// The named arguments of convolutions, pooling, resampling, attention and losses:
//   x.conv2d(w, {.stride = {2, 2}, .padding = 1});
// Names and defaults are PyTorch's. For the methods see methods/layers.def.
#pragma once

#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/util/types.h"

namespace doorbell {

// A number per spatial axis; one number means it for all of them.
class PerAxis {
 public:
  PerAxis() = default;  // not given
  template <class T>
    requires std::is_integral_v<T>
  PerAxis(T value) : values_{static_cast<i64>(value)} {}  // NOLINT(google-explicit-constructor)
  PerAxis(std::initializer_list<i64> values) : values_(values) {}
  PerAxis(std::vector<i64> values) : values_(std::move(values)) {}  // NOLINT
  bool given() const { return !values_.empty(); }  // otherwise the function's default
  const std::vector<i64>& values() const { return values_; }

 private:
  std::vector<i64> values_;
};

struct Conv2dOptions {
  PerAxis stride = 1;
  // Zeros on both sides of each spatial axis; twice as many numbers: (left, right, top, bottom),
  // the last axis first. Negative ones cut.
  PerAxis padding = 0;
  PerAxis dilation = 1;
  i64 groups = 1;
  // PyTorch's padding = 'same': as much as keeps the sizes, instead of `padding`. Stride 1 only.
  bool same = false;
};

struct ConvTranspose2dOptions {
  PerAxis stride = 1;
  PerAxis padding = 0;  // cut off, as Conv2dOptions adds it
  PerAxis output_padding = 0;
  i64 groups = 1;
  PerAxis dilation = 1;
};

struct PoolOptions {
  PerAxis stride{};               // not given: the kernel size
  PerAxis padding = 0;            // as Conv2dOptions has it, not negative
  PerAxis dilation = 1;           // of avg_pool2d PyTorch has none
  bool ceil_mode = false;         // windows may start inside and end beyond the padded input
  bool count_include_pad = true;  // avg_pool2d: padding counts in the divisor
  std::optional<i64> divisor_override{};  // avg_pool2d: the divisor
};

struct UnpoolOptions {
  PerAxis stride{};  // not given: the kernel size
  PerAxis padding = 0;
  std::vector<i64> output_size{};  // of the spatial axes; not given: the least that was pooled
};

enum class Reduction : u8 { Mean, Sum, None };

struct LossOptions {
  // Mean of class numbers: weighted by the weights of their classes.
  Reduction reduction = Reduction::Mean;
  f64 label_smoothing = 0.0;  // cross_entropy, sparse_categorical_crossentropy
  // Class numbers that are left out, of the mean too; std::nullopt counts all.
  std::optional<i64> ignore_index = -100;
};

struct AttentionOptions {
  f64 dropout_p = 0.0;  // only in a training scope
  bool is_causal = false;
  std::optional<f64> scale{};  // none: 1 / sqrt(head size)
  bool enable_gqa = false;     // fewer heads (axis -3) of key and value: each serves several
};

// Linear is PyTorch's linear, bilinear and trilinear: as many axes as there are sizes.
enum class Resample : u8 { Nearest, NearestExact, Linear, Bicubic, Area };

struct InterpolateOptions {
  Resample mode = Resample::Nearest;
  bool align_corners = false;  // Linear, Bicubic: the outermost elements stay in place
  // interpolate_by: places are counted with the ratio of the sizes instead of the factor.
  bool recompute_scale_factor = false;
};

enum class QrMode : u8 { Reduced, Complete };

}  // namespace doorbell
