// Arguments and launches.
#include "drivers/cl/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"
#include "core/device/device.h"

namespace doorbell::cl {
namespace {

constexpr i64 kTexelBytes = 16;  // four f32

// Whether the device may run groups of this size. A kernel that was compiled for it
// (reqd_work_group_size) may run whatever the general limit is.
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

std::optional<i64> max_items_of(const Api& api, cl_kernel kernel, cl_device_id id) {
  usize limit = 0;
  if (api.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit,
                                   nullptr) != CL_SUCCESS)
    return std::nullopt;
  return static_cast<i64>(limit);
}

Result<std::unique_ptr<core::Program>> ClProgram::make(
    const Api& api, const core::Device& device, cl_device_id id, std::string_view name,
    const Queues& queues, Owned<cl_program> program, const core::Binary& binary, i64 image_texels) {
  TRY(Owned<cl_kernel> kernel, make_kernel(api, program.get(), binary.name));
  usize local[3];
  std::copy(binary.group_items, binary.group_items + 3, local);
  const std::optional<i64> limit = max_items_of(api, kernel.get(), id);
  if (!may_run_groups(api, kernel.get(), id, local, limit))
    return fail(ErrorKind::Unsupported,
                "kernel {} has groups of {} x {} x {} items, {} runs at most {} of it (NOOPT=1 "
                "makes smaller ones)",
                name, local[0], local[1], local[2], device.name(), limit.value_or(0));
  std::unique_ptr<ClProgram> made(
      new ClProgram(api, device, name, queues, std::move(program), std::move(kernel), binary));
  if (binary.image_params == 0) return made;
  TRY(made->images_.kernel, make_kernel(api, made->program_.get(), binary.name + "_images"));
  if (may_run_groups(api, made->images_.kernel.get(), id, local,
                     max_items_of(api, made->images_.kernel.get(), id))) {
    made->image_params_ = binary.image_params;
    made->image_texels_ = image_texels;
  }
  return made;
}

ClProgram::ClProgram(const Api& api, const core::Device& device, std::string_view name,
                     const Queues& queues, Owned<cl_program> program, Owned<cl_kernel> kernel,
                     const core::Binary& binary)
    : api_(api), device_(device), name_(name), queues_(queues), program_(std::move(program)) {
  plain_.kernel = std::move(kernel);
  for (Entry* entry : {&plain_, &images_}) {
    entry->buffers.resize(binary.param_count);
    entry->variables.resize(binary.variable_count);
  }
  for (int axis = 0; axis < 3; ++axis) {
    local_[axis] = static_cast<usize>(binary.group_items[axis]);
    global_[axis] = static_cast<usize>(binary.grid_groups[axis]) * local_[axis];
  }
}

Error ClProgram::refuse(cl_int code, std::string_view call, std::string_view what) const {
  Error error = refusal(code, call, fmt::format("kernel {}: {}", name_, what));
  error.device = device_.name();
  return error;
}

cl_mem ClProgram::image_of(Memory& memory) {
  if (!memory.image_tried) {
    memory.image_tried = true;
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc shape{};
    shape.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    shape.image_width = static_cast<usize>(memory.bytes / kTexelBytes);
    shape.buffer = memory.mem.get();
    cl_int code = CL_SUCCESS;
    // If making the image fails, it is read as a buffer.
    if (memory.bytes >= kTexelBytes && memory.bytes / kTexelBytes <= image_texels_) {
      cl_mem made =
          api_.clCreateImage(queues_.context, CL_MEM_READ_ONLY, &format, &shape, nullptr, &code);
      if (code == CL_SUCCESS) memory.image = Owned<cl_mem>(made, api_.clReleaseMemObject);
    }
  }
  return memory.image.get();
}

// Reading an image while its buffer is written is undefined, however far apart [OpenCL 1.2 5.3.1].
bool ClProgram::reads_images(std::span<const core::BufferView> buffers) {
  if (image_params_ == 0) return false;
  const auto is_image = [&](usize slot) { return (image_params_ >> slot & 1) != 0; };
  for (usize i = 0; i < buffers.size(); ++i) {
    if (!is_image(i)) continue;
    Memory& memory = memory_of(buffers[i].buffer->memory());
    if (buffers[i].offset % kTexelBytes != 0 || image_of(memory) == nullptr) return false;
    for (usize j = 0; j < buffers.size(); ++j)
      if (!is_image(j) && memory_of(buffers[j].buffer->memory()).id == memory.id) return false;
  }
  return true;
}

Result<void> ClProgram::set_arguments(Entry& entry, std::span<const core::BufferView> buffers,
                                      std::span<const i64> variables) {
  const cl_kernel kernel = entry.kernel.get();
  cl_uint index = 0;
  for (usize i = 0; i < buffers.size(); ++i, index += 2) {
    const Memory& memory = memory_of(buffers[i].buffer->memory());
    Entry::Buffer& set = entry.buffers[i];
    if (set.memory != memory.id) {
      const bool image = &entry == &images_ && (image_params_ >> i & 1) != 0;
      const cl_mem mem = image ? memory.image.get() : memory.mem.get();
      const cl_int code = api_.clSetKernelArg(kernel, index, sizeof mem, &mem);
      if (code != CL_SUCCESS) return refuse(code, "clSetKernelArg", fmt::format("buffer {}", i));
      set.memory = memory.id;
    }
    if (set.offset != buffers[i].offset) {
      const cl_ulong offset = static_cast<cl_ulong>(buffers[i].offset);
      const cl_int code = api_.clSetKernelArg(kernel, index + 1, sizeof offset, &offset);
      if (code != CL_SUCCESS) return refuse(code, "clSetKernelArg", fmt::format("offset {}", i));
      set.offset = buffers[i].offset;
    }
  }
  for (usize i = 0; i < variables.size(); ++i, ++index) {
    if (entry.variables_set && entry.variables[i] == variables[i]) continue;
    const cl_int code = api_.clSetKernelArg(kernel, index, sizeof(i64), &variables[i]);
    if (code != CL_SUCCESS) return refuse(code, "clSetKernelArg", fmt::format("variable {}", i));
    entry.variables[i] = variables[i];
  }
  entry.variables_set = true;
  return {};
}

Result<void> ClProgram::launch(std::span<const core::BufferView> buffers,
                               std::span<const i64> variables) {
  CHECK(buffers.size() == plain_.buffers.size() && variables.size() == plain_.variables.size(),
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers.size(),
        variables.size(), plain_.buffers.size(), plain_.variables.size());
  for (const core::BufferView& view : buffers)
    CHECK(&view.buffer->device() == &device_, "kernel {} of {} with a buffer of {}", name_,
          device_.name(), view.buffer->device().name());
  TRY(api_.check_process());
  queues_.computing->wait_for_room();
  std::lock_guard lock(*queues_.order);
  Entry& entry = reads_images(buffers) ? images_ : plain_;
  TRY(set_arguments(entry, buffers, variables));
  cl_event event = nullptr;
  const cl_int code = api_.clEnqueueNDRangeKernel(queues_.compute, entry.kernel.get(), 3, nullptr,
                                                  global_, local_, 0, nullptr, &event);
  if (code != CL_SUCCESS)
    return refuse(code, "clEnqueueNDRangeKernel",
                  fmt::format("{} x {} x {} items in groups of {} x {} x {}", global_[0],
                              global_[1], global_[2], local_[0], local_[1], local_[2]));
  const u64 number = queues_.computing->add(event, name_, "kernel");
  for (const core::BufferView& view : buffers)
    memory_of(view.buffer->memory()).last_use.store(number, std::memory_order_release);
  // Some implementations start work only after a flush.
  api_.clFlush(queues_.compute);
  return {};
}

}  // namespace doorbell::cl
