// The ioctls of /dev/kfd: each reads its arguments, calls the process's objects, and writes the
// results. Errnos and their order follow the function of the same name in
// drivers/gpu/drm/amd/amdkfd/kfd_chardev.c.
#include <algorithm>
#include <cerrno>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "drivers/amd/hw/ioctl_text.h"
#include "drivers/amd/hw/kfd.h"
#include "emulator/amd/kfd/calling.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/core/user_memory.h"

namespace doorbell::emu::amdgpu {
namespace {

using namespace amd::hw;

// [kfd_flat_memory.c kfd_init_apertures_v9()]
constexpr u64 kLdsBase = u64{1} << 48, kScratchBase = u64{2} << 48, kApertureSize = u64{1} << 32;
// Where the oldest clients map the driver's own page of slots, which is not emulated.
// [kfd_priv.h KFD_MMAP_TYPE_EVENTS]
constexpr u64 kEventsMmapOffset = u64{2} << 62;
constexpr u64 kGpuVmBase = u64{2} << 20, kGpuVmLimit = (u64{1} << 47) - 1;

class Handlers {
 public:
  explicit Handlers(Kfd& kfd) : kfd_(kfd) {}

  int operator()(KfdGetVersion& a) {
    a.major_version = kKfdMajor;
    a.minor_version = kKfdMinor;
    return 0;
  }

  int operator()(KfdAcquireVm& a) {
    int gpu = kfd_.gpu_index(a.gpu_id);
    if (gpu < 0) return no_gpu(a.gpu_id);
    const int descriptor = static_cast<int>(a.drm_fd);
    switch (kfd_.acquire(static_cast<u32>(gpu), descriptor)) {
      case Kfd::Acquired::OtherNode:
        return refuse(EINVAL, fmt::format("descriptor {} is not the render node of GPU {:#x}",
                                          descriptor, a.gpu_id));
      case Kfd::Acquired::Before:
        return refuse(EBUSY, fmt::format("the VM of GPU {:#x} is that of another open of its node "
                                         "than descriptor {}",
                                         a.gpu_id, descriptor));
      case Kfd::Acquired::TooManyFiles:
        return refuse(EMFILE, fmt::format("no descriptor is left to keep {} of GPU {:#x} open",
                                          descriptor, a.gpu_id));
      case Kfd::Acquired::Now: break;
    }
    return 0;
  }

  int operator()(KfdRuntimeEnable& a) {
    constexpr u32 kModes = kKfdRuntimeEnable | kKfdRuntimeTtmpSave;
    if ((a.mode_mask & ~kModes) != 0 &&
        judge(kUnknownFlags,
              fmt::format("mode mask {:#x}, of which {:#x} are modes", a.mode_mask, kModes)))
      return EINVAL;
    u64 word = 0;
    if (a.r_debug != 0 && !copy_in(&word, a.r_debug, sizeof word) &&
        judge(kUnknownFlags,
              fmt::format("r_debug at {:#x} is no memory of the process", a.r_debug)))
      return EFAULT;
    bool enable = (a.mode_mask & kKfdRuntimeEnable) != 0;
    if (!enable) {
      kfd_.runtime_enabled = kfd_.queues().trap_registers = false;
      return 0;
    }
    if (kfd_.runtime_enabled) return early_or_late(EBUSY, "a second time");
    if (kfd_.queues().any()) return early_or_late(EEXIST, "when there are queues");
    kfd_.runtime_enabled = true;
    kfd_.queues().trap_registers = (a.mode_mask & kKfdRuntimeTtmpSave) != 0;
    const auto& devices = kfd_.devices();
    if (std::none_of(devices.begin(), devices.end(),
                     [](const auto& d) { return d->acquired.load(); }))
      return early_or_late(0, "before any ACQUIRE_VM");
    return 0;
  }

  int operator()(KfdGetProcessApertures& a) {
    a.num_of_nodes = 0;
    for (const auto& device : kfd_.devices()) {
      if (a.num_of_nodes == kKfdApertureNodes) break;
      a.process_apertures[a.num_of_nodes++] = apertures(*device);
    }
    return 0;
  }

  int operator()(KfdGetProcessAperturesNew& a) {
    if (a.num_of_nodes == 0) {
      a.num_of_nodes = static_cast<u32>(kfd_.devices().size());
      return 0;
    }
    u32 filled = 0;
    for (const auto& device : kfd_.devices()) {
      if (filled == a.num_of_nodes) break;
      KfdProcessDeviceApertures entry = apertures(*device);
      if (!copy_out(a.kfd_process_device_apertures_ptr + filled * sizeof entry, &entry,
                    sizeof entry))
        return EFAULT;
      ++filled;
    }
    a.num_of_nodes = filled;
    return 0;
  }

  int operator()(KfdGetClockCounters& a) {
    if (a.gpu_id != 0 && kfd_.gpu_index(a.gpu_id) < 0 &&
        judge(kUnknownFlags, fmt::format("no GPU has id {:#x}", a.gpu_id)))
      return EINVAL;
    u64 now = kfd_.now_ns();
    a.gpu_clock_counter = kfd_.gpu_index(a.gpu_id) < 0 ? 0 : now / 10;  // 100 MHz
    a.cpu_clock_counter = a.system_clock_counter = now;
    a.system_clock_freq = 1'000'000'000;
    return 0;
  }

  int operator()(KfdSetMemoryPolicy& a) {
    for (u32 policy : {a.default_policy, a.alternate_policy})
      if (policy > kKfdCachePolicyNoncoherent)
        return refuse(EINVAL, fmt::format("cache policy {} does not exist", policy));
    return bound(a.gpu_id, ESRCH);
  }
  int operator()(KfdSetTrapHandler& a) { return bound(a.gpu_id, ESRCH); }
  int operator()(KfdSetScratchBackingVa& a) { return bound(a.gpu_id, ENODEV); }

  int operator()(KfdGetTileConfig& a) {
    if (kfd_.gpu_index(a.gpu_id) < 0) return no_gpu(a.gpu_id);
    // Tile modes exist up to gfx8; the arrays are filled with zeros.
    a.gb_addr_config = 0x545;
    a.num_banks = a.num_ranks = 0;
    a.num_tile_configs = std::min(a.num_tile_configs, 32u);
    a.num_macro_tile_configs = std::min(a.num_macro_tile_configs, 16u);
    u32 zeros[32] = {};
    if (!copy_out(a.tile_config_ptr, zeros, a.num_tile_configs * sizeof(u32)) ||
        !copy_out(a.macro_tile_config_ptr, zeros, a.num_macro_tile_configs * sizeof(u32)))
      return EFAULT;
    return 0;
  }

  int operator()(KfdSetXnackMode& a) {
    if (a.xnack_enabled > 0) {  // none of these GPUs retries faults
      Calling::expect_failure();
      return EPERM;
    }
    a.xnack_enabled = 0;
    return 0;
  }

  int operator()(KfdSmiEvents&) { return missing("SMI_EVENTS"); }
  int operator()(KfdGetQueueWaveState& a) { return kfd_.queues().wave_state(a); }
  int operator()(KfdAllocQueueGws& a) {
    if (int why = kfd_.queues().set_wave_sync(a.queue_id, a.num_gws != 0)) return why;
    a.first_gws = 0;
    return 0;
  }

  // ---- memory ----

  int operator()(KfdAvailableMemory& a) {
    int gpu = kfd_.gpu_index(a.gpu_id);
    if (gpu < 0) return no_gpu(a.gpu_id);
    a.available = kfd_.buffers().available(static_cast<u32>(gpu));
    return 0;
  }

  int operator()(KfdAllocMemory& a) {
    if (a.size == 0) return refuse(EINVAL, "0 bytes of memory");
    if (int why = bound(a.gpu_id, ENODEV)) return why;
    AllocateRequest request{.gpu = static_cast<u32>(kfd_.gpu_index(a.gpu_id)),
                            .va = a.va_addr,
                            .bytes = a.size,
                            .flags = a.flags,
                            .user_va = a.mmap_offset,
                            .ioctl = kfd_.ioctl_number()};
    return kfd_.buffers().allocate(request, a.handle, a.mmap_offset);
  }

  int operator()(KfdFreeMemory& a) {
    if (int why = judge_handle(a.handle)) return why;
    return kfd_.buffers().free(a.handle, kfd_.ioctl_number());
  }

  int operator()(KfdMapMemory& a) {
    return each_gpu(
        a, [&](u32 gpu) { return kfd_.buffers().map(a.handle, gpu, kfd_.ioctl_number()); });
  }
  int operator()(KfdUnmapMemory& a) {
    return each_gpu(
        a, [&](u32 gpu) { return kfd_.buffers().unmap(a.handle, gpu, kfd_.ioctl_number()); });
  }

  int operator()(KfdExportDmabuf& a) {
    int descriptor = -1;
    if (int why = kfd_.buffers().export_descriptor(a.handle, a.flags, descriptor)) return why;
    a.dmabuf_fd = static_cast<u32>(descriptor);
    return 0;
  }

  int operator()(KfdImportDmabuf& a) {
    if (int why = bound(a.gpu_id, ENODEV)) return why;
    return kfd_.buffers().import_descriptor(static_cast<int>(a.dmabuf_fd),
                                            static_cast<u32>(kfd_.gpu_index(a.gpu_id)), a.va_addr,
                                            kfd_.ioctl_number(), a.handle);
  }

  int operator()(KfdGetDmabufInfo& a) {
    u32 gpu = 0;
    int why = kfd_.buffers().descriptor_info(static_cast<int>(a.dmabuf_fd), gpu, a.size, a.flags);
    if (why) return why;
    a.gpu_id = kfd_.devices()[gpu]->slot.gpu_id();
    a.metadata_size = 0;
    return 0;
  }

  // ---- queues ----

  int operator()(KfdCreateQueue& a) {
    if (int why = kfd_.queues().judge(a)) return why;
    if (int why = judge_unread(a)) return why;
    if (int why = bound(a.gpu_id, ESRCH)) return why;
    return kfd_.queues().create(static_cast<u32>(kfd_.gpu_index(a.gpu_id)), a);
  }
  int operator()(KfdDestroyQueue& a) { return kfd_.queues().destroy(a.queue_id); }
  int operator()(KfdUpdateQueue& a) { return kfd_.queues().update(a); }
  int operator()(KfdSetCuMask& a) {
    if (a.num_cu_mask % 32 || a.num_cu_mask == 0)
      return refuse(EINVAL, fmt::format("a mask of {} compute units, expected a multiple of 32",
                                        a.num_cu_mask));
    u32 mask[32];
    if (!copy_in(mask, a.cu_mask_ptr, std::min(a.num_cu_mask / 32, 32u) * sizeof(u32)))
      return EFAULT;
    return kfd_.queues().set_cu_mask(a.queue_id);
  }

  // ---- events ----

  int operator()(KfdCreateEvent& a) {
    if (a.event_type > kKfdEventMemory &&
        judge(kUnknownFlags,
              fmt::format("event type {}, the last is {}", a.event_type, kKfdEventMemory)))
      return EINVAL;
    // Node 0 is the processor's.
    if (a.node_id > kfd_.devices().size() &&
        judge(kUnknownFlags, fmt::format("node {} out of range ({} present)", a.node_id,
                                         kfd_.devices().size() + 1)))
      return EINVAL;
    if (int why = judge_truth("auto_reset", a.auto_reset)) return why;
    if (a.event_page_offset) {
      u8* host = nullptr;
      u64 bytes = 0;
      if (int why = kfd_.buffers().event_page(a.event_page_offset, host, bytes)) return why;
      if (int why = kfd_.events().set_page(host, bytes)) return why;
      kfd_.buffers().keep_for_events(a.event_page_offset);
    }
    a.event_page_offset = 0;
    if (int why = kfd_.events().create(a.event_type, a.auto_reset != 0, a.event_id)) return why;
    a.event_trigger_data = a.event_id;
    if (a.event_type == kKfdEventSignal || a.event_type == kKfdEventDebug) {
      a.event_slot_index = a.event_id;
      a.event_page_offset = kEventsMmapOffset;
    }
    return 0;
  }
  int operator()(KfdDestroyEvent& a) { return kfd_.events().destroy(a.event_id); }
  int operator()(KfdSetEvent& a) { return kfd_.events().set(a.event_id); }
  int operator()(KfdResetEvent& a) { return kfd_.events().reset(a.event_id); }

  int operator()(KfdWaitEvents& a) {
    constexpr u32 kMax = 1 << 16;
    a.wait_result = kKfdWaitFail;
    if (int why = judge_truth("wait_for_all", a.wait_for_all)) return why;
    if (a.num_events > kMax)
      return refuse(ENOMEM, fmt::format("{} events, at most {}", a.num_events, kMax));
    std::vector<KfdEventData> data(a.num_events);
    std::vector<EventWait> waits(a.num_events);
    usize bytes = data.size() * sizeof(KfdEventData);
    if (!copy_in(data.data(), a.events_ptr, bytes)) return EFAULT;
    for (usize i = 0; i < data.size(); ++i) {
      waits[i].id = data[i].event_id;
      waits[i].last_age = data[i].last_event_age;
    }
    WaitResult result = WaitResult::Fail;
    int why = kfd_.events().wait(waits, a.wait_for_all != 0, a.timeout, result);
    a.wait_result = static_cast<u32>(result);
    if (why || result != WaitResult::Complete) return why;
    for (usize i = 0; i < data.size(); ++i)
      if (!copy_event(a.events_ptr + i * sizeof(KfdEventData), waits[i])) return EFAULT;
    return 0;
  }

 private:
  int refuse(int why, std::string message) {
    kfd_.checks().report(kProcess, Calling::tell(std::move(message)));
    return why;
  }
  // True: the call is to fail, although the kernel lets it pass.
  bool judge(const Check& check, std::string message) {
    return kfd_.checks().report(check, Calling::tell(std::move(message))) == Level::Error;
  }
  int judge_truth(const char* name, u32 value) {
    return value > 1 && judge(kUnreadArgument, fmt::format("{} is {}", name, value)) ? EINVAL : 0;
  }
  int judge_unread(const KfdCreateQueue& a) {
    // ROCr 6.4 sets all ones where it asks for no engine of its own. [libhsakmt queues.c
    // hsaKmtCreateQueueExt(): sdma_engine_id = SdmaEngineId, whatever the type]
    constexpr u32 kAnyEngine = ~u32{0};
    if (a.queue_type != kKfdQueueSdmaByEngine && a.sdma_engine_id != 0 &&
        a.sdma_engine_id != kAnyEngine &&
        judge(kUnreadArgument, fmt::format("sdma_engine_id {} of a queue of type {}",
                                           a.sdma_engine_id, a.queue_type)))
      return EINVAL;
    const bool has_none = a.queue_type == kKfdQueueSdma || a.queue_type == kKfdQueueSdmaXgmi;
    const u64 given = a.eop_buffer_address | a.eop_buffer_size | a.ctx_save_restore_address |
                      a.ctx_save_restore_size | a.ctl_stack_size;
    return has_none && given != 0 &&
                   judge(kUnreadArgument, "a copy queue with an end-of-pipe buffer or a save area")
               ? EINVAL
               : 0;
  }
  int early_or_late(int why, const char* when) {
    kfd_.checks().report(kRuntimeOrder, Calling::tell(fmt::format("it comes {}", when)));
    return why;
  }
  int no_gpu(u32 gpu_id) { return refuse(EINVAL, fmt::format("no GPU has id {:#x}", gpu_id)); }
  // The handle's upper half is the id of its GPU.
  int judge_handle(u64 handle) {
    const u32 gpu_id = static_cast<u32>(handle >> 32);
    if (kfd_.gpu_index(gpu_id) >= 0) return 0;
    return refuse(
        EINVAL, fmt::format("handle {:#x} is of GPU {:#x}, which does not exist", handle, gpu_id));
  }
  int missing(const char* name) {
    kfd_.checks().report(kNotEmulated, fmt::format("{} is not emulated", name), Level::Warn);
    Calling::expect_failure();
    return EINVAL;
  }

  // [kfd_bind_process_to_device()]
  int bound(u32 gpu_id, int unbound) {
    int gpu = kfd_.gpu_index(gpu_id);
    if (gpu < 0) return no_gpu(gpu_id);
    if (kfd_.devices()[static_cast<usize>(gpu)]->acquired) return 0;
    return refuse(unbound, fmt::format("GPU {:#x} is used before ACQUIRE_VM", gpu_id));
  }

  static KfdProcessDeviceApertures apertures(const Device& device) {
    return {.lds_base = kLdsBase,
            .lds_limit = kLdsBase + kApertureSize - 1,
            .scratch_base = kScratchBase,
            .scratch_limit = kScratchBase + kApertureSize - 1,
            .gpuvm_base = kGpuVmBase,
            .gpuvm_limit = kGpuVmLimit,
            .gpu_id = device.slot.gpu_id()};
  }

  template <class Arguments, class Each>
  int each_gpu(Arguments& a, Each each) {
    if (int why = judge_handle(a.handle)) return why;
    if (a.n_devices == 0) return refuse(EINVAL, "memory is mapped to no GPU");
    if (a.n_success > a.n_devices)
      return refuse(EINVAL,
                    fmt::format("{} of {} GPUs are mapped already", a.n_success, a.n_devices));
    constexpr u32 kMax = 1 << 16;
    if (a.n_devices > kMax)
      return refuse(ENOMEM, fmt::format("a list of {} GPUs, at most {}", a.n_devices, kMax));
    std::vector<u32> ids(a.n_devices);
    if (!copy_in(ids.data(), a.device_ids_array_ptr, ids.size() * sizeof(u32))) return EFAULT;
    if (!kfd_.buffers().exists(a.handle))
      return refuse(ENOMEM, fmt::format("handle {:#x} does not exist", a.handle));
    for (u32 i = a.n_success; i < a.n_devices; ++i) {
      if (int why = bound(ids[i], ENODEV)) return why;
      if (int why = each(static_cast<u32>(kfd_.gpu_index(ids[i])))) return why;
      a.n_success = i + 1;
    }
    return 0;
  }

  // Only the data for the event's type, as copy_signaled_event_data() does.
  static bool copy_event(u64 user, const EventWait& wait) {
    if (!wait.activated) return true;
    if (wait.type == EventType::Memory) {
      KfdMemoryException out{.not_present = wait.memory.not_present,
                             .read_only = wait.memory.read_only,
                             .no_execute = wait.memory.no_execute,
                             .imprecise = wait.memory.imprecise,
                             .va = wait.memory.va,
                             .gpu_id = wait.memory.gpu_id};
      return copy_out(user, &out, sizeof out);
    }
    if (wait.type == EventType::HwException) {
      KfdHwException out{.reset_type = wait.hardware.reset_type,
                         .reset_cause = wait.hardware.reset_cause,
                         .memory_lost = wait.hardware.memory_lost,
                         .gpu_id = wait.hardware.gpu_id};
      return copy_out(user, &out, sizeof out);
    }
    if (wait.type == EventType::Signal && wait.last_age)
      return copy_out(user, &wait.last_age, sizeof wait.last_age);
    return true;
  }

  Kfd& kfd_;
};

// Whether the call is to fail for its padding.
template <class T>
bool judge_padding(Kfd& kfd, const T& arguments) {
  bool fails = false;
  T::fields(arguments, [&](const char* field, const auto& value) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>)
      if (std::string_view(field) == "pad" && value != 0)
        fails |=
            kfd.checks().report(kUnreadArgument,
                                Calling::tell(fmt::format("pad is {:#x}", value))) == Level::Error;
  });
  return fails;
}

template <class T>
void trace_call(Kfd& kfd, const T& arguments, int why, u64 began_ns) {
  if (!kfd.trace() || !kfd.trace()->enabled()) return;
  const IoctlText call = ioctl_text(arguments, why, kfd.traced_pointers());
  kfd.trace()->write(
      {.kind = "ioctl", .text = call.text, .fields = call.fields, .began_ns = began_ns});
}

// [kfd_ioctl(): as many bytes as the request says, the rest zero]
template <class T>
int run(Kfd& kfd, u32 request, u64 user) {
  T arguments{};
  usize size = std::min<usize>(request >> 16 & 0x3fff, sizeof(T));
  constexpr bool kIn =
      T::kDirection == IoctlDirection::Write || T::kDirection == IoctlDirection::ReadWrite;
  constexpr bool kOut =
      T::kDirection == IoctlDirection::Read || T::kDirection == IoctlDirection::ReadWrite;
  const Calling calling(T::kName);
  int why = EFAULT;
  if (!kIn || copy_in(&arguments, user, size)) {
    const u64 began_ns = kfd.trace() && kfd.trace()->enabled() ? kfd.trace()->now_ns() : 0;
    why = kIn && judge_padding(kfd, arguments) ? EINVAL : Handlers(kfd)(arguments);
    trace_call(kfd, arguments, why, began_ns);
    if (kOut && !copy_out(user, &arguments, size)) why = EFAULT;
  }
  calling.judge(kfd.checks(), why);
  return why;
}

}  // namespace

int Kfd::ioctl(u32 request, u64 argument) {
  next_ioctl();
  bool found = false;
  // As in kernels when version 1.17 was new; since 2026 they return ENOTTY. [Linux 57af162bfc8c]
  int why = EINVAL;
  for_each_kfd_ioctl([&](auto example) {
    using T = decltype(example);
    if (found || T::kNumber != (request & 0xff)) return;
    found = true;
    why = run<T>(*this, request, argument);
  });
  // Ioctls that the kernel has and the emulator lacks are reported; unknown ones fail as in the
  // kernel.
  constexpr u32 kEnd = 0x27;  // AMDKFD_COMMAND_END
  if (!found && (request & 0xff) < kEnd)
    checks().report(kNotEmulated, fmt::format("ioctl {:#x} of /dev/kfd is not emulated", request),
                    Level::Warn);
  return why;
}

}  // namespace doorbell::emu::amdgpu
