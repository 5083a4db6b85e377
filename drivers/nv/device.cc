// Opening a device, its memory, and its end.
#include "drivers/nv/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/nv/hw/isa/chip.h"
#include "drivers/nv/kernel/shared_memory.h"
#include "drivers/nv/program.h"

namespace doorbell::nv {
namespace {

struct MemoryBlock final : hcq::BlockAllocator::Block {
  std::unique_ptr<NvkMemory> memory;
};

hcq::BlockAllocator::MakeBlock blocks(NvkGpu& gpu, MemoryRequest request, u64 least) {
  return [&gpu, request,
          least](u64 bytes) mutable -> Result<std::unique_ptr<hcq::BlockAllocator::Block>> {
    request.bytes = std::max(bytes, least);
    auto block = std::make_unique<MemoryBlock>();
    TRY(block->memory, gpu.allocate(request));
    block->host = block->memory->host();
    block->address = block->memory->address();
    block->bytes = block->memory->bytes();
    return block;
  };
}

constexpr u64 kQueueBlock = u64{4} << 20, kCodeBlock = u64{2} << 20;
// Behind code: the GPU fetches ahead. [tinygrad ops_nv.py NVProgram]
constexpr u64 kPrefetched = 4096;

// Semaphores write to buffers, too.
MemoryRequest buffer_request(const NvkGpu& gpu) {
  return {.kind = MemoryKind::Video, .low = gpu.needs_low_addresses(), .what = "a buffer"};
}

Result<usize> pick(const core::DeviceSpec& spec, const Nvk& nvk) {
  const usize count = nvk.cards().size();
  if (count == 0)
    return fail(ErrorKind::NotFound,
                "no NVIDIA GPU that this process may use: the driver {} "
                "lists none",
                nvk.client().version());
  usize index = static_cast<usize>(spec.ordinal);
  if (!spec.indices.empty()) {
    if (index >= spec.indices.size())
      return fail(ErrorKind::NotFound, "{}: GPU index {} out of range ({} selected by DEV)",
                  spec.name, index, spec.indices.size());
    index = static_cast<usize>(spec.indices[index]);
  }
  if (index >= count)
    return fail(ErrorKind::NotFound, "{}: GPU index {} out of range ({} present)", spec.name, index,
                count);
  return index;
}

}  // namespace

Result<std::unique_ptr<NvDevice>> NvDevice::open(core::DeviceSpec spec, std::shared_ptr<Nvk> nvk,
                                                 const Options& options) {
  TRY(const usize index, pick(spec, *nvk));
  TRY(NvkGpu * gpu, nvk->gpu(index));
  const std::string chip = gpu->shape().chip();
  if (!spec.arch.empty() && spec.arch != chip)
    return fail(ErrorKind::Invalid, "GPU {} is a {}, DEV asks for {}", index, chip, spec.arch);
  spec.arch = chip;
  std::unique_ptr<NvDevice> device(new NvDevice(std::move(spec), std::move(nvk), *gpu, options));
  TRY(device->start(options));
  return device;
}

NvDevice::NvDevice(core::DeviceSpec spec, std::shared_ptr<Nvk> nvk, NvkGpu& gpu,
                   const Options& options)
    : Device(std::move(spec)),
      nvk_(std::move(nvk)),
      gpu_(gpu),
      log_packets_(options.log_packets),
      explain_(options.explain),
      events_(nvk_->clock()),
      queue_memory_(blocks(gpu,
                           {.kind = MemoryKind::Host, .low = true, .what = "words and arguments"},
                           kQueueBlock)),
      code_memory_(
          blocks(gpu, {.kind = MemoryKind::VisibleVideo, .low = true, .what = "code"}, kCodeBlock)),
      memory_(new hcq::DeviceAllocator(
          *this, blocks(gpu, buffer_request(gpu), 0), [this] { return nvk_->check_process(); },
          options.host_accesses)),
      allocator_(name(), std::unique_ptr<core::Allocator>(memory_), options.max_cached) {}

Result<void> NvDevice::start(const Options& options) {
  Result<std::unique_ptr<NvkInterrupts>> interrupts = NvkInterrupts::make(gpu_);
  if (interrupts)
    events_.use(std::move(*interrupts));
  else
    log().debug("{}: RM gives no event for interrupts, waits look at signals now and then: {}",
                name(), interrupts.error().message);
  hcq::Queue::Parts parts;
  parts.device = name();
  parts.memory = &queue_memory_;
  parts.signals = &nvk_->signals();
  parts.clock = &nvk_->clock();
  parts.event = &events_;
  parts.timeline_limit = options.timeline_limit;
  parts.timeout_ns = options.timeout_ns;
  TRY(group_, ChannelGroup::make(gpu_));
  parts.name = "compute";
  TRY(compute_, NvQueue::make(parts, *this, *group_, NvQueue::Kind::Compute));
  parts.name = "copy";
  TRY(copy_, NvQueue::make(parts, *this, *group_, NvQueue::Kind::Copy));
  TRY(group_->schedule());
  for (NvQueue* queue : {compute_.get(), copy_.get()}) {
    events_.add(*queue);
    TRY(queue->set_up());
  }
  return {};
}

// Memory goes only when no queue may use it any more.
NvDevice::~NvDevice() {
  for (NvQueue* queue : {compute_.get(), copy_.get()})
    if (queue != nullptr) events_.remove(*queue);
  allocator_.flush();
  memory_->close();
  compute_.reset();
  copy_.reset();
  group_.reset();
}

Result<std::unique_ptr<core::Program>> NvDevice::load(const core::Binary& binary) {
  Result<std::unique_ptr<core::Program>> program = NvProgram::make(binary, *this);
  if (!program) program.error().device = name();
  return program;
}

Result<void> NvDevice::synchronize() {
  TRY(nvk_->check_process());
  Result<void> compute = compute_->synchronize();
  Result<void> copy = copy_->synchronize();
  return compute ? std::move(copy) : std::move(compute);
}

std::string NvDevice::description() const {
  return fmt::format("{}, at most {} multiprocessors, driver {}", gpu_.shape().chip(),
                     multiprocessors(), nvk_->client().version());
}

// RM counts those that are switched off, too.
i64 NvDevice::multiprocessors() const {
  const i64 sms = gpu_.shape().sms();
  const hw::Chip* chip = hw::find_chip(gpu_.shape().chip());
  return chip == nullptr ? sms : std::min<i64>(sms, chip->multiprocessors);
}

core::Allocator& NvDevice::shared_memory() { return nvk_->shared_memory(); }

Result<hcq::GpuAddr> NvDevice::address_of(const core::Buffer& buffer) {
  const core::Allocation& memory = buffer.memory();
  if (&buffer.device() == this) return hcq::GpuAddr{memory.address};
  const auto* peer = dynamic_cast<const NvDevice*>(&buffer.device());
  if (peer == nullptr || peer->nvk_ != nvk_ || memory.opaque == nullptr)
    return fail(ErrorKind::Unsupported, "{} cannot reach memory of {}", name(),
                buffer.device().name());
  hw::UvmEnablePeerAccess access{.gpu_uuid_a = gpu_.uuid(), .gpu_uuid_b = peer->gpu_.uuid()};
  (void)nvk_->uvm().call(access);  // refused where it is enabled; then mapping tells
  auto* block = static_cast<MemoryBlock*>(static_cast<hcq::BlockAllocator::Block*>(memory.opaque));
  TRY(block->memory->map_to(gpu_));
  return hcq::GpuAddr{memory.address};
}

hcq::Fence NvDevice::unfinished_copies() {
  hcq::Fence fence;
  if (!copy_->idle()) fence.add(copy_->last());
  return fence;
}

const std::string& NvDevice::keep_name(const std::string& name) {
  std::lock_guard lock(names_mutex_);
  return *names_.insert(name).first;
}

std::string NvDevice::explanation() const {
  const std::string more = explain_ ? explain_() : "";
  return more.empty() ? "" : "; the emulator: " + more;
}

// ---- code and local memory ----------------------------------------------------------------------

void NvDevice::sweep_code() {
  for (auto at = retired_code_.begin(); at != retired_code_.end();) {
    const auto next = std::next(at);
    if (at->until.done()) {
      code_memory_.release(at->memory);
      retired_code_.erase(at);
    }
    at = next;
  }
}

Result<core::Allocation> NvDevice::place_code(Cubin& cubin) {
  std::lock_guard lock(code_mutex_);
  sweep_code();
  TRY(core::Allocation code,
      code_memory_.allocate(static_cast<i64>(cubin.image.size() + kPrefetched)));
  cubin.relocate(code.address);
  std::memcpy(code.host, cubin.image.data(), cubin.image.size());
  return code;
}

void NvDevice::release_code(const core::Allocation& code) {
  std::lock_guard lock(code_mutex_);
  retired_code_.push_back({code, fence()});
  sweep_code();
}

// [tinygrad ops_nv.py NVDevice._ensure_has_local_memory()]
Result<void> NvDevice::grow_local_memory(u32 bytes) {
  constexpr u64 kThreadUnit = 32, kWarpUnit = 0x200, kTpcUnit = 0x8000, kUnit = 0x20000;
  const auto round_up = [](u64 value, u64 to) { return (value + to - 1) / to * to; };
  std::lock_guard lock(local_mutex_);
  std::erase_if(retired_local_, [](const RetiredLocal& one) { return one.until.done(); });
  if (bytes <= local_bytes_) return {};
  const GpuShape& shape = gpu_.shape();
  const u64 of_thread = round_up(bytes, kThreadUnit);
  const u64 of_tpc = round_up(
      round_up(of_thread * 32, kWarpUnit) * shape.warps_per_sm * shape.sms_per_tpc, kTpcUnit);
  MemoryRequest request;
  request.bytes = round_up(of_tpc * shape.tpcs_per_gpc * shape.gpcs, kUnit);
  request.what = fmt::format("local memory, {} bytes a thread", of_thread);
  TRY(std::unique_ptr<NvkMemory> memory, gpu_.allocate(request));
  TRY(compute_->set_local_memory(memory->address(), of_tpc));
  if (local_ != nullptr) retired_local_.push_back({std::move(local_), fence()});
  local_ = std::move(memory);
  local_bytes_ = static_cast<u32>(of_thread);
  return {};
}

}  // namespace doorbell::nv
