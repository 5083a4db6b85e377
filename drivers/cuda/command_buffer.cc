// One function for each command.
#include "drivers/cuda/command_buffer.h"

#include "base/util/check.h"
#include "drivers/cuda/program.h"

namespace doorbell::cuda {

using hcq::Operand;

u32 CudaCommandBuffer::begin(CommandKind kind, u32 cells) {
  const u32 word = add_words(cells * 2);
  const auto header = encode(CommandHeader{kind, cells});
  put(word, Bits{31, 0}, header[0]);
  put(word + 1, Bits{31, 0}, header[1]);
  return word + 2;
}

void CudaCommandBuffer::command(CommandKind kind, std::initializer_list<Operand> operands) {
  u32 word = begin(kind, 1 + static_cast<u32>(operands.size()));
  for (const Operand& operand : operands) {
    put_64(word, operand);
    word += 2;
  }
}

void CudaCommandBuffer::exec(const hcq::Launch& launch) {
  const auto* program = dynamic_cast<const CudaProgram*>(launch.program);
  CHECK(program != nullptr, "a program that is not CUDA's");
  CHECK(&program->device() == &device_, "kernel {} on the queue of another device",
        program->name());
  program->check_arguments(launch.buffers.size(), launch.variables.size());
  const usize operands = launch.buffers.size() + launch.variables.size();
  u32 word = begin(CommandKind::Exec, kExecCells + static_cast<u32>(operands));
  put_64(word, reinterpret_cast<u64>(program));
  for (const Operand& buffer : launch.buffers) put_64(word += 2, buffer);
  for (const Operand& variable : launch.variables) put_64(word += 2, variable);
}

void CudaCommandBuffer::copy(Operand to, Operand from, u64 bytes) {
  command(CommandKind::Copy, {to, from, bytes});
}

void CudaCommandBuffer::write(Operand address, Operand value) {
  command(CommandKind::Write, {address, value});
}

void CudaCommandBuffer::wait(Operand address, Operand value) {
  command(CommandKind::Wait, {address, value});
}

void CudaCommandBuffer::poll(Operand address, Operand value, u64 mask) {
  command(CommandKind::Poll, {address, value, mask});
}

void CudaCommandBuffer::signal(Operand address, Operand value) {
  command(CommandKind::Signal, {address, value});
}

void CudaCommandBuffer::timestamp(Operand address) { command(CommandKind::Timestamp, {address}); }

void CudaCommandBuffer::memory_barrier() { command(CommandKind::Barrier, {}); }

}  // namespace doorbell::cuda
