// Tensors as arrays of other libraries, without a copy if the host can access their memory.
#include "python/binding/array.h"

#include <fmt/format.h>

#include <mutex>

#include "core/device/device.h"
#include "python/binding/create.h"
#include "python/binding/cuda_array.h"
#include "python/binding/lists.h"
#include "runtime/cuda_memory.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/promotion.h"
#include "tensor/engine/realize.h"
#include "tensor/export/visualize.h"
#include "tensor/jit/jit_state.h"

namespace doorbell::python {

namespace {

using dlpack_code = nb::dlpack::dtype_code;

struct Pairing {
  DType dtype;
  dlpack_code code;
};
constexpr Pairing kPairings[] = {
    {dtypes::bool_, dlpack_code::Bool},
    {dtypes::i8, dlpack_code::Int},
    {dtypes::i16, dlpack_code::Int},
    {dtypes::i32, dlpack_code::Int},
    {dtypes::i64, dlpack_code::Int},
    {dtypes::u8, dlpack_code::UInt},
    {dtypes::u16, dlpack_code::UInt},
    {dtypes::u32, dlpack_code::UInt},
    {dtypes::u64, dlpack_code::UInt},
    {dtypes::f16, dlpack_code::Float},
    {dtypes::bf16, dlpack_code::Bfloat},
    {dtypes::f32, dlpack_code::Float},
    {dtypes::f64, dlpack_code::Float},
    {dtypes::f8e4m3, dlpack_code::Float8_E4M3FN},
    {dtypes::f8e5m2, dlpack_code::Float8_E5M2},
    {dtypes::f8e4m3fnuz, dlpack_code::Float8_E4M3FNUZ},
    {dtypes::f8e5m2fnuz, dlpack_code::Float8_E5M2FNUZ},
};

// Objects passed to release_later(), until the interpreter runs bury().
struct Graveyard {
  std::mutex mutex;
  std::vector<std::function<void()>> dead;
  bool called = false;
};
Graveyard& graveyard() {
  static Graveyard& graveyard = *new Graveyard;
  return graveyard;
}

int bury(void*) {
  std::vector<std::function<void()>> dead;
  {
    std::lock_guard lock(graveyard().mutex);
    dead.swap(graveyard().dead);
    graveyard().called = false;
  }
  for (const std::function<void()>& release : dead) release();
  return 0;
}

}  // namespace

void release_later(std::function<void()> release) {
  if (Py_IsInitialized() == 0) return;  // the process is ending
  Graveyard& grave = graveyard();
  std::lock_guard lock(grave.mutex);
  grave.dead.push_back(std::move(release));
  if (!grave.called) grave.called = Py_AddPendingCall(&bury, nullptr) == 0;
}

bool dtype_of_dlpack(nb::dlpack::dtype given, DType* dtype) {
  for (const Pairing& pairing : kPairings) {
    if (static_cast<u8>(pairing.code) != given.code || given.lanes != 1 ||
        pairing.dtype.bytes() * 8 != given.bits)
      continue;
    *dtype = pairing.dtype;
    return true;
  }
  return false;
}

bool dlpack_of_dtype(DType dtype, nb::dlpack::dtype* given) {
  for (const Pairing& pairing : kPairings) {
    if (pairing.dtype != dtype) continue;
    *given = {static_cast<u8>(pairing.code), static_cast<u8>(dtype.bytes() * 8), 1};
    return true;
  }
  return false;
}

std::string device_of_dlpack(int type, int number) {
  if (type == nb::device::cuda::value) {
    Result<std::string> device = runtime::cuda_device(number);
    if (!device) throw nb::value_error(device.error().message.c_str());
    return *std::move(device);
  }
  const bool is_host = type == nb::device::cpu::value || type == nb::device::cuda_host::value;
  if (!is_host)
    throw nb::value_error(fmt::format("memory of DLPack device type {} (number {}) cannot be "
                                      "shared with a device here; copy it to the host first",
                                      type, number)
                              .c_str());
  return "CPU";
}

void realize(std::span<const Tensor> tensors) {
  if (detail::JitState::is_nested()) return Tensor::realize(tensors);  // computes nothing yet
  // Copies the handles, because other threads may use these while the lock is released.
  std::vector<Tensor> ours;
  std::vector<std::pair<detail::Cell*, core::UOp>> waiting;
  for (const Tensor& tensor : tensors) {
    detail::Cell& cell = detail::Access::cell(tensor);
    if (core::TensorGraph::is_stored(*cell.value)) continue;
    ours.push_back(Tensor::from_uop(cell.value));
    waiting.emplace_back(&cell, *cell.value);
  }
  if (ours.empty()) return;
  {
    Unlocked unlocked;
    Tensor::realize(ours);
  }
  for (usize i = 0; i < ours.size(); ++i) {
    auto [cell, node] = waiting[i];
    // A tensor with gradients keeps the graph that computed it.
    if (!cell->tracked && *cell->value == node) cell->set_stored(ours[i].uop());
  }
}

void realize(const Tensor& tensor) { realize(std::span(&tensor, 1)); }

HostMemory host_memory(const Tensor& tensor) {
  detail::refuse_in_capture("the values of a tensor are read");
  HostMemory memory;
  if (tensor.numel() == 0) return memory;
  if (detail::on_disk(tensor)) {
    Unlocked unlocked;
    memory.copy = tensor.to_bytes();
    memory.data = memory.copy.data();
    return memory;
  }
  realize(tensor);
  const Tensor ours = Tensor::from_uop(detail::Access::cell(tensor).value);
  const core::UOp holder = core::TensorGraph::realized(*detail::Access::cell(ours).value);
  Unlocked unlocked;
  if (holder.is(core::Op::Buffer) && engine::buffer_of(holder).host() != nullptr) {
    memory.buffer = core::Ref<core::Buffer>(&engine::buffer_of(holder));
    Result<void> done = memory.buffer->device().synchronize();
    if (!done) throw std::move(done).error();
    memory.data = memory.buffer->host();
    return memory;
  }
  memory.copy = ours.to_bytes();
  memory.data = memory.copy.data();
  return memory;
}

namespace {

// nanobind's array over the tensor's memory, which it keeps alive.
template <class Array>
Array array_of(const Tensor& tensor) {
  nb::dlpack::dtype dtype;
  if (!dlpack_of_dtype(tensor.dtype(), &dtype))
    throw nb::type_error(
        fmt::format("{} has no dtype of DLPack", core::long_name_of(tensor.dtype().scalar))
            .c_str());
  auto memory = std::make_unique<HostMemory>(host_memory(tensor));
  const std::vector<i64> sizes = detail::bound_values(tensor.shape());
  const std::vector<usize> shape(sizes.begin(), sizes.end());
  void* data = memory->data;
  nb::capsule owner(memory.get(),
                    [](void* held) noexcept { delete static_cast<HostMemory*>(held); });
  memory.release();
  return Array(data, shape.size(), shape.data(), owner, nullptr, dtype, nb::device::cpu::value, 0);
}

// NumPy lacks bfloat16 and the 8-bit floats: they become float32, exactly.
nb::object to_numpy(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  const bool has = !dtype.is_float() || (dtype.bytes() > 1 && dtype != dtypes::bf16);
  const Tensor shown = has ? tensor : detail::off_disk(tensor).detach().cast(dtypes::f32);
  return nb::cast(array_of<nb::ndarray<nb::numpy>>(shown));
}

nb::object to_array(const Tensor& tensor, nb::object dtype, nb::object copy) {
  nb::object array = to_numpy(tensor);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  if (!copy.is_none() && nb::cast<bool>(copy)) array = array.attr("copy")();
  return array;
}

nb::object to_dlpack(nb::handle self, const nb::kwargs& options) {
  if (as_tensor(self).needs_grad())
    throw nb::type_error("a tensor that needs gradients does not give its memory away; detach it");
  // A consumer on the host gets a copy. [Array API, __dlpack__: dl_device]
  const nb::object none = nb::none();
  const nb::object wanted = options.contains("dl_device") ? nb::object(options["dl_device"]) : none;
  const bool to_host =
      !wanted.is_none() && nb::cast<int>(wanted[nb::int_(0)]) == nb::device::cpu::value;
  if (gpu_of(as_tensor(self)) && !to_host)
    return to_cuda_dlpack(as_tensor(self),
                          options.contains("stream") ? nb::object(options["stream"]) : none);
  nb::object array = nb::cast(array_of<nb::ndarray<nb::array_api>>(as_tensor(self)));
  return array.attr("__dlpack__")();
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  try {
    nb::object array = to_numpy(as_tensor(self));
    if (PyObject_GetBuffer(array.ptr(), view, flags) != 0) return -1;
    return 0;  // the view holds the array, which holds the memory
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  }
  return -1;
}

}  // namespace

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                              {0, nullptr}};

void define_array(nb::class_<Tensor>& tensor) {
  tensor.def(
      "numpy", &to_numpy, nb::sig("def numpy(self) -> numpy.ndarray"),
      "The values as an array of NumPy, over the tensor's own memory where the host sees it: "
      "writing to one\nis writing to the other. bfloat16 and 8-bit floats, which NumPy "
      "lacks, become float32.\n\n"
      "Computes, and waits for, the tensor.\n\n"
      ">>> (Tensor([1, 2]) * 3).numpy()\narray([3, 6], dtype=int32)");
  tensor.def("__array__", &to_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
             nb::sig("def __array__(self, dtype: object = None, copy: bool | None = None) -> "
                     "numpy.ndarray"));
  tensor.def("__dlpack__", &to_dlpack, nb::sig("def __dlpack__(self, **kwargs: object) -> object"),
             "The values as a DLPack capsule, over the tensor's own memory where the host sees "
             "it.\n\n>>> import numpy\n>>> numpy.from_dlpack(Tensor([1, 2]))\n"
             "array([1, 2], dtype=int32)");
  tensor.def(
      "__dlpack_device__",
      [](const Tensor& self) {
        const std::optional<int> gpu = gpu_of(self);
        return gpu ? nb::make_tuple(nb::device::cuda::value, *gpu)
                   : nb::make_tuple(nb::device::cpu::value, 0);
      },
      nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
  define_cuda_array(tensor);
  tensor.def(
      "__array_namespace__",
      [](const Tensor&, nb::handle version) {
        if (!version.is_none())
          nb::module_::import_("doorbell.array_types").attr("check_version")(version);
        return nb::module_::import_("doorbell.array_api");
      },
      nb::arg("api_version").none() = nb::none(),
      nb::sig("def __array_namespace__(self, *, api_version: str | None = None) -> object"));
  tensor.def(
      "to_device",
      [](const Tensor& self, const std::string& device, nb::handle) { return self.to(device); },
      nb::arg("device"), nb::arg("stream").none() = nb::none(),
      nb::sig("def to_device(self, device: str, *, stream: object = None) -> Tensor"),
      "On another device, as the array API standard has it.\n\n"
      ">>> Tensor([1]).to_device(\"CPU\").device\n'CPU'");
  tensor.def(
      "is_contiguous", [](const Tensor& self) { return detail::Access::cell(self).is_row_major; },
      nb::sig("def is_contiguous(self) -> bool"),
      "Whether its elements lie in row-major order without gaps, so that reshape gives a view and "
      "no copy.\n\n"
      ">>> x = Tensor([[1, 2], [3, 4]])\n>>> x.is_contiguous(), x.T.is_contiguous()\n"
      "(True, False)");
  tensor.def("tolist", &to_list, nb::sig("def tolist(self) -> object"),
             "The values as nested lists of numbers; of a tensor without axes the number.\n\n"
             "Computes, and waits for, the tensor.\n\n"
             ">>> Tensor([[1, 2], [3, 4]]).tolist()\n[[1, 2], [3, 4]]");
  tensor.def("item", &to_item, nb::sig("def item(self) -> bool | int | float"),
             "The only element, as a number.\n\nRaises ValueError where there are others or none."
             "\n\n>>> Tensor([1.5]).item()\n1.5");
  tensor.def(
      "visualize",
      [](const Tensor& x, const std::string& path) {
        nb::gil_scoped_release released;
        visualize(x, path);
      },
      nb::arg("path") = "doorbell.graphs.html",
      nb::sig("def visualize(self, path: str = \"doorbell.graphs.html\") -> None"),
      "Writes a page for a browser that shows how the tensor would be computed: its graph, the "
      "schedule, and\nthe kernels with their plans and sources. Nothing runs. `doorbell graph -- "
      "COMMAND` shows a whole program,\nwith times.\n\n"
      ">>> (Tensor([1, 2]) * 3).visualize(\"product.html\")");
}

}  // namespace doorbell::python
