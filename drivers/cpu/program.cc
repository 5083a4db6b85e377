// Launching on the CPU.
#include "drivers/cpu/program.h"

#include <absl/container/inlined_vector.h>
#include <cxxabi.h>

#include <exception>

#include "base/util/check.h"
#include "base/util/stop.h"
#include "base/util/try.h"
#include "drivers/cpu/device.h"

namespace doorbell::cpu {

CpuProgram::CpuProgram(const core::Binary& binary, CpuDevice& device,
                       std::shared_ptr<WorkerPool> workers)
    : entry_(reinterpret_cast<KernelEntry>(binary.code.entry)),
      device_(device),
      name_(device.keep_name(binary.name)),
      params_(binary.param_count),
      variables_(binary.variable_count),
      threads_(binary.threads),
      workers_(std::move(workers)),
      keep_alive_(binary.code.keep_alive) {}

Result<void> CpuProgram::launch(std::span<const core::BufferView> buffers,
                                std::span<const i64> variables) {
  CHECK(buffers.size() == params_ && variables.size() == variables_,
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers.size(),
        variables.size(), params_, variables_);
  TRY(device_.drain());
  absl::InlinedVector<void*, 32> addresses(buffers.size());
  for (usize i = 0; i < buffers.size(); ++i)
    addresses[i] = static_cast<u8*>(buffers[i].buffer->host()) + buffers[i].offset;
  const PartCheck check{[](void*) { return stop_asked(); }};
  if (!run(addresses.data(), variables.data(), check))
    return fail(ErrorKind::Timeout, "kernel {} was stopped", name_);
  return {};
}

bool CpuProgram::run(void* const* buffers, const i64* variables, const PartCheck& check) const {
  if (threads_ == 1) {
    entry_(buffers, variables, 0);
    return true;
  }
  struct Call {
    KernelEntry entry;
    void* const* buffers;
    const i64* variables;
    std::atomic<bool> failed{false};
    std::exception_ptr error;
  } call{entry_, buffers, variables};
  const bool is_done = workers_->run(
      [](void* context, i64 part) {
        Call& call = *static_cast<Call*>(context);
        try {
          call.entry(call.buffers, call.variables, part);
        } catch (...) {
          if (abi::__cxa_current_exception_type() == nullptr) throw;  // the end of the thread
          // An exception must not end a worker. The end of the job orders this write.
          if (!call.failed.exchange(true)) call.error = std::current_exception();
        }
      },
      &call, threads_, check);
  if (call.failed.load(std::memory_order_relaxed)) std::rethrow_exception(call.error);
  return is_done;
}

}  // namespace doorbell::cpu
