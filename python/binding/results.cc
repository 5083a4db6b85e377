// Functions that return one tensor or several, depending on their arguments.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "python/binding/helpers.h"

namespace doorbell::python {

Tensor rounded(const Tensor& self, i64 decimals) {
  if (decimals == 0 || !self.is_floating_point()) return self.round();
  const f64 scale = std::pow(10.0, static_cast<f64>(std::abs(decimals)));
  return decimals > 0 ? self.mul(scale).round().div(scale) : self.div(scale).round().mul(scale);
}

f64 norm_order(nb::handle p) {
  if (p.is_none()) return 2;
  if (PyUnicode_Check(p.ptr())) {
    constexpr f64 kInf = std::numeric_limits<f64>::infinity();
    return choose<f64>(nb::cast<std::string>(p), {{"fro", 2}, {"inf", kInf}, {"-inf", -kInf}});
  }
  Number number = 0;
  if (read_number(p, &number)) return number.real();
  throw nb::type_error(
      fmt::format("norm(): p is {}, expected a number", nb::repr(p).c_str()).c_str());
}

nb::object median_of(const Tensor& self, std::optional<i64> axis, bool keepdim) {
  if (axis) return to_python(self.median(*axis, {.keepdim = keepdim}));
  const Tensor median = self.median();
  return nb::cast(keepdim ? median.reshape(Shape(static_cast<usize>(self.ndim()), 1)) : median);
}

nb::object nonzero_of(const Tensor& self, std::optional<i64> size, i64 fill, bool as_tuple) {
  Tensor places;
  {
    Unlocked unlocked;
    places = size ? self.nonzero(*size, fill) : self.nonzero();
  }
  if (!as_tuple) return nb::cast(places);
  std::vector<Tensor> by_axis;
  for (const Tensor& column : places.split(1, 1)) by_axis.push_back(column.squeeze(1));
  return tuple_of(by_axis);
}

nb::object unique_of(const Tensor& self, bool return_inverse, bool return_counts,
                     std::optional<i64> axis) {
  Unique found;
  {
    Unlocked unlocked;
    found = axis ? self.unique(*axis) : self.unique();
  }
  std::vector<Tensor> asked{found.values};
  if (return_inverse) asked.push_back(found.inverse);
  if (return_counts) asked.push_back(found.counts);
  return asked.size() == 1 ? nb::cast(found.values) : nb::object(tuple_of(asked));
}

Tensor search(const Tensor& self, const Value& values, bool right,
              const std::optional<std::string>& side) {
  const bool behind = side ? choose<bool>(*side, {{"left", false}, {"right", true}}) : right;
  const bool is_number = values.tensor == nullptr && !values.held.defined();
  return self.searchsorted(is_number ? Tensor::full({}, values.number, {.device = self.device()})
                                     : values.as_tensor(self),
                           behind);
}

Tensor differences(const Tensor& self, i64 times, i64 axis, const Tensor& prepend,
                   const Tensor& append) {
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(prepend);
  parts.push_back(self);
  if (append.defined()) parts.push_back(append);
  const bool is_alone = parts.size() == 1 || times == 0;
  return (is_alone ? self : Tensor::cat(parts, axis)).diff(times, axis);
}

Tensor divergence(const Tensor& self, const Tensor& target, const std::string& reduction,
                  bool log_target) {
  if (reduction != "batchmean") return self.kl_div(target, reduction_of(reduction), log_target);
  const i64 count = self.ndim() == 0 ? 1 : self.size(0).value();
  return self.kl_div(target, Reduction::Sum, log_target) / count;
}

}  // namespace doorbell::python
