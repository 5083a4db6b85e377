// Finding, compiling and keeping kernels.
#include "tensor/engine/kernel_cache.h"
#include "tensor/engine/must.h"

#include <bit>
#include <optional>
#include <type_traits>

#include "base/util/hash.h"
#include "base/util/log.h"
#include "base/util/progress.h"
#include "base/util/try.h"
#include "core/device/counters.h"
#include "core/util/config.h"
#include "hcq/trace/trace.h"
#include "tensor/engine/graph_log.h"
#include "tensor/engine/parallel_for.h"

namespace doorbell::engine {
namespace {

// What DEBUG asks to see.
void log_text(const CompiledKernel& compiled) {
  std::string shown;
  const int debug = core::config().debug;
  if (debug >= 5) shown += compiled.text.graph + "\n";
  if (debug >= 6) shown += compiled.text.linear + "\n";
  if (debug >= 4) shown += compiled.text.source + "\n";
  if (debug >= 7) shown += compiled.text.code + "\n";
  if (!shown.empty()) log().debug("{}\n{}", compiled.binary.name, shown);
}

Result<CompiledKernel> compile(const KernelRequest& request, bool keep_text) {
  hcq::HostSpan span("compile", "compile");
  TRY(CompiledKernel compiled, kernel_compiler().compile(*request.ast, *request.device, keep_text));
  core::counters.kernels_compiled.add(1);
  span.rename(compiled.binary.name);
  log_text(compiled);
  return compiled;
}

Result<KernelRef> load(CompiledKernel& compiled, const KernelRequest& request, bool keep_text) {
  auto kernel = std::make_shared<LoadedKernel>();
  compiled.binary.unaligned = [ast = request.ast, device = request.device] {
    return kernel_compiler().compile_unaligned(*ast, *device);
  };
  TRY(kernel->program, request.device->load(compiled.binary));
  kernel->name = compiled.binary.name;
  kernel->ast = request.ast;
  kernel->output_count = request.ast->output_count;
  kernel->variables = compiled.variables;
  kernel->flops = compiled.flops;
  kernel->bytes = compiled.bytes;
  if (keep_text) kernel->text = std::make_unique<const KernelText>(compiled.text);
  return KernelRef(std::move(kernel));
}

bool same_code(const KernelRequest& a, const KernelRequest& b) {
  return a.ast == b.ast || core::same_kernel(*a.ast, *b.ast);
}

}  // namespace

u64 settings_word() {
  const core::Config& config = core::config();
  u64 word = 0;
#define SETTING(type, field, value, name, text)                                \
  static_assert(std::is_same_v<type, bool>, "a number needs a range: NUMBER"); \
  word = word << 1 | u64{config.field};
#define NUMBER(field, value, least, most, name, text) \
  word =                                              \
      word << std::bit_width(unsigned{most - (least)}) | static_cast<u64>(config.field - (least));
#include "core/util/plan_config.def"
#undef NUMBER
#undef SETTING
  return word;
}

KernelRef KernelCache::find(const KernelRequest& request, u64 hash, u64 settings) const {
  const auto at = entries_.find(hash);
  if (at == entries_.end()) return nullptr;
  for (const Entry& entry : at->second) {
    if (entry.settings == settings && entry.request.device == request.device &&
        same_code(entry.request, request))
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

namespace {

// The new kernels of some requests: what is compiled, and what is loaded from it, once per device.
class Fresh {
 public:
  Fresh(std::span<const KernelRequest> requests, bool keep_text)
      : requests_(requests), keep_text_(keep_text) {}

  // The number of the kernel that request i asks for.
  usize add(usize i) {
    const KernelRequest& request = requests_[i];
    std::vector<usize>& alike = by_hash_[request.ast->key];
    usize binary = compiled_.size();
    for (usize other : alike) {
      const KernelRequest& earlier = requests_[loads_[other].request];
      if (!same_code(earlier, request)) continue;
      if (earlier.device == request.device) return other;
      if (kernel_compiler().share_binaries(*earlier.device, *request.device))
        binary = loads_[other].binary;
    }
    if (binary == compiled_.size()) compiled_.push_back(i);
    alike.push_back(loads_.size());
    loads_.push_back({i, binary});
    return loads_.size() - 1;
  }
  // By number; the first error in the requests' order is returned.
  Result<std::vector<KernelRef>> make() const {
    std::vector<std::optional<Result<CompiledKernel>>> made(compiled_.size());
    LongWork work("compiling kernels", static_cast<i64>(made.size()));
    parallel_for(made.size(), compile_threads(), [&](usize i) {
      made[i].emplace(compile(requests_[compiled_[i]], keep_text_));
      work.advance();
    });
    std::vector<KernelRef> kernels;
    for (const Load& one : loads_) {
      if (!*made[one.binary]) return std::move(*made[one.binary]).error();
      TRY(KernelRef kernel, load(**made[one.binary], requests_[one.request], keep_text_));
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }
  usize request_of(usize kernel) const { return loads_[kernel].request; }

 private:
  struct Load {
    usize request, binary;
  };
  std::span<const KernelRequest> requests_;
  const bool keep_text_;
  std::vector<usize> compiled_;  // requests
  std::vector<Load> loads_;
  absl::flat_hash_map<u64, std::vector<usize>> by_hash_;  // into loads_; looked up, never iterated
};

}  // namespace

Result<std::vector<KernelRef>> KernelCache::get(std::span<const KernelRequest> requests) {
  const u64 settings = settings_word();
  std::vector<KernelRef> kernels(requests.size());
  std::vector<u64> hashes(requests.size());
  std::vector<usize> number(requests.size());  // of a new kernel
  Fresh fresh(requests, keep_text_ || GraphLog::of_process() != nullptr);
  {
    std::lock_guard lock(mutex_);
    for (usize i = 0; i < requests.size(); ++i) {
      const KernelRequest& request = requests[i];
      hashes[i] = hash_of(request.ast->key, request.device->index(), settings);
      kernels[i] = find(request, hashes[i], settings);
      if (!kernels[i]) number[i] = fresh.add(i);
    }
  }
  TRY(std::vector<KernelRef> made, fresh.make());
  std::lock_guard lock(mutex_);
  for (usize i = 0; i < made.size(); ++i) {
    const usize request = fresh.request_of(i);
    insert(requests[request], hashes[request], settings, made[i]);
  }
  for (usize i = 0; i < requests.size(); ++i)
    if (!kernels[i]) kernels[i] = made[number[i]];
  return kernels;
}

void KernelCache::clear() {
  std::lock_guard lock(mutex_);
  entries_.clear();
  count_ = 0;
}

}  // namespace doorbell::engine
