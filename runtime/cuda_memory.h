// Memory of CUDA devices that other libraries use in place, and the order of their work with ours:
// for DLPack and __cuda_array_interface__. The libraries share the primary context of the GPU.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <optional>
#include <string>

#include "core/device/buffer.h"

namespace doorbell::runtime {

// A buffer as other users of CUDA see it.
struct CudaMemory {
  u64 address;
  int gpu;     // as CUDA counts them
  u64 stream;  // a CUstream of ours: what is behind it there sees what we wrote before
};

// Whether the device is one of CUDA's, and its GPU; opens the device.
std::optional<int> cuda_gpu(const std::string& device);
// The device of a GPU, or of memory: "CUDA:1". NotFound where none of those that DEV selects is it.
Result<std::string> cuda_device(int gpu);
Result<std::string> cuda_device_at(u64 address);

// Empty for a buffer that is on no CUDA device. Its stream waits for all that was submitted.
Result<std::optional<CudaMemory>> cuda_memory(const core::Buffer& buffer);
// Streams are CUstreams, or 0, 1 (the default stream) or 2 (that of the thread), as DLPack and CUDA
// number them. Neither call blocks.
//
// Work of ours that is submitted later waits for what the stream holds now.
Result<void> wait_for_cuda_stream(const std::string& device, u64 stream);
// What is put on the stream later waits for work of ours that was submitted.
Result<void> let_cuda_stream_wait(const std::string& device, u64 stream);

}  // namespace doorbell::runtime
