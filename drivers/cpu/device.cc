// Opening the CPU and loading kernels.
#include "drivers/cpu/device.h"

#include <algorithm>
#include <thread>

#include "base/os/host.h"
#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/cpu/allocator.h"
#include "drivers/cpu/executor.h"

namespace doorbell::cpu {
namespace {

const char* vector_unit() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  if (__builtin_cpu_supports("avx")) return "AVX";
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "no vectors";
#endif
}

}  // namespace

Result<std::shared_ptr<WorkerPool>> make_workers(int threads, WorkerCpus cpus) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  TRY(std::unique_ptr<WorkerPool> pool, WorkerPool::make(std::max(1, threads), std::move(cpus)));
  return std::shared_ptr<WorkerPool>(std::move(pool));
}

CpuDevice::CpuDevice(core::DeviceSpec spec, const Options& options)
    : Device(std::move(spec)),
      workers_(options.workers ? options.workers : *make_workers(options.threads)),
      allocator_(name(), std::make_unique<HostAllocator>(options.max_bytes), options.max_cached) {
  hcq::Queue::Parts parts;
  parts.device = name();
  parts.memory = &queue_memory_;
  parts.signals = &signals_;
  parts.clock = options.clock != nullptr ? options.clock : &os::host_clock();
  parts.event = &event_;
  parts.timeline_limit = options.timeline_limit;
  parts.timeout_ns = 600'000'000'000;  // a kernel on one thread may take minutes
  // A process without memory for a page cannot be helped by an error.
  for (auto* queue : {&compute_, &copy_}) {
    parts.name = queue == &compute_ ? "compute" : "copy";
    *queue = *hcq::SoftwareQueue::make(parts, std::make_unique<CpuExecutor>(*this, *parts.clock),
                                       options.inline_ns);
  }
}

Result<std::unique_ptr<core::Program>> CpuDevice::load(const core::Binary& binary) {
  if (binary.code.entry == nullptr)
    return fail(ErrorKind::Invalid, "kernel {} is not loaded code, which is all that {} runs",
                binary.name, name());
  CHECK_GE(binary.threads, 1);
  return std::unique_ptr<core::Program>(std::make_unique<CpuProgram>(binary, *this, workers_));
}

Result<void> CpuDevice::synchronize() {
  Result<void> compute = compute_->synchronize(), copy = copy_->synchronize();
  return compute ? std::move(copy) : std::move(compute);
}

Result<hcq::GpuAddr> CpuDevice::address_of(const core::Buffer& buffer) {
  if (buffer.host() == nullptr)
    return fail(ErrorKind::Unsupported, "{} cannot reach memory of {}", name(),
                buffer.device().name());
  return hcq::GpuAddr{reinterpret_cast<u64>(buffer.host())};
}

const std::string& CpuDevice::keep_name(const std::string& name) {
  std::lock_guard lock(names_mutex_);
  return *names_.insert(name).first;
}

std::string CpuDevice::description() const {
  const int count = threads();
  return std::to_string(count) + (count == 1 ? " thread, " : " threads, ") + vector_unit();
}

}  // namespace doorbell::cpu
