// Assembling a submission of AQL packets.
#include "drivers/amd/aql_queue.h"

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/aql_commands.h"
#include "drivers/amd/device.h"
#include "drivers/amd/scratch.h"

namespace doorbell::amd {
namespace {

constexpr u64 kRingBytes = u64{1} << 20;  // 16384 packets
constexpr i64 kArgumentBytes = i64{8} << 20;

// Sizes are of an XCC: the area's parts lie one behind the other, and who looks for a wave's memory
// adds as many of them as XCCs come before. [Writes: ROCR-Runtime c7785a6 amd_aql_queue.cpp#1627
// FillBufRsrcWord2(), #1883 InitScratchSRD(); reads: ROCdbgapi 61dfa56 queue.cpp#874
// scratch_memory_region()]
void describe_scratch(const AmdDevice& device, const Scratch& scratch, hw::AmdQueue* descriptor) {
  if (scratch.address == 0) return;
  const auto resource = encode(hw::queue_scratch(device.caps().generation, scratch.address,
                                                 static_cast<u32>(scratch.bytes_per_xcc)));
  std::copy(resource.begin(), resource.end(), descriptor->scratch_resource_descriptor);
  descriptor->scratch_backing_memory_location = scratch.address;
  descriptor->scratch_backing_memory_byte_size = scratch.bytes_per_xcc;
  descriptor->scratch_wave64_lane_byte_size = scratch.item_bytes;
  descriptor->compute_tmpring_size = scratch.ring_size;
}

}  // namespace

Result<std::unique_ptr<AmdQueue>> AqlQueue::make(Parts parts, AmdDevice& device) {
  TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
  KfdEvents& events = device.kfd().events();
  TRY(const KfdEvents::Interrupt interrupt, events.make_interrupt());
  KfdQueue::Aql aql;
  aql.errors.event_mailbox = interrupt.mailbox;
  aql.errors.event_id = interrupt.event_id;
  describe_scratch(device, device.scratch(), &aql.descriptor);
  Result<std::unique_ptr<KfdQueue>> made =
      KfdQueue::make(device.gpu(), device.caps(), QueueType::Aql, kRingBytes, aql);
  if (!made) {
    events.release_interrupt(interrupt);
    return std::move(made).error();
  }
  std::unique_ptr<KfdQueue> hardware = std::move(*made);
  std::unique_ptr<AqlQueue> queue(
      new AqlQueue(std::move(parts), std::move(timeline), device, std::move(hardware), interrupt));
  TRY(queue->make_rings(kArgumentBytes));
  TRY(queue->make_fixed_packets());
  return std::unique_ptr<AmdQueue>(std::move(queue));
}

std::unique_ptr<hcq::CommandBuffer> AqlQueue::make_commands() {
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

Result<void> AqlQueue::assemble(std::span<const hcq::Segment> segments) {
  if (const u64 epoch = device_.code_epoch(); epoch != code_epoch_) {
    append(code_words_);
    code_epoch_ = epoch;
  }
  for (const hcq::Segment& segment : segments) {
    if (segment.resident != nullptr)
      append({static_cast<const u32*>(segment.resident->memory.host), segment.resident->count});
    else
      TRY(append_piece(segment));
  }
  append(interrupt_words_);
  return {};
}

Result<void> AqlQueue::update_scratch() {
  std::lock_guard lock(mutex());
  // Asked for under the lock: of two threads that grew it, the last one here has the larger area.
  const Scratch scratch = device_.scratch();
  if (hardware().descriptor().scratch_backing_memory_location == scratch.address) return {};
  // What runs has its own part of the old place, in sizes that are the old place's.
  TRY(wait_done(timeline().last()));
  return change_descriptor(
      [&](hw::AmdQueue& descriptor) { describe_scratch(device_, scratch, &descriptor); });
}

}  // namespace doorbell::amd
