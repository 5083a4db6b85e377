// CStyleWriter: the part of printing a linear program that all C-like languages share: the walk,
// blocks, names, which values get a name and which are written where they are used (cstyle.cc), and
// arithmetic (cstyle_ops.cc). Each language has its own vectors, memory access, conversions and
// function frame: see clang_renderer.cc and opencl_renderer.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/linear/program.h"
#include "codegen/render/cstyle_helpers.h"

namespace doorbell::codegen {

class CStyleWriter {
 public:
  explicit CStyleWriter(const LinearProgram& program);
  virtual ~CStyleWriter() = default;
  std::string write();

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
  virtual std::string store_vector(core::UOp store) = 0;  // a statement
  virtual std::string special(core::UOp u) = 0;
  virtual std::string private_array(core::UOp u, const std::string& name) = 0;  // a declaration
  virtual std::string frame(const std::string& body) = 0;  // the whole source around the body

  // A language may override these.
  // x op y of + - *, and x * y + z, of numbers or lanes. As written, where ints wrap.
  virtual std::string arithmetic(core::UOp u, std::string_view op);
  virtual std::string multiply_add(core::UOp u);
  virtual std::string float_divide(core::UOp u);
  virtual std::string vector(core::UOp u);  // Vec, Splat, Lane, Ramp
  // Work groups.
  virtual std::string local_array(core::UOp u, const std::string& name);  // a declaration
  virtual std::string barrier(core::UOp u);
  virtual std::string commit();  // of asynchronous stores: a statement
  // Statements, without the gate (linear/tensor_copy.h).
  virtual std::string tensor_copy(core::UOp u);
  virtual std::string phase_wait(core::UOp u);
  // A line, or nothing.
  virtual std::string before_loop(core::UOp /*range*/) { return ""; }
  virtual std::string matrix(core::UOp u);    // of a Wmma
  virtual std::string finished(core::UOp u);  // of a Load with kFinished

  // The text of an operand: a name, a constant, or an expression in parentheses.
  std::string text(core::UOp u);
  // base + index of an Index.
  std::string address(core::UOp index);
  std::string type_name(core::DType t) { return helpers().type(t); }
  std::string memory_type(core::DType t) { return type_name(t.is_bool() ? core::dtypes::u8 : t); }
  // "(x op y)", cut to the type where C computes narrow scalars in int.
  std::string infix(core::UOp u, std::string_view op);
  std::string int_text(core::DType t, u64 bits);
  // "const f32* __restrict__ p0, i64 n0": restricted pointers, then variables.
  std::string parameters();
  static std::string param_name(i64 slot) { return "p" + std::to_string(slot); }
  // A variable's position among the arguments.
  usize variable_position(core::UOp u) const;

  const LinearProgram& program_;

 private:
  std::string constant(core::UOp u);
  std::string float_text(core::DType t, f64 value);
  std::string elementwise(core::UOp u);  // operands by text()
  std::string unary(core::UOp u);
  std::string binary(core::UOp u);
  std::string compare(core::UOp u, std::string_view op);
  std::string load(core::UOp u);   // not of a register
  std::string store(core::UOp u);  // not to a register; a statement

  void count_uses();
  void add_op(core::UOp u);
  void add_value(core::UOp u, std::string expression);
  void begin_range(core::UOp u);
  void line(const std::string& statement);
  bool may_inline(core::UOp u) const;

  std::string body_;
  std::string locals_;  // declarations of memory shared by the group: before the body
  int indent_ = 1;
  std::vector<std::string> text_;  // by UOp id
  std::vector<u32> uses_;          // by UOp id
  std::vector<int> use_block_;     // by UOp id: the one block of all uses, or -1
  std::vector<int> blocks_ = {0};  // open blocks, by number
  int block_count_ = 1;
  u32 names_ = 0;
};

}  // namespace doorbell::codegen
