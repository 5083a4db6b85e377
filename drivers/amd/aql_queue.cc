// Assembling a submission of AQL packets.
#include "drivers/amd/aql_queue.h"

#include <cstring>

#include "drivers/amd/aql_commands.h"
#include "drivers/amd/device.h"

namespace doorbell::amd {
namespace {

constexpr u64 kRingBytes = u64{1} << 20;  // 16384 packets
constexpr i64 kArgumentBytes = i64{8} << 20;

}  // namespace

Result<std::unique_ptr<AmdQueue>> AqlQueue::make(Parts parts, AmdDevice& device) {
  TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
  TRY(std::unique_ptr<KfdQueue> hardware,
      KfdQueue::make(device.gpu(), device.caps(), QueueType::Aql, kRingBytes));
  TRY(const KfdEvents::Interrupt interrupt, device.kfd().events().make_interrupt());
  std::unique_ptr<AqlQueue> queue(
      new AqlQueue(std::move(parts), std::move(timeline), device, std::move(hardware), interrupt));
  TRY(queue->make_rings(kArgumentBytes));
  TRY(queue->make_fixed_packets());
  return std::unique_ptr<AmdQueue>(std::move(queue));
}

std::unique_ptr<hcq::CommandQueue> AqlQueue::make_commands() {
  return std::make_unique<AqlCommands>(device_, device_.caps(), device_.xccs());
}

Result<void> AqlQueue::make_fixed_packets() {
  const auto packets_of = [&](auto record) -> Result<std::vector<u32>> {
    AqlCommands commands(device_, device_.caps(), device_.xccs());
    record(commands);
    // For as long as the queue: never retired, never given back.
    const std::span<const u32> data = commands.data();
    TRY(const core::Allocation memory,
        this->memory().allocate(static_cast<i64>(data.size_bytes())));
    std::memcpy(memory.host, data.data(), data.size_bytes());
    std::vector<u32> words(commands.words().begin(), commands.words().end());
    commands.relocate(words, hcq::GpuAddr{memory.address});
    return words;
  };
  TRY(code_words_, packets_of([](AqlCommands& commands) { commands.acquire_code(); }));
  TRY(interrupt_words_, packets_of([&](AqlCommands& commands) {
        commands.interrupt(interrupt_.mailbox, interrupt_.event_id);
      }));
  return {};
}

Result<void> AqlQueue::assemble(std::span<const hcq::Piece> pieces) {
  if (const u64 epoch = device_.code_epoch(); epoch != code_epoch_) {
    append(code_words_);
    code_epoch_ = epoch;
  }
  for (const hcq::Piece& piece : pieces) {
    if (piece.bound != nullptr)
      append({static_cast<const u32*>(piece.bound->memory.host), piece.bound->count});
    else
      TRY(append_piece(piece));
  }
  append(interrupt_words_);
  return {};
}

void AqlQueue::set_scratch(const Scratch& scratch) {
  hw::AmdQueue& descriptor = hardware().descriptor();
  const auto resource = encode(scratch_resource(scratch, device_.caps().has_wave32));
  std::copy(resource.begin(), resource.end(), descriptor.scratch_resource_descriptor);
  descriptor.scratch_backing_memory_location = scratch.address;
  descriptor.scratch_backing_memory_byte_size = scratch.bytes_per_xcc * device_.xccs();
  descriptor.scratch_wave64_lane_byte_size = scratch.item_bytes;
  descriptor.compute_tmpring_size = scratch.ring_size;
}

}  // namespace doorbell::amd
