// Assembles the process's objects, and delivers interrupts to events.
#include "emulator/amd/kfd/kfd.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fmt/format.h>

#include "base/util/check.h"
#include "base/util/try.h"
#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u64 kDoorbellBytes = 8192, kRegisterBytes = 4096;

// Whether both descriptors are copies of one open file; true if the kernel does not tell.
bool same_open(int one, int other) {
  const long answer = syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, one, other);
  return answer <= 0;
}

}  // namespace

class Kfd::GpuInterrupts final : public Interrupts {
 public:
  GpuInterrupts(Kfd& kfd, u32 gpu) : kfd_(kfd), gpu_(gpu) {}

  void signal(u32 context_id, unsigned valid_bits) override {
    write("interrupt", ~QueueId{0}, fmt::format("context_id={:#x}", context_id));
    if (!is_dropped(context_id, valid_bits)) kfd_.events_->interrupt(context_id, valid_bits);
  }

  // The kernel unmaps the process's queues on the GPU, then signals the event.
  // [kfd_int_process_v11.c event_interrupt_wq_v11(): kfd_dqm_evict_pasid(),
  //  kfd_signal_vm_fault_event()]
  void memory_fault(const MemoryFault& fault) override {
    Device& device = *kfd_.devices_[gpu_];
    const std::string message = fmt::format(
        "GPU {}, queue {}: {} at {:#x}{}: {}; {}", gpu_, queue_name(fault.queue),
        fault.not_present ? "nothing is mapped" : "the mapping does not allow it", fault.va,
        fault.read_only    ? ", a write"
        : fault.no_execute ? ", a fetch"
                           : "",
        fault.what, device.space.describe(fault.va));
    write("fault", fault.queue, message);
    keep(message);
    if (kfd_.checks().report(kVmAccess, message) != Level::Error)
      kfd_.checks().report(kQueueStopped, message + "; the queue has stopped");
    kfd_.queues_->evict(gpu_);
    kfd_.events_->memory_exception({.gpu_id = device.slot.gpu_id(),
                                    .va = fault.va & ~u64{4095},
                                    .not_present = fault.not_present,
                                    .read_only = fault.read_only,
                                    .no_execute = fault.no_execute,
                                    .imprecise = fault.imprecise});
  }

  // The scheduler cannot unmap the queue from the hardware, and resets the GPU.
  // [kfd_events.c kfd_signal_reset_event()]
  // For a wave's illegal instruction the kernel writes "sq_intr: error" into its log and finds no
  // slot for the interrupt; its own trap handler has halted the wave.
  // [kfd_int_process_v11.c event_interrupt_wq_v11(), SQ_INTERRUPT_WORD_ENCODING_ERROR;
  //  cwsr_trap_handler_gfx10.asm L_NO_NEXT_TRAP, "halt wave to prevent re-entry"]
  void hw_exception(const HwException& exception) override {
    Device& device = *kfd_.devices_[gpu_];
    const std::string message =
        fmt::format("GPU {}, {}; the queue has stopped", gpu_, exception.what);
    write("fault", exception.queue, message);
    keep(message);
    if (!exception.judged) kfd_.checks().report(kQueueStopped, message);
    const bool is_wave = exception.cause == HwException::Cause::Instruction;
    if (exception.told || (is_wave && kfd_.options_.silent_waves)) return;
    kfd_.queues_->evict(gpu_);
    kfd_.events_->hardware_exception({.gpu_id = device.slot.gpu_id(), .memory_lost = true});
  }

 private:
  // End-of-pipe interrupts that the kernel's handler drops before it checks the slots: those
  // without a context on gfx9, where firmware sends spurious ones, and those marked as the
  // scheduler's from gfx11 on. [Linux kfd_int_process_v9.c event_interrupt_isr_v9(),
  // context_id_expected(): from GC 9.4.1 on; kfd_int_process_v11.c event_interrupt_isr_v11(),
  // AMDGPU_FENCE_MES_QUEUE_FLAG; kfd_int_process_v10.c drops none]
  bool is_dropped(u32 context_id, unsigned valid_bits) const {
    constexpr u32 kSchedulersFlag = 0x100'0000;
    constexpr unsigned kEndOfPipeBits = 32;
    if (valid_bits != kEndOfPipeBits) return false;
    const u32 target = kfd_.devices_[gpu_]->slot.node->target_version;
    if (target < 100000) return context_id == 0;
    return target >= 110000 && (context_id & kSchedulersFlag) != 0;
  }

  void keep(std::string message) {
    std::lock_guard lock(kfd_.faults_mutex_);
    kfd_.faults_[gpu_] = std::move(message);
  }

  std::string queue_name(QueueId id) const {
    u32 number = kfd_.queues_->id_of(gpu_, id);
    return number == ~u32{0} ? "?" : std::to_string(number);
  }

  void write(std::string_view kind, QueueId queue, std::string_view text) {
    if (!kfd_.trace() || !kfd_.trace()->enabled()) return;
    u32 number = queue == ~QueueId{0} ? ~u32{0} : kfd_.queues_->id_of(gpu_, queue);
    kfd_.trace()->write({.kind = kind,
                         .gpu = static_cast<int>(gpu_),
                         .queue = static_cast<int>(number),
                         .text = text});
  }

  Kfd& kfd_;
  u32 gpu_;
};

Kfd::Kfd(KfdOptions options)
    : options_(std::move(options)),
      render_files_(options_.slots.size(), -1),
      faults_(options_.slots.size()) {}

std::string Kfd::last_fault(u32 gpu_id) const {
  const int gpu = gpu_index(gpu_id);
  std::lock_guard lock(faults_mutex_);
  return gpu < 0 ? std::string() : faults_[static_cast<usize>(gpu)];
}

Result<std::unique_ptr<Kfd>> Kfd::create(KfdOptions options) {
  CHECK(options.checks, "a machine has checks");
  if (options.slots.empty()) return fail(ErrorKind::Invalid, "a machine needs a GPU");
  if (options.slots.size() > 31)
    return fail(ErrorKind::Invalid, "{} GPUs, at most 31", options.slots.size());
  std::unique_ptr<Kfd> kfd(new Kfd(std::move(options)));
  TRY(kfd->doorbell_memory_, Backing::create(u64{1} << 24));
  for (const Slot& slot : kfd->options_.slots) {
    auto device = std::make_unique<Device>();
    device->slot = slot;
    // All that can be allocated, and half as much for what lies between it.
    const u64 most = slot.node->vram_bytes + kGttBytes;
    TRY(device->memory, Backing::create(std::min(Backing::kDefaultBytes, most + most / 2)));
    TRY(device->doorbells, kfd->doorbell_memory_->allocate(kDoorbellBytes, kDoorbellBytes));
    TRY(device->registers, kfd->doorbell_memory_->allocate(kRegisterBytes, kDoorbellBytes));
    kfd->files_.push_back(file_id(device->memory->descriptor()));
    kfd->devices_.push_back(std::move(device));
  }
  kfd->files_.push_back(file_id(kfd->doorbell_memory_->descriptor()));
  kfd->events_ = std::make_unique<Events>(kfd->checks());
  kfd->buffers_ = std::make_unique<Buffers>(kfd->devices_, kfd->checks(), kfd->options_.undefined,
                                            kfd->options_.races);
  kfd->queues_ = std::make_unique<Queues>(kfd->devices_, *kfd->buffers_, kfd->checks(),
                                          *kfd->doorbell_memory_, kfd->options_.polled_doorbells);
  for (u32 gpu = 0; gpu < kfd->devices_.size(); ++gpu)
    kfd->interrupts_.push_back(std::make_unique<GpuInterrupts>(*kfd, gpu));
  return kfd;
}

Kfd::~Kfd() {
  if (events_) events_->shut_down();
  for (int file : render_files_)
    if (file >= 0) close(file);
}

// [kfd_ioctl_acquire_vm(), kfd_process_device_init_vm()]
Kfd::Acquired Kfd::acquire(u32 gpu, int descriptor) {
  std::lock_guard lock(acquire_mutex_);
  int& file = render_files_[gpu];
  if (file >= 0 && fcntl(descriptor, F_GETFD) >= 0)
    return same_open(file, descriptor) ? Acquired::Now : Acquired::Before;
  if (node_of(descriptor) != static_cast<int>(gpu)) return Acquired::OtherNode;
  file = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (file < 0) return Acquired::TooManyFiles;
  devices_[gpu]->acquired = true;
  return Acquired::Now;
}

Interrupts& Kfd::interrupts(u32 gpu) { return *interrupts_.at(gpu); }

u64 Kfd::now_ns() const {
  if (options_.now_ns) return options_.now_ns();
  return static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
}

Kfd::FileId Kfd::file_id(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return {0, 0};
  return {static_cast<u64>(status.st_dev), static_cast<u64>(status.st_ino)};
}

int Kfd::node_of(int descriptor) const {
  const FileId file = file_id(descriptor);
  for (usize i = 0; file.second && i < files_.size(); ++i)
    if (files_[i] == file) return i < devices_.size() ? static_cast<int>(i) : kKfdNode;
  return kNoNode;
}

// [drm_gem_mmap(), ttm_bo_mmap_obj(), kfd_mmap(), kfd_doorbell_mmap(), kfd_mmio_mmap()]
int Kfd::judge_map(int node, const MapCall& call) {
  const u64 bytes = (call.bytes + 4095) & ~u64{4095};
  const auto refuse = [&](int why, std::string_view reason) {
    checks().report(kHostMap, fmt::format("mmap of {:#x} bytes of {} at {:#x}: {}", call.bytes,
                                          node < 0 ? std::string("/dev/kfd")
                                                   : fmt::format("the render node of GPU {}", node),
                                          call.offset, reason));
    return why;
  };
  if (node >= 0) {
    if (!buffers_->mappable(static_cast<u32>(node), call.offset, bytes))
      return refuse(EINVAL, "no buffer of that size begins there");
    return call.is_copy ? refuse(EINVAL, "memory of a GPU cannot be mapped privately") : 0;
  }
  // The kernel's own page of event slots, which is not emulated. [kfd_priv.h KFD_MMAP_TYPE_EVENTS]
  constexpr u64 kTypes = u64{3} << 62, kEvents = u64{2} << 62;
  if ((call.offset & kTypes) == kEvents)
    return refuse(EINVAL, "the driver's own page of event slots is not emulated");
  for (const auto& device : devices_) {
    if (device->doorbells != call.offset && device->registers != call.offset) continue;
    const u64 all = device->doorbells == call.offset ? kDoorbellBytes : kRegisterBytes;
    if (bytes == all) return 0;
    return refuse(EINVAL, fmt::format("all {:#x} bytes are mapped at once", all));
  }
  return refuse(ENODEV, "no GPU has its doorbells or registers there");
}

int Kfd::gpu_index(u32 gpu_id) const {
  for (usize i = 0; i < devices_.size(); ++i)
    if (devices_[i]->slot.gpu_id() == gpu_id) return static_cast<int>(i);
  return -1;
}

}  // namespace doorbell::emu::amdgpu
