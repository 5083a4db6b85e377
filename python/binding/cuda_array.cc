// [DLPack, "Python Specification", "Semantics" of stream; Numba, "CUDA Array Interface (Version
// 3)"]
#include "python/binding/cuda_array.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "core/device/buffer.h"
#include "core/uop/graph.h"
#include "python/binding/array.h"
#include "python/binding/create.h"
#include "runtime/cuda_memory.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/cell.h"
#include "tensor/api/storage.h"
#include "tensor/engine/realize.h"

namespace doorbell::python {
namespace {

using runtime::CudaMemory;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::move(result).error();
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// The computed elements, which nothing else keeps alive.
struct Shared {
  core::Ref<core::Buffer> buffer;
  CudaMemory memory;
};

Shared memory_of(const Tensor& tensor) {
  detail::refuse_in_capture("the memory of a tensor is given away");
  realize(tensor);
  const core::UOp holder = core::TensorGraph::realized(*detail::Access::cell(tensor).value);
  if (!holder.is(core::Op::Buffer))
    throw nb::buffer_error("a part of a tensor's memory is not given away; make it contiguous");
  core::Ref<core::Buffer> buffer(&engine::buffer_of(holder));
  const std::optional<CudaMemory> memory = must(runtime::cuda_memory(*buffer));
  if (!memory) throw nb::buffer_error("the tensor's memory is on no CUDA device");
  return {std::move(buffer), *memory};
}

nb::tuple shape_of(const Tensor& tensor) {
  nb::list sizes;
  for (i64 size : detail::bound_values(tensor.shape())) sizes.append(size);
  return nb::tuple(sizes);
}

// "<f4", as NumPy writes it; empty where NumPy has no such dtype.
std::string type_text(DType dtype) {
  nb::dlpack::dtype given;
  if (dtype == dtypes::bool_) return "|b1";
  if (!dlpack_of_dtype(dtype, &given)) return "";
  char kind = 0;
  switch (static_cast<nb::dlpack::dtype_code>(given.code)) {
    case nb::dlpack::dtype_code::Int: kind = 'i'; break;
    case nb::dlpack::dtype_code::UInt: kind = 'u'; break;
    case nb::dlpack::dtype_code::Float: kind = 'f'; break;
    default: return "";
  }
  return fmt::format("{}{}{}", given.bits == 8 ? '|' : '<', kind, given.bits / 8);
}

DType dtype_of_text(const std::string& text) {
  for (DType dtype : {dtypes::bool_, dtypes::i8, dtypes::i16, dtypes::i32, dtypes::i64, dtypes::u8,
                      dtypes::u16, dtypes::u32, dtypes::u64, dtypes::f16, dtypes::f32, dtypes::f64})
    if (type_text(dtype) == text) return dtype;
  throw nb::type_error(
      fmt::format("no dtype here is {} of __cuda_array_interface__", text).c_str());
}

nb::object interface_of(const Tensor& tensor) {
  if (!gpu_of(tensor)) throw nb::attribute_error("__cuda_array_interface__: not on a CUDA device");
  if (tensor.needs_grad())
    throw nb::attribute_error(
        "__cuda_array_interface__: a tensor that needs gradients does not give its memory away; "
        "detach it");
  const std::string type = type_text(tensor.dtype());
  if (type.empty())
    throw nb::attribute_error(
        fmt::format("__cuda_array_interface__ has no {}", core::long_name_of(tensor.dtype().scalar))
            .c_str());
  const Shared shared = memory_of(tensor);
  nb::dict made;
  made["shape"] = shape_of(tensor);
  made["typestr"] = type;
  made["data"] = nb::make_tuple(tensor.numel() == 0 ? 0 : shared.memory.address, false);
  made["strides"] = nb::none();
  made["stream"] = shared.memory.stream;
  made["version"] = 3;
  return made;
}

// The interface's strides, in bytes, of a row-major array without gaps.
void check_strides(nb::handle strides, const std::vector<i64>& shape, i64 item_bytes) {
  if (strides.is_none()) return;
  i64 expected = item_bytes;
  for (usize i = shape.size(); i-- > 0; expected *= shape[i])
    if (shape[i] != 1 && nb::cast<i64>(strides[i]) != expected)
      throw nb::value_error("memory with strides cannot be shared; make it contiguous");
}

}  // namespace

std::optional<int> gpu_of(const Tensor& tensor) { return runtime::cuda_gpu(tensor.device()); }

nb::object to_cuda_dlpack(const Tensor& tensor, nb::handle stream) {
  nb::dlpack::dtype dtype;
  if (!dlpack_of_dtype(tensor.dtype(), &dtype))
    throw nb::type_error(
        fmt::format("{} has no dtype of DLPack", core::long_name_of(tensor.dtype().scalar))
            .c_str());
  auto shared = std::make_unique<Shared>(memory_of(tensor));
  const i64 consumer = stream.is_none() ? 0 : nb::cast<i64>(stream);
  if (consumer >= 0)
    must(runtime::let_cuda_stream_wait(tensor.device(), static_cast<u64>(consumer)));
  const std::vector<i64> sizes = detail::bound_values(tensor.shape());
  const std::vector<usize> shape(sizes.begin(), sizes.end());
  auto* data = reinterpret_cast<void*>(shared->memory.address);
  const int gpu = shared->memory.gpu;
  nb::capsule owner(shared.get(), [](void* held) noexcept { delete static_cast<Shared*>(held); });
  shared.release();
  const nb::ndarray<nb::array_api> array(data, shape.size(), shape.data(), owner, nullptr, dtype,
                                         nb::device::cuda::value, gpu);
  return nb::cast(array).attr("__dlpack__")();
}

Tensor share_cuda_array(nb::handle object) {
  const nb::dict given = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
  const auto optional = [&](const char* key) {
    return given.contains(key) ? nb::object(given[key]) : nb::none();
  };
  if (!optional("mask").is_none()) throw nb::value_error("arrays with a mask cannot be shared");
  std::vector<i64> shape;
  for (nb::handle size : given["shape"]) shape.push_back(nb::cast<i64>(size));
  const DType dtype = dtype_of_text(nb::cast<std::string>(given["typestr"]));
  check_strides(optional("strides"), shape, dtype.bytes());
  const u64 address = nb::cast<u64>(nb::object(given["data"][nb::int_(0)]));
  const std::string device = must(runtime::cuda_device_at(address));
  if (const nb::object stream = optional("stream"); !stream.is_none())
    must(runtime::wait_for_cuda_stream(device, nb::cast<u64>(stream)));
  // The object is kept as a foreign array is; it is released when the interpreter's lock is held.
  auto keeper = std::make_unique<nb::object>(nb::borrow(object));
  Tensor tensor =
      detail::wrap_memory(reinterpret_cast<void*>(address), dtype, shape, device,
                          [held = keeper.get()] { release_later([held] { delete held; }); });
  keeper.release();
  return tensor;
}

void define_cuda_array(nb::class_<Tensor>& tensor) {
  tensor.def_prop_ro(
      "__cuda_array_interface__", [](const Tensor& self) { return interface_of(self); },
      nb::sig("def __cuda_array_interface__(self) -> dict[str, object]"));
}

}  // namespace doorbell::python
