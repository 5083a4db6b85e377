// A kernel on an OpenCL device. Compiling it is device.cc's; what its arguments are is said by the
// renderer (codegen/render/opencl_renderer.h): for each buffer its memory and a byte in it (ulong),
// then the variables (long).
//
// Thread safety: launch() from any thread; launches of a device go one after another.
#pragma once

#include <optional>
#include <vector>

#include "drivers/cl/allocator.h"

namespace doorbell::cl {

Result<Owned<cl_kernel>> make_kernel(const Api& api, cl_program program, const std::string& name);
// The most items that a group of this kernel may have, with the registers it came to use; none
// where the device does not say.
std::optional<i64> most_items_of(const Api& api, cl_kernel kernel, cl_device_id id);

class ClProgram final : public core::Program {
 public:
  // `name` and `queues` are the device's. Fails where the device has no room for the kernel's
  // groups.
  static Result<std::unique_ptr<core::Program>> make(const Api& api, const core::Device& device,
                                                     cl_device_id id, std::string_view name,
                                                     const Queues& queues,
                                                     Owned<cl_program> program,
                                                     const core::Binary& binary);

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;

 private:
  ClProgram(const Api& api, const core::Device& device, std::string_view name, const Queues& queues,
            Owned<cl_program> program, Owned<cl_kernel> kernel, const core::Binary& binary);
  Result<void> set_arguments(std::span<const core::BufferView> buffers,
                             std::span<const i64> variables);
  Error refuse(cl_int code, std::string_view call, std::string_view what) const;

  const Api& api_;
  const core::Device& device_;
  const std::string_view name_;
  const Queues queues_;
  const Owned<cl_program> program_;
  const Owned<cl_kernel> kernel_;
  usize global_[3], local_[3];
  // What the kernel's arguments are now: most launches change few. Guarded by Queues::order.
  struct Buffer {
    u64 memory = 0;  // Memory::id
    i64 offset = -1;
  };
  std::vector<Buffer> buffers_;
  std::vector<i64> variables_;
  bool variables_set_ = false;
};

}  // namespace doorbell::cl
