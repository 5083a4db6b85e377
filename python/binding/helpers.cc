// Maps Python's forms of calls to those of the tensor API.
#include "python/binding/helpers.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/api/disk.h"
#include "tensor/api/sharding.h"
#include "tensor/io/files.h"

namespace doorbell::python {

std::vector<Tensor> joined_tensors(nb::handle self, const nb::args& others,
                                   std::optional<i64>* axis) {
  nb::list given;
  given.append(self);
  for (nb::handle other : others) given.append(other);
  Size last;
  if (given.size() > 1 && read_size(given[given.size() - 1], &last) && last.is_const()) {
    if (*axis)
      throw nb::type_error(
          fmt::format("axis is given twice: {} and {}", last.value(), **axis).c_str());
    *axis = last.value();
    given.attr("pop")();
  }
  // Lists of tensors are expanded.
  std::vector<Tensor> tensors;
  for (nb::handle item : given) {
    const nb::tuple one = nb::make_tuple(item);
    for (const Tensor& tensor : tensors_of(nb::borrow<nb::args>(one))) tensors.push_back(tensor);
  }
  return tensors;
}

Value times(const Value& x, const Num& alpha, const Tensor& beside) {
  const Number factor = alpha;
  if (factor.real() == 1) return x;
  Value product;
  product.held = x.as_tensor(beside).mul(factor);
  return product;
}

std::vector<Value> values_of(const nb::args& given) {
  std::vector<Value> values(given.size());
  for (usize i = 0; i < values.size(); ++i)
    if (!read_value(given[i], &values[i]))
      throw nb::type_error(
          fmt::format("{}, expected tensors or numbers", nb::repr(given[i]).c_str()).c_str());
  return values;
}

Tensor add_all(const Tensor& self, std::span<const Value> others) {
  Tensor sum = self;
  for (const Value& other : others) sum = sum.add(other);
  return sum;
}

Tensor multiply_all(const Tensor& self, std::span<const Value> others) {
  Tensor product = self;
  for (const Value& other : others) product = product.mul(other);
  return product;
}

Tensor arg_reduce(const Tensor& self, std::optional<i64> axis, bool keepdim, bool largest) {
  if (axis) {
    const ReduceOptions options{.keepdim = keepdim};
    return largest ? self.argmax(*axis, options) : self.argmin(*axis, options);
  }
  const Tensor place = largest ? self.argmax() : self.argmin();
  return keepdim ? place.reshape(Shape(static_cast<usize>(self.ndim()), 1)) : place;
}

namespace {

// (a, b) of integers or sizes.
std::pair<Size, Size> pair_of(nb::handle item, const char* what) {
  Shape pair;
  if (!read_shape(item, &pair) || pair.size() != 2)
    throw nb::type_error(
        fmt::format("{} of {}, expected two integers", what, nb::repr(item).c_str()).c_str());
  return {pair[0], pair[1]};
}

void check_count(usize given, const Tensor& self, const char* what) {
  if (given != static_cast<usize>(self.ndim()))
    throw fail(ErrorKind::Invalid, "{} {} for shape {}", given, what, self.shape().str());
}

}  // namespace

std::vector<std::pair<Size, Size>> windows_of(nb::handle windows, const Tensor& self) {
  std::vector<std::pair<Size, Size>> result;
  const nb::object items = nb::borrow(windows);
  for (nb::handle item : items) {
    if (item.is_none() && result.size() < static_cast<usize>(self.ndim()))
      result.emplace_back(0, self.size(static_cast<i64>(result.size())));
    else
      result.push_back(pair_of(item, "a window"));
  }
  check_count(result.size(), self, "windows");
  return result;
}

PadAmounts padding_of(nb::handle padding, const Tensor& self) {
  std::vector<std::pair<Size, Size>> result;
  Size one;
  if (read_size(padding, &one)) {
    result.assign(static_cast<usize>(self.ndim()), {one, one});
    return result;
  }
  Shape flat;
  if (read_shape(padding, &flat)) {  // PyTorch's form: from the last axis on
    const usize axes = flat.size() / 2;
    if (flat.size() % 2 != 0 || axes > static_cast<usize>(self.ndim()))
      throw fail(ErrorKind::Invalid, "{} amounts of padding for shape {}, expected two per axis",
                 flat.size(), self.shape().str());
    result.assign(static_cast<usize>(self.ndim()), {0, 0});
    for (usize i = 0; i < axes; ++i) result[result.size() - 1 - i] = {flat[2 * i], flat[2 * i + 1]};
    return result;
  }
  const nb::object items = nb::borrow(padding);
  for (nb::handle item : items)
    result.push_back(item.is_none() ? std::pair<Size, Size>(0, 0) : pair_of(item, "padding"));
  check_count(result.size(), self, "pairs of padding");
  return result;
}

AxisSizes axis_sizes(const nb::kwargs& sizes) {
  AxisSizes result;
  for (auto [name, size] : sizes)
    result.emplace_back(nb::cast<std::string>(name), nb::cast<i64>(size));
  return result;
}

Tensor repeat_each(const Tensor& self, const Ints& repeats, std::optional<i64> axis) {
  if (repeats.is_one)
    return axis ? self.repeat_interleave(repeats.values[0], *axis)
                : self.repeat_interleave(repeats.values[0]);
  if (axis) return self.repeat_interleave(repeats.values, *axis);
  return self.flatten().repeat_interleave(repeats.values, 0);
}

Tensor roll_by(const Tensor& self, const Ints& shifts, const Axes& axes) {
  if (!axes.all()) return self.roll(shifts.values, axes.axes());
  if (shifts.values.size() != 1)
    throw fail(ErrorKind::Invalid, "roll by {} shifts along no axes", shifts.values.size());
  return self.roll(shifts.values[0]);
}

nb::tuple grid_of(const Tensor& self, std::span<const Tensor> others, const std::string& indexing) {
  std::vector<Tensor> axes{self};
  axes.insert(axes.end(), others.begin(), others.end());
  const bool swapped = choose<bool>(indexing, {{"ij", false}, {"xy", true}}) && axes.size() > 1;
  if (swapped) std::swap(axes[0], axes[1]);
  Shape shape;
  for (const Tensor& axis : axes) {
    if (axis.ndim() > 1)
      throw fail(ErrorKind::Invalid, "meshgrid of shape {}, expected vectors", axis.shape().str());
    shape.push_back(axis.numel());
  }
  for (usize i = 0; i < axes.size(); ++i) {
    Shape own(axes.size(), 1);
    own[i] = shape[i];
    axes[i] = axes[i].reshape(own).expand(shape);
  }
  if (swapped) std::swap(axes[0], axes[1]);
  return tuple_of(axes);
}

nb::tuple unbound(const Tensor& self, i64 axis) {
  std::vector<Tensor> parts;
  if (self.size(axis).is(0)) return tuple_of(parts);
  for (const Tensor& part : self.split(1, axis)) parts.push_back(part.squeeze(axis));
  return tuple_of(parts);
}

Tensor moved(const Tensor& self, nb::handle target) {
  DType dtype;
  DevicesArg devices;
  const bool is_dtype = PyUnicode_Check(target.ptr())
                            ? dtype_of_name(nb::cast<std::string>(target), &dtype)
                            : !PyList_Check(target.ptr()) && !PyTuple_Check(target.ptr()) &&
                                  !target.is_none() && read_dtype(target, &dtype);
  if (is_dtype) return self.cast(dtype);
  if (!read_devices(target, &devices))
    throw nb::type_error(
        fmt::format("to({}), expected a device or a dtype", nb::repr(target).c_str()).c_str());
  Unlocked unlocked;  // reads or writes a file
  return self.to(devices);
}

Tensor range_of(Number start, const std::optional<Num>& stop, Number step,
                const TensorOptions& options) {
  return stop ? Tensor::arange(start, *stop, step, options)
              : Tensor::arange(0, start, step, options);
}

Tensor bytes_as(nb::handle bytes, DType dtype, const Shape& shape, const DevicesArg& device) {
  const TensorOptions options{.dtype = dtypes::u8, .device = device.joined()};
  const Tensor all = make_tensor(bytes, options);
  std::vector<std::byte> copy = all.to_bytes();
  return Tensor::from_bytes(copy, dtype, shape, {.device = device.joined()});
}

Tensor tensor_of_file(const std::string& path, const std::optional<DTypeArg>& dtype,
                      const DevicesArg& device, const std::optional<Ints>& shape, i64 offset) {
  const TensorOptions options = options_of(dtype, device, false);
  Unlocked unlocked;
  if (!shape && offset == 0) return Tensor::from_file(path, options);
  const bool stays = detail::on_disk(detail::device_number_named(options.device));
  const Tensor file = io::disk_tensor(
      path, shape ? std::optional(Shape(shape->values)) : std::nullopt,
      {.dtype = options.dtype.value_or(dtypes::u8), .offset = offset, .writable = stays});
  return stays ? file : file.to(options.device);
}

Tensor scatter_of(const Tensor& self, i64 axis, const Tensor& index, const Operand& src,
                  const std::optional<std::string>& reduce) {
  Unlocked unlocked;
  return reduce ? self.scatter(axis, index, src, combine_of(*reduce))
                : self.scatter(axis, index, src);
}

Tensor bytes_of_url(const std::string& url, bool gunzip, const DevicesArg& device) {
  Unlocked unlocked;
  return io::from_url(url, {.gunzip = gunzip, .device = device.joined()});
}

namespace {

Conv2dOptions convolution_options(i64 groups, const Ints& stride, const Ints& dilation,
                                  nb::handle padding) {
  Conv2dOptions options{.stride = stride.values, .dilation = dilation.values, .groups = groups};
  if (PyUnicode_Check(padding.ptr())) {
    options.same = choose<bool>(nb::cast<std::string>(padding), {{"same", true}, {"valid", false}});
  } else {
    Ints amounts;
    if (!read_ints(padding, &amounts))
      throw nb::type_error("padding of a convolution: integers, \"same\" or \"valid\"");
    options.padding = amounts.values;
  }
  return options;
}

}  // namespace

Tensor convolve(const Tensor& self, const Tensor& weight, const Tensor& bias, i64 groups,
                const Ints& stride, const Ints& dilation, nb::handle padding) {
  return self.conv2d(weight, bias, convolution_options(groups, stride, dilation, padding));
}
Tensor convolve_line(const Tensor& self, const Tensor& weight, const Tensor& bias, i64 groups,
                     const Ints& stride, const Ints& dilation, nb::handle padding) {
  return self.conv1d(weight, bias, convolution_options(groups, stride, dilation, padding));
}

PoolOptions pool_options(const std::optional<Ints>& stride, const Ints& dilation,
                         const Ints& padding, bool ceil_mode) {
  PoolOptions options{
      .padding = padding.values, .dilation = dilation.values, .ceil_mode = ceil_mode};
  if (stride) options.stride = stride->values;
  return options;
}

nb::object max_pool(const Tensor& self, const std::vector<i64>& kernel, const PoolOptions& options,
                    bool return_indices) {
  if (return_indices) return to_python(self.max_pool2d_with_indices(kernel, options));
  return nb::cast(self.max_pool2d(kernel, options));
}

Tensor average_pool(const Tensor& self, const std::vector<i64>& kernel, PoolOptions options,
                    bool count_include_pad, std::optional<i64> divisor) {
  options.count_include_pad = count_include_pad;
  options.divisor_override = divisor;
  return self.avg_pool2d(kernel, options);
}

std::vector<i64> spatial_size(const std::vector<i64>& size, usize axes) {
  return {size.end() - static_cast<std::ptrdiff_t>(std::min(axes, size.size())), size.end()};
}

Resample resample_of(std::string_view mode) {
  return choose<Resample>(mode, {{"nearest", Resample::Nearest},
                                 {"nearest-exact", Resample::NearestExact},
                                 {"linear", Resample::Linear},
                                 {"bilinear", Resample::Linear},
                                 {"trilinear", Resample::Linear},
                                 {"bicubic", Resample::Bicubic},
                                 {"area", Resample::Area}});
}

namespace {

// The number of axes for which one number counts: all but the batch and the channels.
usize spatial_axes(const Tensor& x) { return static_cast<usize>(std::max<i64>(x.ndim() - 2, 1)); }

std::vector<f64> factors_of(nb::handle given, const Tensor& self) {
  f64 one;
  if (nb::try_cast(given, one)) return std::vector<f64>(spatial_axes(self), one);
  std::vector<f64> factors;
  if (nb::try_cast(given, factors)) return factors;
  throw nb::type_error(
      fmt::format("scale_factor={}, expected a number or several", nb::repr(given).c_str())
          .c_str());
}

}  // namespace

Tensor resized(const Tensor& self, const std::optional<Ints>& size, nb::handle factors,
               const InterpolateOptions& options) {
  if (size.has_value() != factors.is_none())
    throw fail(ErrorKind::Invalid, "interpolation with {} a size and a scale_factor, expected one",
               size ? "both" : "neither");
  if (!size) return self.interpolate_by(factors_of(factors, self), options);
  return self.interpolate(
      size->is_one ? std::vector<i64>(spatial_axes(self), size->values[0]) : size->values, options);
}

Tensor attend(const Tensor& self, const Tensor& key, const Tensor& value, const Tensor& mask,
              const AttentionOptions& options) {
  return mask.defined() ? self.scaled_dot_product_attention(key, value, mask, options)
                        : self.scaled_dot_product_attention(key, value, options);
}

Tensor run_all(const Tensor& self, nb::handle functions) {
  nb::object x = nb::cast(self);
  const nb::object all = nb::borrow(functions);
  for (nb::handle function : all) x = function(x);
  return nb::cast<Tensor>(x);
}

}  // namespace doorbell::python
