// Types to which Python arguments are converted for the tensor API: one small type for each kind of
// argument, with its nanobind caster. For the arguments of each function see python/surface; for
// lists and arrays as tensors create.cc.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/binding/unlocked.h"
#include "tensor/api/tensor.h"

namespace nb = nanobind;

namespace doorbell::python {

// The Python type of tensors, set when the class is made; its subclasses count too.
extern PyTypeObject* tensor_type;
inline bool is_tensor(nb::handle object) {
  return Py_TYPE(object.ptr()) == tensor_type || PyObject_TypeCheck(object.ptr(), tensor_type) != 0;
}
// Throws TypeError for an object that is not a tensor: Tensor.realize([a, b]) calls a method with a
// list.
// Whether only the running call has a reference to it, as to f() in f()[0] = 1.
inline bool is_temporary(nb::handle object) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniqueReferencedTemporary(object.ptr()) != 0;
#else
  return Py_REFCNT(object.ptr()) == 1;
#endif
}
[[noreturn]] void refuse_as_tensor(nb::handle object);
inline Tensor& as_tensor(nb::handle object) {
  if (!is_tensor(object)) [[unlikely]]
    refuse_as_tensor(object);
  return *nb::inst_ptr<Tensor>(object);
}

// Throws a TypeError with the reason why an array cannot become a tensor.
[[noreturn]] void refuse_array(nb::handle array);
// Whether it is a Python integer that neither i64 nor u64 can hold; the other function throws an
// OverflowError for one.
bool exceeds_64_bits(nb::handle object);
[[noreturn]] void refuse_beyond_64_bits(nb::handle integer);

struct Num {
  Number value = 0;
  nb::handle too_large;      // an integer that no Number can hold: using it throws
  operator Number() const {  // NOLINT(google-explicit-constructor)
    if (too_large.is_valid()) refuse_beyond_64_bits(too_large);
    return value;
  }
};

// A tensor or a number; arrays and numbers of NumPy count as such.
struct Value {
  const Tensor* tensor = nullptr;  // owned by the argument, which outlives the call
  Tensor held;                     // set if the argument was converted to a tensor
  Num number;
  nb::handle refused;         // an array that cannot become one: using the value throws
  operator Operand() const {  // NOLINT(google-explicit-constructor)
    if (tensor != nullptr) return *tensor;
    if (refused.is_valid()) refuse_array(refused);
    return held.defined() ? Operand(held) : Operand(Number(number));
  }
  // As a separate tensor; a number gets the dtype and device of `beside`.
  Tensor as_tensor(const Tensor& beside) const {
    if (tensor != nullptr) return *tensor;
    if (refused.is_valid()) refuse_array(refused);
    if (held.defined()) return held;
    const Number own = number;
    return beside.full_like(own, {.dtype = own.dtype()});
  }
};

// None: not defined.
struct MaybeTensor {
  Tensor tensor;
  const Tensor& operator*() const { return tensor; }
};

// A size: a number, or a bound Variable.
struct SizeArg {
  Size size;
};
// One number, or several.
struct Ints {
  std::vector<i64> values;
  bool is_one = false;
  operator const std::vector<i64>&() const { return values; }  // NOLINT
};
// Windows of pooling: one number stands for both axes.
struct Kernel {
  std::vector<i64> values;
};
struct AxesArg {
  Axes axes;
  operator const Axes&() const { return axes; }  // NOLINT(google-explicit-constructor)
};
struct ShapeArg {
  Shape shape;
  operator const Shape&() const { return shape; }  // NOLINT(google-explicit-constructor)
};
// A shape in which None keeps the tensor's size.
struct SizesArg {
  std::vector<std::optional<Size>> sizes;
  Shape beside(const Tensor& tensor) const;
};
// A DType, its name, bool, int or float, or a dtype of NumPy or PyTorch.
struct DTypeArg {
  DType dtype = dtypes::f32;
  operator DType() const { return dtype; }  // NOLINT(google-explicit-constructor)
};
// None, a name, or several.
struct DevicesArg {
  std::vector<std::string> names;
  operator Devices() const { return Devices(names); }  // NOLINT(google-explicit-constructor)
  std::string joined() const;
};

// The readers behind the casters; false if the object has another type.
bool read_number(nb::handle object, Number* number);
bool read(nb::handle object, Num* number);
bool read_value(nb::handle object, Value* value);
bool read_size(nb::handle object, Size* size);
bool read_shape(nb::handle object, Shape* shape);
bool read_sizes(nb::handle object, SizesArg* sizes);
bool read_ints(nb::handle object, Ints* ints);
bool read_dtype(nb::handle object, DType* dtype);
bool read_devices(nb::handle object, DevicesArg* devices);
inline bool read(nb::handle object, Value* value) { return read_value(object, value); }
inline bool read(nb::handle object, SizeArg* size) { return read_size(object, &size->size); }
inline bool read(nb::handle object, Ints* ints) { return read_ints(object, ints); }
inline bool read(nb::handle object, ShapeArg* shape) { return read_shape(object, &shape->shape); }
inline bool read(nb::handle object, SizesArg* sizes) { return read_sizes(object, sizes); }
inline bool read(nb::handle object, DTypeArg* dtype) { return read_dtype(object, &dtype->dtype); }
inline bool read(nb::handle object, DevicesArg* devices) { return read_devices(object, devices); }
bool read(nb::handle object, MaybeTensor* tensor);
bool read(nb::handle object, Kernel* kernel);
bool read(nb::handle object, AxesArg* axes);

// An integer, or a list with one, that 64 bits do not hold.
bool overflows(nb::handle object);
// f(2, 3) and f((2, 3)). Throw TypeError for other arguments, OverflowError for too large numbers.
Shape shape_of(const nb::args& sizes);
SizesArg sizes_of(const nb::args& sizes);
std::vector<i64> ints_of(const nb::args& numbers);
std::vector<Tensor> tensors_of(const nb::args& tensors);

// Sizes as Python objects: numbers, and Size objects for symbolic ones.
nb::object to_python(const Size& size);
nb::tuple to_python(const Shape& shape);
nb::object to_python(const Tensor& tensor);  // None if it is not defined

// A named tuple of doorbell.results, such as Picked(values, indices).
nb::object named_tuple(const char* name, std::initializer_list<Tensor> tensors);
inline nb::object to_python(const Picked& x) {
  return named_tuple("Picked", {x.values, x.indices});
}
inline nb::object to_python(const Pooled& x) {
  return named_tuple("Picked", {x.values, x.indices});
}
inline nb::object to_python(const QR& x) { return named_tuple("QR", {x.Q, x.R}); }
inline nb::object to_python(const SVD& x) { return named_tuple("SVD", {x.U, x.S, x.Vh}); }

TensorOptions options_of(const std::optional<DTypeArg>& dtype, const DevicesArg& device,
                         bool requires_grad);
inline std::optional<DType> dtype_or_none(const std::optional<DTypeArg>& dtype) {
  return dtype ? std::optional<DType>(dtype->dtype) : std::nullopt;
}

// An enumerator by its name in PyTorch. Throws a ValueError that lists the names.
template <class E>
struct Choice {
  std::string_view name;
  E value;
};
[[noreturn]] void refuse_choice(std::string_view given, const std::vector<std::string>& names);
template <class E>
E choose(std::string_view given, std::initializer_list<Choice<E>> choices) {
  std::vector<std::string> names;
  for (const Choice<E>& choice : choices) {
    if (choice.name == given) return choice.value;
    names.emplace_back(choice.name);
  }
  refuse_choice(given, names);
}
inline Reduction reduction_of(std::string_view name) {
  return choose<Reduction>(
      name, {{"mean", Reduction::Mean}, {"sum", Reduction::Sum}, {"none", Reduction::None}});
}
Combine combine_of(std::string_view name);
PadMode pad_mode_of(std::string_view name);

}  // namespace doorbell::python

// ---- casters: read by read(), never write

#define DOORBELL_CASTER(Type, text)                                                              \
  template <>                                                                                    \
  struct nanobind::detail::type_caster<doorbell::python::Type> {                                 \
    NB_TYPE_CASTER(doorbell::python::Type, const_name(text))                                     \
    bool from_python(handle source, uint32_t, cleanup_list*) noexcept {                          \
      return doorbell::python::read(source, &value);                                             \
    }                                                                                            \
    static handle from_cpp(const Value&, rv_policy, cleanup_list*) noexcept { return handle(); } \
  }

DOORBELL_CASTER(Value, "Tensor | float | numpy.typing.ArrayLike");
DOORBELL_CASTER(Num, "float");
DOORBELL_CASTER(SizeArg, "int | Size");
DOORBELL_CASTER(MaybeTensor, "Tensor | None");
DOORBELL_CASTER(Ints, "int | collections.abc.Sequence[int]");
DOORBELL_CASTER(Kernel, "int | collections.abc.Sequence[int]");
DOORBELL_CASTER(AxesArg, "int | collections.abc.Sequence[int] | None");
DOORBELL_CASTER(ShapeArg, "int | Size | collections.abc.Sequence[int | Size]");
DOORBELL_CASTER(SizesArg, "int | Size | collections.abc.Sequence[int | Size | None]");
DOORBELL_CASTER(DTypeArg, "DType | str | type");
DOORBELL_CASTER(DevicesArg, "str | collections.abc.Sequence[str] | None");
