// Brackets: converts Python's indices to those of the tensor API.
#include <nanobind/nanobind.h>

#include <fmt/format.h>

#include "core/util/config.h"
#include "python/binding/create.h"
#include "python/binding/module.h"
#include "tensor/api/disk.h"
#include "tensor/api/view.h"

namespace doorbell::python {

namespace {

std::optional<Size> bound_of(nb::handle bound) {
  if (bound.is_none()) return std::nullopt;
  if (is_tensor(bound)) return Size(static_cast<i64>(as_tensor(bound).item<i64>()));
  Size size;
  if (!read_size(bound, &size))
    throw nb::type_error(
        fmt::format("{} as a bound of a slice, expected an integer", nb::repr(bound).c_str())
            .c_str());
  return size;
}

Index slice_of(nb::handle slice) {
  auto* given = reinterpret_cast<PySliceObject*>(slice.ptr());
  Slice result;
  result.start = bound_of(given->start);
  result.stop = bound_of(given->stop);
  if (const std::optional<Size> step = bound_of(given->step)) result.step = step->value();
  return result;
}

// A list of integers picks; one of booleans, or of lists, is a tensor.
Index list_of(nb::handle list) {
  std::vector<i64> places;
  bool simple = true;
  for (nb::handle item : nb::borrow<nb::sequence>(list)) {
    Size size;
    simple = simple && read_size(item, &size) && size.is_const();
    if (!simple) break;
    places.push_back(size.value());
  }
  if (simple) return Index(std::move(places));
  return Index(make_tensor(list, {}));
}

Index index_of(nb::handle item) {
  PyObject* object = item.ptr();
  Size size;
  if (read_size(item, &size)) return Index(std::move(size));
  if (PySlice_Check(object)) return slice_of(item);
  if (item.is_none()) return Index(None);
  if (object == Py_Ellipsis) return Index(Ellipsis);
  if (is_tensor(item)) return Index(as_tensor(item));
  if (PyBool_Check(object)) return Index(Tensor::full({}, object == Py_True));
  if (PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object)) return list_of(item);
  Tensor tensor;
  if (is_array(item) && tensor_of_array(item, &tensor)) return Index(tensor);
  if (is_array(item)) refuse_array(item);
  if (overflows(item))
    throw nb::index_error(
        fmt::format("index {}, beyond integers of 64 bits", nb::repr(item).c_str()).c_str());
  throw nb::index_error(
      fmt::format("{} as an index, expected integers, slices, lists, tensors, None "
                  "or ...",
                  nb::repr(item.type()).c_str())
          .c_str());
}

std::vector<Index> indices_of(nb::handle key) {
  std::vector<Index> indices;
  if (!PyTuple_Check(key.ptr())) {
    indices.push_back(index_of(key));
    return indices;
  }
  for (nb::handle item : nb::borrow<nb::tuple>(key)) indices.push_back(index_of(item));
  return indices;
}

// Computes and reads a mask; and every index tensor if indices are checked.
bool reads(const std::vector<Index>& indices) {
  for (const Index& index : indices)
    if (index.tensor() != nullptr &&
        (index.tensor()->dtype().is_bool() || core::config().check_index))
      return true;
  return false;
}

// Whether an error is about the indices, and not about the values.
bool is_about_indices(const Error& error) {
  const std::string_view message = error.message;
  return error.kind == ErrorKind::Invalid &&
         (message.starts_with("index ") || message.starts_with("an index ") ||
          message.starts_with("mask of shape ") ||
          message.find(" indices for a tensor of shape ") != message.npos);
}

// These become IndexErrors, as usual in Python.
template <class Apply>
auto within_brackets(const std::vector<Index>& indices, bool waits, Apply apply) {
  try {
    if (!waits && !reads(indices)) return apply();
    Unlocked unlocked;
    return apply();
  } catch (const Error& error) {
    if (!is_about_indices(error)) throw;
    throw nb::index_error(error.what());
  }
}

Tensor get_item(const Tensor& self, nb::handle key) {
  const std::vector<Index> indices = indices_of(key);
  return within_brackets(indices, false, [&] { return self.at(indices); });
}

void set_item(nb::handle place, nb::handle key, nb::handle given) {
  Tensor& self = as_tensor(place);
  if (is_temporary(place)) detail::refuse_lost(self, 1, 0);
  const std::vector<Index> indices = indices_of(key);
  Value value;
  if (!read_value(given, &value)) value.held = make_tensor(given, options_beside(self));
  if (value.tensor == nullptr && value.held.defined() && value.held.dtype() != self.dtype())
    value.held = value.held.cast(self.dtype());
  const Operand operand = value;
  within_brackets(indices, detail::on_disk(self), [&] {
    self.set_at(indices, operand);
    return 0;
  });
}

i64 length(const Tensor& self) {
  if (self.ndim() == 0) throw nb::type_error("len() of a tensor without axes");
  const Size size = self.size(0);
  return size.is_const() ? size.value() : self.numel() / std::max<i64>(1, self[0].numel());
}

}  // namespace

void define_indexing(TensorClass& tensor) {
  tensor
      .def("__getitem__", &get_item, nb::arg("key").none(),
           nb::sig("def __getitem__(self, key: object, /) -> Tensor"),
           "What the brackets pick: integers drop an axis, slices keep a part of one (any step), "
           "None adds an axis,\n... stands for the axes not named, lists, arrays and tensors of "
           "integers pick, those of booleans pick where they\nhold.\n\nRaises IndexError for what "
           "is out of range.\n\n"
           ">>> x = Tensor.arange(6).reshape(2, 3)\n>>> x[1, ::-1]\ntensor([5, 4, 3])\n"
           ">>> x[x > 3]\ntensor([4, 5])")
      .def("__setitem__", &set_item, nb::arg("key").none(), nb::arg("value"),
           nb::sig("def __setitem__(self, key: object, value: object, /) -> None"),
           "Puts a number, tensor, array or list where the brackets say; views of those elements "
           "see it, and what was computed\nfrom the old ones keeps them.\n\n"
           ">>> x = Tensor.zeros(3)\n>>> x[1:] = 5\n>>> x\ntensor([0., 5., 5.])")
      .def("__len__", &length)
      .def(
          "__iter__",
          [](const Tensor& self) {
            const i64 count = length(self);
            nb::list rows;
            for (i64 i = 0; i < count; ++i) rows.append(nb::cast(self.at(std::vector<Index>{i})));
            return nb::iter(rows);
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Tensor]"))
      .def(
          "__contains__",
          [](const Tensor& self, const Value& x) {
            const Tensor any = self.eq(x).any();
            Unlocked unlocked;
            return any.item<bool>();
          },
          nb::arg("x"), nb::sig("def __contains__(self, x: object, /) -> bool"));
}

}  // namespace doorbell::python
