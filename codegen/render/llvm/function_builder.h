// FunctionBuilder: a linear program as one LLVM function, through IRBuilder. For differences
// between targets see KernelFrame, for machine code codegen/compile/llvm.
//
// Values: Bool is i1 (one byte in memory); floats narrower than f32 are integers of their bits, and
// only casts interpret them; f16 is a float on targets that compute with it. Registers are allocas,
// which the SROA pass turns into values.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/linear/program.h"
#include "codegen/render/llvm/kernel_frame.h"

namespace doorbell::codegen {

class FunctionBuilder {
 public:
  FunctionBuilder(llvm::Module& module, const LinearProgram& program, KernelFrame& frame);

  // Builds the whole function. Once.
  llvm::Function* build();

 private:
  struct Loop {
    core::UOp range;
    llvm::PHINode* index;
    llvm::Value* size;
    llvm::BasicBlock *body, *exit;
    bool has_barrier = false;
    // A loop over a ring is unrolled, so that each copy of its body has a constant buffer.
    i64 buffers = 1, buffer = 0;
    usize begin = 0;  // of the body, in the program
  };

  // function_builder.cc: the walk, arguments, blocks
  void begin_function();
  void add_op(core::UOp u);
  void add_param(core::UOp u);
  void add_variable(core::UOp u);
  void add_special(core::UOp u);
  void define_local(core::UOp u);
  void begin_range(core::UOp u);
  void end_range(core::UOp u);
  llvm::Value* buffer_number(core::UOp u);
  void keep_loop(llvm::Instruction* branch);
  llvm::Value* matrix(core::UOp u);
  void barrier(core::UOp u);
  void begin_if(core::UOp u);
  void end_if();
  llvm::Value* value(core::UOp u);
  llvm::Value* constant(core::UOp u);
  void set(core::UOp u, llvm::Value* v) { values_[u.id()] = v; }

  // types.cc
  llvm::Type* element_type(core::DType t);
  llvm::Type* value_type(core::DType t);   // as computed with: Bool is i1
  llvm::Type* memory_type(core::DType t);  // as stored: Bool is i8
  llvm::Type* with_lanes(llvm::Type* element, core::DType like);

  // build_memory.cc
  llvm::AllocaInst* add_alloca(llvm::Type* type, i64 count, u64 align);
  llvm::Value* address(core::UOp index, llvm::Value* gate, bool inside);
  llvm::Instruction* load_in_step(core::UOp load, llvm::Type* type, llvm::Value* gate);
  llvm::Align alignment(core::UOp index, core::DType access) const;
  llvm::Value* gate_of(core::UOp index);
  bool is_masked(core::UOp index, core::DType access) const;
  llvm::Value* load(core::UOp u);
  void store(core::UOp u);
  void masked_store(core::UOp index, llvm::Value* v, llvm::Align align, llvm::Value* gate);
  void copy_tensor(core::UOp u);
  llvm::BasicBlock* begin_gated(llvm::Value* gate);
  void end_gated(llvm::BasicBlock* exit);
  llvm::BasicBlock* join_gated(llvm::Value* gate);
  bool copy_async(core::UOp store);
  void mark_access(llvm::Instruction* access, core::UOp memory);
  void make_alias_scopes();

  // build_vector.cc
  llvm::Value* vec(core::UOp u);
  llvm::Value* gather_words(core::UOp u);
  llvm::Value* word(core::UOp vector, i64 number);
  llvm::Value* lane(core::UOp u);
  llvm::Value* shuffle(core::UOp u);
  llvm::Value* ramp(core::UOp u);

  // build_arithmetic.cc
  llvm::Value* elementwise(core::UOp u);
  llvm::Value* add_dot(core::UOp u);
  llvm::Value* unary(core::UOp u, llvm::Value* x);
  llvm::Value* binary(core::UOp u, llvm::Value* x, llvm::Value* y);
  llvm::Value* integer_binary(core::UOp u, llvm::Value* x, llvm::Value* y);
  llvm::Value* divide(core::UOp u, llvm::Value* x, llvm::Value* y);
  llvm::Value* compare(core::UOp u, llvm::Value* x, llvm::Value* y);
  llvm::Value* shift(core::UOp u, llvm::Value* x, llvm::Value* y);
  llvm::Value* float_divide(llvm::Value* x, llvm::Value* y);
  llvm::Value* float_max(llvm::Value* x, llvm::Value* y);

  // build_cast.cc
  llvm::Value* cast(core::UOp u, llvm::Value* x);
  llvm::Value* bitcast(core::UOp u, llvm::Value* x);
  llvm::Value* to_wide_float(llvm::Value* x, core::DType from);  // narrow -> f32
  llvm::Value* to_narrow(llvm::Value* x, core::DType from, core::DType to);
  llvm::Value* f64_to_f32_odd(llvm::Value* x);
  llvm::Value* int_to_odd(llvm::Value* x, core::DType from);

  const LinearProgram& program_;
  KernelFrame& frame_;  // borrowed from the constructor's caller
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  // Argument loads and allocas; branches to the first body block.
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<llvm::Value*> values_;  // by UOp id
  std::vector<i8> varies_;            // the same: with the item of a group; -1: not known yet
  std::vector<Loop> loops_;
  usize position_ = 0;  // in the program, of the op that is added
  std::vector<llvm::BasicBlock*> if_exits_;
  std::vector<llvm::MDNode*> own_scope_, other_scopes_;  // by param slot; empty: nothing to say
};

}  // namespace doorbell::codegen
