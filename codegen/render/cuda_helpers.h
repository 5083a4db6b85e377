// CudaHelpers: what CUDA C++ says otherwise than clang's C: reading bits as another type, and f16,
// by instructions instead of headers that NVRTC may not find; and vectors, which are structs that
// are loaded, stored and put together from lanes: v[] has the lanes, or w[] 32-bit words of them
// where they are narrower.
#pragma once

#include "codegen/linear/program.h"
#include "codegen/render/clang_helpers.h"
#include "codegen/tensor_core.h"

namespace doorbell::codegen {

class CudaHelpers final : public ClangHelpers {
 public:
  std::string type(core::DType t) override;
  std::string bits(core::DType to, core::DType from) override;

  // f(address) and f(address, vector), of a vector whose address is a multiple of `alignment`
  // bytes, by accesses of as many, 16 at most.
  std::string load_vector(core::DType t, i64 alignment);
  std::string store_vector(core::DType t, i64 alignment);
  // The same of a Load with kMatrix (codegen/linear/program.h).
  std::string load_matrix(core::DType t, bool transposed);
  // f(to, from[, gate]): 16 bytes to shared memory, or zeros; done when a wait says so.
  std::string copy_async(bool gated);
  // f(a, b, sums): a tensor core.
  std::string matrix(const TensorCore& core);
  // f(address of a, address of b, sums): a Wmma of a warp group; and f(sums): the wait for all.
  std::string warpgroup_matrix(core::UOp wmma);
  std::string warpgroup_wait(core::DType sums);
  // f(address, map, mbarrier, coordinates...), f(mbarrier, parity): see nv_tensor_copy.h. And f(the
  // first mbarrier), with the barrier of the block behind it.
  std::string tensor_copy(core::UOp copy);
  std::string phase_wait();
  std::string init_mbarriers(i64 count);
  // Whether a vector's lanes are in words.
  static bool in_words(core::DType t) { return t.element().bytes() < 4; }

 private:
  std::string to_half(core::DType to, const std::string& by_bits) override;
  std::string from_half(core::DType from, const std::string& by_bits) override;
  std::string raw(i64 bytes);
};

}  // namespace doorbell::codegen
