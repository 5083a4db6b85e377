// The functions of NCCL that Doorbell calls, and their errors. Nothing of NVIDIA's is included or
// linked: the declarations are our own, with the ABI of nccl.h [NVIDIA/nccl, src/nccl.h.in at
// 021e8045, and include/nccl.h of nvidia-nccl-cu13 2.30.7 on PyPI, which agree on all that stands
// here], and libnccl.so.2 is opened when GPUs of several processes first exchange.
//
// Thread safety: NCCL allows one thread at a time for each communicator [NCCL User Guide, "Thread
// Safety"]; the queue of exchanges is that thread.
#pragma once

#include <climits>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "drivers/cuda/api.h"

namespace doorbell::cuda::nccl {

using Comm = struct ncclComm*;

// ncclResult_t. InProgress: a call of a communicator that does not block goes on.
enum class Status : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7,
};
// ncclDataType_t, without the floats of 8 and 16 bits, which nobody sums here.
enum class Type : int { I8 = 0, U8 = 1, I32 = 2, U32 = 3, I64 = 4, U64 = 5, F32 = 7, F64 = 8 };
// ncclRedOp_t.
enum class Combine : int { Sum = 0, Product = 1, Max = 2, Min = 3 };

// ncclUniqueId.
struct UniqueId {
  char internal[128];
};

// ncclConfig_t of NCCL 2.18; later ones have more at the end and take this one by its size and
// version. [NVIDIA/nccl, src/init.cc, parseCommConfig]
struct Config {
  usize size = 48;
  u32 magic = 0xcafebeef;  // NCCL_API_MAGIC
  u32 version = 21800;     // NCCL_VERSION(2, 18, 0)
  int blocking = 0;
  // NCCL_CONFIG_UNDEF_INT and _PTR: as NCCL likes.
  int cga_cluster_size = INT_MIN, min_ctas = INT_MIN, max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
};
static_assert(sizeof(Config) == 48);
inline constexpr int kLeastVersion = 21800;

struct Api {
  // clang-format off: a list, not calls
#define DOORBELL_NCCL_FUNCTIONS(F)                                                                 \
  F(ncclGetVersion, (int*))                                                                        \
  F(ncclGetUniqueId, (UniqueId*))                                                                  \
  F(ncclCommInitRankConfig, (Comm*, int ranks, UniqueId, int rank, Config*))                       \
  F(ncclCommAbort, (Comm))                                                                         \
  F(ncclCommGetAsyncError, (Comm, Status*))                                                        \
  F(ncclGroupStart, ())                                                                            \
  F(ncclGroupEnd, ())                                                                              \
  F(ncclAllReduce, (const void*, void*, usize count, Type, Combine, Comm, CUstream))               \
  F(ncclReduceScatter, (const void*, void*, usize own_count, Type, Combine, Comm, CUstream))       \
  F(ncclAllGather, (const void*, void*, usize own_count, Type, Comm, CUstream))                    \
  F(ncclBroadcast, (const void*, void*, usize count, Type, int root, Comm, CUstream))              \
  F(ncclSend, (const void*, usize count, Type, int peer, Comm, CUstream))                          \
  F(ncclRecv, (void*, usize count, Type, int peer, Comm, CUstream))
  // clang-format on
#define F(name, arguments) Status(*name) arguments = nullptr;
  DOORBELL_NCCL_FUNCTIONS(F)
#undef F
  const char* (*ncclGetErrorString)(Status) = nullptr;
  const char* (*ncclGetLastError)(Comm) = nullptr;
  // Of a library that stands in for NCCL and moves memory of emulated GPUs: it gets their driver.
  // Null in NCCL itself, which reaches GPUs by itself.
  void (*use_driver)(const cuda::Api*) = nullptr;
  int version = 0;  // 22705 is 2.27.5

  // "ncclAllReduce: unhandled cuda error (1): what happened last".
  Error refusal(Status status, std::string_view call, Comm comm) const;
};

// Opens the first of the files that is there, for good: NCCL has threads.
Result<const Api*> load(const std::vector<std::string>& files);

}  // namespace doorbell::cuda::nccl
