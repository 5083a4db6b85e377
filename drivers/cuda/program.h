// CudaProgram: a kernel of a module that libcuda loaded, ready to launch. Its arguments are eight
// bytes each, without gaps: the address of each buffer, then each variable (docs/hw/nv-code.md).
//
// Thread safety: a program does not change; launch() from any thread.
#pragma once

#include <memory>
#include <string>

#include "core/device/program.h"
#include "drivers/cuda/api.h"

namespace doorbell::cuda {

class CudaDevice;

class CudaProgram final : public core::Program {
 public:
  // The image is a cubin. Fails where the device cannot run it.
  static Result<std::unique_ptr<core::Program>> make(const core::Binary& binary,
                                                     CudaDevice& device);
  // The code stays until what was submitted by then is done.
  ~CudaProgram() override;

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;

  const CudaDevice& device() const { return device_; }
  const std::string& name() const { return name_; }
  // That there are so many as the kernel takes.
  void check_arguments(usize buffers, usize variables) const;
  // Everything of a node but its arguments.
  const KernelNodeParams& shape() const { return shape_; }

 private:
  CudaProgram(const core::Binary& binary, CudaDevice& device);
  Result<void> load(const core::Binary& binary);

  CudaDevice& device_;  // outlives its programs
  const std::string name_;
  const usize params_, variables_;
  CUmodule module_ = nullptr;
  KernelNodeParams shape_{};
};

}  // namespace doorbell::cuda
