// Tensors out of numbers, lists, bytes and arrays. Arrays are read by nanobind's ndarray, which
// speaks DLPack and the buffer protocol.
#include "python/binding/create.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/ndarray.h>

#include <memory>

#include "python/binding/array.h"
#include "python/binding/cuda_array.h"
#include "runtime/cuda_memory.h"
#include "tensor/api/disk.h"
#include "tensor/api/storage.h"

namespace doorbell::python {

namespace {

using HostArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// numbers and their types, collected from nested lists
struct Leaves {
  std::vector<Number> numbers;
  std::vector<Tensor> tensors;  // instead of numbers, if the leaves are tensors or arrays
  std::vector<i64> shape;       // of the lists
};

bool is_list(nb::handle object) {
  return PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0;
}

// Python's limit of nesting is reached first.
void gather(nb::handle item, usize depth, Leaves& leaves) {
  if (!is_list(item)) {
    Number number = 0;
    Tensor tensor;
    if (is_tensor(item)) {
      leaves.tensors.push_back(as_tensor(item));
    } else if (read_number(item, &number)) {
      leaves.numbers.push_back(number);
    } else if (is_array(item) && tensor_of_array(item, &tensor)) {
      leaves.tensors.push_back(tensor);
    } else if (exceeds_64_bits(item)) {
      refuse_beyond_64_bits(item);
    } else {
      throw nb::type_error(fmt::format("{} within the data of a tensor, expected numbers",
                                       nb::repr(item.type()).c_str())
                               .c_str());
    }
    if (depth != leaves.shape.size())
      throw nb::value_error(
          fmt::format("a number at depth {} of nested lists, expected a list", depth).c_str());
    return;
  }
  const i64 count = PySequence_Size(item.ptr());
  const bool is_first = leaves.numbers.empty() && leaves.tensors.empty();
  if (depth == leaves.shape.size() && is_first) {
    leaves.shape.push_back(count);
  } else if (depth >= leaves.shape.size() || leaves.shape[depth] != count) {
    throw nb::value_error(fmt::format("a list of {} items beside lists of {} at depth {}", count,
                                      depth < leaves.shape.size() ? leaves.shape[depth] : 0, depth)
                              .c_str());
  }
  for (i64 i = 0; i < count; ++i)
    gather(nb::handle(PySequence_Fast_GET_ITEM(item.ptr(), i)), depth + 1, leaves);
}

Tensor tensor_of_leaves(const Leaves& leaves, const TensorOptions& options) {
  if (!leaves.tensors.empty()) {
    if (!leaves.numbers.empty())
      throw nb::value_error("numbers beside tensors in one list; make them tensors too");
    const Tensor all = Tensor::stack(leaves.tensors);
    Shape shape(leaves.shape);
    for (usize i = 1; i < static_cast<usize>(all.ndim()); ++i) shape.push_back(all.shape()[i]);
    Tensor result = all.reshape(shape);
    if (options.dtype) result = result.cast(*options.dtype);
    return detail::finish(result, options);
  }
  return detail::from_numbers(leaves.numbers, leaves.shape, options);
}

std::vector<i64> shape_of(const auto& array) {
  std::vector<i64> shape;
  for (usize i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<i64>(array.shape(i)));
  return shape;
}

Tensor copy_of(nb::handle object, const HostArray& array, const TensorOptions& options) {
  DType dtype;
  if (!dtype_of_dlpack(array.dtype(), &dtype)) refuse_array(object);
  const std::span bytes(static_cast<const std::byte*>(array.data()), array.nbytes());
  return Tensor::from_bytes(bytes, dtype, shape_of(array), options);
}

// Objects that only have __array__ become NumPy arrays; PyTorch's leaves are detached.
nb::object as_exchangeable(nb::handle object) {
  if (nb::hasattr(object, "requires_grad") && nb::hasattr(object, "detach"))
    return object.attr("detach")();
  if (nb::hasattr(object, "__dlpack__") || PyObject_CheckBuffer(object.ptr()) != 0)
    return nb::borrow(object);
  return nb::module_::import_("numpy").attr("asarray")(object);
}

Tensor tensor_of_bytes(nb::handle data, const TensorOptions& options) {
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  struct Release {
    Py_buffer* view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  const DType dtype = options.dtype.value_or(dtypes::u8);
  if (view.len % dtype.bytes() != 0)
    throw nb::value_error(fmt::format("{} bytes, not a multiple of the {} of {}", view.len,
                                      dtype.bytes(), core::long_name_of(dtype.scalar))
                              .c_str());
  const std::span bytes(static_cast<const std::byte*>(view.buf), static_cast<usize>(view.len));
  return Tensor::from_bytes(bytes, dtype, {static_cast<i64>(view.len) / dtype.bytes()}, options);
}

}  // namespace

bool is_array(nb::handle object) {
  return nb::hasattr(object, "__dlpack__") || nb::hasattr(object, "__array__") ||
         (PyObject_CheckBuffer(object.ptr()) != 0 && PyBytes_Check(object.ptr()) == 0 &&
          PyByteArray_Check(object.ptr()) == 0);
}

void refuse_array(nb::handle array) {
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  const std::string name = nb::str(dtype).c_str();
  const std::string kind = nb::str(nb::getattr(dtype, "kind", nb::str(""))).c_str();
  const std::string order = nb::str(nb::getattr(dtype, "byteorder", nb::str(""))).c_str();
  PyErr_Clear();
  std::string why = fmt::format("an array of {}, expected {}", name, expected_dtypes());
  DType known;
  if (order == ">" && std::string_view("biuf").find(kind) != std::string_view::npos)
    why = fmt::format(
        "an array of {}, which is big-endian; convert it with "
        "array.astype(array.dtype.newbyteorder(\"=\"))",
        name);
  else if (kind == "U" || kind == "S" || kind == "T")
    why = fmt::format("an array of text ({}), expected numbers", name);
  else if (kind == "O")
    why = "an array of Python objects, expected numbers; is a list in it shorter than others?";
  else if (kind == "c" || name.find("complex") != std::string::npos)
    why = fmt::format("an array of {}; there are no complex numbers", name);
  else if (!dtype.is_none() && read_dtype(dtype, &known))
    why = fmt::format("an array of {} that is not in memory of the host; copy it there", name);
  throw nb::type_error(why.c_str());
}

bool tensor_of_array(nb::handle object, Tensor* tensor) noexcept {
  try {
    *tensor = copy_of(object, nb::cast<HostArray>(as_exchangeable(object)), {});
    return true;
  } catch (...) {
    PyErr_Clear();
    return false;
  }
}

TensorOptions options_beside(const Tensor& place) {
  return {.dtype = place.dtype(), .device = detail::on_disk(place) ? "CPU" : place.device()};
}

Tensor make_tensor(nb::handle data, const TensorOptions& options) {
  PyObject* object = data.ptr();
  if (is_tensor(data)) {
    Tensor copy = as_tensor(data).detach();
    if (options.dtype) copy = copy.cast(*options.dtype);
    return detail::finish(copy.clone(), options);
  }
  if (PyBytes_Check(object) != 0 || PyByteArray_Check(object) != 0)
    return tensor_of_bytes(data, options);
  if (data.is_none()) return Tensor::empty({0}, options);
  if (nb::hasattr(data, "__fspath__") && !PyUnicode_Check(object))
    return Tensor::from_file(nb::cast<std::string>(data.attr("__fspath__")()), options);
  Leaves leaves;
  // numpy.float64 is a float, but says its dtype.
  if (!is_list(data) && !PyFloat_CheckExact(object) && !PyLong_Check(object) && is_array(data)) {
    HostArray array;
    if (nb::try_cast(as_exchangeable(data), array)) return copy_of(data, array, options);
    refuse_array(data);
  }
  if (PyUnicode_Check(object) || PyDict_Check(object))
    throw nb::type_error(fmt::format("data of {}, expected numbers, lists, bytes or an array",
                                     nb::repr(data.type()).c_str())
                             .c_str());
  if (PySequence_Check(object) && !is_list(data)) {  // range(3), say
    const nb::object list = nb::steal(PySequence_List(object));
    if (!list.is_valid()) throw nb::python_error();
    gather(list, 0, leaves);
  } else {
    gather(data, 0, leaves);
  }
  return tensor_of_leaves(leaves, options);
}

Tensor share_array(nb::handle object) {
  nb::ndarray<nb::ro> array;
  if (is_tensor(object)) return as_tensor(object);
  if (!nb::hasattr(object, "__dlpack__") && nb::hasattr(object, "__cuda_array_interface__"))
    return share_cuda_array(object);
  if (!nb::try_cast(as_exchangeable(object), array)) {
    if (is_array(object)) refuse_array(object);
    throw nb::type_error(fmt::format("{} shares no memory: it has neither __dlpack__ nor a buffer",
                                     nb::repr(object.type()).c_str())
                             .c_str());
  }
  DType dtype;
  if (!dtype_of_dlpack(array.dtype(), &dtype)) refuse_array(object);
  const std::string device = device_of_dlpack(array.device_type(), array.device_id());
  // What asks for no stream gets work that is in order with the default stream.
  if (array.device_type() == nb::device::cuda::value)
    if (Result<void> ordered = runtime::wait_for_cuda_stream(device, 0); !ordered)
      throw std::move(ordered).error();
  i64 expected = 1;
  for (usize i = array.ndim(); i-- > 0; expected *= static_cast<i64>(array.shape(i))) {
    if (array.shape(i) != 1 && array.size() != 0 && array.stride(i) != expected)
      throw nb::value_error(
          "memory with strides cannot be shared; make it contiguous, or copy it "
          "with Tensor(...)");
  }
  auto keeper = std::make_unique<nb::ndarray<nb::ro>>(array);
  Tensor tensor =
      detail::wrap_memory(const_cast<void*>(array.data()), dtype, shape_of(array), device,
                          [held = keeper.get()] { release_later([held] { delete held; }); });
  keeper.release();
  return tensor;
}

bool dtype_of_name(std::string_view name, DType* dtype) {
  struct Alias {
    std::string_view name;
    DType dtype;
  };
  static constexpr Alias kAliases[] = {
      {"bool_", dtypes::bool_},
      {"half", dtypes::f16},
      {"float", dtypes::f32},
      {"double", dtypes::f64},
      {"char", dtypes::i8},
      {"short", dtypes::i16},
      {"int", dtypes::i32},
      {"long", dtypes::i64},
      {"uchar", dtypes::u8},
      {"ushort", dtypes::u16},
      {"uint", dtypes::u32},
      {"ulong", dtypes::u64},
      {"fp8e4m3", dtypes::f8e4m3},
      {"fp8e5m2", dtypes::f8e5m2},
      {"fp8e4m3fnuz", dtypes::f8e4m3fnuz},
      {"fp8e5m2fnuz", dtypes::f8e5m2fnuz},
      {"float8_e4m3", dtypes::f8e4m3},
  };
  for (const Alias& alias : kAliases)
    if (alias.name == name) return *dtype = alias.dtype, true;
  return core::parse_dtype(name, dtype) && *dtype != dtypes::void_ && !dtype->is_index();
}

std::string expected_dtypes() {
  std::vector<std::string_view> names;
  for (usize i = 0; i < core::kScalarCount; ++i) {
    const DType dtype{static_cast<core::Scalar>(i)};
    if (dtype != dtypes::void_ && !dtype.is_index())
      names.push_back(core::long_name_of(dtype.scalar));
  }
  return fmt::format("{}, or a type of NumPy or PyTorch", fmt::join(names, ", "));
}

}  // namespace doorbell::python
