// Which programs the CPU's queues take.
#include "drivers/cpu/command_buffer.h"

#include "base/util/check.h"
#include "drivers/cpu/program.h"

namespace doorbell::cpu {

const void* CpuCommandBuffer::program_of(const hcq::Launch& launch) const {
  const auto* of_cpu = dynamic_cast<const CpuProgram*>(launch.program);
  CHECK(of_cpu != nullptr, "a program that is not the CPU's");
  const CpuProgram& program = *of_cpu;
  CHECK(&program.device() == &device_, "kernel {} on the queue of another device", program.name());
  CHECK(launch.buffers.size() == program.params() && launch.variables.size() == program.variables(),
        "kernel {} with {} buffers and {} variables, expected {} and {}", program.name(),
        launch.buffers.size(), launch.variables.size(), program.params(), program.variables());
  return &program;
}

}  // namespace doorbell::cpu
