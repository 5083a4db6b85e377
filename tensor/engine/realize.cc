// The path from wanted nodes to their Buffers: walk, look up, run; schedule and compile on a miss.
#include "tensor/engine/realize.h"

#include <absl/container/inlined_vector.h>

#include <memory>
#include <utility>

#include "base/util/hash.h"
#include "core/device/counters.h"
#include "core/device/registry.h"
#include "core/util/config.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan_cache.h"
#include "tensor/engine/recorder.h"

namespace doorbell::engine {
namespace {

using core::GraphKey;
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

// The thread's key, kept for its memory. Taken while it is used: what asks whether to stop may run
// code that realises. Not there any more once the thread's storage is gone, while destructors of
// statics may still compute.
struct SpareKey {
  std::unique_ptr<GraphKey> key;
  ~SpareKey();
};
constinit thread_local bool spare_is_gone = false;
thread_local SpareKey spare;
SpareKey::~SpareKey() { spare_is_gone = true; }

class KeyOfThread {
 public:
  KeyOfThread() {
    if (!spare_is_gone) key_ = std::move(spare.key);
    if (key_ == nullptr) key_ = std::make_unique<GraphKey>();
  }
  ~KeyOfThread() {
    if (!spare_is_gone) spare.key = std::move(key_);
  }
  KeyOfThread(const KeyOfThread&) = delete;
  KeyOfThread& operator=(const KeyOfThread&) = delete;
  GraphKey& operator*() { return *key_; }

 private:
  std::unique_ptr<GraphKey> key_;
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

std::shared_ptr<const Plan> find_plan(GraphKey* key, std::span<const UOp> roots) {
  key->walk(roots);
  refuse_conflict(*key);
  add_settings(key);
  const bool keep = core::config().schedule_cache;
  if (keep) {
    if (std::shared_ptr<const Plan> plan = plans().find(*key)) [[likely]] {
      core::counters.schedules_found.add(1);
      return plan;
    }
  }
  end_if_stopped();
  // Walked again for the order; another thread may have realised a node since, and then this key
  // is the one that fits.
  key->walk(roots, true);
  add_settings(key);
  Plan plan = make_plan(*key, roots, kernels(), GraphLog::of_process());
  if (!keep) return std::make_shared<const Plan>(std::move(plan));
  return plans().insert(*key, std::move(plan));
}

using Roots = absl::InlinedVector<UOp, 4>;

Roots unrealised(std::span<const UOp> wanted) {
  Roots roots;
  for (UOp node : wanted)
    if (!TensorGraph::realized(node)) roots.push_back(node);
  return roots;
}

void compute(std::span<const UOp> roots) {
  KeyOfThread of_thread;
  GraphKey& key = *of_thread;
  const std::shared_ptr<const Plan> plan = find_plan(&key, roots);
  const absl::InlinedVector<UOpRef, 4> results = run_plan(*plan, key);
  if (Recorder* recorder = Recorder::current()) [[unlikely]]
    recorder->add(plan, key, results);
  for (usize i = 0; i < roots.size(); ++i)
    TensorGraph::set_realized(roots[i], *holder_of(plan->roots[i], results));
}

}  // namespace

StoredNodes realize(std::span<const UOp> wanted) {
  ensure_runtime();
  const Roots roots = unrealised(wanted);
  if (!roots.empty()) compute(roots);
  StoredNodes all;
  all.reserve(wanted.size());
  for (UOp node : wanted) all.push_back(materialized_node(node));
  return all;
}

UOpRef realize(UOp wanted) {
  ensure_runtime();
  if (!TensorGraph::realized(wanted)) compute({&wanted, 1});
  return materialized_node(wanted);
}

Preparation prepare(std::span<const UOp> wanted) {
  ensure_runtime();
  const Roots roots = unrealised(wanted);
  if (roots.empty()) return {};
  GraphKey key;
  const std::shared_ptr<const Plan> plan = find_plan(&key, roots);
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
