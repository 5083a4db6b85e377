// The path from wanted nodes to their Buffers: walk, look up, run; schedule and compile on a miss.
#include "tensor/engine/realize.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/util/hash.h"
#include "core/device/counters.h"
#include "core/device/registry.h"
#include "core/util/config.h"
#include "hcq/queue/queue.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan_cache.h"
#include "tensor/engine/recorder.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using core::GraphKey;
using core::Ref;
using core::TensorGraph;
using core::UOp;
using core::UOpRef;

constexpr usize kPlans = 8192, kKernels = 16384;

// Never freed: a tensor may be realised while the process exits.
PlanCache& plans() {
  static PlanCache& cache = *new PlanCache(kPlans);
  return cache;
}
KernelCache& kernels() {
  static KernelCache& cache = *new KernelCache(kKernels);
  return cache;
}

// What a thread keeps from one realisation to the next: its key, for the memory of it, and the
// plans that it used last, so that loops need not ask the cache that all threads share.
struct Kept {
  GraphKey key;
  std::array<std::shared_ptr<const Plan>, 32> recent;  // by hash; shared with the cache
  u64 generation = 0;                                  // of the cache then

  std::shared_ptr<const Plan>& recent_of(u64 hash) {
    if (const u64 now = plans().generation(); generation != now) [[unlikely]] {
      recent = {};
      generation = now;
    }
    return recent[hash % recent.size()];
  }
};

// Taken while it is used: what asks whether to stop may run code that realises. Not there any more
// once the thread's storage is gone, while destructors of statics may still compute.
struct SpareKept {
  std::unique_ptr<Kept> kept;
  ~SpareKept();
};
constinit thread_local bool spare_is_gone = false;
thread_local SpareKept spare;
SpareKept::~SpareKept() { spare_is_gone = true; }

class KeptOfThread {
 public:
  KeptOfThread() {
    if (!spare_is_gone) kept_ = std::move(spare.kept);
    if (kept_ == nullptr) kept_ = std::make_unique<Kept>();
  }
  ~KeptOfThread() {
    if (!spare_is_gone) spare.kept = std::move(kept_);
  }
  KeptOfThread(const KeptOfThread&) = delete;
  KeptOfThread& operator=(const KeptOfThread&) = delete;
  Kept& operator*() { return *kept_; }

 private:
  std::unique_ptr<Kept> kept_;
};

// What a plan depends on besides the graph.
void add_settings(GraphKey* key) {
  core::Device* device = must(core::Registry::instance().default_device());
  const u64 word = settings_word() << 16 | device->index();
  key->words.push_back(word);
  key->hash = hash_mix(hash_combine(key->hash, word));
}

void refuse_conflict(const GraphKey& key) {
  if (key.conflict >= 0) [[unlikely]]
    throw fail(ErrorKind::Invalid, "variable {} has two values in one graph",
               core::interned_name(key.conflict));
}

// Lives until the next call.
const std::shared_ptr<const Plan>& find_plan(Kept* kept, std::span<const UOp> roots) {
  GraphKey& key = kept->key;
  key.walk(roots);
  refuse_conflict(key);
  add_settings(&key);
  std::shared_ptr<const Plan>& recent = kept->recent_of(key.hash);
  const bool keep = core::config().schedule_cache;
  if (keep) {
    if (recent == nullptr || recent->key != key.words) [[unlikely]]
      recent = plans().find(key);
    if (recent != nullptr) [[likely]] {
      core::counters.schedules_found.add(1);
      return recent;
    }
  }
  end_if_stopped();
  // Walked again for the order; another thread may have realised a node since, and then this key
  // is the one that fits.
  key.walk(roots, true);
  add_settings(&key);
  Plan plan = make_plan(key, roots, kernels(), GraphLog::of_process());
  recent =
      keep ? plans().insert(key, std::move(plan)) : std::make_shared<const Plan>(std::move(plan));
  return recent;
}

using Roots = absl::InlinedVector<UOp, 4>;

Roots unrealised(std::span<const UOp> wanted) {
  Roots roots;
  for (UOp node : wanted)
    if (!TensorGraph::realized(node)) roots.push_back(node);
  return roots;
}

// What a run brings, by source: the graph's inputs, and memory that is allocated for it.
struct Brought {
  absl::InlinedVector<Ref<Buffer>, 4> fresh;
  absl::InlinedVector<Buffer*, 12> memory;
  absl::InlinedVector<i64, 4> variables;

  Brought(const ExecutionPlan& work, const GraphKey& key) : fresh(work.fresh.size()) {
    for (const UOp input : key.inputs) {
      // Every Buffer node of a lazy graph has a Buffer behind it: make_buffer_node sees to that.
      memory.push_back(static_cast<Buffer*>(input.payload()));
      refuse_poisoned(*memory.back());
    }
    for (const core::BoundVariable& variable : key.variables) variables.push_back(variable.value);
    take_fresh(work, {fresh.data(), fresh.size()});
    for (const Ref<Buffer>& one : fresh) memory.push_back(one.get());
  }
};

bool copies_wrapped(const ExecutionPlan& work, const Brought& brought) {
  if (work.copies == 0) [[likely]]
    return false;
  return std::any_of(brought.memory.begin(),
                     brought.memory.begin() + static_cast<std::ptrdiff_t>(work.input_count),
                     [](const Buffer* buffer) { return buffer->is_wrapped(); });
}

void wait_until_done(const hcq::Fence& until, const Brought& brought) {
  for (const hcq::Point& point : until) {
    must(point.queue->wait_or_stop(point.position));
    must(point.queue->wait(point.position));
  }
  in_flight().sweep();
  for (const Ref<Buffer>& one : brought.fresh)
    refuse_poisoned(*one);  // another thread may have stopped it
}

using Nodes = absl::InlinedVector<UOpRef, 4>;

// Nodes of the plan's results.
Nodes make_results(const Plan& plan, Brought& brought) {
  Nodes results;
  for (const PlanResult& result : plan.results) {
    absl::InlinedVector<i64, 8> args(result.args.begin(), result.args.end());
    args[0] = next_buffer_id();
    Ref<Buffer>& memory = brought.fresh[result.fresh];
    results.push_back(TensorGraph::make_buffer(
        result.dtype, args, result.is_last ? std::move(memory) : Ref<Buffer>(memory)));
  }
  return results;
}

}  // namespace

StoredNodes realize(std::span<const UOp> wanted) {
  ensure_runtime();
  const Roots roots = unrealised(wanted);
  Nodes holders;
  if (!roots.empty()) {
    KeptOfThread of_thread;
    Kept& kept = *of_thread;
    const std::shared_ptr<const Plan>& plan = find_plan(&kept, roots);
    Brought brought(*plan->work, kept.key);
    const hcq::Fence until =
        KeptRunner::Use(plan->runner, plan->work)->run(brought.memory, brought.variables);
    if (plan->waits || copies_wrapped(*plan->work, brought)) wait_until_done(until, brought);
    Nodes results = make_results(*plan, brought);
    if (Recorder* recorder = Recorder::current()) [[unlikely]]
      recorder->add(plan, kept.key, results);
    for (usize i = 0; i < roots.size(); ++i) {
      holders.push_back(plan->roots.empty() ? std::move(results[i])
                                            : holder_of(plan->roots[i], results));
      TensorGraph::set_realized(roots[i], *holders.back());
    }
  }
  StoredNodes all;
  usize next = 0;  // of the roots
  for (const UOp node : wanted) {
    const bool was_root = next < roots.size() && node == roots[next];
    all.push_back(materialized_node(node, was_root ? std::move(holders[next++]) : UOpRef()));
  }
  return all;
}

Preparation prepare(std::span<const UOp> wanted) {
  ensure_runtime();
  const Roots roots = unrealised(wanted);
  if (roots.empty()) return {};
  KeptOfThread of_thread;
  const std::shared_ptr<const Plan>& plan = find_plan(&*of_thread, roots);
  return {plan->work->kernels, plan->distinct_kernels, plan->work->copies, plan->schedule_seconds,
          plan->compile_seconds};
}

void log_plan(std::span<const UOp> wanted, GraphLog* log) {
  ensure_runtime();
  const Roots roots = unrealised(wanted);
  GraphKey key;
  key.walk(roots, true);
  refuse_conflict(key);
  KernelCache fresh(kKernels, true);
  if (!roots.empty()) make_plan(key, roots, fresh, log);
}

void clear_schedule_cache() {
  plans().clear();
  kernels().clear();
}

}  // namespace doorbell::engine
