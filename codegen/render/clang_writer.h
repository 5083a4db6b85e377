// ClangWriter: C for clang, with its vectors and builtins: the CPU's language (clang_renderer.cc),
// of which HIP changes the frame, work groups and a few functions (hip_renderer.cc).
#pragma once

#include <string>

#include "codegen/render/clang_helpers.h"
#include "codegen/render/cstyle.h"

namespace doorbell::codegen {

class ClangWriter : public CStyleWriter {
 public:
  using CStyleWriter::CStyleWriter;

 protected:
  CStyleHelpers& helpers() override { return helpers_; }
  std::string special_float(core::DType t, f64 value) override;
  std::string math(core::Op op, core::DType t, const std::string& x) override;
  std::string float_divide(core::UOp u) override;
  std::string vector_of(core::DType t, const std::string& lanes) override;
  std::string lanes_of(const std::string& vector, i64 first, i64 count) override;
  std::string special(core::UOp u) override;
  std::string private_array(core::UOp u, const std::string& name) override;
  std::string load_vector(core::UOp u) override;
  std::string store_vector(core::UOp u) override;
  std::string frame(const std::string& body) override;

  ClangHelpers helpers_;
};

}  // namespace doorbell::codegen
