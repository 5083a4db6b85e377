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

int cuModuleLoadData(Handle* module, const void* image) {
  Call call("cuModuleLoadData");
  if (!call.ok()) return call.status();
  if (module == nullptr || image == nullptr) return kInvalidValue;
  Driver& driver = call.driver();
  const Chip& chip = *driver.gpus[static_cast<usize>(call.gpu())]->chip;
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

int cuModuleLoadDataEx(Handle* module, const void* image, u32 /*count*/, int* /*options*/,
                       void** /*values*/) {
  return cuModuleLoadData(module, image);
}

int cuModuleUnload(Handle module) {
  Call call("cuModuleUnload");
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.modules.find(module);
  if (found == driver.modules.end()) return call.no_handle("module", module);
  if (is_launched(driver, module)) {
    const int status =
        call.broken(kModuleInUse, kInvalidValue, fmt::format("kernels of {:#x} still run", module));
    if (driver.checks.level(kModuleInUse) == Level::Error) return status;
    driver.wait(call.lock(), [&] { return !is_launched(driver, module); });
  }
  if (found->second.globals != 0) driver.free(found->second.globals);
  std::erase_if(driver.functions,
                [module](const auto& entry) { return entry.second.module == module; });
  driver.modules.erase(module);
  return kSuccess;
}

int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  Call call("cuModuleGetFunction");
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.modules.find(module);
  if (found == driver.modules.end()) return call.no_handle("module", module);
  Module& owner = found->second;
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

int cuFuncGetAttribute(int* value, int attribute, Handle function) {
  Call call("cuFuncGetAttribute");
  if (!call.ok()) return call.status();
  const auto found = call.driver().functions.find(function);
  if (found == call.driver().functions.end()) return call.no_handle("function", function);
  const KernelFacts& kernel = *found->second.kernel;
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
      *value = static_cast<int>(found->second.max_dynamic_shared);
      return kSuccess;
    default: return kNotSupported;
  }
}

int cuFuncSetAttribute(Handle handle, int attribute, int value) {
  Call call("cuFuncSetAttribute");
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.functions.find(handle);
  if (found == driver.functions.end()) return call.no_handle("function", handle);
  if (attribute != kFunctionMaxDynamicSharedBytes) return kNotSupported;
  Function& function = found->second;
  const int gpu = driver.contexts.at(driver.modules.at(function.module).context).gpu;
  const i64 most = i64{driver.gpus[static_cast<usize>(gpu)]->chip->shared_of_block} -
                   i64{function.kernel->shared_bytes};
  if (value < 0 || value > most)
    return call.broken(kDynamicShared, kInvalidValue,
                       fmt::format("kernel {}: {} bytes of dynamic shared memory, 0 to {} are "
                                   "possible",
                                   function.kernel->name, value, most));
  function.max_dynamic_shared = static_cast<u32>(value);
  return kSuccess;
}

int cuLaunchKernel(Handle function, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y,
                   u32 block_z, u32 shared_bytes, Handle handle, void** parameters, void** extra) {
  Call call("cuLaunchKernel");
  if (!call.ok()) return call.status();
  Stream* stream = call.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  int status = kSuccess;
  Operation operation{.kind = Operation::Kind::Kernel};
  operation.launch = make_launch(call,
                                 {function,
                                  {grid_x, grid_y, grid_z},
                                  {block_x, block_y, block_z},
                                  shared_bytes,
                                  parameters,
                                  extra},
                                 &status);
  if (operation.launch == nullptr) return status;
  const Handle context = call.driver().modules.at(operation.launch->module).context;
  if (context != stream->context)
    return call.broken(kSameContext, kInvalidHandle,
                       fmt::format("kernel {} is of context {:#x}, the stream of {:#x}",
                                   operation.launch->kernel->name, context, stream->context));
  call.driver().submit(*stream, std::move(operation));
  return kSuccess;
}

}  // namespace doorbell::emu::cuda
