// For systems without CUDA: no device there is one of CUDA's.
#include "runtime/cuda_memory.h"

namespace doorbell::runtime {

namespace {

Error refusal() { return fail(ErrorKind::NotFound, "there is no CUDA on this system"); }

}  // namespace

std::optional<int> cuda_gpu(const std::string& /*device*/) { return {}; }
Result<std::string> cuda_device(int /*gpu*/) { return refusal(); }
Result<std::string> cuda_device_at(u64 /*address*/) { return refusal(); }
Result<std::optional<CudaMemory>> cuda_memory(const core::Buffer& /*buffer*/) {
  return std::optional<CudaMemory>();
}
Result<void> wait_for_cuda_stream(const std::string& /*device*/, u64 /*stream*/) {
  return refusal();
}
Result<void> let_cuda_stream_wait(const std::string& /*device*/, u64 /*stream*/) {
  return refusal();
}

}  // namespace doorbell::runtime
