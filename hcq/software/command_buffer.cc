// One function for each command.
#include "hcq/software/command_buffer.h"

namespace doorbell::hcq {

u32 SoftwareCommandBuffer::begin(const CommandHeader& header) {
  const u32 word = add_words(header.cells * 2);
  const auto words = encode(header);
  put(word, Bits{31, 0}, words[0]);
  put(word + 1, Bits{31, 0}, words[1]);
  return word + 2;
}

void SoftwareCommandBuffer::command(CommandKind kind, std::initializer_list<Operand> operands) {
  u32 word = begin({kind, 1 + static_cast<u32>(operands.size())});
  for (const Operand& operand : operands) {
    put_64(word, operand);
    word += 2;
  }
}

void SoftwareCommandBuffer::exec(const Launch& launch) {
  const void* program = program_of(launch);
  const usize operands = launch.buffers.size() + launch.variables.size();
  u32 word = begin({CommandKind::Exec, kExecCells + static_cast<u32>(operands),
                    static_cast<u32>(launch.buffers.size())});
  put_64(word, reinterpret_cast<u64>(program));
  for (const Operand& buffer : launch.buffers) put_64(word += 2, buffer);
  for (const Operand& variable : launch.variables) put_64(word += 2, variable);
}

void SoftwareCommandBuffer::copy(Operand to, Operand from, u64 bytes) {
  command(CommandKind::Copy, {to, from, bytes});
}

void SoftwareCommandBuffer::write(Operand address, Operand value) {
  command(CommandKind::Write, {address, value});
}

void SoftwareCommandBuffer::wait(Operand address, Operand value) {
  command(CommandKind::Wait, {address, value});
}

void SoftwareCommandBuffer::poll(Operand address, Operand value, u64 mask) {
  command(CommandKind::Poll, {address, value, mask});
}

void SoftwareCommandBuffer::signal(Operand address, Operand value) {
  command(CommandKind::Signal, {address, value});
}

void SoftwareCommandBuffer::timestamp(Operand address) {
  command(CommandKind::Timestamp, {address});
}

}  // namespace doorbell::hcq
