// Arguments and launches.
#include "drivers/cl/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/device.h"

namespace doorbell::cl {
namespace {

// Whether the device may run groups of this size. A kernel that was compiled for it
// (reqd_work_group_size) is worth a try, whatever the general limit is.
bool may_run_groups(const Api& api, cl_kernel kernel, cl_device_id id, const usize (&local)[3],
                    std::optional<i64> limit) {
  usize compiled[3] = {};
  if (api.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof compiled,
                                   compiled, nullptr) == CL_SUCCESS &&
      std::equal(compiled, compiled + 3, local))
    return true;
  return !limit || static_cast<i64>(local[0] * local[1] * local[2]) <= *limit;
}

}  // namespace

Result<Owned<cl_kernel>> make_kernel(const Api& api, cl_program program, const std::string& name) {
  cl_int code = CL_SUCCESS;
  Owned<cl_kernel> kernel(api.clCreateKernel(program, name.c_str(), &code), api.clReleaseKernel);
  if (code != CL_SUCCESS) return refusal(code, "clCreateKernel", name);
  return kernel;
}

std::optional<i64> most_items_of(const Api& api, cl_kernel kernel, cl_device_id id) {
  usize limit = 0;
  if (api.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit,
                                   nullptr) != CL_SUCCESS)
    return std::nullopt;
  return static_cast<i64>(limit);
}

Result<std::unique_ptr<core::Program>> ClProgram::make(const Api& api, const core::Device& device,
                                                       cl_device_id id, std::string_view name,
                                                       const Queues& queues,
                                                       Owned<cl_program> program,
                                                       const core::Binary& binary) {
  TRY(Owned<cl_kernel> kernel, make_kernel(api, program.get(), binary.name));
  usize local[3];
  std::copy(binary.local_size, binary.local_size + 3, local);
  const std::optional<i64> limit = most_items_of(api, kernel.get(), id);
  if (!may_run_groups(api, kernel.get(), id, local, limit))
    return fail(ErrorKind::Unsupported,
                "kernel {} has groups of {} x {} x {} items, {} runs at most {} of it (NOOPT=1 "
                "makes smaller ones)",
                name, local[0], local[1], local[2], device.name(), limit.value_or(0));
  return std::unique_ptr<core::Program>(
      new ClProgram(api, device, name, queues, std::move(program), std::move(kernel), binary));
}

ClProgram::ClProgram(const Api& api, const core::Device& device, std::string_view name,
                     const Queues& queues, Owned<cl_program> program, Owned<cl_kernel> kernel,
                     const core::Binary& binary)
    : api_(api),
      device_(device),
      name_(name),
      queues_(queues),
      program_(std::move(program)),
      kernel_(std::move(kernel)),
      buffers_(binary.param_count),
      variables_(binary.variable_count) {
  for (int axis = 0; axis < 3; ++axis) {
    local_[axis] = static_cast<usize>(binary.local_size[axis]);
    global_[axis] = static_cast<usize>(binary.global_size[axis]) * local_[axis];
  }
}

Error ClProgram::refuse(cl_int code, std::string_view call, std::string_view what) const {
  Error error = refusal(code, call, fmt::format("kernel {}: {}", name_, what));
  error.device = device_.name();
  return error;
}

Result<void> ClProgram::set_arguments(std::span<const core::BufferView> buffers,
                                      std::span<const i64> variables) {
  cl_uint index = 0;
  for (usize i = 0; i < buffers.size(); ++i, index += 2) {
    const Memory& memory = memory_of(buffers[i].buffer->memory());
    Buffer& set = buffers_[i];
    if (set.memory != memory.id) {
      const cl_mem mem = memory.mem.get();
      const cl_int code = api_.clSetKernelArg(kernel_.get(), index, sizeof mem, &mem);
      if (code != CL_SUCCESS) return refuse(code, "clSetKernelArg", fmt::format("buffer {}", i));
      set.memory = memory.id;
    }
    if (set.offset != buffers[i].offset) {
      const cl_ulong offset = static_cast<cl_ulong>(buffers[i].offset);
      const cl_int code = api_.clSetKernelArg(kernel_.get(), index + 1, sizeof offset, &offset);
      if (code != CL_SUCCESS) return refuse(code, "clSetKernelArg", fmt::format("offset {}", i));
      set.offset = buffers[i].offset;
    }
  }
  for (usize i = 0; i < variables.size(); ++i, ++index) {
    if (variables_set_ && variables_[i] == variables[i]) continue;
    const cl_int code = api_.clSetKernelArg(kernel_.get(), index, sizeof(i64), &variables[i]);
    if (code != CL_SUCCESS) return refuse(code, "clSetKernelArg", fmt::format("variable {}", i));
    variables_[i] = variables[i];
  }
  variables_set_ = true;
  return {};
}

Result<void> ClProgram::launch(std::span<const core::BufferView> buffers,
                               std::span<const i64> variables) {
  CHECK(buffers.size() == buffers_.size() && variables.size() == variables_.size(),
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers.size(),
        variables.size(), buffers_.size(), variables_.size());
  for (const core::BufferView& view : buffers)
    CHECK(&view.buffer->device() == &device_, "kernel {} of {} with a buffer of {}", name_,
          device_.name(), view.buffer->device().name());
  std::lock_guard lock(*queues_.order);
  TRY(set_arguments(buffers, variables));
  cl_event event = nullptr;
  const cl_int code = api_.clEnqueueNDRangeKernel(queues_.compute, kernel_.get(), 3, nullptr,
                                                  global_, local_, 0, nullptr, &event);
  if (code != CL_SUCCESS)
    return refuse(code, "clEnqueueNDRangeKernel",
                  fmt::format("{} x {} x {} items in groups of {} x {} x {}", global_[0],
                              global_[1], global_[2], local_[0], local_[1], local_[2]));
  const u64 number = queues_.computing->add(event, name_, "kernel");
  for (const core::BufferView& view : buffers)
    memory_of(view.buffer->memory()).last_use.store(number, std::memory_order_release);
  // Some implementations start work only when asked to.
  api_.clFlush(queues_.compute);
  return {};
}

}  // namespace doorbell::cl
