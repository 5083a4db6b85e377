// Libraries: images that belong to no context. Each context that uses one has a module of it.
// [CUDA Driver API, "Library Management"; cuda.h of nvidia-cuda-runtime 13.0]
#include "emulator/cuda/functions.h"
#include "emulator/cuda/launch.h"

namespace doorbell::emu::cuda {
namespace {

// The current context's module of a library; what the call returns.
int library_module(const Call& call, Handle handle, Handle* module) {
  Library& library = call.driver().libraries.at(handle);
  if (const auto found = library.modules.find(call.context()); found != library.modules.end()) {
    *module = found->second;
    return kSuccess;
  }
  const int status = load_module(call, library.image.data(), module);
  if (status == kSuccess) library.modules.emplace(call.context(), *module);
  return status;
}

int kernel_function(const Call& call, const LibraryKernel& kernel, Handle* function) {
  Driver& driver = call.driver();
  Handle module = 0;
  int status = library_module(call, kernel.library, &module);
  if (status != kSuccess) return status;
  const bool is_new = !driver.modules.at(module).functions.contains(kernel.name);
  status = function_of(call, module, kernel.name, function);
  const auto set = kernel.max_dynamic_shared.find(call.gpu());
  if (status == kSuccess && is_new && set != kernel.max_dynamic_shared.end())
    driver.functions.at(*function).max_dynamic_shared = set->second;
  return status;
}

// Attributes of kernels are by device; here through the current context, which must be the
// device's.
int attribute_function(const Call& call, Handle handle, int device, Handle* function) {
  const auto found = call.driver().kernels.find(handle);
  if (found == call.driver().kernels.end()) return call.no_handle("kernel", handle);
  if (device != call.gpu()) return kNotSupported;
  return kernel_function(call, found->second, function);
}

}  // namespace

Handle find_function(const Call& call, Handle handle, int* status) {
  Driver& driver = call.driver();
  if (driver.functions.contains(handle)) return handle;
  const auto kernel = driver.kernels.find(handle);
  Handle function = 0;
  *status = kernel == driver.kernels.end() ? call.no_handle("function", handle)
                                           : kernel_function(call, kernel->second, &function);
  return function;
}

int cuLibraryLoadData(Handle* library, const void* image, int* /*jit_options*/,
                      void** /*jit_values*/, u32 /*jit_count*/, int* /*options*/, void** /*values*/,
                      u32 /*count*/) {
  Call call("cuLibraryLoadData", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (library == nullptr || image == nullptr) return kInvalidValue;
  Driver& driver = call.driver();
  const Result<usize> bytes = image_bytes(image);
  if (!bytes) {
    driver.last_fault = bytes.error().message;
    return kInvalidImage;
  }
  *library = driver.next_handle();
  const u8* first = static_cast<const u8*>(image);
  driver.libraries[*library].image.assign(first, first + *bytes);
  return kSuccess;
}

int cuLibraryUnload(Handle library) {
  Call call("cuLibraryUnload", Call::Needs::Init);
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.libraries.find(library);
  if (found == driver.libraries.end()) return call.no_handle("library", library);
  while (!found->second.modules.empty()) {
    const Handle module = found->second.modules.begin()->second;
    if (const int status = unload_module(call, module); status != kSuccess) return status;
  }
  for (const auto& [name, kernel] : found->second.kernels) driver.kernels.erase(kernel);
  driver.libraries.erase(found);
  return kSuccess;
}

int cuLibraryGetKernel(Handle* kernel, Handle library, const char* name) {
  Call call("cuLibraryGetKernel");
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.libraries.find(library);
  if (found == driver.libraries.end()) return call.no_handle("library", library);
  if (const auto known = found->second.kernels.find(name); known != found->second.kernels.end()) {
    *kernel = known->second;
    return kSuccess;
  }
  Handle function = 0;
  const int status = kernel_function(call, {library, name, {}}, &function);
  if (status != kSuccess) return status;
  *kernel = driver.next_handle();
  driver.kernels[*kernel] = {library, name, {}};
  found->second.kernels.emplace(name, *kernel);
  return kSuccess;
}

int cuLibraryGetModule(Handle* module, Handle library) {
  Call call("cuLibraryGetModule");
  if (!call.ok()) return call.status();
  if (!call.driver().libraries.contains(library)) return call.no_handle("library", library);
  return library_module(call, library, module);
}

int cuKernelGetFunction(Handle* function, Handle kernel) {
  Call call("cuKernelGetFunction");
  if (!call.ok()) return call.status();
  const auto found = call.driver().kernels.find(kernel);
  if (found == call.driver().kernels.end()) return call.no_handle("kernel", kernel);
  return kernel_function(call, found->second, function);
}

int cuKernelGetAttribute(int* value, int attribute, Handle kernel, int device) {
  Call call("cuKernelGetAttribute");
  if (!call.ok()) return call.status();
  Handle function = 0;
  const int status = attribute_function(call, kernel, device, &function);
  if (status != kSuccess) return status;
  return function_attribute(call.driver().functions.at(function), attribute, value);
}

int cuKernelSetAttribute(int attribute, int value, Handle kernel, int device) {
  Call call("cuKernelSetAttribute");
  if (!call.ok()) return call.status();
  Handle function = 0;
  int status = attribute_function(call, kernel, device, &function);
  if (status != kSuccess) return status;
  Driver& driver = call.driver();
  status = set_function_attribute(call, driver.functions.at(function), attribute, value);
  if (status == kSuccess)
    driver.kernels.at(kernel).max_dynamic_shared[device] = static_cast<u32>(value);
  return status;
}

}  // namespace doorbell::emu::cuda
