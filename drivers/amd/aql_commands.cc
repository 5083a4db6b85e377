// Packets, and the buffers of those that run PM4.
#include "drivers/amd/aql_commands.h"

#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/program.h"

namespace doorbell::amd {
namespace {

constexpr Field kJumpAddress = field_of<hw::IndirectBuffer>("addr");
constexpr Field kJumpWords = field_of<hw::IndirectBuffer>("words");
// Where the jump lies in the vendor packet.
constexpr u32 kJump = field_of<hw::Pm4IbPacket>("ib_jump_0").word;

}  // namespace

void AqlCommands::restart() {
  if (!words().empty()) return;
  open_packet_ = kNone;
  waits_ = outside_ = true;
}

// Each XCC has an L2 of its own, and the command processor knows of system and device only.
hw::FenceScope AqlCommands::scope() const {
  return outside_ || xccs_ > 1 ? hw::FenceScope::System : hw::FenceScope::Agent;
}

void AqlCommands::begin() {
  restart();
  if (open_packet_ != kNone) return;
  open_data_ = add_data(0, kBufferAlignmentWords);
  hw::Pm4IbPacket packet;
  packet.barrier = true;
  packet.ib_jump = encode(hw::IndirectBuffer{});
  open_packet_ = add_words(encode(packet));
  put_data_address(open_packet_ + kJump + kJumpAddress.word, kJumpAddress.bits, open_data_,
                   kJumpAddress.shift);
  waits_ = outside_ = true;
}

void AqlCommands::data_appended() {
  put(open_packet_ + kJump + kJumpWords.word, kJumpWords.bits, u64{data().size() - open_data_});
}

void AqlCommands::memory_barrier() {
  restart();
  waits_ = true;
}

void AqlCommands::dispatch(const AmdProgram& program, u32 arguments) {
  restart();
  open_packet_ = kNone;
  auto packet = decode<hw::KernelDispatchPacket>(program.packet());
  packet.barrier = waits_;
  packet.acquire = waits_ ? scope() : hw::FenceScope::None;
  packet.release = xccs_ > 1 ? hw::FenceScope::System : hw::FenceScope::Agent;
  const u32 at = add_words(encode(packet));
  const Field field = field_of<hw::KernelDispatchPacket>("kernarg_address");
  put_data_address(at + field.word, field.bits, arguments, field.shift);
  waits_ = outside_ = false;
}

}  // namespace doorbell::amd
