// A kernel on an OpenCL device. For compiling it see device.h. The renderer defines its arguments
// (codegen/render/opencl_renderer.h): for each buffer its memory and a byte offset (ulong), then
// the variables (long). A binary with image_params has a second kernel, which runs where the
// arguments of a launch allow it (reads_images) and gives the same results.
//
// Thread safety: launch() from any thread; launches of a device go one after another.
#pragma once

#include <optional>
#include <vector>

#include "drivers/cl/allocator.h"

namespace doorbell::cl {

Result<Owned<cl_kernel>> make_kernel(const Api& api, cl_program program, const std::string& name);
// The most items that a group of this kernel may have, given its use of registers; empty if the
// device does not report it.
std::optional<i64> max_items_of(const Api& api, cl_kernel kernel, cl_device_id id);

class ClProgram final : public core::Program {
 public:
  // `name` and `queues` belong to the device. Fails if the kernel's groups are too large for the
  // device.
  static Result<std::unique_ptr<core::Program>> make(const Api& api, const core::Device& device,
                                                     cl_device_id id, std::string_view name,
                                                     const Queues& queues,
                                                     Owned<cl_program> program,
                                                     const core::Binary& binary, i64 image_texels);

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;

 private:
  // A kernel and its current arguments: most launches change few. Guarded by Queues::order.
  struct Entry {
    struct Buffer {
      u64 memory = 0;  // Memory::id
      i64 offset = -1;
    };
    Owned<cl_kernel> kernel;
    std::vector<Buffer> buffers;
    std::vector<i64> variables;
    bool variables_set = false;
  };

  ClProgram(const Api& api, const core::Device& device, std::string_view name, const Queues& queues,
            Owned<cl_program> program, Owned<cl_kernel> kernel, const core::Binary& binary);
  // Whether this launch can read images: each of its image arguments begins at a texel, and nothing
  // that the kernel may write lies in the same memory.
  bool reads_images(std::span<const core::BufferView> buffers);
  // Null where there is none.
  cl_mem image_of(Memory& memory);
  Result<void> set_arguments(Entry& entry, std::span<const core::BufferView> buffers,
                             std::span<const i64> variables);
  Error refuse(cl_int code, std::string_view call, std::string_view what) const;

  const Api& api_;
  const core::Device& device_;
  const std::string_view name_;
  const Queues queues_;
  const Owned<cl_program> program_;
  usize global_[3], local_[3];
  u64 image_params_ = 0;  // by slot, if images_ has a kernel
  i64 image_texels_ = 0;  // of the device
  Entry plain_, images_;
};

}  // namespace doorbell::cl
