// MetalHelpers: types and conversions of the Metal Shading Language. Vectors are structs that are
// loaded, stored and put together from lanes, since the language has none of more than four, and
// Apple's GPUs compute scalars. bf16 is its bits: for helpers of all C-like languages see
// cstyle_helpers.h.
#pragma once

#include "codegen/render/cstyle_helpers.h"
#include "codegen/tensor_core.h"

namespace doorbell::codegen {

class MetalHelpers final : public CStyleHelpers {
 public:
  std::string type(core::DType t) override;
  // The type of a vector in memory whose address is a multiple of `alignment` bytes.
  std::string vector_at(core::DType t, i64 alignment);
  std::string convert(core::DType to, const std::string& expression) override;
  std::string bits(core::DType to, core::DType from) override;
  // f(a, b, sums): a tensor core of Apple's, of vectors of an item's elements.
  std::string matrix(const TensorCore& core);
  bool is_narrow(core::DType t) const override { return t.scalar == core::Scalar::BF16; }

 private:
  std::string to_narrow(core::DType to, core::DType from) override;
  std::string from_narrow(core::DType to, core::DType from) override;
};

}  // namespace doorbell::codegen
