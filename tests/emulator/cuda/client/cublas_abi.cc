// Compares what tools/doorbell/throughput/cublas_api.h declares with NVIDIA's cublas_api.h:
// compiled by abi_test.py, never run.
#include <cublas_api.h>

#include "tests/emulator/cuda/client/same_abi.h"
#include "tools/doorbell/throughput/cublas_api.h"

namespace doorbell::tools::cublas {

static_assert(same_abi<decltype(&::cublasCreate_v2), Create*>);
static_assert(same_abi<decltype(&::cublasDestroy_v2), Destroy*>);
static_assert(same_abi<decltype(&::cublasGetVersion_v2), GetVersion*>);
static_assert(same_abi<decltype(&::cublasSetStream_v2), SetStream*>);
// In C++ a second function of the name, inline and of version 10, takes a cudaDataType there.
using TheirGemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                   int, const void*, const void*, cudaDataType, int, const void*,
                                   cudaDataType, int, const void*, void*, cudaDataType, int,
                                   cublasComputeType_t, cublasGemmAlgo_t);
static_assert(same_abi<decltype(static_cast<TheirGemmEx*>(&::cublasGemmEx)), GemmEx*>);

static_assert(kSuccess == CUBLAS_STATUS_SUCCESS && kNotTransposed == CUBLAS_OP_N &&
              kDefaultAlgorithm == CUBLAS_GEMM_DEFAULT);
static_assert(kCompute32F == CUBLAS_COMPUTE_32F &&
              kCompute32FFastTf32 == CUBLAS_COMPUTE_32F_FAST_TF32 &&
              kCompute32I == CUBLAS_COMPUTE_32I);
static_assert(kR32F == CUDA_R_32F && kR16F == CUDA_R_16F && kR8I == CUDA_R_8I &&
              kR32I == CUDA_R_32I && kR16BF == CUDA_R_16BF);

}  // namespace doorbell::tools::cublas
