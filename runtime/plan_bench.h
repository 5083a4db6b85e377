// PlanBench on a device: compiles plans on several threads, checks what they compute against the
// first plan's, and times them alone, on memory of its own.
#pragma once

#include <memory>
#include <vector>

#include "base/os/clock.h"
#include "codegen/compile/backend.h"
#include "codegen/search/beam.h"
#include "core/device/buffer.h"
#include "core/util/ref.h"

namespace doorbell::runtime {

class DevicePlanBench final : public codegen::PlanBench {
 public:
  // `info` is the kernel's merged_info(). What is borrowed outlives the bench. Fails where the
  // device has no memory for the kernel's arguments.
  static Result<std::unique_ptr<DevicePlanBench>> make(const core::KernelAst& kernel,
                                                       const codegen::KernelInfo& info,
                                                       core::Device& device,
                                                       const codegen::Backend& backend,
                                                       os::Clock& clock);

  // The results of the first plan that is built are those that all others must give.
  std::vector<std::optional<codegen::BuiltPlan>> build(
      std::span<const codegen::Plan> plans) override;
  Result<f64> run(const codegen::BuiltPlan& built) override;

 private:
  struct Argument {
    core::Ref<core::Buffer> buffer;
    core::DType dtype = core::dtypes::u8;
    i64 checked = 0;           // elements, of those that the kernel writes
    std::vector<u8> expected;  // bytes of these
  };

  DevicePlanBench(const core::KernelAst& kernel, core::Device& device,
                  const codegen::Backend& backend, os::Clock& clock)
      : kernel_(kernel), device_(device), backend_(backend), clock_(clock) {
    backend_.cache = nullptr;
  }
  Result<void> allocate(const codegen::KernelInfo& info);
  Result<std::shared_ptr<core::Program>> compile(const codegen::Plan& plan, u64* code);
  Result<void> launch(core::Program& program, int times);
  // Whether the results are right; the first program's are by definition.
  Result<bool> check(core::Program& program);

  const core::KernelAst& kernel_;
  core::Device& device_;
  codegen::Backend backend_;
  os::Clock& clock_;
  std::vector<Argument> arguments_;  // by slot
  std::vector<i64> variables_;
  int repeats_ = 0;  // of a timed run; 0: not known yet
  bool has_expected_ = false;
};

}  // namespace doorbell::runtime
