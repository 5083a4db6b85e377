// WrappingWriter: for C-like languages in which an int that leaves its type is undefined, and in
// which fma() alone fuses a product and a sum: OpenCL C and CUDA C++.
#pragma once

#include <string>

#include "codegen/render/cstyle.h"

namespace doorbell::codegen {

class WrappingWriter : public CStyleWriter {
 public:
  using CStyleWriter::CStyleWriter;

 protected:
  std::string arithmetic(core::UOp u, std::string_view op) override;
  std::string multiply_add(core::UOp u) override;

 private:
  // An expression of unsigned ints as what it is to be.
  std::string wrapping(core::DType t, const std::string& expression);
  // An operand as the unsigned int that it is computed in.
  std::string unwrapped(core::UOp u);
};

}  // namespace doorbell::codegen
