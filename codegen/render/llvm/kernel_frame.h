// KernelFrame: the part of an LLVM function that differs between targets: the entry point, the
// sources of arguments and hardware indices, the memory of a work group. FunctionBuilder does
// everything else and calls a frame while it walks.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <memory>

#include "codegen/linear/program.h"
#include "codegen/tensor_core.h"

namespace doorbell::codegen {

struct FrameTraits {
  bool native_f16 = false;        // has arithmetic on half; else f16 are integers of their bits
  bool vector_quotients = false;  // vectors of floats are divided by one instruction
  bool masked_vectors = false;    // masked loads and stores of vectors are instructions
  bool native_maximum = false;    // llvm.maximum is the fastest way
  bool offset_addresses = false;  // base in scalar registers + 32-bit unsigned bytes is a form
};

class KernelFrame {
 public:
  explicit KernelFrame(const LinearProgram& program) : program_(program) {}
  virtual ~KernelFrame() = default;

  virtual const FrameTraits& traits() const = 0;
  virtual llvm::Function* make_function(llvm::Module& module) = 0;
  // In the entry block: the base of a Param, a variable as i64, and an index as an i32 or i64.
  virtual llvm::Value* param(llvm::IRBuilder<>& entry, usize slot) = 0;
  virtual llvm::Value* variable(llvm::IRBuilder<>& entry, usize position) = 0;
  virtual llvm::Value* special(llvm::IRBuilder<>& entry, core::SpecialKind kind, i64 axis,
                               i64 extent) = 0;
  // `count` elements shared by a work group, 64-byte aligned.
  virtual llvm::Value* local_array(llvm::Module& module, llvm::Type* element, i64 count) = 0;
  virtual void barrier(llvm::IRBuilder<>& b) = 0;
  // a * b + c by a tensor core; vectors of an item's elements.
  virtual llvm::Value* matrix(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x,
                              llvm::Value* y, llvm::Value* sum) = 0;

 protected:
  const LinearProgram& program_;
};

// The entry point of program.h: CpuKernel.
std::unique_ptr<KernelFrame> make_cpu_frame(const LinearProgram& program);
// A kernel of amdgcn-amd-amdhsa: see amd_frame.cc.
std::unique_ptr<KernelFrame> make_amd_frame(const LinearProgram& program);
// A kernel of nvptx64-nvidia-cuda: see nv_frame.cc.
std::unique_ptr<KernelFrame> make_nv_frame(const LinearProgram& program);

}  // namespace doorbell::codegen
