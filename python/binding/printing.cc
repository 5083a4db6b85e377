// Options of printing tensors, by PyTorch's and NumPy's names.
#include <nanobind/nanobind.h>

#include "python/binding/module.h"
#include "tensor/api/print.h"

namespace doorbell::python {

namespace {

// Sets the profile first, then the other options.
PrintOptions options_of_profile(const std::optional<std::string>& profile) {
  PrintOptions options = print_options();
  if (!profile) return options;
  options = {};
  switch (choose<int>(*profile, {{"default", 0}, {"short", 1}, {"full", 2}})) {
    case 1: options.precision = 2, options.edge_items = 2; break;
    case 2: options.threshold = INT64_MAX; break;
    default: break;
  }
  return options;
}

void set_options(std::optional<int> precision, const std::optional<Num>& threshold,
                 std::optional<i64> edge_items, std::optional<i64> line_width,
                 const std::optional<std::string>& profile, std::optional<bool> scientific) {
  PrintOptions options = options_of_profile(profile);
  if (precision) options.precision = *precision;
  if (threshold) {  // infinity: never shortened
    const Number most = threshold->value;
    options.threshold = most.is_float() && most.real() > 1e18 ? INT64_MAX
                        : most.is_float()                     ? static_cast<i64>(most.real())
                                                              : most.integer();
  }
  if (edge_items) options.edge_items = *edge_items;
  if (line_width) options.line_width = static_cast<usize>(std::max<i64>(*line_width, 1));
  if (scientific || profile) options.scientific = scientific;
  set_print_options(options);
}

nb::dict get_options() {
  const PrintOptions options = print_options();
  nb::dict found;
  found["precision"] = options.precision;
  found["threshold"] = options.threshold;
  found["edgeitems"] = options.edge_items;
  found["linewidth"] = options.line_width;
  found["sci_mode"] = options.scientific ? nb::cast(*options.scientific) : nb::none();
  return found;
}

}  // namespace

void define_printing(nb::module_& module) {
  module.def("set_printoptions", &set_options, nb::arg("precision").none() = nb::none(),
             nb::arg("threshold").none() = nb::none(), nb::arg("edgeitems").none() = nb::none(),
             nb::arg("linewidth").none() = nb::none(), nb::arg("profile").none() = nb::none(),
             nb::arg("sci_mode").none() = nb::none(),
             nb::sig("def set_printoptions(precision: int | None = None, threshold: float | None = "
                     "None, edgeitems: int | None = None, linewidth: int | None = None, profile: "
                     "str | None = None, sci_mode: bool | None = None) -> None"),
             "How tensors are printed from here on: digits behind the point, from how many "
             "elements on they are shortened, to how\nmany at each end, how wide lines are, and "
             "whether floats are always or never scientific. profile: \"default\", \"short\"\nor "
             "\"full\", before the others.\n\nRaises ValueError for numbers that cannot be "
             "meant.\n\n>>> doorbell.set_printoptions(precision=2)\n>>> Tensor([1 / 3])\n"
             "tensor([0.33])\n>>> doorbell.set_printoptions(profile=\"default\")");
  module.def("get_printoptions", &get_options,
             nb::sig("def get_printoptions() -> dict[str, object]"),
             "What set_printoptions set.\n\n>>> doorbell.get_printoptions()[\"edgeitems\"]\n3");
}

}  // namespace doorbell::python
