// Modules, their functions, and launches.
#include <algorithm>
#include <cstring>

#include "emulator/cuda/functions.h"
#include "emulator/cuda/launch.h"

namespace doorbell::emu::cuda {
namespace {

// Bytes of a block's shared memory, unless the function's attribute allows more.
// [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK of all chips]
constexpr u32 kSharedOfBlock = 48 << 10;

// [CUDA Driver API, CUfunction_attribute: "The default value of this attribute is ..."]
u32 default_dynamic_shared(const KernelFacts& kernel) {
  return kSharedOfBlock - std::min(kSharedOfBlock, kernel.shared_bytes);
}

bool is_launched(const Driver& driver, Handle module) {
  for (const auto& [handle, stream] : driver.streams)
    for (const Operation& operation : stream->operations)
      if (operation.kind == Operation::Kind::Kernel && operation.launch->module == module)
        return true;
  return false;
}

}  // namespace

int load_module(const Call& call, const void* image, Handle* module) {
  Driver& driver = call.driver();
  const Chip& chip = driver.gpus[static_cast<usize>(call.gpu())]->chip;
  Result<std::unique_ptr<Code>> code = driver.load_code(image, chip);
  if (!code) {
    driver.last_fault = code.error().message;
    return code.error().kind == ErrorKind::Unsupported ? kNoBinaryForGpu : kInvalidImage;
  }
  Module made{call.context(), std::move(*code), 0, {}};
  if (const u64 bytes = made.code->global_bytes(); bytes != 0) {
    const Allocation* globals = driver.allocate(Allocation::Kind::Device, call.gpu(), bytes);
    if (globals == nullptr) return kOutOfMemory;
    made.globals = globals->start;
    const std::span<const u8> values = made.code->place(made.globals);
    std::memcpy(globals->host, values.data(), values.size());
  } else {
    (void)made.code->place(0);
  }
  *module = driver.next_handle();
  driver.modules.emplace(*module, std::move(made));
  return kSuccess;
}

int unload_module(Call& call, Handle module) {
  Driver& driver = call.driver();
  if (is_launched(driver, module)) {
    const int status =
        call.broken(kModuleInUse, kInvalidValue, fmt::format("kernels of {:#x} still run", module));
    if (driver.checks.level(kModuleInUse) == Level::Error) return status;
    driver.wait(call.lock(), [&] { return !is_launched(driver, module); });
  }
  if (const u64 globals = driver.modules.at(module).globals; globals != 0) driver.free(globals);
  std::erase_if(driver.functions,
                [module](const auto& entry) { return entry.second.module == module; });
  for (auto& [handle, library] : driver.libraries)
    std::erase_if(library.modules, [module](const auto& entry) { return entry.second == module; });
  driver.modules.erase(module);
  return kSuccess;
}

int function_of(const Call& call, Handle module, std::string_view name, Handle* function) {
  Driver& driver = call.driver();
  Module& owner = driver.modules.at(module);
  if (const auto known = owner.functions.find(name); known != owner.functions.end()) {
    *function = known->second;
    return kSuccess;
  }
  for (const KernelFacts& kernel : owner.code->kernels()) {
    if (kernel.name != name) continue;
    *function = driver.next_handle();
    driver.functions[*function] = {module, &kernel, default_dynamic_shared(kernel)};
    owner.functions.emplace(name, *function);
    return kSuccess;
  }
  return kNotFound;
}

int function_attribute(const Function& function, int attribute, int* value) {
  const KernelFacts& kernel = *function.kernel;
  constexpr int kMaxThreads = 1024;
  switch (attribute) {
    case kFunctionMaxThreadsPerBlock:
      *value = kernel.most_threads != 0 ? static_cast<int>(kernel.most_threads) : kMaxThreads;
      return kSuccess;
    case kFunctionSharedBytes: *value = static_cast<int>(kernel.shared_bytes); return kSuccess;
    case kFunctionConstBytes: *value = 0; return kSuccess;
    case kFunctionLocalBytes: *value = static_cast<int>(kernel.local_bytes); return kSuccess;
    case kFunctionRegisters: *value = static_cast<int>(kernel.registers); return kSuccess;
    case kFunctionMaxDynamicSharedBytes:
      *value = static_cast<int>(function.max_dynamic_shared);
      return kSuccess;
    default: return kNotSupported;
  }
}

int set_function_attribute(const Call& call, Function& function, int attribute, int value) {
  if (attribute != kFunctionMaxDynamicSharedBytes) return kNotSupported;
  Driver& driver = call.driver();
  const int gpu = driver.contexts.at(driver.modules.at(function.module).context).gpu;
  const i64 most = i64{driver.gpus[static_cast<usize>(gpu)]->chip.shared_of_block} -
                   i64{function.kernel->shared_bytes};
  if (value < 0 || value > most)
    return call.broken(kDynamicShared, kInvalidValue,
                       fmt::format("kernel {}: {} bytes of dynamic shared memory, 0 to {} are "
                                   "possible",
                                   function.kernel->name, value, most));
  function.max_dynamic_shared = static_cast<u32>(value);
  return kSuccess;
}

int submit_launch(const Call& call, const LaunchRequest& request, Handle handle) {
  Stream* stream = call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  int status = kSuccess;
  Operation operation{.kind = Operation::Kind::Kernel};
  operation.launch = make_launch(call, request, &status);
  if (operation.launch == nullptr) return status;
  const Handle context = call.driver().modules.at(operation.launch->module).context;
  if (context != stream->context)
    return call.broken(kSameContext, kInvalidHandle,
                       fmt::format("kernel {} is of context {:#x}, the stream of {:#x}",
                                   operation.launch->kernel->name, context, stream->context));
  call.driver().submit(*stream, std::move(operation));
  return kSuccess;
}

int cuModuleLoadData(Handle* module, const void* image) {
  Call call("cuModuleLoadData");
  if (!call.ok()) return call.status();
  return module == nullptr || image == nullptr ? kInvalidValue : load_module(call, image, module);
}

int cuModuleLoadDataEx(Handle* module, const void* image, u32 /*count*/, int* /*options*/,
                       void** /*values*/) {
  return cuModuleLoadData(module, image);
}

int cuModuleUnload(Handle module) {
  Call call("cuModuleUnload");
  if (!call.ok()) return call.status();
  if (!call.driver().modules.contains(module)) return call.no_handle("module", module);
  return unload_module(call, module);
}

int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  Call call("cuModuleGetFunction");
  if (!call.ok()) return call.status();
  if (!call.driver().modules.contains(module)) return call.no_handle("module", module);
  return function_of(call, module, name, function);
}

int cuFuncGetAttribute(int* value, int attribute, Handle handle) {
  Call call("cuFuncGetAttribute");
  if (!call.ok()) return call.status();
  int status = kSuccess;
  const Handle function = find_function(call, handle, &status);
  return function == 0 ? status
                       : function_attribute(call.driver().functions.at(function), attribute, value);
}

int cuFuncSetAttribute(Handle handle, int attribute, int value) {
  Call call("cuFuncSetAttribute");
  if (!call.ok()) return call.status();
  int status = kSuccess;
  const Handle function = find_function(call, handle, &status);
  if (function == 0) return status;
  return set_function_attribute(call, call.driver().functions.at(function), attribute, value);
}

int cuLaunchKernel(Handle function, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y,
                   u32 block_z, u32 shared_bytes, Handle stream, void** parameters, void** extra) {
  Call call("cuLaunchKernel");
  if (!call.ok()) return call.status();
  return submit_launch(call,
                       {function,
                        {grid_x, grid_y, grid_z},
                        {block_x, block_y, block_z},
                        shared_bytes,
                        parameters,
                        extra},
                       stream);
}

int cuLaunchKernelEx(const LaunchConfig* config, Handle function, void** parameters, void** extra) {
  Call call("cuLaunchKernelEx");
  if (!call.ok()) return call.status();
  if (config == nullptr) return kInvalidValue;
  if (config->attribute_count != 0) return kNotSupported;
  return submit_launch(call,
                       {function,
                        {config->grid[0], config->grid[1], config->grid[2]},
                        {config->block[0], config->block[1], config->block[2]},
                        config->shared_bytes,
                        parameters,
                        extra},
                       config->stream);
}

}  // namespace doorbell::emu::cuda
