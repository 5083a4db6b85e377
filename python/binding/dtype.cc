// DType, promotion and limits. For the dtypes by name see doorbell/dtypes.py.
#include <nanobind/nanobind.h>

#include "python/binding/create.h"
#include "python/binding/misfit.h"
#include "python/binding/module.h"
#include "tensor/api/dtype_info.h"

namespace doorbell::python {

namespace {

std::string long_name(const DType& dtype) { return std::string(core::long_name_of(dtype.scalar)); }

// A tensor's own dtype.
DType dtype_or_own(const char* what, nb::handle given) {
  return is_tensor(given) ? as_tensor(given).dtype() : dtype_for(what, given);
}

void define_limits(nb::module_& module) {
  nb::class_<FloatInfo>(module, "FloatInfo", "The limits of a dtype of floats.")
      .def_ro("bits", &FloatInfo::bits)
      .def_ro("eps", &FloatInfo::eps, "From 1 to the next number.")
      .def_ro("min", &FloatInfo::min)
      .def_ro("max", &FloatInfo::max)
      .def_ro("smallest_normal", &FloatInfo::smallest_normal)
      .def_ro("tiny", &FloatInfo::smallest_normal)
      .def_ro("has_infinity", &FloatInfo::has_infinity)
      .def_ro("resolution", &FloatInfo::resolution, "From 1 to the next number of few decimals.")
      .def_ro("dtype", &FloatInfo::dtype);
  nb::class_<IntInfo>(module, "IntInfo", "The limits of a dtype of integers.")
      .def_ro("bits", &IntInfo::bits)
      .def_ro("min", &IntInfo::min)
      .def_ro("max", &IntInfo::max)
      .def_ro("dtype", &IntInfo::dtype);
  module.def(
      "finfo", [](nb::handle dtype) { return finfo(dtype_or_own("finfo()", dtype)); },
      nb::arg("dtype"), nb::sig("def finfo(dtype: DType | str | type | Tensor) -> FloatInfo"),
      "The limits of a dtype of floats, or of a tensor's. Raises ValueError for another.\n\n"
      ">>> doorbell.finfo(dtypes.float16).max\n65504.0");
  module.def(
      "iinfo", [](nb::handle dtype) { return iinfo(dtype_or_own("iinfo()", dtype)); },
      nb::arg("dtype"), nb::sig("def iinfo(dtype: DType | str | type | Tensor) -> IntInfo"),
      "The limits of a dtype of integers, or of a tensor's. Raises ValueError for another.\n\n"
      ">>> doorbell.iinfo(\"int16\").max\n32767");
}

}  // namespace

void define_dtypes(nb::module_& module) {
  nb::class_<DType>(module, "DType", "The type of a tensor's elements; the values are in `dtypes`.")
      .def(
          "__init__",
          [](DType* self, nb::handle name) { new (self) DType(dtype_for("DType()", name)); },
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
      "promote_types",
      [](nb::handle a, nb::handle b) {
        return core::promote(dtype_for("promote_types()", a), dtype_for("promote_types()", b));
      },
      nb::arg("a"), nb::arg("b"),
      nb::sig("def promote_types(a: DType | str | type, b: DType | str | type) -> DType"),
      "The dtype in which tensors of these two meet.\n\n"
      ">>> doorbell.promote_types(\"int16\", \"float16\")\ndtypes.float16");
  define_limits(module);
}

}  // namespace doorbell::python
