// SourceWriter: the part of printing a linear program that all languages share: the walk, blocks,
// names, and which values get a name and which are written where they are used. For arithmetic and
// memory in C-like languages see cstyle.h, for WGSL wgsl_writer.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/linear/program.h"

namespace doorbell::codegen {

class SourceWriter {
 public:
  explicit SourceWriter(const LinearProgram& program);
  virtual ~SourceWriter() = default;
  std::string write();

 protected:
  // Expressions, of operands by text().
  virtual std::string constant(core::UOp u) = 0;
  virtual std::string elementwise(core::UOp u) = 0;
  virtual std::string special(core::UOp u) = 0;
  virtual std::string variable(core::DType t, usize position) = 0;
  virtual std::string load(core::UOp u) = 0;  // not of a register
  virtual std::string vector(core::UOp u);    // Vec, Splat, Lane, Ramp
  virtual std::string matrix(core::UOp u);    // of a Wmma
  virtual std::string finished(core::UOp u);  // of a Load with kFinished
  // Statements.
  virtual std::string value(core::DType t, const std::string& name,
                            const std::string& expression) = 0;
  virtual std::string reg(core::DType t, const std::string& name) = 0;  // a declaration
  virtual std::string loop(core::UOp range, const std::string& name) = 0;
  virtual std::string store(core::UOp u) = 0;                                   // not to a register
  virtual std::string private_array(core::UOp u, const std::string& name) = 0;  // a declaration
  virtual std::string before_loop(core::UOp /*range*/) { return ""; }  // a line, or nothing
  // The whole source around the body and the declarations of what a group shares.
  virtual std::string whole(const std::string& shared, const std::string& body) = 0;

  // Of languages with work groups.
  virtual std::string local_array(core::UOp u, const std::string& name);  // a declaration
  virtual std::string barrier(core::UOp u);
  virtual std::string commit();  // of asynchronous stores: a statement
  // Statements, without the gate (linear/tensor_copy.h).
  virtual std::string tensor_copy(core::UOp u);
  virtual std::string phase_wait(core::UOp u);

  // The text of an operand: a name, a constant, or an expression in parentheses.
  std::string text(core::UOp u);
  static std::string param_name(i64 slot) { return "p" + std::to_string(slot); }
  // A variable's position among the arguments.
  usize variable_position(core::UOp u) const;

  const LinearProgram& program_;

 private:
  void count_uses();
  void add_op(core::UOp u);
  void add_value(core::UOp u, std::string expression);
  void begin_range(core::UOp u);
  void line(const std::string& statement);
  bool may_inline(core::UOp u) const;

  std::string body_;
  std::string locals_;  // declarations of memory shared by the group
  int indent_ = 1;
  std::vector<std::string> text_;  // by UOp id
  std::vector<u32> uses_;          // by UOp id
  std::vector<int> use_block_;     // by UOp id: the one block of all uses, or -1
  std::vector<int> blocks_ = {0};  // open blocks, by number
  int block_count_ = 1;
  u32 names_ = 0;
};

}  // namespace doorbell::codegen
