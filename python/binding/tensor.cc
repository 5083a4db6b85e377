// The class Tensor: making one, its properties, computing, changing, gradients. Methods that the
// tables of tensor/api/methods declare come from python/surface; operators, brackets and arrays
// have files of their own.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include "python/binding/array.h"
#include "python/binding/create.h"
#include "python/binding/helpers.h"
#include "python/binding/misfit.h"
#include "python/binding/module.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/promotion.h"
#include "tensor/api/view.h"
#include "tensor/jit/jit.h"

namespace doorbell::python {

extern PyType_Slot buffer_slots[];

Tensor deep_copy(const Tensor& tensor, nb::handle memo) {
  const auto cell = reinterpret_cast<std::uintptr_t>(detail::Access::cell_untraced(tensor));
  const nb::object key = nb::make_tuple("doorbell.Tensor", cell);
  const bool has_memo = PyDict_Check(memo.ptr());
  if (has_memo) {
    const nb::dict known = nb::borrow<nb::dict>(memo);
    if (known.contains(key)) return as_tensor(nb::object(known[key]));
  }
  Tensor copy = tensor.detach().clone();
  if (tensor.is_leaf()) copy.requires_grad();
  if (has_memo) nb::borrow<nb::dict>(memo)[key] = copy;
  return copy;
}

std::string text_of(const Tensor& tensor) {
  const bool hidden = !tensor.defined() || detail::JitState::is_nested();
  if (hidden)
    return "<Tensor " + tensor.shape().str() + " of " +
           std::string(core::long_name_of(tensor.dtype().scalar)) + ", being captured>";
  Unlocked unlocked;
  return tensor.str();
}

namespace {

void construct(Tensor* self, nb::handle data, nb::handle dtype, const DevicesArg& device,
               bool requires_grad) {
  std::optional<DTypeArg> asked;
  if (!dtype.is_none()) asked = DTypeArg{dtype_for("Tensor()", dtype)};
  new (self) Tensor(make_tensor(data, options_of(asked, device, requires_grad)));
}

bool truth(const Tensor& self) {
  if (self.numel() != 1)
    throw fail(ErrorKind::Invalid,
               "the truth of a tensor of shape {}: ask for any() or all() of it",
               self.shape().str());
  return detail::off_disk(self).cast(dtypes::bool_).item<bool>();
}

nb::object only(const Tensor& self, const char* what) {
  return nb::cast(self).attr("item")().attr(what)();
}

nb::object complex_of(const Tensor& self) {
  return nb::steal(PyComplex_FromDoubles(nb::cast<f64>(only(self, "__float__")), 0.0));
}

nb::object index_of(const Tensor& self) {
  if (!self.dtype().is_float()) return only(self, "__index__");
  throw nb::type_error(fmt::format("an index of dtype {}, expected an integer or bool",
                                   core::long_name_of(self.dtype().scalar))
                           .c_str());
}

// The text in notebooks, with shape and dtype.
std::string html_of(const Tensor& self) {
  std::string text;
  for (const char letter : text_of(self)) {
    if (letter == '<' || letter == '>')
      text += letter == '<' ? "&lt;" : "&gt;";
    else
      text += letter;
  }
  return fmt::format("<pre>{}</pre><small>{}, {}, on {}</small>", text, self.shape().str(),
                     core::long_name_of(self.dtype().scalar), self.device());
}

nb::object format(nb::handle self, const nb::str& spec) {
  const bool scalar = as_tensor(self).ndim() == 0;
  const nb::object shown = scalar ? nb::object(self.attr("item")()) : nb::object(nb::str(self));
  return shown.attr("__format__")(spec);
}

void backward(const Tensor& self, const MaybeTensor& gradient) {
  Unlocked unlocked;
  if (gradient.tensor.defined())
    self.backward(gradient.tensor);
  else
    self.backward();
}

std::vector<Tensor> gradient_of(const Tensor& self, const nb::args& targets,
                                const MaybeTensor& gradient) {
  const std::vector<Tensor> wanted = tensors_of(targets);
  Unlocked unlocked;
  if (gradient.tensor.defined()) return self.gradient(wanted, gradient.tensor);
  return self.gradient(wanted);
}

nb::object assign(nb::handle self, nb::handle given) {
  Tensor& place = as_tensor(self);
  if (is_temporary(self) && detail::is_computed(place)) detail::refuse_lost(place, 1, 0);
  Tensor value;
  Num number;
  if (is_tensor(given))
    value = as_tensor(given);
  else if (read(given, &number))
    value = Tensor::full({}, number, {.dtype = place.dtype()});
  else
    value = make_tensor(given, options_beside(place));
  {
    std::optional<Unlocked> unlocked;
    if (detail::on_disk(place)) unlocked.emplace();  // writes a file
    place.assign(value);
  }
  return nb::borrow(self);
}

nb::object requires_grad_(nb::handle self, bool on) {
  as_tensor(self).requires_grad(on);
  return nb::borrow(self);
}

nb::object realize_all(nb::handle self, const nb::args& others) {
  std::vector<Tensor> tensors = tensors_of(others);
  tensors.insert(tensors.begin(), as_tensor(self));
  realize(tensors);
  return nb::borrow(self);
}

// By value: bytes, their type, and their device.
nb::tuple value_of(const Tensor& self) {
  const HostMemory memory = host_memory(self);
  return nb::make_tuple(
      nb::bytes(static_cast<const char*>(memory.data), static_cast<usize>(self.nbytes())),
      std::string(core::long_name_of(self.dtype().scalar)), to_python(self.max_shape()),
      self.device(), self.is_leaf());
}

Tensor tensor_of_value(const nb::tuple& state) {
  const nb::bytes bytes = nb::cast<nb::bytes>(state[0]);
  DType dtype;
  Shape shape;
  if (!dtype_of_name(nb::cast<std::string>(state[1]), &dtype) || !read_shape(state[2], &shape))
    throw nb::value_error("a pickle that no tensor was written to");
  const std::span data(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
  const bool leaf = nb::cast<bool>(state[4]);
  TensorOptions options{.device = nb::cast<std::string>(state[3]), .requires_grad = leaf};
  try {
    return Tensor::from_bytes(data, dtype, shape, options);
  } catch (const Error&) {  // a device that this machine does not have
    options.device.clear();
    return Tensor::from_bytes(data, dtype, shape, options);
  }
}

// Shared by the handles of one tensor while they are pickled: one object for all, so that a model
// and its optimiser share their parameters again after unpickling.
struct Shared {
  Tensor tensor;
  bool is_known = false;  // in alive(): a pickle of it is being written

  explicit Shared(Tensor shared) : tensor(std::move(shared)) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    if (is_known) alive().erase(detail::Access::cell_untraced(tensor));
  }

  // Borrowed; used under the interpreter's lock. Looked up only.
  static absl::flat_hash_map<const detail::Cell*, PyObject*>& alive() {
    static auto& all = *new absl::flat_hash_map<const detail::Cell*, PyObject*>;
    return all;
  }
  static nb::object of(const Tensor& tensor) {
    const detail::Cell* cell = detail::Access::cell_untraced(tensor);
    const auto found = alive().find(cell);
    if (found != alive().end()) return nb::borrow(found->second);
    auto* shared = new Shared(tensor);
    nb::object made = nb::cast(shared, nb::rv_policy::take_ownership);
    alive()[cell] = made.ptr();
    shared->is_known = true;
    return made;
  }
};

nb::tuple reduce(nb::handle self) {
  const nb::object rebuild = nb::module_::import_("doorbell.pickling").attr("tensor");
  return nb::make_tuple(rebuild, nb::make_tuple(self.type(), Shared::of(as_tensor(self))));
}

nb::object shared_tensor(nb::handle type, const Shared& shared) {
  nb::object tensor = nb::inst_alloc(type);
  new (nb::inst_ptr<Tensor>(tensor)) Tensor(shared.tensor);
  nb::inst_mark_ready(tensor);
  return tensor;
}

void define_sharing(nb::module_& module) {
  nb::class_<Shared>(module, "_Shared")
      .def(
          "__getstate__", [](const Shared& self) { return value_of(self.tensor); },
          nb::sig("def __getstate__(self) -> tuple[object, ...]"))
      .def(
          "__setstate__",
          [](Shared* self, const nb::tuple& state) { new (self) Shared(tensor_of_value(state)); },
          nb::sig("def __setstate__(self, state: tuple[object, ...], /) -> None"));
  module.def("_shared_tensor", &shared_tensor, nb::arg("type"), nb::arg("shared"),
             nb::sig("def _shared_tensor(type: type[Tensor], shared: _Shared) -> Tensor"));
}

void define_properties(TensorClass& tensor) {
  tensor
      .def_prop_ro(
          "shape", [](const Tensor& self) { return to_python(self.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"),
          "The sizes of its axes.\n\n>>> Tensor.zeros(2, 3).shape\n(2, 3)")
      .def_prop_ro(
          "max_shape", [](const Tensor& self) { return to_python(self.max_shape()); },
          nb::sig("def max_shape(self) -> tuple[int, ...]"),
          "The shape with the largest that each size can be.")
      .def_prop_ro("dtype", &Tensor::dtype,
                   "The type of its elements.\n\n"
                   ">>> Tensor([1.5]).dtype\ndtypes.float32")
      .def_prop_ro("device", &Tensor::device,
                   "The device it is on, or several with commas between them.\n\n"
                   ">>> Tensor([1], device=\"CPU\").device\n'CPU'")
      .def_prop_ro(
          "devices", [](const Tensor& self) { return nb::tuple(nb::cast(self.devices())); },
          nb::sig("def devices(self) -> tuple[str, ...]"), "The devices it is on.")
      .def_prop_ro("shard_axis", &Tensor::shard_axis,
                   "The axis along which its devices share it; None where it is on one, or on "
                   "all of them.")
      .def_prop_ro("ndim", &Tensor::ndim,
                   "How many axes it has.\n\n"
                   ">>> Tensor.zeros(2, 3).ndim\n2")
      .def_prop_ro("nbytes", &Tensor::nbytes,
                   "Bytes of all elements.\n\n"
                   ">>> Tensor.zeros(2, 3).nbytes\n24")
      .def_prop_ro("itemsize", &Tensor::element_size, "Bytes of an element.")
      .def_prop_ro("T", &Tensor::T, "All axes reversed.\n\n>>> Tensor.zeros(2, 3).T.shape\n(3, 2)")
      .def_prop_ro(
          "mT", [](const Tensor& self) { return self.transpose(-2, -1); },
          "The last two axes exchanged.")
      .def_prop_ro("is_leaf", &Tensor::is_leaf, "Whether it is marked: backward() fills its grad.")
      .def_prop_rw(
          "requires_grad", &Tensor::needs_grad,
          [](Tensor& self, bool on) { self.requires_grad(on); },
          "Marked, or computed from what is. Setting it marks a leaf.\n\n"
          ">>> w = Tensor([1.0], requires_grad=True)\n>>> (w * 2).requires_grad\nTrue")
      .def_prop_rw(
          "grad", [](const Tensor& self) { return to_python(self.grad()); },
          [](Tensor& self, const MaybeTensor& grad) {
            if (grad.tensor.defined())
              self.set_grad(grad.tensor);
            else
              self.zero_grad();
          },
          nb::for_setter(nb::arg("grad").none()),
          nb::for_getter(nb::sig("def grad(self) -> Tensor | None")),
          nb::for_setter(nb::sig("def grad(self, grad: Tensor | None, /) -> None")),
          "The gradient that backward() left; None before.");
}

void define_values(TensorClass& tensor) {
  tensor
      .def("realize", &realize_all, nb::sig("def realize(self, *others: Tensor) -> Tensor"),
           "Computes it now, and others with it, which shares work; gives itself. Another thread "
           "may run meanwhile.\n\n>>> (Tensor([1, 2]) * 2).realize()\ntensor([2, 4])")
      .def("is_realized", &Tensor::is_realized, "Whether its value is in memory.")
      .def("__repr__", &text_of)
      .def("__str__", &text_of)
      .def("_repr_html_", &html_of, "As notebooks show it.")
      .def(
          "__round__",
          [](const Tensor& self, std::optional<i64> digits) {
            return rounded(self, digits.value_or(0));
          },
          nb::arg("ndigits").none() = nb::none(),
          nb::sig("def __round__(self, ndigits: int | None = None) -> Tensor"))
      .def("__format__", &format, nb::sig("def __format__(self, spec: str, /) -> str"))
      .def("__bool__", &truth, nb::call_guard<Unlocked>())
      .def(
          "__int__", [](const Tensor& self) { return only(self, "__int__"); },
          nb::sig("def __int__(self) -> int"))
      .def(
          "__float__", [](const Tensor& self) { return only(self, "__float__"); },
          nb::sig("def __float__(self) -> float"))
      .def("__complex__", &complex_of, nb::sig("def __complex__(self) -> complex"))
      .def("__index__", &index_of, nb::sig("def __index__(self) -> int"))
      .def("__hash__",
           [](const Tensor& self) {
             return reinterpret_cast<std::uintptr_t>(detail::Access::cell_untraced(self)) >> 4;
           })
      .def("__reduce__", &reduce, nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      // For old pickles, in which tensors did not share values.
      .def(
          "__setstate__",
          [](Tensor* self, const nb::tuple& state) { new (self) Tensor(tensor_of_value(state)); },
          nb::arg("state"), nb::sig("def __setstate__(self, state: tuple[object, ...], /) -> None"))
      .def("assign", &assign, nb::arg("x"),
           nb::sig("def assign(self, x: Tensor | float | numpy.typing.ArrayLike) -> Tensor"),
           "Gives it, every other handle of it and all views of its elements another value, which "
           "is broadcast and converted;\nwhat was computed from the old one keeps that. Gives "
           "itself.\n\nRaises ValueError for a value that does not fit, and where nobody would "
           "see it.\n\n"
           ">>> x = Tensor([1.0, 2.0])\n>>> y = x + 1\n>>> x.assign(Tensor([5.0, 6.0]))\n"
           "tensor([5., 6.])\n>>> y\ntensor([2., 3.])")
      .def(
          "replace",
          [](nb::handle self, const Tensor& x) {
            as_tensor(self).replace(x);
            return nb::borrow(self);
          },
          nb::arg("x"), nb::sig("def replace(self, x: Tensor) -> Tensor"),
          "Gives it and every other handle of it another value, of any shape, dtype and device. "
          "Views of what it was keep that.\n\n>>> Tensor([1]).replace("
          "Tensor([1.0, 2.0]))\ntensor([1., 2.])");
}

void define_gradients(TensorClass& tensor) {
  tensor
      .def("requires_grad_", &requires_grad_, nb::arg("requires_grad") = true,
           nb::sig("def requires_grad_(self, requires_grad: bool = True) -> Tensor"),
           "Marks a leaf, whose grad backward() fills; gives itself.")
      .def("backward", &backward, nb::arg("gradient").none() = nb::none(),
           nb::sig("def backward(self, gradient: Tensor | None = None) -> None"),
           "Adds the gradient of this tensor to `grad` of every marked leaf it was computed from. "
           "Without a gradient from\nabove it must be a scalar, or ValueError is raised.\n\n"
           ">>> w = Tensor([1.0, 2.0], requires_grad=True)\n>>> (w * w).sum().backward()\n"
           ">>> w.grad\ntensor([2., 4.])")
      .def("gradient", &gradient_of, nb::arg("targets"), nb::arg("gradient").none() = nb::none(),
           nb::sig("def gradient(self, *targets: Tensor, gradient: Tensor | None = None) -> "
                   "list[Tensor]"),
           "The gradients with respect to the targets; nothing is marked or filled, and they can "
           "be differentiated again.\n\nThat of a target it was not computed from is zeros.\n\n"
           ">>> x = Tensor([2.0])\n>>> (x * x * x).gradient(x)\n[tensor([12.])]")
      .def("zero_grad", &Tensor::zero_grad, "Forgets the gradient.")
      .def(
          "__deepcopy__", [](const Tensor& self, nb::handle memo) { return deep_copy(self, memo); },
          nb::arg("memo"), nb::sig("def __deepcopy__(self, memo: object, /) -> Tensor"));
}

}  // namespace

TensorClass define_tensor(nb::module_& module) {
  TensorClass tensor(module, "Tensor", nb::type_slots(buffer_slots), nb::is_weak_referenceable(),
                     "A lazy n-dimensional array: operations build a graph, and values are "
                     "computed when they are asked for.\n\n"
                     "Tensor(data, dtype=None, device=None, requires_grad=False): of numbers, "
                     "nested lists, bytes, arrays, paths of\nfiles. Numbers without a fraction "
                     "are int32 (int64 where they need it), others float32.\n\n"
                     ">>> Tensor([[1, 2], [3, 4]]) * 2 + 1\ntensor([[3, 5],\n        [7, 9]])");
  tensor_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  tensor.def("__init__", &construct, nb::arg("data").none(), nb::arg("dtype").none() = nb::none(),
             nb::arg("device") = nb::none(), nb::arg("requires_grad") = false,
             nb::sig("def __init__(self, data: object, dtype: DType | str | type | None = None, "
                     "device: str | collections.abc.Sequence[str] | None = None, requires_grad: "
                     "bool = False) -> None"));
  define_properties(tensor);
  define_values(tensor);
  define_gradients(tensor);
  define_array(tensor);
  define_sharing(module);
  return tensor;
}

}  // namespace doorbell::python
