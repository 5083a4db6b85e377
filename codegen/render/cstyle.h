// CStyleWriter: arithmetic, constants and the parts of memory access that all C-like languages
// share (cstyle_ops.cc). Each language has its own vectors, memory access, conversions and function
// frame: see clang_renderer.cc and opencl_renderer.cc.
#pragma once

#include <string>
#include <string_view>

#include "codegen/render/cstyle_helpers.h"
#include "codegen/render/source_writer.h"

namespace doorbell::codegen {

class CStyleWriter : public SourceWriter {
 public:
  using SourceWriter::SourceWriter;

 protected:
  // Every language defines these.
  virtual CStyleHelpers& helpers() = 0;
  virtual std::string special_float(core::DType t, f64 value) = 0;  // an infinity or NaN
  virtual std::string math(core::Op op, core::DType t, const std::string& x) = 0;  // Sqrt, Trunc
  // Lanes as a vector, and lanes out of a vector of at least two: `count` from `first` on.
  virtual std::string vector_of(core::DType t, const std::string& lanes) = 0;
  virtual std::string lanes_of(const std::string& vector, i64 first, i64 count) = 0;
  // A load or store of a vector at address(index), with the index's gate by lane if it has one.
  virtual std::string load_vector(core::UOp load) = 0;
  std::string load(core::UOp u) override;
  virtual std::string store_vector(core::UOp store) = 0;   // a statement
  virtual std::string frame(const std::string& body) = 0;  // the whole source around the body

  // A language may override these.
  // x op y of + - *, and x * y + z, of numbers or lanes. As written, where ints wrap.
  virtual std::string arithmetic(core::UOp u, std::string_view op);
  virtual std::string multiply_add(core::UOp u);
  virtual std::string float_divide(core::UOp u);
  std::string vector(core::UOp u) override;

  // base + index of an Index.
  std::string address(core::UOp index);
  std::string type_name(core::DType t) { return helpers().type(t); }
  std::string memory_type(core::DType t) { return type_name(t.is_bool() ? core::dtypes::u8 : t); }
  // "(x op y)", cut to the type where C computes narrow scalars in int.
  std::string infix(core::UOp u, std::string_view op);
  std::string int_text(core::DType t, u64 bits);
  // "const f32* __restrict__ p0, i64 n0": restricted pointers, then variables.
  std::string parameters();

 private:
  std::string constant(core::UOp u) override;
  std::string float_text(core::DType t, f64 value);
  std::string elementwise(core::UOp u) override;
  std::string unary(core::UOp u);
  std::string binary(core::UOp u);
  std::string compare(core::UOp u, std::string_view op);
  std::string value(core::DType t, const std::string& name, const std::string& expression) override;
  std::string reg(core::DType t, const std::string& name) override;
  std::string loop(core::UOp range, const std::string& name) override;
  std::string variable(core::DType t, usize position) override;
  std::string store(core::UOp u) override;
  std::string whole(const std::string& shared, const std::string& body) final;
};

}  // namespace doorbell::codegen
