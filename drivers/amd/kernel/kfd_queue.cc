// CREATE_QUEUE and its arguments.
#include "drivers/amd/kernel/kfd_queue.h"

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/amd/hw/aql.h"

namespace doorbell::amd {
namespace {

// Where the pointers lie in their page: as in hw::AmdQueue, for queues of every type.
constexpr u64 kWritePointer = offsetof(hw::AmdQueue, write_dispatch_id);
constexpr u64 kReadPointer = offsetof(hw::AmdQueue, read_dispatch_id);
// Behind it, of AQL queues: the signal that tells errors.
constexpr u64 kErrorSignal = 1024;
static_assert(kErrorSignal >= sizeof(hw::AmdQueue) && kErrorSignal % alignof(hw::AmdSignal) == 0);
constexpr u32 kPriority = 7;      // of 15, in the middle
constexpr u32 kMaxQueues = 1024;  // KFD_MAX_NUM_OF_QUEUES_PER_PROCESS [Linux kfd_priv.h]

std::atomic_ref<u64> cell(const KfdMemory& memory, u64 offset) {
  return std::atomic_ref<u64>(*reinterpret_cast<u64*>(memory.host() + offset));
}

u32 kernel_type(QueueType type) {
  switch (type) {
    case QueueType::Pm4: return hw::kKfdQueueCompute;
    case QueueType::Aql: return hw::kKfdQueueComputeAql;
    case QueueType::Sdma: return hw::kKfdQueueSdma;
  }
  UNREACHABLE("queue type {}", static_cast<int>(type));
}

// Compute queues beyond the hardware's slots share them in turns; what there is no more of is a
// number of the process, a doorbell, or a copy engine's queue.
// [Linux kfd_process_queue_manager.c find_available_queue_slot(), kfd_doorbell.c, and
// kfd_device_queue_manager.c allocate_sdma_queue(), create_queue_cpsch(): ENOMEM, and EPERM beyond
// max_num_of_queues_per_device]
Error create_queue_error(const Error& error, QueueType type, const KfdGpu& gpu) {
  const NodeProperties& node = gpu.node().properties;
  if (error.os_errno == ENOMEM && type == QueueType::Sdma)
    return fail(
        ErrorKind::Busy,
        "GPU {} has no copy queue left: its {} engines have {} each, shared by all processes",
        gpu.id(), node.num_sdma_engines, node.num_sdma_queues_per_engine);
  if (error.os_errno == ENOMEM || error.os_errno == EPERM)
    return fail(ErrorKind::Busy,
                "GPU {} has no compute queue left: the kernel allows a process {} queues at most, "
                "and has doorbells for fewer",
                gpu.id(), kMaxQueues);
  return error;
}

}  // namespace

Result<std::unique_ptr<KfdQueue>> KfdQueue::make(KfdGpu& gpu, const Caps& caps, QueueType type,
                                                 u64 ring_bytes, const Aql& aql) {
  CHECK(std::has_single_bit(ring_bytes) && ring_bytes >= gpu.kfd().page_bytes(), "ring of {} bytes",
        ring_bytes);
  std::unique_ptr<KfdQueue> queue(new KfdQueue(gpu, caps, type));
  TRY(queue->allocate(ring_bytes, aql));
  TRY(queue->create());
  return queue;
}

KfdQueue::KfdQueue(KfdGpu& gpu, const Caps& caps, QueueType type)
    : gpu_(gpu),
      caps_(caps),
      type_(type),
      area_(save_area_of(caps, gpu.node().properties, gpu.kfd().page_bytes())) {}

// The kernel compares each buffer's size with the mapping it lies in, so each has its own.
// [Linux kfd_queue.c, kfd_queue_acquire_buffers()]
Result<void> KfdQueue::allocate(u64 ring_bytes, const Aql& aql) {
  MemoryRequest request;
  request.kind = MemoryKind::Host;
  request.inherited = false;
  request.bytes = ring_bytes;
  request.executable = true;
  request.what = type_ == QueueType::Sdma ? "the copy queue's ring" : "the compute queue's ring";
  TRY(ring_, gpu_.allocate(request));
  request.executable = false;
  request.bytes = gpu_.kfd().page_bytes();
  request.what = "a queue's pointers";
  TRY(pointers_, gpu_.allocate(request));
  std::memset(pointers_->host(), 0, pointers_->bytes());
  clear_ring();
  if (type_ == QueueType::Aql) describe(aql);
  if (type_ == QueueType::Sdma) return {};
  // The host reads it when the queue hangs.
  request.bytes = area_.total_bytes;
  request.what = "a queue's saved waves";
  TRY(save_area_, gpu_.allocate(request));
  request.kind = MemoryKind::Vram;
  request.bytes = caps_.eop_buffer_bytes;
  request.what = "a queue's end-of-pipe events";
  TRY(eop_, gpu_.allocate(request));
  return {};
}

// An AQL packet of zeros would be a vendor packet, so unwritten slots are marked invalid.
// [HSA Runtime 1.2, 2.9.2]
void KfdQueue::clear_ring() {
  const std::span<u32> words = ring();
  std::memset(words.data(), 0, words.size_bytes());
  if (type_ != QueueType::Aql) return;
  const u32 invalid = encode(hw::AqlHeader{.type = hw::AqlType::Invalid})[0];
  for (usize i = 0; i < words.size(); i += hw::kAqlPacketBytes / sizeof(u32)) words[i] = invalid;
}

// What the command processor wants to know of an AQL queue beyond CREATE_QUEUE's arguments.
void KfdQueue::describe(const Aql& aql) {
  const NodeProperties& properties = gpu_.node().properties;
  hw::AmdQueue& queue = descriptor();
  queue = aql.descriptor;
  queue.queue_properties = hw::kQueueIsPtr64 | hw::kQueueEnableProfiling;
  queue.read_dispatch_id_field_base_byte_offset = kReadPointer;
  queue.max_cu_id = static_cast<u32>(properties.compute_units() * properties.num_xcc - 1);
  queue.max_wave_id = static_cast<u32>(properties.max_waves_per_simd * properties.simd_per_cu - 1);
  std::memcpy(pointers_->host() + kErrorSignal, &aql.errors, sizeof aql.errors);
  queue.queue_inactive_signal = pointers_->address() + kErrorSignal;
}

Result<void> KfdQueue::create() {
  hw::KfdCreateQueue arguments;
  arguments.ring_base_address = ring_->address();
  arguments.ring_size = static_cast<u32>(ring_->bytes());
  arguments.write_pointer_address = pointers_->address() + kWritePointer;
  arguments.read_pointer_address = pointers_->address() + kReadPointer;
  arguments.gpu_id = gpu_.id();
  arguments.queue_type = kernel_type(type_);
  arguments.queue_percentage = hw::kKfdMaxQueuePercentage;
  arguments.queue_priority = kPriority;
  if (type_ != QueueType::Sdma) {
    arguments.eop_buffer_address = eop_->address();
    arguments.eop_buffer_size = caps_.eop_buffer_bytes;
    arguments.ctx_save_restore_address = save_area_->address();
    arguments.ctx_save_restore_size = area_.context_bytes;
    arguments.ctl_stack_size = area_.control_stack_bytes;
  }
  if (Result<void> created = gpu_.kfd().call(arguments); !created)
    return create_queue_error(created.error(), type_, gpu_);
  id_ = arguments.queue_id;
  is_created_ = true;
  TRY(doorbell_, gpu_.doorbell(arguments.doorbell_offset));
  return {};
}

Result<void> KfdQueue::destroy() {
  if (!is_created_) return {};
  is_created_ = false;
  hw::KfdDestroyQueue arguments;
  arguments.queue_id = id_;
  return gpu_.kfd().call(arguments);
}

KfdQueue::~KfdQueue() { (void)destroy(); }

Result<void> KfdQueue::restart() {
  TRY(stop());
  TRY(destroy());
  clear_ring();
  cell(*pointers_, kWritePointer).store(0, std::memory_order_relaxed);
  cell(*pointers_, kReadPointer).store(0, std::memory_order_relaxed);
  return create();
}

hw::QueueError KfdQueue::error() const {
  if (type_ != QueueType::Aql) return hw::QueueError::None;
  const u64 at = kErrorSignal + offsetof(hw::AmdSignal, value);
  return static_cast<hw::QueueError>(cell(*pointers_, at).load(std::memory_order_acquire));
}

u64 KfdQueue::read_pointer() const {
  return cell(*pointers_, kReadPointer).load(std::memory_order_acquire);
}

u64 KfdQueue::write_pointer() const {
  return cell(*pointers_, kWritePointer).load(std::memory_order_relaxed);
}

Result<void> KfdQueue::set_percentage(u32 percentage) {
  hw::KfdUpdateQueue arguments;
  arguments.queue_id = id_;
  arguments.ring_base_address = ring_->address();
  arguments.ring_size = static_cast<u32>(ring_->bytes());
  arguments.queue_percentage = percentage;
  arguments.queue_priority = kPriority;
  return gpu_.kfd().call(arguments);
}

// As newer kernels do. There was one XCC then.
void KfdQueue::write_save_header(const hw::KfdGetQueueWaveState& used) {
  const u32 middle = area_.control_stack_bytes;
  const u32 words[] = {middle - used.ctl_stack_used_size, used.ctl_stack_used_size,
                       middle + used.save_area_used_size, used.save_area_used_size};
  std::memcpy(save_area_->host(), words, sizeof words);
}

// The kernel writes each XCC's header, and on gfx9 the control stack, to where the host sees the
// area; the rest is there. [Linux kfd_mqd_manager_v9.c get_wave_state_v9_4_3()]
Result<std::vector<hw::SavedWave>> KfdQueue::saved_waves() {
  CHECK(save_area_ != nullptr, "waves of a copy queue");
  hw::KfdGetQueueWaveState arguments;
  arguments.ctl_stack_address = reinterpret_cast<u64>(save_area_->host());
  arguments.queue_id = id_;
  TRY(gpu_.kfd().call(arguments));
  // The header came with the debugger's calls.
  if (gpu_.kfd().minor_version() < hw::kKfdRuntimeMinor) write_save_header(arguments);
  const std::span<const u8> all(save_area_->host(), save_area_->bytes());
  std::vector<hw::SavedWave> waves;
  for (u32 xcc = 0; xcc < gpu_.node().properties.num_xcc; ++xcc) {
    const std::span<const u8> part =
        all.subspan(u64{xcc} * area_.context_bytes, area_.context_bytes);
    TRY(const std::vector<hw::SavedWave> some,
        hw::read_saved_waves(caps_.generation, part, caps_.local_granule));
    waves.insert(waves.end(), some.begin(), some.end());
  }
  return waves;
}

}  // namespace doorbell::amd
