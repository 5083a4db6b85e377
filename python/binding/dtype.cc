// DType, promotion and limits. The dtypes by name are doorbell/dtypes.py's.
#include <nanobind/nanobind.h>

#include "python/binding/create.h"
#include "python/binding/module.h"
#include "tensor/api/dtype_info.h"

namespace doorbell::python {

namespace {

std::string long_name(const DType& dtype) { return std::string(core::long_name_of(dtype.scalar)); }

void define_limits(nb::module_& module) {
  nb::class_<FloatInfo>(module, "FloatInfo", "The limits of a dtype of floats.")
      .def_ro("bits", &FloatInfo::bits)
      .def_ro("eps", &FloatInfo::eps, "From 1 to the next number.")
      .def_ro("min", &FloatInfo::min)
      .def_ro("max", &FloatInfo::max)
      .def_ro("smallest_normal", &FloatInfo::smallest_normal)
      .def_ro("tiny", &FloatInfo::smallest_normal)
      .def_ro("has_infinity", &FloatInfo::has_infinity);
  nb::class_<IntInfo>(module, "IntInfo", "The limits of a dtype of integers.")
      .def_ro("bits", &IntInfo::bits)
      .def_ro("min", &IntInfo::min)
      .def_ro("max", &IntInfo::max);
  module.def(
      "finfo", [](DTypeArg dtype) { return finfo(dtype); }, nb::arg("dtype"),
      nb::sig("def finfo(dtype: DType | str | type) -> FloatInfo"),
      "The limits of a dtype of floats. Raises ValueError for another.\n\n"
      ">>> doorbell.finfo(dtypes.float16).max\n65504.0");
  module.def(
      "iinfo", [](DTypeArg dtype) { return iinfo(dtype); }, nb::arg("dtype"),
      nb::sig("def iinfo(dtype: DType | str | type) -> IntInfo"),
      "The limits of a dtype of integers. Raises ValueError for another.\n\n"
      ">>> doorbell.iinfo(\"int16\").max\n32767");
}

}  // namespace

void define_dtypes(nb::module_& module) {
  nb::class_<DType>(module, "DType", "The type of a tensor's elements; the values are in `dtypes`.")
      .def(
          "__init__", [](DType* self, DTypeArg other) { new (self) DType(other.dtype); },
          nb::arg("name"), nb::sig("def __init__(self, name: DType | str | type) -> None"),
          "By any of its names: DType(\"float32\").")
      .def_prop_ro("name", &long_name, "\"float32\"")
      .def_prop_ro(
          "itemsize", [](const DType& self) { return self.bytes(); }, "Bytes of an element.")
      .def_prop_ro("is_floating_point", [](const DType& self) { return self.is_float(); })
      .def_prop_ro("is_signed",
                   [](const DType& self) { return self.is_float() || self.is_signed_int(); })
      .def("__repr__", [](const DType& self) { return "dtypes." + long_name(self); })
      .def("__str__", &long_name)
      .def("__hash__", [](const DType& self) { return self.key(); })
      .def(
          "__eq__",
          [](const DType& self, nb::handle other) {
            DType dtype;
            return !other.is_none() && read_dtype(other, &dtype) && dtype == self;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def(
          "__reduce__",
          [](const DType& self) {
            return nb::make_tuple(nb::type<DType>(), nb::make_tuple(long_name(self)));
          },
          nb::sig("def __reduce__(self) -> tuple[type[DType], tuple[str]]"));

  module.def(
      "promote_types", [](DTypeArg a, DTypeArg b) { return core::promote(a.dtype, b.dtype); },
      nb::arg("a"), nb::arg("b"),
      nb::sig("def promote_types(a: DType | str | type, b: DType | str | type) -> DType"),
      "The dtype in which tensors of these two meet.\n\n"
      ">>> doorbell.promote_types(\"int16\", \"float16\")\ndtypes.float16");
  define_limits(module);
}

}  // namespace doorbell::python
