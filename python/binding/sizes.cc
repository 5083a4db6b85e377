// Symbolic sizes: Variable, and the Size that binding one returns.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>

#include "python/binding/module.h"
#include "tensor/api/bound_size.h"

namespace doorbell::python {

namespace {

void define_order(nb::class_<Size>& size) {
  using Compare = bool (*)(const Size&, const Size&);
  constexpr std::pair<const char*, Compare> kOrders[] = {
      {"__lt__", [](const Size& a, const Size& b) { return a < b; }},
      {"__le__", [](const Size& a, const Size& b) { return a <= b; }},
      {"__gt__", [](const Size& a, const Size& b) { return a > b; }},
      {"__ge__", [](const Size& a, const Size& b) { return a >= b; }},
  };
  for (const auto& [name, compare] : kOrders)
    size.def(
        name, [compare](const Size& a, const SizeArg& b) { return compare(a, b.size); },
        nb::is_operator());
  // Also for two sizes, unlike in C++, because Python compares shapes with it.
  size.def(
          "__eq__",
          [](const Size& a, nb::handle b) {
            Size other;
            if (b.is_none() || !read_size(b, &other)) return false;
            if (a == other) return true;
            return detail::is_bound(a) && detail::is_bound(other) &&
                   detail::bound_value(a) == detail::bound_value(other);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__",  // of the number, which it equals
           [](const Size& self) {
             if (detail::is_bound(self)) return nb::hash(nb::int_(detail::bound_value(self)));
             return static_cast<Py_hash_t>(std::hash<std::string>()(self.str()));
           });
}

}  // namespace

void define_sizes(nb::module_& module) {
  using Binary = Size (*)(const Size&, const Size&);
  auto size = nb::class_<Size>(module, "Size",
                               "A size with a Variable in it, as `Variable.bind` gives it and "
                               "shapes show it. Of two sizes: + - * // %. It equals "
                               "the number that it is bound to; < <= > >= ask the bounds first, "
                               "then that number.\n\n"
                               ">>> n = Variable(\"n\", 1, 8).bind(3)\n"
                               ">>> n == 3, n < 9, n + 1 > 4\n(True, True, False)");
  struct Operator {
    const char *name, *reflected;
    Binary apply;
  };
  constexpr Operator kOperators[] = {
      {"__add__", "__radd__", [](const Size& a, const Size& b) { return a + b; }},
      {"__sub__", "__rsub__", [](const Size& a, const Size& b) { return a - b; }},
      {"__mul__", "__rmul__", [](const Size& a, const Size& b) { return a * b; }},
      {"__floordiv__", "__rfloordiv__", [](const Size& a, const Size& b) { return a / b; }},
      {"__mod__", "__rmod__", [](const Size& a, const Size& b) { return a % b; }},
  };
  for (const Operator& op : kOperators) {
    size.def(
        op.name, [apply = op.apply](const Size& a, const SizeArg& b) { return apply(a, b.size); },
        nb::is_operator());
    size.def(
        op.reflected,
        [apply = op.apply](const Size& a, const SizeArg& b) { return apply(b.size, a); },
        nb::is_operator());
  }
  define_order(size);
  size.def("__repr__", &Size::str)
      .def(
          "__int__", [](const Size& self) { return detail::bound_value(self); },
          "The value it is bound to now.")
      .def("__index__", [](const Size& self) { return detail::bound_value(self); })
      .def_prop_ro("min", &Size::min, "The least value it can have.")
      .def_prop_ro("max", &Size::max, "The largest.");

  nb::class_<Variable>(module, "Variable",
                       "A named integer that is given at run time: kernels are compiled once for "
                       "all its values.\n\n"
                       ">>> n = Variable(\"n\", 1, 8)\n"
                       ">>> x = Tensor.arange(8)[:n.bind(3)]\n"
                       ">>> x.shape, x.tolist()\n((n,), [0, 1, 2])")
      .def(nb::init<std::string_view, i64, i64>(), nb::arg("name"), nb::arg("min_val"),
           nb::arg("max_val"),
           nb::sig("def __init__(self, name: str, min_val: int, max_val: int) "
                   "-> None"),
           "From min_val to max_val, both included.")
      .def("bind", &Variable::bind, nb::arg("value"),
           "The size that has this value now. Raises ValueError when it is out of bounds.")
      .def_prop_ro("min", &Variable::min)
      .def_prop_ro("max", &Variable::max)
      .def_prop_ro("name", [](const Variable& self) { return self.name(); })
      .def("__repr__", [](const Variable& self) {
        return "Variable('" + self.name() + "', " + std::to_string(self.min()) + ", " +
               std::to_string(self.max()) + ")";
      });
}

}  // namespace doorbell::python
