// OpenClHelpers: types and conversions of OpenCL C. The language has vectors, their conversions and
// reinterpretation; for helpers of all C-like languages see cstyle_helpers.h.
#pragma once

#include "codegen/render/cstyle_helpers.h"

namespace doorbell::codegen {

class OpenClHelpers final : public CStyleHelpers {
 public:
  // `native_half`: arithmetic on f16 (cl_khr_fp16). Without it an f16 is its bits, which
  // vload_half and vstore_half convert.
  explicit OpenClHelpers(bool native_half) : native_half_(native_half) {}

  std::string type(core::DType t) override;
  std::string convert(core::DType to, const std::string& expression) override;
  std::string bits(core::DType to, core::DType from) override;
  bool is_narrow(core::DType t) const override;

 private:
  std::string to_narrow(core::DType to, core::DType from) override;
  std::string from_narrow(core::DType to, core::DType from) override;

  const bool native_half_;
};

}  // namespace doorbell::codegen
