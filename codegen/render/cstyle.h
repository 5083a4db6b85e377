// CStyleWriter: the part of printing a linear program that all C-like languages share: the walk,
// blocks, names, which values get a name and which are written where they are used, infix
// arithmetic. Types, memory access, conversions and the function's frame are the language's: see
// clang_renderer.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/linear/program.h"

namespace doorbell::codegen {

class CStyleWriter {
 public:
  explicit CStyleWriter(const LinearProgram& program);
  virtual ~CStyleWriter() = default;
  std::string write();

 protected:
  // What a language must say.
  virtual std::string type_name(core::DType t) = 0;  // of a value
  virtual std::string constant(core::UOp u) = 0;
  virtual std::string elementwise(core::UOp u) = 0;  // operands by text()
  virtual std::string vector(core::UOp u) = 0;       // Vec, Splat, Lane, Ramp
  virtual std::string load(core::UOp u) = 0;         // not of a register
  virtual std::string store(core::UOp u) = 0;        // not to a register; a statement
  virtual std::string special(core::UOp u) = 0;
  virtual std::string private_array(core::UOp u, const std::string& name) = 0;  // a declaration
  virtual std::string frame(const std::string& body) = 0;  // the whole source around the body

  // The text of an operand: a name, a constant, or an expression in parentheses.
  std::string text(core::UOp u);
  // base + index of an Index.
  std::string address(core::UOp index);
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
  int indent_ = 1;
  std::vector<std::string> text_;  // by UOp id
  std::vector<u32> uses_;          // by UOp id
  std::vector<int> use_block_;     // by UOp id: the one block of all uses, or -1
  std::vector<int> blocks_ = {0};  // open blocks, by number
  int block_count_ = 1;
  u32 names_ = 0;
};

}  // namespace doorbell::codegen
