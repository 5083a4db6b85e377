// Tensors as arrays of other libraries: NumPy, DLPack, the buffer protocol, lists. They share the
// tensor's memory if the host can access it.
#pragma once

#include <nanobind/ndarray.h>

#include <functional>

#include "core/device/buffer.h"
#include "python/binding/arguments.h"

namespace doorbell::python {

// The computed elements of a tensor in row-major order, in memory that the host can access.
struct HostMemory {
  core::Ref<core::Buffer> buffer;  // the tensor's buffer, or
  std::vector<std::byte> copy;     // a copy, if the host cannot access it
  void* data = nullptr;
};
// Releases the interpreter's lock while it computes and waits.
HostMemory host_memory(const Tensor& tensor);

// Computes the tensor without the interpreter's lock. Other threads may use the same handle.
void realize(const Tensor& tensor);
void realize(std::span<const Tensor> tensors);

bool dtype_of_dlpack(nb::dlpack::dtype given, DType* dtype);
bool dlpack_of_dtype(DType dtype, nb::dlpack::dtype* given);
// The name of the device for memory of this kind. Throws if no device has it.
std::string device_of_dlpack(int type, int number);

// Releases a foreign array later, when the interpreter's lock is held: a Buffer may be destroyed on
// any thread, and must not wait for the lock.
void release_later(std::function<void()> release);

void define_array(nb::class_<Tensor>& tensor);

}  // namespace doorbell::python
