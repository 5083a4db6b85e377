// Values of tensors as Python's numbers and lists. For memory see array.cc.
#include "python/binding/lists.h"

#include <fmt/format.h>

#include <cstring>

#include "python/binding/array.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/disk.h"

namespace doorbell::python {

namespace {

template <class T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

PyObject* number_at(const std::byte* at, core::Scalar scalar) {
  using core::Scalar;
  switch (scalar) {
    case Scalar::Bool: return PyBool_FromLong(load<u8>(at));
    case Scalar::I8: return PyLong_FromLong(load<i8>(at));
    case Scalar::U8: return PyLong_FromLong(load<u8>(at));
    case Scalar::I16: return PyLong_FromLong(load<i16>(at));
    case Scalar::U16: return PyLong_FromLong(load<u16>(at));
    case Scalar::I32: return PyLong_FromLong(load<i32>(at));
    case Scalar::U32: return PyLong_FromUnsignedLong(load<u32>(at));
    case Scalar::I64: return PyLong_FromLongLong(load<i64>(at));
    case Scalar::U64: return PyLong_FromUnsignedLongLong(load<u64>(at));
    case Scalar::F64: return PyFloat_FromDouble(load<f64>(at));
    default: return PyFloat_FromDouble(static_cast<f64>(load<f32>(at)));
  }
}

// Floats without a C++ type become f32, exactly.
Tensor as_readable(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (!dtype.is_float() || dtype == dtypes::f32 || dtype == dtypes::f64) return tensor;
  return detail::off_disk(tensor).detach().cast(dtypes::f32);
}

// Recurses as deep as the tensor's axes, which are few.
PyObject* list_of(const std::byte*& at, std::span<const i64> shape, DType dtype) {
  if (shape.empty()) {
    PyObject* number = number_at(at, dtype.scalar);
    at += dtype.bytes();
    return number;
  }
  PyObject* list = PyList_New(shape[0]);
  if (list == nullptr) throw nb::python_error();
  for (i64 i = 0; i < shape[0]; ++i) PyList_SET_ITEM(list, i, list_of(at, shape.subspan(1), dtype));
  return list;
}

}  // namespace

nb::object to_list(const Tensor& tensor) {
  const Tensor readable = as_readable(tensor);
  const HostMemory memory = host_memory(readable);
  const std::vector<i64> shape = detail::bound_values(readable.shape());
  const auto* at = static_cast<const std::byte*>(memory.data);
  return nb::steal(list_of(at, shape, readable.dtype()));
}

nb::object to_item(const Tensor& tensor) {
  if (tensor.numel() != 1)
    throw fail(ErrorKind::Invalid, "item() of a tensor of shape {}, expected one element",
               tensor.shape().str());
  const Tensor readable = as_readable(tensor);
  const HostMemory memory = host_memory(readable);
  return nb::steal(number_at(static_cast<const std::byte*>(memory.data), readable.dtype().scalar));
}

}  // namespace doorbell::python
