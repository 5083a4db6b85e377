// Files and the calls that are not about queues or events.
#include "drivers/amd/kernel/pci/pci_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/file_tree.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/amd/kernel/text_file.h"
#include "drivers/amd/kernel/usb/shadow_memory.h"
#include "drivers/amd/kernel/usb/usb_files.h"

namespace doorbell::amd {
namespace {

constexpr u16 kVendor = 0x1002;
constexpr u32 kDisplay = 3, kProcessingAccelerator = 0x12;  // classes of PCI
constexpr u32 kFirstRenderMinor = 128;
constexpr const char* kRender = "/dev/dri/renderD";
// The offset of a doorbell names the GPU: KfdGpu takes 8192 bytes of them at once.
constexpr u64 kDoorbellStride = u64{1} << 32;

std::string text_of(const hw::NodeProperties& properties) {
  std::string text;
  hw::NodeProperties::fields(properties, [&](const char* name, const u64& value) {
    text += fmt::format("{} {}\n", name, value);
  });
  return text;
}

}  // namespace

// /dev/kfd (gpu < 0) or a render node; its descriptor says which GPU's.
class PciKernel::Node final : public os::File {
 public:
  Node(PciKernel& kernel, int gpu) : kernel_(kernel), gpu_(gpu) {}
  Result<usize> read_at(u64, std::span<u8>) override { return fail_errno(EINVAL, "read a node"); }
  Result<void> write_at(u64, std::span<const u8>) override {
    return fail_errno(EINVAL, "write a node");
  }
  Result<u64> size() override { return u64{0}; }
  int descriptor() const override { return gpu_; }
  Result<int> ioctl(unsigned long request, void* argument) override {
    if (const int why = kernel_.ioctl(request, argument); why != 0) {
      std::lock_guard lock(kernel_.mutex_);
      return fail_errno(why, "{}", std::exchange(kernel_.last_error_, "the GPU over PCI"));
    }
    return 0;
  }
  Result<os::Mapping> map(const os::MapRequest& request) override {
    return kernel_.map_memory(request);
  }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    return kernel_.map_doorbells(request);
  }

 private:
  PciKernel& kernel_;
  const int gpu_;
};

// What the call fails with.
int PciKernel::errno_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::OutOfMemory: return ENOMEM;
    case ErrorKind::Permission: return EPERM;
    case ErrorKind::Busy: return EBUSY;
    case ErrorKind::DeviceLost: return ENODEV;
    case ErrorKind::Timeout: return ETIME;
    default: return error.os_errno != 0 ? error.os_errno : EIO;
  }
}

PciKernel::PciKernel(os::Files& files, os::Clock& clock)
    : ForwardedFiles(files), files_(files), clock_(clock) {}

Result<std::unique_ptr<PciKernel>> PciKernel::open(os::Files& files, os::Clock& clock) {
  std::unique_ptr<PciKernel> kernel(new PciKernel(files, clock));
  TRY(const std::vector<os::PciId> ids, os::list_pci(files, kVendor));
  std::string why_not;
  for (const os::PciId& id : ids) {
    const u32 base_class = id.class_code >> 16;
    if (base_class != kDisplay && base_class != kProcessingAccelerator) continue;
    if (Result<void> found = kernel->find_gpu(id); !found)
      why_not += fmt::format("{}{}", why_not.empty() ? "" : "; ", found.error().message);
  }
  if (kernel->gpus_.empty())
    return fail(ErrorKind::NotFound, "no AMD GPU that can be driven over PCI: {}",
                why_not.empty() ? "there is none on the bus" : why_not);
  if (!why_not.empty()) log().info("GPUs that are passed over: {}", why_not);
  return kernel;
}

PciKernel::~PciKernel() {
  std::lock_guard lock(mutex_);
  while (!queues_.empty()) destroy_queue(queues_.begin()->first);
  while (!memories_.empty()) {
    const u64 handle = memories_.begin()->first;
    memories_.begin()->second->mapped.clear();
    free(handle);
  }
}

// What is taken here to read its table is free again until its address space is asked for. Host
// memory has one address for all GPUs, so an IOMMU is in front of all of them, or of none.
Result<void> PciKernel::find_gpu(const os::PciId& id) {
  const bool is_left = os::is_left_to_vfio(files_, id);
  if (is_left && vfio_ == nullptr) {
    TRY(vfio_, os::VfioContainer::open(files_));
  }
  TRY(const std::unique_ptr<PciGpu> gpu, PciGpu::open(files_, clock_, id, vfio_.get()));
  const bool has_iommu = is_left && vfio_->has_iommu();
  if (!gpus_.empty() && has_iommu != has_iommu_)
    return fail(ErrorKind::Unsupported,
                "PCI device {} is {}reached through an IOMMU, unlike those before it: bind all to "
                "vfio-pci, or none",
                id.address, has_iommu ? "" : "not ");
  has_iommu_ = has_iommu;
  add(id, *gpu);
  return {};
}

void PciKernel::add(const os::PciId& id, PciGpu& gpu) {
  auto added = std::make_unique<Gpu>();
  added->description = {id, gpu.vram_bytes(), gpu.vram().size(), gpu.discovery()};
  hw::NodeProperties properties = gpu.properties();
  const u32 index = static_cast<u32>(gpus_.size());
  if (gpu.is_remote() && shadow_ == nullptr) shadow_ = std::make_unique<ShadowMemory>(files_);
  properties.drm_render_minor = kFirstRenderMinor + index;
  added->number = 0x10000 + index;
  const std::string folder = fmt::format("{}/{}/", hw::kTopologyNodes, index + 1);
  texts_[folder + "gpu_id"] = fmt::format("{}\n", added->number);
  texts_[folder + "name"] = to_string(gpu.discovery().find(hw::Block::Gc)->version) + "\n";
  texts_[folder + "properties"] = text_of(properties);
  gpus_.push_back(std::move(added));
}

std::vector<PciKernel::Description> PciKernel::descriptions() const {
  std::vector<Description> all;
  for (const auto& gpu : gpus_) all.push_back(gpu->description);
  return all;
}

Result<PciKernel::Viewed> PciKernel::view(usize index) {
  std::lock_guard lock(mutex_);
  if (index >= gpus_.size())
    return fail(ErrorKind::NotFound, "GPU {}, there are {}", index, gpus_.size());
  Gpu& gpu = *gpus_[index];
  Viewed viewed{.gpu = gpu.gpu.get(), .opened = nullptr};
  if (viewed.gpu != nullptr) return viewed;
  TRY(viewed.opened, PciGpu::open(files_, clock_, gpu.description.id, vfio_.get()));
  viewed.gpu = viewed.opened.get();
  return viewed;
}

Result<Firmware> PciKernel::firmware_of(const PciGpu& gpu) {
  return read_firmware(files_, gpu.discovery(), gpu.pci_device());
}

const u8* PciKernel::host_byte(u64 bus_address) {
  std::lock_guard lock(mutex_);
  for (const auto& [handle, memory] : memories_) {
    u64 behind = 0;
    for (const os::BusRange& range : memory->host.ranges()) {
      if (bus_address >= range.address && bus_address - range.address < range.bytes)
        return memory->host.bytes().data() + behind + (bus_address - range.address);
      behind += range.bytes;
    }
  }
  return nullptr;
}

PciKernel::Gpu* PciKernel::find(u32 number) {
  for (const auto& gpu : gpus_)
    if (gpu->number == number) return gpu.get();
  return nullptr;
}

// ---- files --------------------------------------------------------------------------------------

Result<std::unique_ptr<os::File>> PciKernel::open(const std::string& path, os::Access access) {
  if (path == hw::kKfdDevice) return std::make_unique<Node>(*this, -1);
  for (usize i = 0; i < gpus_.size(); ++i)
    if (path == fmt::format("{}{}", kRender, kFirstRenderMinor + i))
      return std::make_unique<Node>(*this, static_cast<int>(i));
  if (const auto text = texts_.find(path); text != texts_.end())
    return std::make_unique<TextFile>(text->second);
  if (path.starts_with(hw::kTopology)) return fail_errno(ENOENT, "open {}", path);
  return ForwardedFiles::open(path, access);
}

Result<std::vector<std::string>> PciKernel::list(const std::string& path) {
  if (!path.starts_with(hw::kTopology)) return ForwardedFiles::list(path);
  std::vector<std::string> names = os::names_in(texts_, path);
  if (names.empty()) return fail_errno(ENOENT, "list {}", path);
  return names;
}

bool PciKernel::exists(const std::string& path) {
  if (path == hw::kKfdDevice || texts_.contains(path)) return true;
  return !path.starts_with(hw::kTopology) && ForwardedFiles::exists(path);
}

// ---- calls --------------------------------------------------------------------------------------

int PciKernel::refuse(int why, std::string message) {
  // Where the way to a GPU failed, what came of that says nothing.
  for (const auto& gpu : gpus_)
    if (gpu->gpu != nullptr)
      if (const Result<void> way = gpu->gpu->state(); !way) {
        why = errno_of(way.error());
        message = way.error().message;
      }
  last_error_ = std::move(message);
  return why;
}

int PciKernel::ioctl(unsigned long request, void* argument) {
  const auto as = [&]<class T>(T*) -> T& { return *static_cast<T*>(argument); };
#define DOORBELL_CALL(type, expression)               \
  if (request == hw::kRequest<hw::type>) {            \
    auto& call = as(static_cast<hw::type*>(nullptr)); \
    (void)call;                                       \
    return expression;                                \
  }
  // Blocks, so without the lock.
  DOORBELL_CALL(KfdWaitEvents, wait_events(call))
  std::lock_guard lock(mutex_);
  DOORBELL_CALL(KfdGetVersion,
                (call.major_version = hw::kKfdMajor, call.minor_version = hw::kKfdMinor, 0))
  DOORBELL_CALL(KfdAcquireVm, acquire(call))
  DOORBELL_CALL(KfdAllocMemory, allocate(call))
  DOORBELL_CALL(KfdFreeMemory, free(call.handle))
  DOORBELL_CALL(KfdMapMemory, map(call))
  DOORBELL_CALL(KfdUnmapMemory, unmap(call))
  DOORBELL_CALL(KfdCreateQueue, create_queue(call))
  DOORBELL_CALL(KfdDestroyQueue, destroy_queue(call.queue_id))
  DOORBELL_CALL(KfdUpdateQueue, update_queue(call))
  DOORBELL_CALL(KfdCreateEvent, create_event(call))
  DOORBELL_CALL(KfdDestroyEvent, events_.erase(call.event_id) != 0 ? 0 : EINVAL)
  DOORBELL_CALL(KfdSetEvent, events_.contains(call.event_id)
                                 ? (events_[call.event_id].is_signalled = true, 0)
                                 : EINVAL)
  DOORBELL_CALL(KfdGetClockCounters, clock_counters(call))
  if (request == hw::kRequest<hw::KfdAvailableMemory>) {
    auto& call = *static_cast<hw::KfdAvailableMemory*>(argument);
    Gpu* const gpu = find(call.gpu_id);
    if (gpu == nullptr || gpu->gpu == nullptr) return EINVAL;
    call.available = gpu->gpu->free_bytes();
    return 0;
  }
#undef DOORBELL_CALL
  return refuse(ENOTSUP, fmt::format("call {:#x}, which a GPU over PCI does not have", request));
}

// The GPU is this process's from here on, and starts.
int PciKernel::acquire(const hw::KfdAcquireVm& arguments) {
  Gpu* const gpu = find(arguments.gpu_id);
  if (gpu == nullptr || arguments.drm_fd >= gpus_.size() || gpus_[arguments.drm_fd].get() != gpu)
    return refuse(EINVAL, fmt::format("GPU {:#x} by node {}", arguments.gpu_id, arguments.drm_fd));
  if (gpu->gpu != nullptr) return EBUSY;
  Result<std::unique_ptr<PciGpu>> opened =
      PciGpu::open(files_, clock_, gpu->description.id, vfio_.get());
  if (!opened) return refuse(errno_of(opened.error()), opened.error().message);
  if (Result<void> booted = (*opened)->boot(); !booted) {
    // Where the way there failed, what the boot found is nothing but that.
    if (Result<void> way = (*opened)->state(); !way) booted = std::move(way);
    return refuse(errno_of(booted.error()),
                  fmt::format("PCI device {} does not start: {}", gpu->description.id.address,
                              booted.error().message));
  }
  gpu->gpu = std::move(*opened);
  if (below_ != nullptr)
    if (Result<void> mapped = map_bridge_buffer(*gpu); !mapped)
      return refuse(errno_of(mapped.error()), mapped.error().message);
  return 0;
}

int PciKernel::clock_counters(hw::KfdGetClockCounters& arguments) {
  Gpu* const gpu = find(arguments.gpu_id);
  if (gpu == nullptr || gpu->gpu == nullptr) return EINVAL;
  const Result<u64> ticks = gpu->gpu->clock_ticks();
  if (!ticks) return refuse(errno_of(ticks.error()), ticks.error().message);
  arguments.gpu_clock_counter = *ticks;
  arguments.cpu_clock_counter = arguments.system_clock_counter = clock_.now_ns();
  arguments.system_clock_freq = 1'000'000'000;
  return 0;
}

// ---- memory -------------------------------------------------------------------------------------

int PciKernel::allocate(hw::KfdAllocMemory& arguments) {
  Gpu* const gpu = find(arguments.gpu_id);
  if (gpu == nullptr || gpu->gpu == nullptr || arguments.size == 0) return EINVAL;
  if ((arguments.flags & (hw::kKfdMemVram | hw::kKfdMemGtt)) == 0)
    return refuse(ENOTSUP, "memory of the process's own cannot be given to a GPU over PCI");
  auto memory = std::make_unique<Memory>();
  memory->owner = gpu;
  memory->va = arguments.va_addr;
  memory->bytes = (arguments.size + hw::kGpuPage - 1) / hw::kGpuPage * hw::kGpuPage;
  memory->flags = arguments.flags;
  const bool is_remote = gpu->gpu->is_remote();
  if ((memory->flags & hw::kKfdMemVram) == 0 && !is_remote) {
    constexpr bool kInherited = true;
    Result<os::PinnedMemory> pinned = os::PinnedMemory::allocate(
        files_, memory->bytes, kInherited, has_iommu_ ? vfio_.get() : nullptr);
    if (!pinned) return refuse(errno_of(pinned.error()), pinned.error().message);
    memory->host = std::move(*pinned);
  } else {
    Result<u64> offset =
        gpu->gpu->allocate_vram(memory->bytes, (memory->flags & hw::kKfdMemPublic) != 0);
    if (!offset) return refuse(ENOMEM, offset.error().message);
    memory->offset = *offset;
    if (is_remote && (memory->flags & hw::kKfdMemPublic) != 0) {
      const bool is_executable = (memory->flags & hw::kKfdMemExecutable) != 0;
      const Result<u8*> copy =
          shadow_->add(gpu->gpu->vram().window(*offset, memory->bytes), is_executable);
      if (!copy) {
        gpu->gpu->free_vram(*offset);
        return refuse(errno_of(copy.error()), copy.error().message);
      }
      memory->copy = *copy;
    }
  }
  const u64 handle = next_handle_++;
  arguments.handle = handle;
  arguments.mmap_offset = handle << 12;
  memories_.emplace(handle, std::move(memory));
  return 0;
}

int PciKernel::free(u64 handle) {
  const auto found = memories_.find(handle);
  if (found == memories_.end()) return EINVAL;
  Memory& memory = *found->second;
  if (!memory.mapped.empty()) return EBUSY;
  if (memory.copy != nullptr) shadow_->remove(memory.copy);
  if (!memory.is_pinned()) memory.owner->gpu->free_vram(memory.offset);
  memories_.erase(found);
  return 0;
}

int PciKernel::map_one(Memory& memory, Gpu& gpu) {
  std::vector<PciGpu::Part> parts;
  const bool is_own = !memory.is_pinned() && &gpu == memory.owner;
  if (has_iommu_ && !memory.is_pinned() && !is_own)
    return refuse(ENOTSUP, "GPUs through an IOMMU do not reach each other's memory");
  if (!memory.is_pinned() && !is_own && !memory.owner->gpu->shows(memory.offset, memory.bytes))
    return refuse(
        ENOTSUP,
        fmt::format("PCI device {} does not show this memory on the bus, which has {} MiB "
                    "of {}",
                    memory.owner->description.id.address, memory.owner->gpu->vram().size() >> 20,
                    memory.owner->gpu->vram_bytes() >> 20));
  if (!is_own && (gpu.gpu->is_remote() || memory.owner->gpu->is_remote()))
    return refuse(ENOTSUP, "GPUs behind USB reach no memory but their own");
  if (memory.is_pinned())
    for (const os::BusRange& range : memory.host.ranges())
      parts.push_back({range.address, range.bytes});
  else
    parts.push_back(
        {is_own ? memory.offset : memory.owner->gpu->bus_address(memory.offset), memory.bytes});
  constexpr u32 kShared = hw::kKfdMemCoherent | hw::kKfdMemExtCoherent | hw::kKfdMemUncached;
  hw::PageEntry entry;
  entry.is_system = !is_own;
  entry.snooped = memory.is_pinned();
  entry.readable = true;
  entry.writable = (memory.flags & hw::kKfdMemWritable) != 0;
  entry.executable = (memory.flags & hw::kKfdMemExecutable) != 0;
  // [gmc_v11_0.c gmc_v11_0_get_vm_pte()]
  entry.policy =
      (memory.flags & kShared) != 0 ? hw::MemoryPolicy::Uncached : hw::MemoryPolicy::NonCoherent;
  if (Result<void> mapped = gpu.gpu->map(memory.va, parts, entry); !mapped)
    return refuse(errno_of(mapped.error()), mapped.error().message);
  memory.mapped.push_back(&gpu);
  return 0;
}

int PciKernel::map(hw::KfdMapMemory& arguments) {
  const auto found = memories_.find(arguments.handle);
  if (found == memories_.end()) return EINVAL;
  const u32* const ids = reinterpret_cast<const u32*>(arguments.device_ids_array_ptr);
  for (u32 i = arguments.n_success; i < arguments.n_devices; ++i) {
    Gpu* const gpu = find(ids[i]);
    if (gpu == nullptr || gpu->gpu == nullptr) return EINVAL;
    if (std::ranges::find(found->second->mapped, gpu) == found->second->mapped.end())
      if (const int why = map_one(*found->second, *gpu)) return why;
    ++arguments.n_success;
  }
  return 0;
}

int PciKernel::unmap(hw::KfdUnmapMemory& arguments) {
  const auto found = memories_.find(arguments.handle);
  if (found == memories_.end()) return EINVAL;
  Memory& memory = *found->second;
  const u32* const ids = reinterpret_cast<const u32*>(arguments.device_ids_array_ptr);
  for (u32 i = arguments.n_success; i < arguments.n_devices; ++i) {
    Gpu* const gpu = find(ids[i]);
    if (gpu == nullptr || std::erase(memory.mapped, gpu) == 0) return EINVAL;
    if (Result<void> unmapped = gpu->gpu->unmap(memory.va, memory.bytes); !unmapped)
      return refuse(errno_of(unmapped.error()), unmapped.error().message);
    ++arguments.n_success;
  }
  return 0;
}

// Memory goes with its handle, not with the mapping.
Result<os::Mapping> PciKernel::map_memory(const os::MapRequest& request) {
  std::lock_guard lock(mutex_);
  const auto found = memories_.find(request.offset >> 12);
  if (found == memories_.end() || request.size > found->second->bytes)
    return fail_errno(EINVAL, "map {:#x} bytes at {:#x}", request.size, request.offset);
  Memory& memory = *found->second;
  if (!memory.is_pinned() && !memory.owner->gpu->shows(memory.offset, memory.bytes))
    return fail_errno(EINVAL, "map memory that PCI device {} does not show on the bus",
                      memory.owner->description.id.address);
  if (memory.owner->gpu->is_remote() && memory.copy == nullptr)
    return fail_errno(EINVAL, "map memory that only the GPU sees");
  u8* const at = memory.copy != nullptr ? memory.copy
                 : memory.is_pinned()   ? memory.host.bytes().data()
                                        : memory.owner->gpu->vram().mapped() + memory.offset;
  return os::Mapping(at, request.size, [](void*, u8*, usize) {}, nullptr);
}

Result<os::MappedRegisters> PciKernel::map_doorbells(const os::MapRequest& request) {
  std::lock_guard lock(mutex_);
  const u64 index = request.offset / kDoorbellStride;
  if (index >= gpus_.size() || gpus_[index]->gpu == nullptr ||
      request.offset % kDoorbellStride != 0)
    return fail_errno(EINVAL, "map doorbells at {:#x}", request.offset);
  TRY(os::MappedRegisters all, gpus_[index]->gpu->map_doorbells());
  if (all.mmio.size() < request.size)
    return fail_errno(EINVAL, "map {:#x} bytes of {:#x} of doorbells", request.size,
                      all.mmio.size());
  all.mmio = all.mmio.window(0, request.size);
  PciGpu& gpu = *gpus_[index]->gpu;
  return gpu.is_remote() ? wrap_doorbells(std::move(all), gpu) : std::move(all);
}

}  // namespace doorbell::amd
