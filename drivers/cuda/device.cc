// Opening a device, peers, and its loss.
#include "drivers/cuda/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/os/host.h"
#include "base/util/try.h"
#include "drivers/cuda/program.h"

namespace doorbell::cuda {
namespace {

// How often a sleeping host looks at a signal: CUDA gives no call that sleeps until either a value
// changes or a time has passed.
constexpr u64 kLook_ns = 50'000;

Result<CUdevice> pick(const core::DeviceSpec& spec, const Api& api) {
  int count = 0;
  TRY(api.check(api.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0)
    return fail(ErrorKind::NotFound,
                "CUDA shows no GPU: see nvidia-smi and the variable CUDA_VISIBLE_DEVICES");
  int index = spec.ordinal;
  if (!spec.indices.empty()) {
    if (index >= static_cast<int>(spec.indices.size()))
      return fail(ErrorKind::NotFound, "{}: GPU index {} out of range ({} selected by DEV)",
                  spec.name, index, spec.indices.size());
    index = spec.indices[static_cast<usize>(index)];
  }
  if (index >= count)
    return fail(ErrorKind::NotFound, "{}: GPU index {} out of range ({} present)", spec.name, index,
                count);
  CUdevice device = 0;
  TRY(api.check(api.cuDeviceGet(&device, index), "cuDeviceGet"));
  return device;
}

// Signals are values in pinned memory that streams write and wait for.
Result<void> check_signals(const Context& context) {
  TRY(const int unified, context.attribute(Attribute::UnifiedAddressing));
  TRY(const int writes, context.attribute(Attribute::CanUse64BitStreamMemOps));
  if (unified != 0 && writes != 0) return {};
  return fail(ErrorKind::Unsupported, "this GPU or driver {}, which the CUDA device needs; use CL",
              unified == 0 ? "has no unified addresses" : "cannot write values from a stream");
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(core::DeviceSpec spec, const Api& api,
                                                     const Options& options) {
  TRY(const CUdevice gpu, pick(spec, api));
  TRY(std::shared_ptr<Context> context, Context::open(api, gpu, options.explain));
  TRY(check_signals(*context));
  TRY(const int major, context->attribute(Attribute::ComputeCapabilityMajor));
  TRY(const int minor, context->attribute(Attribute::ComputeCapabilityMinor));
  const std::string arch = fmt::format("sm_{}{}", major, minor);
  if (!spec.arch.empty() && spec.arch != arch)
    return fail(ErrorKind::Invalid, "GPU {} is a {}, DEV asks for {}", gpu, arch, spec.arch);
  spec.arch = arch;
  std::unique_ptr<CudaDevice> device(new CudaDevice(std::move(spec), std::move(context), options));
  TRY(device->start(options));
  return device;
}

CudaDevice::CudaDevice(core::DeviceSpec spec, std::shared_ptr<Context> context,
                       const Options& options)
    : Device(std::move(spec)),
      context_(std::move(context)),
      host_(SharedHost::of(context_)),
      uses_graphs_(options.graphs),
      memory_(new CudaAllocator(context_, *this)),
      allocator_(name(), std::unique_ptr<core::Allocator>(memory_), options.max_cached) {}

Result<void> CudaDevice::start(const Options& options) {
  std::array<char, 256> text{};
  TRY(context_->check(context_->api().cuDeviceGetName(text.data(), static_cast<int>(text.size()),
                                                      context_->device()),
                      "cuDeviceGetName"));
  gpu_name_ = text.data();
  TRY(multiprocessors_, context_->attribute(Attribute::MultiprocessorCount));
  hcq::Queue::Parts parts;
  parts.device = name();
  parts.memory = &host_->memory;
  parts.signals = &host_->signals;
  parts.clock = &os::host_clock();
  parts.event = this;
  parts.timeline_limit = options.timeline_limit;
  parts.timeout_ns = options.timeout_ns;
  parts.name = "compute";
  TRY(compute_, CudaQueue::make(parts, *this));
  parts.name = "copy";
  TRY(copy_, CudaQueue::make(parts, *this));
  context_->set_lost_listener([this](const Error& why) { lost(why); });
  return {};
}

CudaDevice::~CudaDevice() {
  for (CudaQueue* queue : {compute_.get(), copy_.get()})
    if (queue != nullptr) queue->close();
  allocator_.flush();
  memory_->close();
  unload_done();
  compute_.reset();
  copy_.reset();
  context_->set_lost_listener(nullptr);
}

Result<std::unique_ptr<core::Program>> CudaDevice::load(const core::Binary& binary) {
  unload_done();
  Result<std::unique_ptr<core::Program>> program = CudaProgram::make(binary, *this);
  if (!program) program.error().device = name();
  return program;
}

Result<void> CudaDevice::synchronize() {
  TRY(context_->failure());
  Result<void> compute = compute_->synchronize();
  Result<void> copy = copy_->synchronize();
  return compute ? std::move(copy) : std::move(compute);
}

std::string CudaDevice::description() const {
  const Api& api = context_->api();
  int version = 0;
  (void)api.cuDriverGetVersion(&version);  // it answered when the device was opened
  std::string text =
      fmt::format("{}, {}, {} multiprocessors", gpu_name_, spec().arch, multiprocessors_);
  usize free = 0, total = 0;
  const Current current(*context_);
  if (api.cuMemGetInfo(&free, &total) == kSuccess)
    text += fmt::format(", {:.1f} GiB free", static_cast<f64>(free) / (1 << 30));
  return text + fmt::format(", driver for CUDA {}.{}", version / 1000, version % 1000 / 10);
}

// ---- memory of others ---------------------------------------------------------------------------

Result<hcq::GpuAddr> CudaDevice::address_of(const core::Buffer& buffer) {
  const hcq::GpuAddr address{buffer.memory().address};
  if (&buffer.device() == this) return address;
  const auto* peer = dynamic_cast<const CudaDevice*>(&buffer.device());
  if (peer == nullptr || &peer->context_->api() != &context_->api())
    return fail(ErrorKind::Unsupported, "{} cannot reach memory of {}", name(),
                buffer.device().name());
  TRY(reach(*peer));
  return address;
}

Result<void> CudaDevice::reach(const CudaDevice& peer) {
  std::lock_guard lock(mutex_);
  if (std::ranges::find(peers_, &peer) != peers_.end()) return {};
  const Api& api = context_->api();
  int can = 0;
  TRY(context_->check(api.cuDeviceCanAccessPeer(&can, context_->device(), peer.context_->device()),
                      "cuDeviceCanAccessPeer"));
  if (can == 0)
    return fail(ErrorKind::Unsupported, "{} cannot reach memory of {}: they are no peers", name(),
                peer.name());
  const Current current(*context_);
  const CUresult result = api.cuCtxEnablePeerAccess(peer.context_->handle(), 0);
  if (result != kPeerAccessAlreadyEnabled) TRY(context_->check(result, "cuCtxEnablePeerAccess"));
  peers_.push_back(&peer);
  return {};
}

Result<core::Allocation> CudaDevice::foreign_memory(void* memory, i64 bytes) {
  const u64 address = reinterpret_cast<u64>(memory);
  const core::Allocation foreign{nullptr, address, nullptr, bytes};
  if (bytes == 0) return foreign;
  TRY(context_->failure());
  const Api& api = context_->api();
  const Current current(*context_);
  u32 type = 0;
  int gpu = -1;
  // Pageable memory is none that CUDA knows.
  if (api.cuPointerGetAttribute(&type, PointerAttribute::MemoryType, address) != kSuccess ||
      api.cuPointerGetAttribute(&gpu, PointerAttribute::DeviceOrdinal, address) != kSuccess ||
      type != kMemoryTypeDevice)
    return fail(ErrorKind::Unsupported, "{:#x} is no memory of a GPU, so {} cannot use it in place",
                address, name());
  if (gpu != this->gpu())
    return fail(ErrorKind::Invalid, "{:#x} is memory of GPU {}, {} is GPU {}", address, gpu, name(),
                this->gpu());
  return foreign;
}

Result<void> CudaDevice::order(CUstream before, CUstream after) {
  const Api& api = context_->api();
  CUevent event = nullptr;
  TRY(context_->check(api.cuEventCreate(&event, kEventDisableTiming), "cuEventCreate"));
  Result<void> ordered = context_->check(api.cuEventRecord(event, before), "cuEventRecord");
  if (ordered)
    ordered = context_->check(api.cuStreamWaitEvent(after, event, 0), "cuStreamWaitEvent");
  // Streams that wait for it still do. [CUDA Driver API, cuEventDestroy]
  (void)api.cuEventDestroy(event);
  return ordered;
}

Result<void> CudaDevice::wait_for_stream(CUstream stream) {
  TRY(context_->failure());
  const Current current(*context_);
  for (const CudaQueue* queue : {compute_.get(), copy_.get()}) TRY(order(stream, queue->stream()));
  return {};
}

Result<void> CudaDevice::let_stream_wait(CUstream stream) {
  TRY(context_->failure());
  const Current current(*context_);
  for (const CudaQueue* queue : {compute_.get(), copy_.get()}) TRY(order(queue->stream(), stream));
  return {};
}

hcq::Fence CudaDevice::unfinished_copies() {
  hcq::Fence fence;
  if (!copy_->idle()) fence.add(copy_->last());
  return fence;
}

// ---- code ---------------------------------------------------------------------------------------

void CudaDevice::unload_later(CUmodule module) {
  std::lock_guard lock(mutex_);
  modules_.push_back({module, fence()});
}

void CudaDevice::unload_done() {
  std::lock_guard lock(mutex_);
  if (modules_.empty() || !context_->failure()) return;
  const Current current(*context_);
  std::erase_if(modules_, [&](const RetiredModule& retired) {
    if (!retired.until.done()) return false;
    (void)context_->check(context_->api().cuModuleUnload(retired.module), "cuModuleUnload");
    return true;
  });
}

// ---- waiting, and losing the device -------------------------------------------------------------

Result<void> CudaDevice::block(const hcq::Signal& signal, u64 seen, u64 timeout_ns) {
  os::Clock& clock = os::host_clock();
  const u64 end = clock.now_ns() + timeout_ns;
  for (u64 now = clock.now_ns(); signal.value() == seen && now < end; now = clock.now_ns()) {
    TRY(context_->failure());
    // A fault is told to whoever calls next.
    const Current current(*context_);
    for (const CudaQueue* queue : {compute_.get(), copy_.get()}) {
      const CUresult state = context_->api().cuStreamQuery(queue->stream());
      if (state != kNotReady) TRY(context_->check(state, "cuStreamQuery"));
    }
    clock.sleep_until(std::min(end, now + kLook_ns));
  }
  return {};
}

void CudaDevice::lost(const Error& why) {
  Error error = why;
  error.device = name();
  for (CudaQueue* queue : {compute_.get(), copy_.get()}) queue->die(error);
}

}  // namespace doorbell::cuda
