// Checking launches.
#include "emulator/cuda/launch.h"

#include <cstring>

namespace doorbell::emu::cuda {
namespace {

constexpr u32 kMaxGrid[3] = {0x7fffffff, 65535, 65535}, kMaxBlock[3] = {1024, 1024, 64};
constexpr u64 kMaxThreads = 1024;

// What is wrong with the size; empty: nothing.
std::string size_problem(const LaunchRequest& request, const KernelFacts& kernel) {
  u64 threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (request.grid[axis] == 0 || request.grid[axis] > kMaxGrid[axis])
      return fmt::format("{} blocks along axis {}, 1 to {} are possible", request.grid[axis], axis,
                         kMaxGrid[axis]);
    if (request.block[axis] == 0 || request.block[axis] > kMaxBlock[axis])
      return fmt::format("{} threads along axis {}, 1 to {} are possible", request.block[axis],
                         axis, kMaxBlock[axis]);
    if (kernel.required_block[0] != 0 &&
        request.block[axis] != kernel.required_block[static_cast<usize>(axis)])
      return fmt::format("{} threads along axis {}, the kernel is compiled for {}",
                         request.block[axis], axis,
                         kernel.required_block[static_cast<usize>(axis)]);
    threads *= request.block[axis];
  }
  const u64 most = kernel.most_threads != 0 ? kernel.most_threads : kMaxThreads;
  if (threads > most) return fmt::format("blocks of {} threads, at most {}", threads, most);
  return {};
}

// The two forms of arguments: a buffer in `extra`, or a pointer for each parameter.
bool copy_parameters(const Call& call, const LaunchRequest& request, const KernelFacts& kernel,
                     std::vector<u8>* bytes) {
  bytes->resize(kernel.parameter_bytes);
  if (request.extra == nullptr) {
    if (request.parameters == nullptr && !kernel.parameters.empty()) {
      (void)call.broken(
          kLaunchArguments, kInvalidValue,
          fmt::format("no arguments, kernel {} takes {}", kernel.name, kernel.parameters.size()));
      return false;
    }
    for (usize i = 0; i < kernel.parameters.size(); ++i)
      std::memcpy(bytes->data() + kernel.parameters[i].offset, request.parameters[i],
                  kernel.parameters[i].bytes);
    return true;
  }
  const void* buffer = nullptr;
  usize given = 0;
  for (void** key = request.extra; reinterpret_cast<u64>(*key) != kParamEnd; key += 2) {
    if (reinterpret_cast<u64>(*key) == kParamBufferPointer) buffer = key[1];
    if (reinterpret_cast<u64>(*key) == kParamBufferSize) given = *static_cast<usize*>(key[1]);
  }
  if (given != kernel.parameter_bytes || (buffer == nullptr && given != 0)) {
    (void)call.broken(kLaunchArguments, kInvalidValue,
                      fmt::format("{} bytes of arguments, kernel {} takes {}", given, kernel.name,
                                  kernel.parameter_bytes));
    return false;
  }
  if (given != 0) std::memcpy(bytes->data(), buffer, given);
  return true;
}

}  // namespace

std::shared_ptr<const KernelLaunch> make_launch(const Call& call, const LaunchRequest& request,
                                                int* status) {
  Driver& driver = call.driver();
  const Handle handle = find_function(call, request.function, status);
  if (handle == 0) return nullptr;
  const Function* function = &driver.functions.at(handle);
  const Module& module = driver.modules.at(function->module);
  const KernelFacts& kernel = *function->kernel;
  const std::string problem = size_problem(request, kernel);
  if (!problem.empty()) {
    *status =
        call.broken(kLaunchSize, kInvalidValue, fmt::format("kernel {}: {}", kernel.name, problem));
    return nullptr;
  }
  if (const u32 most = function->max_dynamic_shared; request.shared_bytes > most) {
    *status = call.broken(
        kDynamicShared, kInvalidValue,
        fmt::format("kernel {}: {} bytes of dynamic shared memory, cuFuncSetAttribute allows {}",
                    kernel.name, request.shared_bytes, most));
    return nullptr;
  }
  auto launch = std::make_shared<KernelLaunch>();
  launch->function = handle;
  launch->module = function->module;
  launch->code = module.code.get();
  launch->kernel = &kernel;
  for (usize axis = 0; axis < 3; ++axis) {
    launch->grid[axis] = request.grid[axis];
    launch->block[axis] = request.block[axis];
  }
  launch->shared_bytes = request.shared_bytes;
  *status = kInvalidValue;
  if (!copy_parameters(call, request, kernel, &launch->parameters)) return nullptr;
  *status = kSuccess;
  return launch;
}

}  // namespace doorbell::emu::cuda
