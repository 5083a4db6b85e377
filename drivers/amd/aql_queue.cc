// Placing a submission of AQL packets.
#include "drivers/amd/aql_queue.h"

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/program.h"
#include "drivers/amd/scratch.h"

namespace doorbell::amd {
namespace {

// Sizes are of one XCC: the area has a part for each XCC, one behind the other, and a reader skips
// the parts of the XCCs before the wave's. [Writes: ROCR-Runtime c7785a6 amd_aql_queue.cpp#1627
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

AqlQueue::AqlQueue(Resources resources)
    : AmdQueue(std::move(resources)), launch_(device_, device_.caps(), device_.xccs()) {}

Result<std::unique_ptr<AmdQueue>> AqlQueue::make(Parts parts, AmdDevice& device) {
  hw::AmdQueue descriptor{};
  describe_scratch(device, device.scratch(), &descriptor);
  TRY(Resources resources, allocate(std::move(parts), device, QueueType::Aql, descriptor));
  std::unique_ptr<AqlQueue> queue(new AqlQueue(std::move(resources)));
  TRY(queue->make_argument_ring());
  TRY(queue->make_fixed_packets());
  queue->measure();
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

// How much data a launch can have beside its arguments, each part aligned.
void AqlQueue::measure() {
  const auto data_of = [&](auto record) {
    AqlCommands commands(device_, device_.caps(), device_.xccs());
    record(commands);
    return static_cast<u32>(commands.data().size()) + AqlCommands::kBufferAlignmentWords;
  };
  const hcq::GpuAddr none{};
  launch_data_ = data_of([&](AqlCommands& commands) { commands.signal(none, 0); }) +
                 AmdProgram::kArgumentAlignmentWords;
  wait_data_ = data_of([&](AqlCommands& commands) { commands.wait(none, 0); });
}

Result<void> AqlQueue::place_launch(const KernelLaunch& launch, const hcq::Fence& after) {
  const usize words = launch.program.argument_words() + launch_data_ + after.size() * wait_data_;
  TRY(const hcq::ArgumentRing::Location data,
      arguments_->allocate(words * sizeof(u32), kDataAlignment));
  const hcq::Timeline::SignalValue end = timeline().signal_at(timeline().last());
  launch_.clear();
  launch_.lend_data({reinterpret_cast<u32*>(data.host), words}, data.address);
  TRY(add_waits(after, launch_));
  launch_.launch(launch);
  launch_.signal(end.signal.address(), end.value);
  return place_packets(launch_.words());
}

Result<void> AqlQueue::place(std::span<const hcq::Segment> segments) {
  words_.clear();
  for (const hcq::Segment& segment : segments) {
    const std::span<const u32> words = words_of(segment);
    const usize first = words_.size();
    words_.insert(words_.end(), words.begin(), words.end());
    TRY(const hcq::GpuAddr data, place_data(segment));
    if (data.value != 0) segment.commands->relocate(std::span(words_).subspan(first), data);
  }
  return place_packets(words_);
}

Result<void> AqlQueue::place_packets(std::span<const u32> packets) {
  const u64 epoch = device_.code_epoch();
  TRY(make_room(code_words_.size() + packets.size() + interrupt_words_.size()));
  if (epoch != code_epoch_) ring_.write_packets(code_words_);
  ring_.write_packets(packets);
  ring_.write_packets(interrupt_words_);
  code_epoch_ = epoch;
  return {};
}

Result<void> AqlQueue::update_scratch() {
  std::lock_guard lock(mutex());
  // Read under the lock: of two threads that grew the area, the last one here sees the larger.
  const Scratch scratch = device_.scratch();
  if (hardware().descriptor().scratch_backing_memory_location == scratch.address) return {};
  // Running waves use the old area with the old sizes.
  TRY(wait_done(timeline().last()));
  return change_descriptor(
      [&](hw::AmdQueue& descriptor) { describe_scratch(device_, scratch, &descriptor); });
}

}  // namespace doorbell::amd
