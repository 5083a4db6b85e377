// CudaProgram: a kernel of a module that libcuda loaded, ready to launch. Its arguments are eight
// bytes each, without gaps: the address of each buffer, then each variable (docs/hw/nv-code.md);
// then the tensor maps (launch_arguments.h).
//
// Code reads and writes up to 16 bytes at once, so its arguments must be aligned to that, as all
// memory of ours is. For wrapped memory that is not, there is a second form.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <string>

#include "core/device/unaligned_form.h"
#include "drivers/cuda/api.h"
#include "drivers/cuda/tensor_maps.h"

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
  // Itself, or the form for arguments that are not aligned as this code needs it: compiles, for the
  // first time.
  Result<const CudaProgram*> form_for(const u32* arguments) const;
  // Everything of a launch but its arguments.
  const KernelNodeParams& shape() const { return shape_; }
  const TensorMaps& tensor_maps() const { return tensor_maps_; }
  // Map `number` for its buffer at `address`.
  Result<EncodedMap> tensor_map(usize number, u64 address) const;

 private:
  CudaProgram(const core::Binary& binary, CudaDevice& device);
  Result<void> load(const core::Binary& binary);

  CudaDevice& device_;  // outlives its programs
  const std::string name_;
  const usize params_, variables_;
  const TensorMaps tensor_maps_;
  CUmodule module_ = nullptr;
  KernelNodeParams shape_{};
  const core::UnalignedForm unaligned_;
};

}  // namespace doorbell::cuda
