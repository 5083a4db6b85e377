// KernelFrame: the part of an LLVM function that differs between targets: the entry point, the
// sources of arguments and hardware indices, the memory of a work group. FunctionBuilder does
// everything else and calls a frame while it walks.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <memory>

#include "codegen/linear/tensor_copy.h"
#include "codegen/tensor_core.h"

namespace doorbell::codegen {

struct FrameTraits {
  bool native_f16 = false;          // has arithmetic on half; else f16 are integers of their bits
  bool vector_quotients = false;    // vectors of floats are divided by one instruction
  bool masked_vectors = false;      // loads and stores of vectors may have gates, one or by lane
  bool fast_masked_stores = false;  // such stores take no longer than others
  bool has_dots = false;            // instructions for linear/dot.h
  bool native_maximum = false;      // llvm.maximum is the fastest way
  bool offset_addresses = false;    // base in scalar registers + 32-bit unsigned bytes is a form
  bool byte_permutes = false;       // any bytes of two words are put together by one instruction
  bool keeps_loops = false;         // loops with barriers are not unrolled
  bool unrolls_rings = false;       // loops over a ring are unrolled by its buffers: see ring.h
};

// A byte in a loop's access: the sum of three parts. Values are i32.
struct StepAddress {
  llvm::Value* of_item;  // does not change in the loop
  llvm::Value* of_all;   // the same for all items of a wave
  i64 constant;          // negative only with a gate
  llvm::Value* gate;     // does not change in the loop either; where it is false, zeros are loaded.
                         // Null: true
  bool transposes = false;  // the load is one with kTransposing (linear/program.h)
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
  // A DefineLocal, of elements of the type.
  virtual llvm::Value* local_array(llvm::Module& module, llvm::Type* element, core::UOp array) = 0;
  virtual void barrier(llvm::IRBuilder<>& b) = 0;
  // a * b + c by a tensor core; vectors of an item's elements.
  virtual llvm::Value* matrix(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x,
                              llvm::Value* y, llvm::Value* sum) = 0;
  // sum + the Dot of two words (linear/dot.h), of vectors. Only where traits say it.
  virtual llvm::Value* dot(llvm::IRBuilder<>&, llvm::Value* /*x*/, llvm::Value* /*y*/,
                           llvm::Value* /*sum*/) {
    return nullptr;
  }
  // A Wmma of a tensor core that reads local memory, from the addresses of A and B; and the wait
  // for all of them before `sum` is read. Only where there is one.
  virtual llvm::Value* local_matrix(llvm::IRBuilder<>&, core::UOp /*wmma*/, llvm::Value* /*a*/,
                                    llvm::Value* /*b*/, llvm::Value* /*sum*/) {
    return nullptr;
  }
  virtual llvm::Value* finish_matrix(llvm::IRBuilder<>&, llvm::Value* /*sum*/) { return nullptr; }
  // Before a barrier: what was stored is seen by matrix instructions that read local memory.
  virtual void show_matrix(llvm::IRBuilder<>&) {}
  // A Load with kMatrix. Only where a tensor core loads matrices.
  virtual llvm::Value* load_matrix(llvm::IRBuilder<>&, llvm::Type*, llvm::Value* /*address*/,
                                   bool /*transposed*/) {
    return nullptr;
  }
  // An asynchronous Store of 16 bytes, or of zeros where the gate, which may be null, is false; the
  // end of a batch; and the wait for all but the last `pending`. Only where the target has them.
  virtual void copy_async(llvm::IRBuilder<>&, llvm::Value* /*to*/, llvm::Value* /*from*/,
                          llvm::Value* /*gate*/) {}
  virtual void commit_async(llvm::IRBuilder<>&) {}
  virtual void wait_async(llvm::IRBuilder<>&, i64 /*pending*/) {}
  // Of linear/tensor_copy.h, only where there are maps: mbarriers that are ready for all items; a
  // copy of a box to `to`, by the item that comes here; the wait for a phase.
  virtual void init_mbarriers(llvm::IRBuilder<>&, llvm::Value* /*first*/, i64 /*count*/) {}
  virtual void copy_tensor(llvm::IRBuilder<>&, core::UOp /*copy*/, llvm::Value* /*to*/,
                           llvm::Value* /*mbarrier*/,
                           llvm::ArrayRef<llvm::Value*> /*coordinates*/) {}
  virtual void wait_for_phase(llvm::IRBuilder<>&, llvm::Value* /*mbarrier*/,
                              llvm::Value* /*parity*/) {}
  // A Load with kTransposing. Only where the target has them.
  virtual llvm::Instruction* load_transposing(llvm::IRBuilder<>&, llvm::Type*,
                                              llvm::Value* /*address*/) {
    return nullptr;
  }
  // Loads from a place in a Param. Null where the target has no such form for the type.
  virtual llvm::Instruction* load_in_step(llvm::IRBuilder<>&, llvm::Type*, usize /*slot*/,
                                          const StepAddress&) {
    return nullptr;
  }
  // With byte_permutes: the word of the bytes so numbered, 0 to 3 of `low`, 4 to 7 of `high`.
  virtual llvm::Value* permute(llvm::IRBuilder<>&, llvm::Value* /*low*/, llvm::Value* /*high*/,
                               std::array<u8, 4> /*bytes*/) {
    return nullptr;
  }

 protected:
  const LinearProgram& program_;
};

// The entry point of program.h: CpuKernel. For a CPU with these features, as LLVM lists them.
std::unique_ptr<KernelFrame> make_cpu_frame(const LinearProgram& program,
                                            std::string_view features);
// A kernel of amdgcn-amd-amdhsa, for a chip: see amd_frame.cc.
std::unique_ptr<KernelFrame> make_amd_frame(const LinearProgram& program, std::string_view chip);
// A kernel of nvptx64-nvidia-cuda: see nv_frame.cc.
std::unique_ptr<KernelFrame> make_nv_frame(const LinearProgram& program);

}  // namespace doorbell::codegen
