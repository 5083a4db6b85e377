// Opening a device, and its death.
#include "drivers/amd/device.h"

#include <fmt/format.h>

#include "base/os/host.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/amd/aql_queue.h"
#include "drivers/amd/bridge_transfers.h"
#include "drivers/amd/hw/isa/chip.h"
#include "drivers/amd/kernel/shared_memory.h"
#include "drivers/amd/pm4_queue.h"
#include "drivers/amd/program.h"
#include "drivers/amd/sdma_queue.h"

namespace doorbell::amd {
namespace {

std::string arch_of(const Node& node) { return arch_name(node.properties.gfx_target_version); }

bool is_known(const Node& node) { return find_caps(node.properties.gfx_target_version) != nullptr; }

// The GPU of the ordinal, counting supported ones only: beside a graphics card there is often a
// small GPU in the processor.
Result<usize> pick_known(const core::DeviceSpec& spec, const std::vector<Node>& nodes) {
  usize known = 0;
  std::string others;
  for (usize i = 0; i < nodes.size(); ++i) {
    if (!is_known(nodes[i]))
      others += fmt::format("{}GPU {} is a {}", others.empty() ? "" : ", ", i, arch_of(nodes[i]));
    else if (known++ == static_cast<usize>(spec.ordinal))
      return i;
  }
  if (known == 0)
    return fail(ErrorKind::Unsupported, "no GPU here is supported: {}; supported chips are {}",
                others, hw::chip_names());
  return fail(ErrorKind::NotFound, "{}: GPU index {} out of range ({} supported{}{})", spec.name,
              spec.ordinal, known, others.empty() ? "" : "; ", others);
}

Result<usize> pick(const core::DeviceSpec& spec, const Kfd& kfd) {
  const usize count = kfd.nodes().size();
  if (count == 0)
    return fail(ErrorKind::NotFound,
                "no AMD GPU that this process may use: the kernel's topology lists none");
  if (spec.indices.empty()) return pick_known(spec, kfd.nodes());
  const usize ordinal = static_cast<usize>(spec.ordinal);
  if (ordinal >= spec.indices.size())
    return fail(ErrorKind::NotFound, "{}: GPU index {} out of range ({} selected by DEV)",
                spec.name, ordinal, spec.indices.size());
  const usize index = static_cast<usize>(spec.indices[ordinal]);
  if (index >= count)
    return fail(ErrorKind::NotFound, "{}: GPU index {} out of range ({} present)", spec.name, index,
                count);
  return index;
}

bool wants_aql(const Options& options, const Node& node, const Caps& caps) {
  if (options.packets == Options::Packets::ByChip)
    return node.properties.num_xcc > 1 || !caps.local_granule_is_sure;
  return options.packets == Options::Packets::Aql;
}

}  // namespace

Result<std::unique_ptr<AmdDevice>> AmdDevice::open(core::DeviceSpec spec, std::shared_ptr<Kfd> kfd,
                                                   const Options& options) {
  TRY(const usize index, pick(spec, *kfd));
  const Node& node = kfd->nodes()[index];
  const u64 target = node.properties.gfx_target_version;
  const Caps* caps = find_caps(target);
  if (caps == nullptr)
    return fail(ErrorKind::Unsupported,
                "GPU {} is a {}, which is not supported; supported chips are {}", index,
                arch_name(target), hw::chip_names());
  if (!spec.arch.empty() && spec.arch != caps->arch)
    return fail(ErrorKind::Invalid, "GPU {} is a {}, DEV asks for {}", index, caps->arch,
                spec.arch);
  spec.arch = caps->arch;
  if (options.packets == Options::Packets::Pm4 && node.properties.num_xcc > 1)
    return fail(ErrorKind::Unsupported,
                "GPU {} has {} XCCs, and a PM4 queue uses only one: use AQL queues (AMD_AQL=1 or "
                "unset), or a partition of one XCC (CPX mode)",
                index, node.properties.num_xcc);
  TRY(KfdGpu * gpu, kfd->gpu(index));
  std::unique_ptr<AmdDevice> device(
      new AmdDevice(std::move(spec), std::move(kfd), *gpu, *caps, options));
  TRY(device->start(options));
  return device;
}

AmdDevice::AmdDevice(core::DeviceSpec spec, std::shared_ptr<Kfd> kfd, KfdGpu& gpu, const Caps& caps,
                     const Options& options)
    : Device(std::move(spec)),
      kfd_(std::move(kfd)),
      gpu_(gpu),
      caps_(caps),
      log_packets_(options.log_packets),
      reports_waves_(options.report_waves),
      explain_(options.explain),
      queue_memory_(queue_memory_blocks(gpu)),
      code_(gpu),
      scratch_(gpu, caps),
      vram_(new hcq::DeviceAllocator(
          *this, buffer_blocks(gpu, options.sdma), [this] { return kfd_->check_process(); },
          options.host_accesses)),
      allocator_(name(), std::unique_ptr<core::Allocator>(vram_), options.max_cached) {}

Result<void> AmdDevice::start(const Options& options) {
  TRY(base_ticks_, gpu_.clock_ticks());
  base_ns_ = kfd_->clock().now_ns();
  hcq::Queue::Parts parts;
  parts.device = name();
  parts.memory = &queue_memory_;
  parts.signals = &kfd_->signals();
  parts.clock = &kfd_->clock();
  parts.event = &kfd_->events();
  parts.timeline_limit = options.timeline_limit;
  parts.timeout_ns = options.timeout_ns;
  parts.is_apart = options.is_apart;
  parts.name = "compute";
  if (wants_aql(options, gpu_.node(), caps_)) {
    TRY(compute_, AqlQueue::make(parts, *this));
  } else {
    TRY(compute_, Pm4Queue::make(parts, *this));
  }
  if (options.sdma) {
    parts.name = "copy";
    // Others may have all copy queues, and a container may hide the engines.
    if (Result<std::unique_ptr<AmdQueue>> copy = SdmaQueue::make(parts, *this))
      copy_ = std::move(*copy);
    else
      log().warn("{}: there is no copy queue, the compute queue copies: {}", name(),
                 copy.error().message);
  }
  if (copy_ != nullptr && options.bridge_buffer)
    if (const BridgeBuffer* const buffer = options.bridge_buffer(gpu_.id()))
      vram_->use(
          std::make_unique<BridgeTransfers>(*copy_, *buffer, kfd_->clock(), options.timeout_ns));
  kfd_->events().add_listener(gpu_.id(), *this);
  return {};
}

// Memory goes only when no queue may use it any more.
AmdDevice::~AmdDevice() {
  kfd_->events().remove_listener(*this);
  allocator_.flush();
  vram_->close();
  for (AmdQueue* queue : {compute_.get(), copy_.get()})
    if (queue != nullptr) queue->close();
  compute_.reset();
  copy_.reset();
}

Result<std::unique_ptr<core::Program>> AmdDevice::load(const core::Binary& binary) {
  Result<std::unique_ptr<core::Program>> program = AmdProgram::make(binary, *this);
  if (!program) program.error().device = name();
  return program;
}

Result<void> AmdDevice::synchronize() {
  TRY(kfd_->check_process());
  Result<void> compute = compute_->synchronize();
  if (copy_ == nullptr) return compute;
  Result<void> copy = copy_->synchronize();
  return compute ? std::move(copy) : std::move(compute);
}

std::string AmdDevice::description() const {
  std::string text = fmt::format("{}, {} compute units", caps_.arch, compute_units());
  if (xccs() > 1) text += fmt::format(" on {} XCCs", xccs());
  // Omitted if the kernel does not report it.
  if (const Result<u64> free = gpu_.available_bytes())
    text += fmt::format(", {:.1f} GiB free", static_cast<double>(*free) / (1 << 30));
  return text +
         fmt::format(", {}{}", compute_->format().name, copy_ ? " and SDMA queues" : " queues");
}

u64 AmdDevice::compute_units() const {
  const NodeProperties& properties = gpu_.node().properties;
  return properties.compute_units() * properties.num_xcc;
}

u32 AmdDevice::local_bytes() const {
  return static_cast<u32>(gpu_.node().properties.lds_size_in_kb << 10);
}

Result<hcq::GpuAddr> AmdDevice::address_of(const core::Buffer& buffer) {
  const core::Allocation& memory = buffer.memory();
  if (&buffer.device() == this) return hcq::GpuAddr{memory.address};
  const auto* peer = dynamic_cast<const AmdDevice*>(&buffer.device());
  if (peer == nullptr || &peer->kfd() != kfd_.get() || memory.opaque == nullptr)
    return fail(ErrorKind::Unsupported, "{} cannot reach memory of {}", name(),
                buffer.device().name());
  if (Result<void> mapped = map_block(memory.opaque, gpu_); !mapped) {
    if (!told_of_peers_.exchange(true))
      log().info("{} cannot map memory of {}, copies between them go through host memory: {}",
                 name(), peer->name(), mapped.error().message);
    return std::move(mapped).error();
  }
  return hcq::GpuAddr{memory.address};
}

Result<void> AmdDevice::write_code(u64 address, std::span<const u8> bytes) {
  TRY(vram_->write(address, bytes.data(), bytes.size()));
  code_epoch_.fetch_add(1, std::memory_order_release);
  return {};
}

Result<Scratch> AmdDevice::scratch(u32 item_bytes) {
  TRY(const Scratch scratch, scratch_.get(item_bytes));
  if (auto* aql = dynamic_cast<AqlQueue*>(compute_.get()); aql != nullptr && scratch.address != 0)
    TRY(aql->update_scratch());
  return scratch;
}

hcq::Fence AmdDevice::unfinished_copies() {
  hcq::Fence fence;
  if (copy_ != nullptr && !copy_->idle()) fence.add(copy_->last());
  return fence;
}

const std::string& AmdDevice::keep_name(const std::string& name) {
  std::lock_guard lock(names_mutex_);
  return *names_.insert(name).first;
}

u64 AmdDevice::to_ns(u64 ticks) const {
  const f64 ns_per_tick = 1e9 / static_cast<f64>(caps_.timestamp_hz);
  const i64 passed = static_cast<i64>(ticks - base_ticks_);
  return base_ns_ + static_cast<u64>(static_cast<i64>(static_cast<f64>(passed) * ns_per_tick));
}

core::Allocator& AmdDevice::shared_memory() { return kfd_->shared_memory(); }

// ---- faults -------------------------------------------------------------------------------------

void AmdDevice::on_memory_exception(const hw::KfdMemoryException& exception) {
  std::string why;
  const auto add = [&](bool is, const char* what) {
    if (is) why += fmt::format("{}{}", why.empty() ? "" : ", ", what);
  };
  add(exception.not_present != 0, "the page is not present");
  add(exception.read_only != 0, "the page is read-only");
  add(exception.no_execute != 0, "the page is not executable");
  add(exception.error_type == hw::kKfdMemSramEcc, "the memory is corrupt (ECC)");
  add(exception.error_type == hw::kKfdMemPoisonConsumed, "the memory is poisoned");
  die(fail(ErrorKind::DeviceLost, "{}: memory fault at {:#x}{}, {}: {}", name(), exception.va,
           exception.imprecise != 0 ? " or near it" : "",
           kfd_->address_map().describe(exception.va),
           why.empty() ? "the kernel reports no cause" : why));
}

void AmdDevice::on_hw_exception(const hw::KfdHwException& exception) {
  die(fail(ErrorKind::DeviceLost, "{}: the GPU {}; {} was reset{}", name(),
           exception.reset_cause == hw::kKfdResetEcc ? "has corrupt memory (ECC)" : "hangs",
           exception.reset_type == hw::kKfdResetWholeGpu ? "all of it" : "the engine",
           exception.memory_lost != 0 ? ", and its memory is lost" : ""));
}

void AmdDevice::on_event() {
  const hw::QueueError error = compute_->hardware().error();
  if (error == hw::QueueError::None || queue_failed_.exchange(true)) [[likely]]
    return;
  // The command processor waits for an answer, and there is none: take the queue off the hardware.
  // [ROCr amd_aql_queue.cpp DynamicQueueEventsHandler, Suspend()]
  (void)compute_->halt();
  const std::string_view what = hw::name_of(error);
  die(fail(ErrorKind::DeviceLost, "{}: the compute queue stopped with error {:#x} ({})", name(),
           static_cast<u64>(error), what.empty() ? "unknown" : what));
}

std::string AmdDevice::explanation() const {
  const std::string more = explain_ ? explain_(gpu_.id()) : "";
  return more.empty() ? "" : "; the emulator: " + more;
}

void AmdDevice::die(Error why) {
  for (AmdQueue* queue : {compute_.get(), copy_.get()})
    if (queue != nullptr && !queue->idle()) why.message += "; " + queue->busy_with();
  why.message += explanation();
  compute_->die(why);
  if (copy_ != nullptr) copy_->die(why);
}

}  // namespace doorbell::amd
