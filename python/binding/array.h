// Tensors as arrays of others: NumPy, DLPack, the buffer protocol, lists. The memory is the
// tensor's own wherever the host sees it.
#pragma once

#include <nanobind/ndarray.h>

#include "core/device/buffer.h"
#include "python/binding/arguments.h"

namespace doorbell::python {

// The elements of a tensor in row-major order, computed, in memory that the host sees.
struct HostMemory {
  core::Ref<core::Buffer> buffer;  // the tensor's, or else
  std::vector<std::byte> copy;     // where no host sees that
  void* data = nullptr;
};
// Releases the interpreter's lock while it computes and waits.
HostMemory host_memory(const Tensor& tensor);

// Computes the tensor without the interpreter's lock. Other threads may use the same handle.
void realize(const Tensor& tensor);
void realize(std::span<const Tensor> tensors);

bool dtype_of_dlpack(nb::dlpack::dtype given, DType* dtype);
bool dlpack_of_dtype(DType dtype, nb::dlpack::dtype* given);
// The name of our device for memory of this kind. Throws for one that no device of ours has.
std::string device_of_dlpack(int type, int number);

// Drops what a foreign array held, at a moment when the interpreter's lock is held: a Buffer may
// die on any thread, and must not wait for it.
void release_later(nb::ndarray<nb::ro>* keeper);

void define_array(nb::class_<Tensor>& tensor);

}  // namespace doorbell::python
