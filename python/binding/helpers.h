// Called by the entries of python/surface if Python's form of a call differs from C++'s: lists of
// pairs, several functions under one name, results as tuples.
#pragma once

#include "python/binding/create.h"
#include "python/binding/module.h"

namespace doorbell::python {

inline std::optional<Number> number_or_none(const std::optional<Num>& number) {
  return number ? std::optional<Number>(*number) : std::nullopt;
}
inline Tensor as_type(const Tensor& self, const std::optional<DTypeArg>& dtype) {
  return dtype ? self.cast(dtype->dtype) : self;
}
// alpha * x; x itself if alpha is 1.
Value times(const Value& x, const Num& alpha, const Tensor& beside);
template <class List>
nb::tuple tuple_of(const List& tensors) {
  return nb::tuple(nb::cast(tensors));
}
// f(a, b), f([a, b]), a.f(b), and with a trailing axis, which is stored in *axis: f([a, b], 1).
std::vector<Tensor> joined_tensors(nb::handle self, const nb::args& others,
                                   std::optional<i64>* axis);

std::vector<Value> values_of(const nb::args& given);

Tensor add_all(const Tensor& self, std::span<const Value> others);
Tensor multiply_all(const Tensor& self, std::span<const Value> others);
Tensor rounded(const Tensor& self, i64 decimals);
// A number, "fro" or "inf".
f64 norm_order(nb::handle p);
nb::object median_of(const Tensor& self, std::optional<i64> axis, bool keepdim);
Tensor tensor_of_file(const std::string& path, const std::optional<DTypeArg>& dtype,
                      const DevicesArg& device, const std::optional<Ints>& shape, i64 offset);
// The operand is read with the interpreter's lock.
Tensor scatter_of(const Tensor& self, i64 axis, const Tensor& index, const Operand& src,
                  const std::optional<std::string>& reduce);
nb::object nonzero_of(const Tensor& self, std::optional<i64> size, i64 fill, bool as_tuple);
nb::object unique_of(const Tensor& self, bool return_inverse, bool return_counts,
                     std::optional<i64> axis);
Tensor search(const Tensor& self, const Value& values, bool right,
              const std::optional<std::string>& side);
Tensor differences(const Tensor& self, i64 times, i64 axis, const Tensor& prepend,
                   const Tensor& append);
Tensor divergence(const Tensor& self, const Tensor& target, const std::string& reduction,
                  bool log_target);
Tensor arg_reduce(const Tensor& self, std::optional<i64> axis, bool keepdim, bool largest);

std::vector<std::pair<Size, Size>> windows_of(nb::handle windows, const Tensor& self);
PadAmounts padding_of(nb::handle padding, const Tensor& self);
AxisSizes axis_sizes(const nb::kwargs& sizes);
Tensor repeat_each(const Tensor& self, const Ints& repeats, std::optional<i64> axis);
Tensor roll_by(const Tensor& self, const Ints& shifts, const Axes& axes);
nb::tuple grid_of(const Tensor& self, std::span<const Tensor> others, const std::string& indexing);
nb::tuple unbound(const Tensor& self, i64 axis);
// To a device or a dtype.
Tensor moved(const Tensor& self, nb::handle target);

Tensor range_of(Number start, const std::optional<Num>& stop, Number step,
                const TensorOptions& options);
Tensor bytes_as(nb::handle bytes, DType dtype, const Shape& shape, const DevicesArg& device);

Tensor bytes_of_url(const std::string& url, bool gunzip, const DevicesArg& device);

Tensor convolve(const Tensor& self, const Tensor& weight, const Tensor& bias, i64 groups,
                const Ints& stride, const Ints& dilation, nb::handle padding);
Tensor convolve_line(const Tensor& self, const Tensor& weight, const Tensor& bias, i64 groups,
                     const Ints& stride, const Ints& dilation, nb::handle padding);
PoolOptions pool_options(const std::optional<Ints>& stride, const Ints& dilation,
                         const Ints& padding, bool ceil_mode);
nb::object max_pool(const Tensor& self, const std::vector<i64>& kernel, const PoolOptions& options,
                    bool return_indices);
Tensor average_pool(const Tensor& self, const std::vector<i64>& kernel, PoolOptions options,
                    bool count_include_pad, std::optional<i64> divisor);
// The last sizes of a whole shape, as many as the kernel has.
std::vector<i64> spatial_size(const std::vector<i64>& size, usize axes);
Resample resample_of(std::string_view mode);
// To a size, or by factors.
Tensor resized(const Tensor& self, const std::optional<Ints>& size, nb::handle factors,
               const InterpolateOptions& options);
Tensor attend(const Tensor& self, const Tensor& key, const Tensor& value, const Tensor& mask,
              const AttentionOptions& options);
Tensor run_all(const Tensor& self, nb::handle functions);

}  // namespace doorbell::python
