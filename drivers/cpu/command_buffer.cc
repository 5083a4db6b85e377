// One function for each command.
#include "drivers/cpu/command_buffer.h"

#include "base/util/check.h"
#include "drivers/cpu/program.h"

namespace doorbell::cpu {

using hcq::Operand;

u32 CpuCommandBuffer::begin(CommandKind kind, u32 cells) {
  const u32 word = add_words(cells * 2);
  const auto header = encode(CommandHeader{kind, cells});
  put(word, Bits{31, 0}, header[0]);
  put(word + 1, Bits{31, 0}, header[1]);
  return word + 2;
}

void CpuCommandBuffer::command(CommandKind kind, std::initializer_list<Operand> operands) {
  u32 word = begin(kind, 1 + static_cast<u32>(operands.size()));
  for (const Operand& operand : operands) {
    put_64(word, operand);
    word += 2;
  }
}

void CpuCommandBuffer::exec(const hcq::Launch& launch) {
  const auto* of_cpu = dynamic_cast<const CpuProgram*>(launch.program);
  CHECK(of_cpu != nullptr, "a program that is not the CPU's");
  const CpuProgram& program = *of_cpu;
  CHECK(&program.device() == &device_, "kernel {} on the queue of another device", program.name());
  CHECK(launch.buffers.size() == program.params() && launch.variables.size() == program.variables(),
        "kernel {} with {} buffers and {} variables, expected {} and {}", program.name(),
        launch.buffers.size(), launch.variables.size(), program.params(), program.variables());
  const usize operands = launch.buffers.size() + launch.variables.size();
  u32 word = begin(CommandKind::Exec, kExecCells + static_cast<u32>(operands));
  put_64(word, reinterpret_cast<u64>(&program));
  for (const Operand& buffer : launch.buffers) put_64(word += 2, buffer);
  for (const Operand& variable : launch.variables) put_64(word += 2, variable);
}

void CpuCommandBuffer::copy(Operand to, Operand from, u64 bytes) {
  command(CommandKind::Copy, {to, from, bytes});
}

void CpuCommandBuffer::write(Operand address, Operand value) {
  command(CommandKind::Write, {address, value});
}

void CpuCommandBuffer::wait(Operand address, Operand value) {
  command(CommandKind::Wait, {address, value});
}

void CpuCommandBuffer::poll(Operand address, Operand value, u64 mask) {
  command(CommandKind::Poll, {address, value, mask});
}

void CpuCommandBuffer::signal(Operand address, Operand value) {
  command(CommandKind::Signal, {address, value});
}

void CpuCommandBuffer::timestamp(Operand address) { command(CommandKind::Timestamp, {address}); }

}  // namespace doorbell::cpu
