// A kernel on a WebGPU device. Its text and arguments are as drivers/webgpu/hw/abi/bindings.h says.
// A pipeline is made for each way in which params of a launch share buffers, at the first such
// launch.
//
// Thread safety: launch() from any thread; launches of a device go one after another.
#pragma once

#include <map>
#include <string>

#include "core/device/device.h"
#include "drivers/webgpu/allocator.h"
#include "drivers/webgpu/bindings_cache.h"
#include "drivers/webgpu/windows.h"

namespace doorbell::webgpu {

// What the programs of a device share; borrowed from it.
struct Launching {
  const core::Device* device;
  Context* context;
  BindingsCache* bindings;
};

// Checks the text: the library's compiler reads it.
Result<Owned<ShaderModule>> make_module(Context& context, std::string_view name,
                                        std::string_view source);

class WebGpuProgram final : public core::Program {
 public:
  // `name` belongs to the device. `number` is of this program, and of no other before or later.
  static Result<std::unique_ptr<core::Program>> make(const Launching& launching, u64 number,
                                                     std::string_view name, std::string source,
                                                     const core::Binary& binary);
  ~WebGpuProgram() override;

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;

 private:
  struct Pipeline {
    Owned<BindGroupLayout> layout;
    Owned<ComputePipeline> pipeline;
  };

  WebGpuProgram(const Launching& launching, u64 number, std::string_view name, std::string source,
                hw::KernelAbi abi, const core::Binary& binary);
  Result<const Bound*> bind(LaunchKey key, std::span<const core::BufferView> buffers,
                            std::span<const i64> variables);
  Result<const Pipeline*> pipeline_of(const hw::Sharing& sharing);
  Result<Pipeline> compile(const hw::Sharing& sharing);
  Result<Windows> windows(std::span<const core::BufferView> buffers) const;
  Error named(Error error) const;

  const Launching shared_;
  const u64 number_;
  const std::string_view name_;
  const std::string source_, entry_;
  const hw::KernelAbi abi_;
  u32 groups_[3];
  std::map<hw::Sharing, Pipeline> pipelines_;  // under the context's lock
};

}  // namespace doorbell::webgpu
