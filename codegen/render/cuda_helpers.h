// CudaHelpers: what CUDA C++ says otherwise than clang's C: reading bits as another type, and f16,
// by instructions instead of headers that NVRTC may not find. Scalars only.
#pragma once

#include "codegen/render/clang_helpers.h"

namespace doorbell::codegen {

class CudaHelpers final : public ClangHelpers {
 public:
  std::string type(core::DType t) override;
  std::string bits(core::DType to, core::DType from) override;

 private:
  std::string to_half(core::DType to, const std::string& by_bits) override;
  std::string from_half(core::DType from, const std::string& by_bits) override;
};

}  // namespace doorbell::codegen
