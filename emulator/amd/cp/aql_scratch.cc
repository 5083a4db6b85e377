// Which of its queue's scratch an AQL dispatch has, and what of it is wrong (aql_queue.h). With
// firmware that can give scratch back while the queue goes on, a queue has a second area for small
// grids. [ROCr amd_aql_queue.cpp InitScratchSRD, HandleInsufficientScratch, and "CP FW Pseudocode"
// at AsyncReclaimMainScratch, in ROCm/rocm-systems 1b1610f]
#include <algorithm>
#include <cstddef>

#include "drivers/amd/hw/program_registers.h"
#include "emulator/amd/cp/aql_packet.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

// NUM_RECORDS of the scratch's buffer: bytes of each XCC. [ROCR-Runtime c7785a6 amd_aql_queue.cpp
// FillBufRsrcWord2() "report size per XCC"; tinygrad ops_amd.py _ensure_has_local_memory(),
// size_per_xcc]
u64 buffer_bytes(const hw::AmdQueue& queue) { return queue.scratch_resource_descriptor[2]; }

// The queue as a grid sees it that has the second area, whose size nobody writes: each XCC's part
// is as long as its waves are. [FillAltComputeTmpRingSize(): WAVES of alt_size / num_xcc]
hw::AmdQueue with_alternate(hw::AmdQueue queue, hw::Generation generation, u32 engines) {
  queue.compute_tmpring_size = queue.alt_compute_tmpring_size;
  queue.scratch_backing_memory_location = queue.alt_scratch_backing_memory_location;
  queue.scratch_wave64_lane_byte_size = queue.alt_scratch_wave64_lane_byte_size;
  const u64 bytes = scratch_ring(generation, engines, queue.compute_tmpring_size).bytes();
  queue.scratch_backing_memory_byte_size = bytes;
  const auto resource = encode(hw::queue_scratch(generation, queue.scratch_backing_memory_location,
                                                 static_cast<u32>(bytes)));
  std::ranges::copy(resource, queue.scratch_resource_descriptor);
  return queue;
}

bool alternate_has_room(const hw::KernelDispatchPacket& packet, const hw::AmdQueue& queue) {
  return packet.private_segment_size <= queue.alt_scratch_wave64_lane_byte_size &&
         packet.grid_size_x <= queue.alt_scratch_dispatch_limit_x &&
         packet.grid_size_y <= queue.alt_scratch_dispatch_limit_y &&
         packet.grid_size_z <= queue.alt_scratch_dispatch_limit_z;
}

bool same_main(const hw::AmdQueue& a, const hw::AmdQueue& b) {
  return std::ranges::equal(a.scratch_resource_descriptor, b.scratch_resource_descriptor) &&
         a.scratch_backing_memory_location == b.scratch_backing_memory_location &&
         a.scratch_backing_memory_byte_size == b.scratch_backing_memory_byte_size &&
         a.scratch_wave64_lane_byte_size == b.scratch_wave64_lane_byte_size &&
         a.compute_tmpring_size == b.compute_tmpring_size;
}

bool same_alternate(const hw::AmdQueue& a, const hw::AmdQueue& b) {
  return a.alt_scratch_backing_memory_location == b.alt_scratch_backing_memory_location &&
         a.alt_scratch_wave64_lane_byte_size == b.alt_scratch_wave64_lane_byte_size &&
         a.alt_compute_tmpring_size == b.alt_compute_tmpring_size &&
         a.alt_scratch_dispatch_limit_x == b.alt_scratch_dispatch_limit_x &&
         a.alt_scratch_dispatch_limit_y == b.alt_scratch_dispatch_limit_y &&
         a.alt_scratch_dispatch_limit_z == b.alt_scratch_dispatch_limit_z;
}

}  // namespace

// What an XCC has of the area: the next one's begins behind it. Debuggers go by
// scratch_backing_memory_byte_size [ROCdbgapi 61dfa56 queue.cpp
// m_per_xcc_scratch_backing_memory_size, scratch_memory_region()]; tinygrad and ROCr since 2025
// leave that 0, and their buffer says it.
u64 AqlQueue::scratch_share(const hw::AmdQueue& queue) {
  const u64 bytes = queue.scratch_backing_memory_byte_size;
  return bytes != 0 ? bytes : buffer_bytes(queue);
}

// What is beside the base and the bounds of the scratch's buffer descriptor. [ROCr
// amd_aql_queue.cpp FillBufRsrcWord1(), _Gfx11(), FillBufRsrcWord3(), _Gfx10(), _Gfx11(), _Gfx12();
// tinygrad ops_amd.py _ensure_has_local_memory(), rsrc]
bool AqlQueue::check_scratch_words(const ScratchRing& ring, const hw::AmdQueue& queue) {
  constexpr u32 kSwizzle = 1u << 31, kSwizzleGfx11 = 1u << 30, kAddress = 0xffff;
  constexpr u32 kFormatGfx9 = 0x00ea4fac, kFormatGfx10 = 0x21814fac, kFormatGfx11 = 0x20814fac;
  constexpr u32 kLanes = 64;
  const auto& words = queue.scratch_resource_descriptor;
  const bool gfx11 = gpu_.generation >= hw::Generation::Gfx11;
  const u32 swizzle = gfx11 ? kSwizzleGfx11 : kSwizzle;
  const u32 format = gpu_.generation == hw::Generation::Gfx9 ? kFormatGfx9
                     : gfx11                                 ? kFormatGfx11
                                                             : kFormatGfx10;
  // Some leave it 0, for kernels that have no use for it.
  const bool described = (words[0] | words[1] | words[2] | words[3]) != 0;
  if (described && ((words[1] & ~kAddress) != swizzle || words[3] != format) &&
      report_violation(kAqlQueueScratch,
                       fmt::format("the buffer's words 1 and 3 are {:#x} and {:#x}, expected {:#x} "
                                   "and {:#x} beside the address",
                                   words[1], words[3], swizzle, format)))
    return false;
  const u64 bytes = u64{queue.scratch_wave64_lane_byte_size} * kLanes;
  return (bytes <= ring.wave_bytes && ring.wave_bytes - bytes < ring.unit) ||
         !report_violation(kAqlQueueScratch,
                           fmt::format("scratch_wave64_lane_byte_size is {}, a wave has {} bytes",
                                       queue.scratch_wave64_lane_byte_size, ring.wave_bytes));
}

// False: the queue has stopped, because its waves have less memory than COMPUTE_TMPRING_SIZE says.
bool AqlQueue::check_scratch_area(const ScratchRing& ring, const hw::AmdQueue& queue) {
  const u64 base = queue.scratch_backing_memory_location, share = scratch_share(queue);
  const auto& words = queue.scratch_resource_descriptor;
  const u64 described =
      decode<hw::ScratchResource>(std::array<u32, 4>{words[0], words[1], words[2], words[3]}).base;
  // Some leave it 0, for kernels that have no use for it.
  if (described != 0 && described != base &&
      report_violation(
          kDispatchScratch,
          fmt::format("scratch lies at {:#x}, its buffer descriptor says {:#x}", base, described)))
    return false;
  if ((gpu_.xccs > 1 || described != 0) && share != buffer_bytes(queue) &&
      report_violation(
          kDispatchScratch,
          fmt::format("scratch_backing_memory_byte_size gives each of {} XCCs {:#x} bytes, the "
                      "scratch's buffer descriptor {:#x}",
                      gpu_.xccs, share, buffer_bytes(queue))))
    return false;
  const bool covered = ring.bytes() <= share && gpu_.memory.in_one_mapping(base, share * gpu_.xccs);
  return covered ||
         !report_violation(
             kDispatchScratch,
             fmt::format("{} XCCs with {} waves of {:#x} bytes, {:#x} bytes of memory for each "
                         "at {:#x}: {}",
                         gpu_.xccs, ring.waves, ring.wave_bytes, share, base,
                         gpu_.memory.space().describe(base)));
}

// Capabilities are exchanged, and the indices of the last packets with scratch are those of before.
// [amd_hsa_queue.h AMD_QUEUE_CAPS_*]
std::optional<MemoryFault> AqlQueue::exchange_capabilities(Connected& queue) {
  if (!gpu_.scratch_reclaim) return std::nullopt;
  const ActingAs nobody(gpu_.memory, nullptr);
  queue.reclaims = (queue.queue.caps & hw::kQueueSwAsyncReclaim) != 0;
  if (auto fault =
          gpu_.memory.store(Client::CommandProcessor, queue.va + offsetof(hw::AmdQueue, caps),
                            queue.queue.caps | hw::kQueueCpAsyncReclaim);
      fault || !queue.reclaims)
    return fault;
  return gpu_.memory.read(
      Client::CommandProcessor, queue.va + sizeof(hw::AmdQueue),
      std::span(reinterpret_cast<u8*>(&queue.last_used), sizeof queue.last_used));
}

// "On queue-disconnect ... This guarantees that ROCr sees updated values of
// scratch_last_used_index". A queue whose memory is gone has nobody to tell.
void AqlQueue::leave() {
  if (connected_ && connected_->reclaims) {
    const ActingAs nobody(gpu_.memory, nullptr);
    const std::span<const u8> bytes(reinterpret_cast<const u8*>(&connected_->last_used),
                                    sizeof connected_->last_used);
    for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc)
      static_cast<void>(gpu_.memory.write(
          Client::CommandProcessor,
          connected_->va + sizeof(hw::AmdQueue) + xcc * sizeof(hw::ScratchLastUsed), bytes));
  }
  connected_.reset();
}

// The processor goes on with what it has: a client that counts on anything else is wrong. What it
// has given back, by an index below this packet's, the client may change.
bool AqlQueue::check_unchanged() {
  Connected now;
  if (auto fault = read_queue(now)) {
    stop(std::move(*fault));
    return false;
  }
  const hw::AmdQueue &is = now.queue, &was = connected_->queue;
  const bool main = !connected_->reclaims || read_ <= was.scratch_max_use_index;
  const bool alternate = connected_->reclaims && read_ <= was.alt_scratch_max_use_index;
  if ((!main || same_main(is, was)) && (!alternate || same_alternate(is, was))) return true;
  return !report_violation(
      kAqlQueueChanged,
      fmt::format("scratch at {:#x} and {:#x}, COMPUTE_TMPRING_SIZE {:#x} and {:#x}; the processor "
                  "has {:#x} and {:#x}, {:#x} and {:#x}",
                  is.scratch_backing_memory_location, is.alt_scratch_backing_memory_location,
                  is.compute_tmpring_size, is.alt_compute_tmpring_size,
                  was.scratch_backing_memory_location, was.alt_scratch_backing_memory_location,
                  was.compute_tmpring_size, was.alt_compute_tmpring_size));
}

// The area that has room for the packet, as if it were the queue's only one; nothing: the client
// must make some. It is noted that this packet uses it.
std::optional<hw::AmdQueue> AqlQueue::scratch_area(const hw::KernelDispatchPacket& packet,
                                                   u64 needed) {
  const hw::AmdQueue& queue = connected_->queue;
  const ScratchRing ring = scratch_ring(gpu_.generation, gpu_.engines, queue.compute_tmpring_size);
  const bool room = ring.waves != 0 && ring.wave_bytes >= needed;
  if (!connected_->reclaims) return room ? std::optional(queue) : std::nullopt;
  if (packet.private_segment_size <= queue.scratch_wave64_lane_byte_size) {
    if (!room || read_ > queue.scratch_max_use_index) return std::nullopt;
    connected_->last_used.main = read_;
    return queue;
  }
  if (!alternate_has_room(packet, queue) || read_ > queue.alt_scratch_max_use_index)
    return std::nullopt;
  connected_->last_used.alternate = read_;
  return with_alternate(queue, gpu_.generation, gpu_.engines);
}

// Whether the queue's scratch serves the packet, and then the queue as the packet sees it. Done: it
// does, or needs none.
Outcome AqlQueue::find_scratch(const hw::KernelDispatchPacket& packet, hw::AmdQueue& queue,
                               Dispatch& dispatch) {
  const u64 needed = (dispatch.wave32 ? u64{32} : u64{64}) * packet.private_segment_size;
  const auto area = needed == 0 ? std::optional(queue) : scratch_area(packet, needed);
  const ScratchRing ring =
      scratch_ring(gpu_.generation, gpu_.engines, area.value_or(queue).compute_tmpring_size);
  dispatch.scratch_wave_bytes = ring.wave_bytes;
  dispatch.scratch_waves = ring.waves;
  if (needed == 0) return Outcome::Done;
  if (area) {
    queue = *area;
    return check_scratch_area(ring, queue) && check_scratch_words(ring, queue) ? Outcome::Done
                                                                               : Outcome::Stop;
  }
  // The client gives back the area that there is before it makes another one, so that nobody may
  // use it any more. [HandleInsufficientScratch(): ReleaseQueueMainScratch()]
  if (!pipeline_.empty()) return Outcome::Wait;
  // The client allocates, updates its structure, and lets the queue go on.
  if (report_inactive(
          queue, dispatch.wave32 ? hw::QueueError::ScratchWave32 : hw::QueueError::ScratchWave64)) {
    short_of_scratch_ = true;
    return Outcome::Wait;
  }
  bool stop = report_violation(
      kDispatchScratch,
      fmt::format("{} waves of {} bytes, a wave needs {}", ring.waves, ring.wave_bytes, needed));
  return stop ? Outcome::Stop : Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
