// Loading and launching on the CPU.
#include "drivers/cpu/device.h"

#include <absl/container/inlined_vector.h>

#include <thread>

#include "drivers/cpu/allocator.h"

namespace doorbell::cpu {
namespace {

class CpuProgram final : public core::Program {
 public:
  CpuProgram(const core::Binary& binary, std::shared_ptr<WorkerPool> workers)
      : entry_(reinterpret_cast<KernelEntry>(binary.code.entry)),
        keep_alive_(binary.code.keep_alive),
        name_(binary.name),
        params_(binary.param_count),
        variables_(binary.variable_count),
        threads_(binary.threads),
        workers_(std::move(workers)) {}

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override {
    CHECK(buffers.size() == params_ && variables.size() == variables_,
          "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers.size(),
          variables.size(), params_, variables_);
    absl::InlinedVector<void*, 32> addresses(buffers.size());
    for (usize i = 0; i < buffers.size(); ++i)
      addresses[i] = static_cast<u8*>(buffers[i].buffer->host()) + buffers[i].offset;
    if (threads_ == 1) {
      entry_(addresses.data(), variables.data(), 0);
      return {};
    }
    struct Call {
      KernelEntry entry;
      void* const* addresses;
      const i64* variables;
    } call{entry_, addresses.data(), variables.data()};
    workers_->run(
        [](void* context, i64 part) {
          const Call& call = *static_cast<Call*>(context);
          call.entry(call.addresses, call.variables, part);
        },
        &call, threads_);
    return {};
  }

 private:
  const KernelEntry entry_;
  const std::shared_ptr<void> keep_alive_;  // the module that holds the code
  const std::string name_;
  const usize params_, variables_;
  const i64 threads_;
  const std::shared_ptr<WorkerPool> workers_;  // shared with the device
};

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

std::shared_ptr<WorkerPool> make_workers(int threads) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  return std::make_shared<WorkerPool>(threads < 1 ? 1 : threads);
}

CpuDevice::CpuDevice(core::DeviceSpec spec, const Options& options)
    : Device(std::move(spec)),
      workers_(options.workers ? options.workers : make_workers(options.threads)),
      allocator_(name(), std::make_unique<HostAllocator>(), options.max_cached) {}

Result<std::unique_ptr<core::Program>> CpuDevice::load(const core::Binary& binary) {
  if (binary.code.entry == nullptr)
    return fail(ErrorKind::Invalid, "kernel {} is not loaded code, which is all that {} runs",
                binary.name, name());
  CHECK_GE(binary.threads, 1);
  return std::unique_ptr<core::Program>(std::make_unique<CpuProgram>(binary, workers_));
}

std::string CpuDevice::description() const {
  const int count = threads();
  return std::to_string(count) + (count == 1 ? " thread, " : " threads, ") + vector_unit();
}

}  // namespace doorbell::cpu
