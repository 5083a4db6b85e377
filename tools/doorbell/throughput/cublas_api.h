// What of cuBLAS is called. Nothing of NVIDIA's is included or linked: these are our own
// declarations, with the ABI of versions 11 to 13. [NVIDIA cuBLAS documentation, "cublasGemmEx()";
// nvidia-cublas on PyPI, include/cublas_api.h, library_types.h]
#pragma once

#include "drivers/cuda/api.h"

namespace doorbell::tools::cublas {

using Handle = struct cublasContext*;

using Create = int(Handle*);                    // cublasCreate_v2
using Destroy = int(Handle);                    // cublasDestroy_v2
using GetVersion = int(Handle, int*);           // cublasGetVersion_v2
using SetStream = int(Handle, cuda::CUstream);  // cublasSetStream_v2
// c = alpha a b + beta c, matrices by columns: a is m x k, b is k x n.
using GemmEx = int(Handle, int transa, int transb, int m, int n, int k, const void* alpha,
                   const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
                   const void* beta, void* c, int c_type, int ldc, int compute_type, int algorithm);

inline constexpr int kSuccess = 0;            // CUBLAS_STATUS_SUCCESS
inline constexpr int kNotTransposed = 0;      // CUBLAS_OP_N
inline constexpr int kDefaultAlgorithm = -1;  // CUBLAS_GEMM_DEFAULT
inline constexpr int kCompute32F = 68, kCompute32FFastTf32 = 77,
                     kCompute32I = 72;                                         // CUBLAS_COMPUTE_
inline constexpr int kR32F = 0, kR16F = 2, kR8I = 3, kR32I = 10, kR16BF = 14;  // CUDA_R_

}  // namespace doorbell::tools::cublas
