// A kernel on a Metal device. Its arguments are as codegen/render/metal_renderer.h says: buffers by
// slot, then one block of bytes with the variables.
//
// Thread safety: launch() from any thread; launches of a device go one after another.
#pragma once

#include <string_view>

#include "core/device/device.h"
#include "drivers/metal/allocator.h"

namespace doorbell::metal {

class MetalProgram final : public core::Program {
 public:
  // `name` belongs to the device. Fails if the kernel's groups are too large for the pipeline.
  static Result<std::unique_ptr<core::Program>> make(const core::Device& device, Context& context,
                                                     std::string_view name, Owned pipeline,
                                                     const core::Binary& binary);

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;
  // CHECKs that they are the kernel's arguments.
  void check(std::span<const core::BufferView> buffers, std::span<const i64> variables) const;
  Id pipeline() const { return pipeline_.get(); }
  Size groups() const { return groups_; }
  Size items() const { return items_; }

 private:
  MetalProgram(const core::Device& device, Context& context, std::string_view name, Owned pipeline,
               const core::Binary& binary);

  const core::Device& device_;
  Context& context_;
  const std::string_view name_;
  const Owned pipeline_;
  const u32 params_, variables_;
  Size groups_, items_;
};

}  // namespace doorbell::metal
