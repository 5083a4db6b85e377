// CREATE_QUEUE and the other calls on queues, with the kernel's errors.
#include "emulator/amd/kfd/queues.h"

#include <bit>
#include <cerrno>

#include <fmt/format.h>

#include "base/util/check.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/kfd/calling.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/core/user_memory.h"

namespace doorbell::emu::amdgpu {
namespace {

using namespace amd::hw;

constexpr u64 kPage = 4096;
constexpr int kNotSupported = 524;       // ENOTSUPP of include/linux/errno.h, which libc has not
constexpr u32 kMaxQueues = 1024;         // KFD_MAX_NUM_OF_QUEUES_PER_PROCESS
constexpr u32 kFirstSdmaDoorbell = 256;  // AMDGPU_NAVI10_DOORBELL_sDMA_ENGINE0 * 2
constexpr u32 kSdmaDoorbells = 16;       // of one engine, in each half of the pages
constexpr u32 kMirror = 512;             // KFD_QUEUE_DOORBELL_MIRROR_OFFSET

bool is_compute(u32 type) { return type == kKfdQueueCompute || type == kKfdQueueComputeAql; }

QueueKind kind_of(u32 type) {
  if (type == kKfdQueueCompute) return QueueKind::Pm4;
  return type == kKfdQueueComputeAql ? QueueKind::Aql : QueueKind::Sdma;
}

}  // namespace

Queues::Queues(std::span<const std::unique_ptr<Device>> devices, Buffers& buffers, Checks& checks,
               Backing& doorbells, bool polled)
    : devices_(devices),
      buffers_(buffers),
      checks_(checks),
      doorbells_(doorbells),
      polled_(polled) {
  for (usize i = 0; i < devices.size(); ++i) {
    bells_.push_back(std::make_unique<Bells>());
    for (std::atomic<i64>& bell : bells_.back()->queue) bell.store(-1, std::memory_order_relaxed);
  }
}

Queues::~Queues() { destroy_all(); }

int Queues::refuse(const Check& check, int why, std::string message) const {
  checks_.report(check, Calling::tell(std::move(message)));
  return why;
}

bool Queues::exists(u32 id) const {
  Lock lock(mutex_);
  return queues_.contains(id);
}

bool Queues::any() const {
  Lock lock(mutex_);
  return !queues_.empty();
}

std::vector<std::string> Queues::left() const {
  Lock lock(mutex_);
  std::vector<std::string> left;
  for (const auto& [id, queue] : queues_) {
    const char* const kind = queue->description.kind == QueueKind::Pm4   ? "PM4"
                             : queue->description.kind == QueueKind::Aql ? "AQL"
                                                                         : "SDMA";
    left.push_back(fmt::format("queue {} ({}) of GPU {}", id, kind, queue->gpu));
  }
  return left;
}

u32 Queues::id_of(u32 gpu, QueueId engine_id) const {
  Lock lock(mutex_);
  for (auto& [id, queue] : queues_)
    if (queue->gpu == gpu && queue->engine_id == engine_id) return id;
  return ~u32{0};
}

// The XCC on which a PM4 queue runs. [set_queue_properties_from_user(), kfd_ioctl_update_queue():
// bits 15:8]
u32 Queues::target_xcc(u32 gpu, u32 percentage) const {
  return (percentage >> 8 & 0xff) % devices_[gpu]->slot.node->xccs;
}

// [set_queue_properties_from_user()]
int Queues::judge(const KfdCreateQueue& arguments) const {
  u32 percentage = arguments.queue_percentage & 0xff;
  if (percentage > kKfdMaxQueuePercentage)
    return refuse(
        kQueueArguments, EINVAL,
        fmt::format("percentage {} of a queue, at most {}", percentage, kKfdMaxQueuePercentage));
  if (arguments.queue_priority > kKfdMaxQueuePriority)
    return refuse(kQueueArguments, EINVAL,
                  fmt::format("priority {} of a queue, at most {}", arguments.queue_priority,
                              kKfdMaxQueuePriority));
  if (arguments.ring_size && !std::has_single_bit(arguments.ring_size))
    return refuse(
        kQueueArguments, EINVAL,
        fmt::format("ring of {:#x} bytes, which is no power of two", arguments.ring_size));
  struct Pointer {
    u64 va;
    u64 bytes;
    const char* what;
    bool needed;
  };
  for (const Pointer& pointer :
       {Pointer{arguments.ring_base_address, 8, "ring", false},
        Pointer{arguments.read_pointer_address, 4, "read pointer", true},
        Pointer{arguments.write_pointer_address, 4, "write pointer", true},
        Pointer{arguments.eop_buffer_address, 4, "end-of-pipe buffer", false},
        Pointer{arguments.ctx_save_restore_address, 4, "save area", false}})
    if ((pointer.needed || pointer.va) && !access_ok(pointer.va, pointer.bytes))
      return refuse(
          kQueueArguments, EFAULT,
          fmt::format("{} at {:#x} is no address a process can have", pointer.what, pointer.va));
  if (arguments.queue_type > kKfdQueueSdmaByEngine)
    return refuse(kQueueArguments, kNotSupported,
                  fmt::format("queue type {} does not exist", arguments.queue_type));
  return 0;
}

// Which XCC a queue runs on is asked for PM4 only. [kfd_mqd_manager_v9.c init_mqd_v9_4_3():
// pm4_target_xcc]
int Queues::judge_target(u32 gpu, QueueKind kind, u32 percentage) const {
  const u32 asked = percentage >> 8, xccs = devices_[gpu]->slot.node->xccs;
  if (asked == 0 || (kind == QueueKind::Pm4 && asked < xccs)) return 0;
  return checks_.report(kUnreadArgument, Calling::tell(fmt::format(
                                             "queue_percentage is {:#x}: bits 15:8 name one of "
                                             "{} XCCs, for PM4; 31:16 nothing",
                                             percentage, xccs))) == Level::Error
             ? EINVAL
             : 0;
}

// What the kernel and the registers drop of an address.
int Queues::judge_alignment(const KfdCreateQueue& arguments) const {
  const std::pair<const char*, u64> kParts[] = {
      {"ring", arguments.ring_base_address},
      {"end-of-pipe buffer", arguments.eop_buffer_address},
      {"save area", arguments.ctx_save_restore_address},
      {"end of the save area's part", arguments.ctx_save_restore_size},
      {"control stack's end", arguments.ctl_stack_size},
  };
  for (const auto& [what, value] : kParts)
    if (value % kPage != 0 &&
        checks_.report(kQueueAlignment, Calling::tell(fmt::format("{} at {:#x}", what, value))) ==
            Level::Error)
      return EINVAL;
  return 0;
}

// [kfd_queue_acquire_buffers(): sizes]. Off stands for kernels before 6.12, which did not check.
int Queues::judge_sizes(u32 gpu, const KfdCreateQueue& arguments) const {
  if (!is_compute(arguments.queue_type) || checks_.level(kQueueSizes) == Level::Off) return 0;
  SaveAreaSizes sizes = save_area_sizes(*devices_[gpu]->slot.node);
  if (arguments.eop_buffer_address && arguments.eop_buffer_size != sizes.eop_bytes)
    return refuse(kQueueSizes, EINVAL,
                  fmt::format("end-of-pipe buffer of {:#x} bytes, the node's is {:#x}",
                              arguments.eop_buffer_size, sizes.eop_bytes));
  if (arguments.ctl_stack_size != sizes.control_stack_bytes)
    return refuse(kQueueSizes, EINVAL,
                  fmt::format("control stack of {:#x} bytes, the node's is {:#x}",
                              arguments.ctl_stack_size, sizes.control_stack_bytes));
  if (arguments.ctx_save_restore_size < sizes.bytes)
    return refuse(kQueueSizes, EINVAL,
                  fmt::format("save area of {:#x} bytes, the node wants {:#x}",
                              arguments.ctx_save_restore_size, sizes.bytes));
  return 0;
}

int Queues::hold(Queue& queue, u64 va, u64 bytes, const char* what) {
  std::string why;
  if (int failed = buffers_.acquire_for_queue(queue.gpu, va, bytes, what, why)) {
    if (checks_.level(kQueueBuffers) == Level::Off) return 0;
    return refuse(kQueueBuffers, failed, std::move(why));
  }
  queue.held.push_back(va);
  return 0;
}

// [kfd_queue_acquire_buffers(): buffers]
int Queues::hold_buffers(Queue& queue, const KfdCreateQueue& arguments) {
  if (int why = hold(queue, arguments.write_pointer_address, kPage, "write pointer")) return why;
  if (int why = hold(queue, arguments.read_pointer_address, kPage, "read pointer")) return why;
  if (int why = hold(queue, arguments.ring_base_address, queue.description.ring_bytes, "ring"))
    return why;
  if (!is_compute(arguments.queue_type)) return 0;
  if (arguments.eop_buffer_address)
    if (int why = hold(queue, arguments.eop_buffer_address, arguments.eop_buffer_size,
                       "end-of-pipe buffer"))
      return why;
  const Node& node = *devices_[queue.gpu]->slot.node;
  u64 all = (u64{arguments.ctx_save_restore_size} + save_area_sizes(node).debug_bytes) * node.xccs;
  return hold(queue, arguments.ctx_save_restore_address, all, "save area");
}

// The requested engine, or the one with the fewest queues, as allocate_sdma_queue() distributes
// them.
int Queues::choose_sdma(Queue& queue, const KfdCreateQueue& arguments) {
  const Node& node = *devices_[queue.gpu]->slot.node;
  queue.sdma = true;
  queue.xgmi = arguments.queue_type == kKfdQueueSdmaXgmi;
  u32 first = queue.xgmi ? node.sdma_engines : 0;
  u32 engines = queue.xgmi ? node.sdma_xgmi_engines : node.sdma_engines;
  if (arguments.queue_type == kKfdQueueSdmaByEngine) {
    u32 all = node.sdma_engines + node.sdma_xgmi_engines;
    if (arguments.sdma_engine_id >= all)
      return refuse(kQueueArguments, EINVAL,
                    fmt::format("SDMA engine {} of {}", arguments.sdma_engine_id, all));
    first = arguments.sdma_engine_id;
    engines = 1;
  }
  std::map<u32, bool> taken;
  for (auto& [id, other] : queues_)
    if (other->gpu == queue.gpu && other->sdma) taken[other->sdma_number] = true;
  for (u32 turn = 0; turn < node.sdma_queues_per_engine; ++turn)
    for (u32 engine = first; engine < first + engines; ++engine) {
      u32 number = engine * 16 + turn;
      if (taken.contains(number)) continue;
      queue.sdma_number = number;
      return 0;
    }
  return refuse(kQueueLife, ENOMEM,
                fmt::format("all {} SDMA queues are taken", engines * node.sdma_queues_per_engine));
}

// [allocate_doorbell()]: compute queues get the lowest free doorbell that is not routed to a copy
// engine, copy queues the one that is routed to their engine.
int Queues::choose_doorbell(Queue& queue) const {
  const Bells& bells = *bells_[queue.gpu];
  if (queue.sdma) {
    u32 engine = queue.sdma_number / 16, number = queue.sdma_number % 16;
    queue.doorbell =
        kFirstSdmaDoorbell + engine * kSdmaDoorbells / 2 + number / 2 + (number & 1 ? kMirror : 0);
    return 0;
  }
  for (u32 slot = 0; slot < kDoorbells; ++slot) {
    u32 half = slot % kMirror;
    if (half >= kFirstSdmaDoorbell) continue;
    if (bells.queue[slot].load(std::memory_order_relaxed) >= 0) continue;
    queue.doorbell = slot;
    return 0;
  }
  return refuse(kQueueLife, ENOMEM, fmt::format("no doorbell of GPU {} is free", queue.gpu));
}

void Queues::release(Queue& queue) {
  for (u64 va : queue.held) buffers_.release_from_queue(queue.gpu, va);
  queue.held.clear();
}

int Queues::create(u32 gpu, KfdCreateQueue& arguments) {
  Lock lock(mutex_);
  if (queues_.size() >= kMaxQueues)
    return refuse(kQueueLife, ENOMEM, fmt::format("{} queues exist already", queues_.size()));
  Device& device = *devices_[gpu];
  Queue queue;
  queue.gpu = gpu;
  u32 ring_bytes = arguments.ring_size;
  if (ring_bytes && ring_bytes < kKfdMinQueueRingSize) ring_bytes = kKfdMinQueueRingSize;
  QueueDescription& description = queue.description;
  description.kind = kind_of(arguments.queue_type);
  description.ring = arguments.ring_base_address;
  description.ring_bytes = ring_bytes;
  description.read_pointer = arguments.read_pointer_address;
  description.write_pointer = arguments.write_pointer_address;
  description.eop = arguments.eop_buffer_address;
  description.eop_bytes = arguments.eop_buffer_size;
  description.context_save = arguments.ctx_save_restore_address;
  description.context_save_bytes = arguments.ctx_save_restore_size;
  description.control_stack_bytes = arguments.ctl_stack_size;
  description.priority = arguments.queue_priority;
  // [create_queue_cpsch(): is_evicted = !!qpd->evicted]
  description.percentage = bells_[gpu]->evicted ? 0 : arguments.queue_percentage & 0xff;
  description.target_xcc = target_xcc(gpu, arguments.queue_percentage);
  int why = judge_target(gpu, description.kind, arguments.queue_percentage);
  if (!why) why = judge_alignment(arguments);
  if (!why) why = judge_sizes(gpu, arguments);
  if (!why) why = hold_buffers(queue, arguments);
  if (!why && !is_compute(arguments.queue_type)) why = choose_sdma(queue, arguments);
  if (!why) why = choose_doorbell(queue);
  if (why) {
    release(queue);
    return why;
  }
  u64 place = device.doorbells + queue.doorbell * u64{8};
  auto* bell = reinterpret_cast<u64*>(doorbells_.at(place));
  std::atomic_ref(*bell).store(0, std::memory_order_release);
  if (polled_) description.polled_doorbell = bell;
  // The lowest free number. [find_available_queue_slot()]
  for (auto taken = queues_.begin(); taken != queues_.end() && taken->first == queue.id; ++taken)
    ++queue.id;
  description.number = queue.id;
  CHECK(device.engine, "GPU {} has no engine", gpu);
  Result<QueueId> engine_id = device.engine->add_queue(description);
  if (!engine_id) {
    release(queue);
    return refuse(kQueueArguments, EINVAL, engine_id.error().message);
  }
  queue.engine_id = *engine_id;
  arguments.queue_id = queue.id;
  arguments.doorbell_offset = place;
  bells_[gpu]->queue[queue.doorbell].store(queue.engine_id, std::memory_order_release);
  queues_.emplace(queue.id, std::make_unique<Queue>(std::move(queue)));
  return 0;
}

// A queue that a fault or the client stopped may have unread packets.
void Queues::judge_end(const Queue& queue) const {
  const QueueDescription& description = queue.description;
  if (description.percentage == 0) return;
  const AddressSpace& space = devices_[queue.gpu]->space;
  auto load = [&](u64 va) {
    u8* host = va % 8 ? nullptr : space.at(va, 8, false);
    return host ? std::atomic_ref(*reinterpret_cast<u64*>(host)).load() : 0;
  };
  u64 read = load(description.read_pointer), written = load(description.write_pointer);
  // A PM4 queue's read pointer goes round with the ring. [kfdtest PM4Queue.cpp, RptrWhenConsumed()]
  const u64 ring = description.ring_bytes / 4;
  const bool goes_round = description.kind == QueueKind::Pm4 && ring > 0;
  const bool empty = goes_round ? (read - written) % ring == 0 : read == written;
  if (!empty)
    checks_.report(kQueueBusy, fmt::format("queue {} of GPU {} is destroyed with {:#x} read of "
                                           "{:#x} written",
                                           queue.id, queue.gpu, read, written));
}

int Queues::destroy(u32 id) {
  Lock lock(mutex_);
  auto found = queues_.find(id);
  if (found == queues_.end())
    return refuse(kQueueLife, EINVAL, fmt::format("queue {} to destroy does not exist", id));
  Queue& queue = *found->second;
  judge_end(queue);
  bells_[queue.gpu]->queue[queue.doorbell].store(-1, std::memory_order_release);
  Result<void> removed = devices_[queue.gpu]->engine->remove_queue(queue.engine_id);
  CHECK(removed.has_value(), "queue {}: {}", id, removed.error().message);
  release(queue);
  queues_.erase(found);
  return 0;
}

// [kfd_ioctl_update_queue(), pqm_update_queue()]
int Queues::update(const KfdUpdateQueue& arguments) {
  u32 percentage = arguments.queue_percentage & 0xff;
  if (percentage > kKfdMaxQueuePercentage || arguments.queue_priority > kKfdMaxQueuePriority)
    return refuse(
        kQueueArguments, EINVAL,
        fmt::format("percentage {} and priority {} of a queue, at most {} and {}", percentage,
                    arguments.queue_priority, kKfdMaxQueuePercentage, kKfdMaxQueuePriority));
  if (arguments.ring_size && !std::has_single_bit(arguments.ring_size))
    return refuse(
        kQueueArguments, EINVAL,
        fmt::format("ring of {:#x} bytes, which is no power of two", arguments.ring_size));
  Lock lock(mutex_);
  auto found = queues_.find(arguments.queue_id);
  if (found == queues_.end())
    return refuse(kQueueLife, EFAULT,
                  fmt::format("queue {} to update does not exist", arguments.queue_id));
  Queue& queue = *found->second;
  if (int why = judge_target(queue.gpu, queue.description.kind, arguments.queue_percentage))
    return why;
  QueueDescription changed = queue.description;
  bool disabled = arguments.ring_base_address == 0 || arguments.ring_size == 0;
  if (!disabled) {
    if (arguments.ring_base_address != changed.ring || arguments.ring_size != changed.ring_bytes) {
      u64 old = changed.ring;
      if (int why = hold(queue, arguments.ring_base_address, arguments.ring_size, "ring"))
        return why;
      buffers_.release_from_queue(queue.gpu, old);
      std::erase(queue.held, old);
    }
    changed.ring = arguments.ring_base_address;
    changed.ring_bytes = arguments.ring_size;
  }
  // [kfd_device_queue_manager.c update_queue(): is_evicted = !!pdd->qpd.evicted]
  changed.percentage = disabled || bells_[queue.gpu]->evicted ? 0 : percentage;
  changed.priority = arguments.queue_priority;
  changed.target_xcc = target_xcc(queue.gpu, arguments.queue_percentage);
  Result<void> updated = devices_[queue.gpu]->engine->update_queue(queue.engine_id, changed);
  if (!updated) return refuse(kQueueArguments, EINVAL, updated.error().message);
  queue.description = changed;
  if (changed.percentage == 0) save_waves(queue);
  return 0;
}

void Queues::save_waves(Queue& queue) {
  if (queue.sdma) return;
  Device& device = *devices_[queue.gpu];
  Result<std::vector<SavedContext>> saved =
      device.engine->save_waves(queue.engine_id, {.trap_registers = trap_registers});
  CHECK(saved.has_value(), "queue {}: {}", queue.id, saved.error().message);
  const bool is_gfx9 = device.slot.node->target_version < 100000;
  queue.waves.save(device.space, queue.description, is_gfx9, *saved);
}

// [pqm_get_wave_state(), kfd_device_queue_manager.c get_wave_state()]
int Queues::wave_state(KfdGetQueueWaveState& arguments) const {
  Lock lock(mutex_);
  auto found = queues_.find(arguments.queue_id);
  if (found == queues_.end())
    return refuse(kQueueLife, EFAULT,
                  fmt::format("queue {} to look at does not exist", arguments.queue_id));
  const Queue& queue = *found->second;
  if (queue.sdma || queue.description.percentage > 0)
    return refuse(kQueueArguments, EINVAL,
                  fmt::format("queue {} {}", queue.id,
                              queue.sdma ? "is a copy engine's, which has no waves"
                                         : "runs: its waves are saved when its percentage is 0"));
  return queue.waves.tell(queue.description, arguments);
}

int Queues::set_cu_mask(u32 id) {
  if (exists(id)) return 0;
  return refuse(kQueueLife, EFAULT, fmt::format("queue {} to mask does not exist", id));
}

// One queue of a process allocates the GPU's global wave sync, and all its queues may use it.
// [kfd_ioctl_alloc_queue_gws(), pqm_set_gws()]
int Queues::set_wave_sync(u32 id, bool wanted) {
  Lock lock(mutex_);
  auto found = queues_.find(id);
  if (found == queues_.end())
    return refuse(kQueueLife, EINVAL,
                  fmt::format("queue {} to have global wave sync does not exist", id));
  Queue& queue = *found->second;
  const Queue* owner = nullptr;
  for (auto& [other_id, other] : queues_)
    if (other->gpu == queue.gpu && other->wave_sync) owner = other.get();
  if (wanted && owner)
    return refuse(
        kQueueArguments, EBUSY,
        fmt::format("queue {} is to have global wave sync, which queue {} has", id, owner->id));
  if (!wanted && owner != &queue)
    return refuse(kQueueArguments, EINVAL,
                  fmt::format("queue {} has no global wave sync to give back", id));
  queue.wave_sync = wanted;
  queue.description.wave_sync = wanted && has_wave_sync(*devices_[queue.gpu]->slot.node);
  Result<void> updated =
      devices_[queue.gpu]->engine->update_queue(queue.engine_id, queue.description);
  return updated ? 0 : EINVAL;
}

void Queues::evict(u32 gpu) {
  Lock lock(mutex_);
  bells_[gpu]->evicted = true;
  for (auto& [id, queue] : queues_) {
    if (queue->gpu != gpu) continue;
    queue->description.percentage = 0;
    // A queue that cannot be stopped has stopped already.
    static_cast<void>(devices_[gpu]->engine->update_queue(queue->engine_id, queue->description));
    save_waves(*queue);
  }
}

usize Queues::destroy_all() {
  std::vector<u32> left;
  {
    Lock lock(mutex_);
    for (auto& [id, queue] : queues_) left.push_back(id);
  }
  for (u32 id : left) destroy(id);
  return left.size();
}

u64 Queues::doorbell(u32 gpu, u64 offset) const {
  const auto* bell =
      reinterpret_cast<u64*>(doorbells_.at(devices_[gpu]->doorbells + (offset & ~u64{7})));
  return std::atomic_ref(*const_cast<u64*>(bell)).load(std::memory_order_acquire);
}

void Queues::ring(u32 gpu, u64 offset, unsigned bytes, u64 value) {
  u64 slot = offset / 8;
  i64 queue = slot < kDoorbells ? bells_[gpu]->queue[slot].load(std::memory_order_acquire) : -1;
  if (queue < 0) {
    checks_.report(kDoorbellOfNobody,
                   fmt::format("doorbell at {:#x} of GPU {} belongs to no queue, {:#x} "
                               "is stored",
                               offset, gpu, value));
    return;
  }
  auto* bell = reinterpret_cast<u64*>(doorbells_.at(devices_[gpu]->doorbells + slot * 8));
  std::atomic_ref(*bell).store(value, std::memory_order_release);
  devices_[gpu]->engine->ring(static_cast<QueueId>(queue), value, bytes);
}

}  // namespace doorbell::emu::amdgpu
