// Converts Python arguments to the types of the tensor API. For lists and arrays as tensors see
// create.cc.
#include "python/binding/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "python/binding/create.h"

namespace doorbell::python {

PyTypeObject* tensor_type = nullptr;

void refuse_as_tensor(nb::handle object) {
  throw nb::type_error(
      fmt::format("{}, expected a tensor", nb::repr(object.type()).c_str()).c_str());
}

namespace {

// NumPy's scalars have __index__ or __float__, and no length.
bool read_other_number(PyObject* object, Number* number) {
  if (PySequence_Check(object) != 0 || is_tensor(object)) return false;
  PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  if (methods == nullptr) return false;
  if (std::string_view(Py_TYPE(object)->tp_name).starts_with("numpy.bool")) {
    *number = PyObject_IsTrue(object) == 1;
    return true;
  }
  if (methods->nb_index != nullptr) {
    PyObject* integer = PyNumber_Index(object);
    const bool read = integer != nullptr && read_number(integer, number);
    Py_XDECREF(integer);
    if (integer == nullptr) PyErr_Clear();
    return read;
  }
  // Arrays of one element have __float__ too, but also a shape.
  if (methods->nb_float == nullptr || nb::hasattr(object, "__dlpack__")) return false;
  PyObject* real = PyNumber_Float(object);
  if (real == nullptr) {
    PyErr_Clear();
    return false;
  }
  *number = PyFloat_AS_DOUBLE(real);
  Py_DECREF(real);
  return true;
}

}  // namespace

bool read_number(nb::handle object, Number* number) {
  PyObject* given = object.ptr();
  if (PyFloat_Check(given)) {
    *number = PyFloat_AS_DOUBLE(given);
    return true;
  }
  if (PyBool_Check(given)) {
    *number = given == Py_True;
    return true;
  }
  if (PyLong_Check(given)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(given, &overflow);
    if (overflow == 0) {
      *number = static_cast<i64>(value);
      return true;
    }
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(given) : 0;
    if (large == 0 || PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return false;
    }
    *number = static_cast<u64>(large);
    return true;
  }
  return read_other_number(given, number);
}

bool exceeds_64_bits(nb::handle object) {
  if (!PyLong_Check(object.ptr())) return false;
  Number number = 0;
  return !read_number(object, &number);
}

void refuse_beyond_64_bits(nb::handle integer) {
  throw std::overflow_error(
      fmt::format("{}, beyond integers of 64 bits", nb::repr(integer).c_str()));
}

bool read(nb::handle object, Num* number) {
  if (read_number(object, &number->value)) return true;
  if (!exceeds_64_bits(object)) return false;
  number->too_large = object;
  return true;
}

bool read_value(nb::handle object, Value* value) {
  if (is_tensor(object)) {
    value->tensor = &as_tensor(object);
    return true;
  }
  if (read(object, &value->number)) return true;
  if (!is_array(object)) return false;
  if (!tensor_of_array(object, &value->held)) value->refused = object;
  return true;
}

bool read_size(nb::handle object, Size* size) {
  if (nb::isinstance<Size>(object)) {
    *size = *nb::inst_ptr<Size>(object);
    return true;
  }
  if (PyBool_Check(object.ptr()) || PyFloat_Check(object.ptr()) || is_tensor(object)) return false;
  Number number = 0;
  if (!read_number(object, &number) || number.is_float() || number.exceeds_i64()) return false;
  *size = number.integer();
  return true;
}

namespace {

// Calls a function for each item of a list, tuple or other sequence that is not text.
template <class Take>
bool for_each_item(nb::handle object, Take take) {
  if (PyUnicode_Check(object.ptr()) || !PySequence_Check(object.ptr())) return false;
  PyObject* items = PySequence_Fast(object.ptr(), "");
  if (items == nullptr) {
    PyErr_Clear();
    return false;
  }
  bool good = true;
  for (Py_ssize_t i = 0; good && i < PySequence_Fast_GET_SIZE(items); ++i)
    good = take(nb::handle(PySequence_Fast_GET_ITEM(items, i)));
  Py_DECREF(items);
  return good;
}

}  // namespace

bool read_shape(nb::handle object, Shape* shape) {
  Size size;
  if (read_size(object, &size)) {
    shape->push_back(std::move(size));
    return true;
  }
  return for_each_item(object, [&](nb::handle item) {
    Size one;
    if (!read_size(item, &one)) return false;
    shape->push_back(std::move(one));
    return true;
  });
}

bool read_sizes(nb::handle object, SizesArg* sizes) {
  auto take = [&](nb::handle item) {
    Size size;
    if (!item.is_none() && !read_size(item, &size)) return false;
    sizes->sizes.push_back(item.is_none() ? std::nullopt : std::optional<Size>(std::move(size)));
    return true;
  };
  return take(object) || for_each_item(object, take);
}

Shape SizesArg::beside(const Tensor& tensor) const {
  Shape shape;
  for (usize i = 0; i < sizes.size(); ++i)
    shape.push_back(sizes[i] ? *sizes[i] : tensor.size(static_cast<i64>(i)));
  return shape;
}

bool read_ints(nb::handle object, Ints* ints) {
  Size size;
  auto take = [&](nb::handle item) {
    if (!read_size(item, &size) || !size.is_const()) return false;
    ints->values.push_back(size.value());
    return true;
  };
  if (take(object)) {
    ints->is_one = true;
    return true;
  }
  return for_each_item(object, take);
}

bool read_dtype(nb::handle object, DType* dtype) {
  if (nb::isinstance<DType>(object)) {
    *dtype = *nb::inst_ptr<DType>(object);
    return true;
  }
  PyObject* given = object.ptr();
  if (given == reinterpret_cast<PyObject*>(&PyBool_Type)) return *dtype = dtypes::bool_, true;
  if (given == reinterpret_cast<PyObject*>(&PyLong_Type)) return *dtype = dtypes::i32, true;
  if (given == reinterpret_cast<PyObject*>(&PyFloat_Type)) return *dtype = dtypes::f32, true;
  if (PyUnicode_Check(given)) return dtype_of_name(nb::cast<std::string>(object), dtype);
  // numpy.dtype("float32") and numpy.float32 name themselves, torch.float32 is "torch.float32".
  const char* attribute = PyType_Check(given) != 0 ? "__name__" : "name";
  nb::object name = nb::getattr(object, attribute, nb::none());
  std::string text =
      name.is_none() ? std::string(nb::str(object).c_str()) : std::string(nb::str(name).c_str());
  if (text.starts_with("torch.")) text.erase(0, 6);
  return dtype_of_name(text, dtype);
}

bool read_devices(nb::handle object, DevicesArg* devices) {
  if (object.is_none()) return true;
  if (PyUnicode_Check(object.ptr())) {
    devices->names = Devices(nb::cast<std::string>(object)).names();
    return true;
  }
  return for_each_item(object, [&](nb::handle item) {
    if (!PyUnicode_Check(item.ptr())) return false;
    devices->names.push_back(nb::cast<std::string>(item));
    return true;
  });
}

bool read(nb::handle object, MaybeTensor* tensor) {
  if (object.is_none()) return true;
  if (!is_tensor(object)) return false;
  tensor->tensor = as_tensor(object);
  return true;
}

bool read(nb::handle object, Kernel* kernel) {
  Ints ints;
  if (!read_ints(object, &ints)) return false;
  kernel->values = ints.is_one ? std::vector<i64>(2, ints.values[0]) : ints.values;
  return true;
}

bool read(nb::handle object, AxesArg* axes) {
  if (object.is_none()) return true;
  Ints ints;
  if (!read_ints(object, &ints)) return false;
  axes->axes = Axes(std::move(ints.values));
  return true;
}

std::string DevicesArg::joined() const { return fmt::format("{}", fmt::join(names, ",")); }

bool overflows(nb::handle object) {
  if (PyLong_Check(object.ptr())) {
    int overflow = 0;
    (void)PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    return overflow != 0;
  }
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) return false;
  bool found = false;
  for_each_item(object, [&](nb::handle item) {
    found = found || (PyLong_Check(item.ptr()) && overflows(item));
    return true;
  });
  return found;
}

namespace {

// Describes what was passed instead of the `expected` arguments.
[[noreturn]] void refuse(nb::handle given, const char* what, const char* expected) {
  const std::string text = nb::repr(given).c_str();
  if (overflows(given))
    throw std::overflow_error(fmt::format("{}{}, beyond integers of 64 bits", what, text));
  throw nb::type_error(fmt::format("{}{}, expected {}", what, text, expected).c_str());
}

nb::handle only_or_all(const nb::args& given) {
  return given.size() == 1 ? nb::handle(given[0]) : nb::handle(given);
}

}  // namespace

Shape shape_of(const nb::args& sizes) {
  Shape shape;
  if (!read_shape(only_or_all(sizes), &shape))
    refuse(only_or_all(sizes), "a shape of ", "integers");
  return shape;
}

SizesArg sizes_of(const nb::args& given) {
  SizesArg sizes;
  if (!read_sizes(only_or_all(given), &sizes))
    refuse(only_or_all(given), "a shape of ", "integers");
  return sizes;
}

std::vector<i64> ints_of(const nb::args& numbers) {
  Ints ints;
  if (!read_ints(only_or_all(numbers), &ints)) refuse(only_or_all(numbers), "", "integers");
  return ints.values;
}

std::vector<Tensor> tensors_of(const nb::args& given) {
  std::vector<Tensor> tensors;
  const nb::handle whole =
      given.size() == 1 && !is_tensor(given[0]) ? nb::handle(given[0]) : nb::handle(given);
  const bool read = for_each_item(whole, [&](nb::handle item) {
    if (!is_tensor(item)) return false;
    tensors.push_back(as_tensor(item));
    return true;
  });
  if (!read)
    throw nb::type_error(fmt::format("{}, expected tensors", nb::repr(whole).c_str()).c_str());
  return tensors;
}

nb::object to_python(const Size& size) {
  return size.is_const() ? nb::object(nb::int_(size.value())) : nb::cast(size);
}

nb::tuple to_python(const Shape& shape) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  if (tuple == nullptr) throw nb::python_error();
  for (usize i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), to_python(shape[i]).release().ptr());
  return nb::steal<nb::tuple>(tuple);
}

nb::object to_python(const Tensor& tensor) {
  return tensor.defined() ? nb::cast(tensor) : nb::none();
}

nb::object named_tuple(const char* name, std::initializer_list<Tensor> tensors) {
  nb::list values;
  for (const Tensor& tensor : tensors) values.append(nb::cast(tensor));
  return nb::module_::import_("doorbell.results").attr(name)(*values);
}

TensorOptions options_of(const std::optional<DTypeArg>& dtype, const DevicesArg& device,
                         bool requires_grad) {
  return {.dtype = dtype_or_none(dtype), .device = device.joined(), .requires_grad = requires_grad};
}

void refuse_choice(std::string_view given, const std::vector<std::string>& names) {
  throw nb::value_error(
      fmt::format("\"{}\", expected one of: {}", given, fmt::join(names, ", ")).c_str());
}

Combine combine_of(std::string_view name) {
  return choose<Combine>(name, {{"sum", Combine::Sum},
                                {"add", Combine::Sum},
                                {"prod", Combine::Product},
                                {"multiply", Combine::Product},
                                {"mean", Combine::Mean},
                                {"amax", Combine::Max},
                                {"amin", Combine::Min}});
}

PadMode pad_mode_of(std::string_view name) {
  return choose<PadMode>(name, {{"constant", PadMode::Constant},
                                {"reflect", PadMode::Reflect},
                                {"replicate", PadMode::Replicate},
                                {"circular", PadMode::Circular}});
}

}  // namespace doorbell::python
