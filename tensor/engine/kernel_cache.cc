// Finding, compiling and keeping kernels.
#include "tensor/engine/kernel_cache.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "base/util/hash.h"
#include "base/util/log.h"
#include "core/device/counters.h"
#include "core/util/config.h"
#include "hcq/trace/trace.h"

namespace doorbell::engine {
namespace {

Result<KernelRef> compile(const KernelRequest& request) {
  hcq::HostSpan span("compile", "compile");
  TRY(CompiledKernel compiled, kernel_compiler().compile(*request.ast, *request.device));
  core::counters.kernels_compiled.fetch_add(1, std::memory_order_relaxed);
  span.rename(compiled.binary.name);
  if (!compiled.report.empty()) log().debug("{}\n{}", compiled.binary.name, compiled.report);
  auto kernel = std::make_shared<LoadedKernel>();
  TRY(kernel->program, request.device->load(compiled.binary));
  kernel->name = compiled.binary.name;
  kernel->ast = request.ast;
  kernel->output_count = request.ast->output_count;
  kernel->variables = std::move(compiled.variables);
  kernel->flops = compiled.flops;
  kernel->bytes = compiled.bytes;
  return KernelRef(std::move(kernel));
}

// Calls body(0 .. count-1) on up to `threads` threads, this one among them, each with this thread's
// settings. The first exception is thrown again here.
template <class Body>
void parallel_for(usize count, usize threads, const Body& body) {
  std::atomic<usize> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  const core::Config& config = core::config();
  auto work = [&] {
    core::Context context(&config);
    for (usize i; (i = next.fetch_add(1)) < count;) {
      try {
        body(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    }
  };
  std::vector<std::thread> helpers;
  for (usize i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (thrown) std::rethrow_exception(thrown);
}

usize compile_threads() {
  const int asked = core::config().parallel;
  if (asked > 0) return static_cast<usize>(asked);
  return std::max<usize>(1, std::thread::hardware_concurrency());
}

}  // namespace

u64 settings_word() {
  const core::Config& config = core::config();
  return u64{config.noopt} | u64{config.no_memory_planner} << 1;
}

KernelRef KernelCache::find(const KernelRequest& request, u64 hash, u64 settings) const {
  const auto at = entries_.find(hash);
  if (at == entries_.end()) return nullptr;
  for (const Entry& entry : at->second) {
    if (entry.settings == settings && entry.request.device == request.device &&
        (entry.request.ast == request.ast || core::same_kernel(*entry.request.ast, *request.ast)))
      return entry.kernel;
  }
  return nullptr;
}

void KernelCache::insert(const KernelRequest& request, u64 hash, u64 settings, KernelRef kernel) {
  if (count_ >= capacity_) {
    // Plans keep what they use; a kernel that is used again compiles again, from the disk cache.
    entries_.clear();
    count_ = 0;
  }
  entries_[hash].push_back({request, settings, std::move(kernel)});
  ++count_;
}

Result<std::vector<KernelRef>> KernelCache::get(std::span<const KernelRequest> requests) {
  const u64 settings = settings_word();
  std::vector<KernelRef> kernels(requests.size());
  std::vector<u64> hashes(requests.size());
  // The first request of each new kernel, and for every request which of those it equals.
  std::vector<usize> fresh, same_as(requests.size(), ~usize{0});
  absl::flat_hash_map<u64, std::vector<usize>> fresh_by_hash;  // looked up, never iterated
  {
    std::lock_guard lock(mutex_);
    for (usize i = 0; i < requests.size(); ++i) {
      const KernelRequest& request = requests[i];
      hashes[i] = hash_of(request.ast->key, request.device->index(), settings);
      kernels[i] = find(request, hashes[i], settings);
      if (kernels[i]) continue;
      std::vector<usize>& alike = fresh_by_hash[hashes[i]];
      for (usize other : alike) {
        const KernelRequest& earlier = requests[fresh[other]];
        if (earlier.device == request.device &&
            (earlier.ast == request.ast || core::same_kernel(*earlier.ast, *request.ast)))
          same_as[i] = other;
      }
      if (same_as[i] != ~usize{0}) continue;
      same_as[i] = fresh.size();
      alike.push_back(fresh.size());
      fresh.push_back(i);
    }
  }
  std::vector<std::optional<Result<KernelRef>>> made(fresh.size());
  parallel_for(fresh.size(), compile_threads(),
               [&](usize i) { made[i].emplace(compile(requests[fresh[i]])); });
  std::lock_guard lock(mutex_);
  for (usize i = 0; i < fresh.size(); ++i) {
    if (!*made[i]) return std::move(*made[i]).error();
    insert(requests[fresh[i]], hashes[fresh[i]], settings, **made[i]);
  }
  for (usize i = 0; i < requests.size(); ++i)
    if (!kernels[i]) kernels[i] = **made[same_as[i]];
  return kernels;
}

void KernelCache::clear() {
  std::lock_guard lock(mutex_);
  entries_.clear();
  count_ = 0;
}

}  // namespace doorbell::engine
