// Compares what drivers/cuda/nccl/api.h declares with NVIDIA's nccl.h: compiled by abi_test.py,
// never run.
#include <nccl.h>

#include <cstddef>

#include "drivers/cuda/nccl/api.h"
#include "tests/emulator/cuda/client/same_abi.h"

namespace doorbell::cuda::nccl {

#define F(name, arguments) static_assert(same_abi<decltype(&::name), decltype(Api::name)>, #name);
DOORBELL_NCCL_FUNCTIONS(F)
#undef F
static_assert(same_abi<decltype(&::ncclGetErrorString), decltype(Api::ncclGetErrorString)>);
static_assert(same_abi<decltype(&::ncclGetLastError), decltype(Api::ncclGetLastError)>);

#define SAME(name, theirs) static_assert(static_cast<int>(name) == static_cast<int>(theirs))
SAME(Status::Success, ncclSuccess);
SAME(Status::UnhandledCudaError, ncclUnhandledCudaError);
SAME(Status::SystemError, ncclSystemError);
SAME(Status::InternalError, ncclInternalError);
SAME(Status::InvalidArgument, ncclInvalidArgument);
SAME(Status::InvalidUsage, ncclInvalidUsage);
SAME(Status::RemoteError, ncclRemoteError);
SAME(Status::InProgress, ncclInProgress);
SAME(Type::I8, ncclInt8);
SAME(Type::U8, ncclUint8);
SAME(Type::I32, ncclInt32);
SAME(Type::U32, ncclUint32);
SAME(Type::I64, ncclInt64);
SAME(Type::U64, ncclUint64);
SAME(Type::F32, ncclFloat32);
SAME(Type::F64, ncclFloat64);
SAME(Combine::Sum, ncclSum);
SAME(Combine::Product, ncclProd);
SAME(Combine::Max, ncclMax);
SAME(Combine::Min, ncclMin);

// What Config has is how theirs begins.
#define AT(ours, theirs) static_assert(offsetof(Config, ours) == offsetof(ncclConfig_t, theirs))
AT(size, size);
AT(magic, magic);
AT(version, version);
AT(blocking, blocking);
AT(cga_cluster_size, cgaClusterSize);
AT(min_ctas, minCTAs);
AT(max_ctas, maxCTAs);
AT(net_name, netName);
AT(split_share, splitShare);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(Config{}.magic == NCCL_API_MAGIC && kLeastVersion == NCCL_VERSION(2, 18, 0));
static_assert(Config{}.split_share == NCCL_CONFIG_UNDEF_INT);

}  // namespace doorbell::cuda::nccl
