// Which programs CUDA's queues take.
#include "drivers/cuda/command_buffer.h"

#include "base/util/check.h"
#include "drivers/cuda/program.h"

namespace doorbell::cuda {

const void* CudaCommandBuffer::program_of(const hcq::Launch& launch) const {
  const auto* program = dynamic_cast<const CudaProgram*>(launch.program);
  CHECK(program != nullptr, "a program that is not CUDA's");
  CHECK(&program->device() == &device_, "kernel {} on the queue of another device",
        program->name());
  program->check_arguments(launch.buffers.size(), launch.variables.size());
  return program;
}

}  // namespace doorbell::cuda
