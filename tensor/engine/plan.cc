// Making a plan: schedule, place the temporaries, compile, lay out.
#include "tensor/engine/plan.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <chrono>

#include "base/util/check.h"
#include "base/util/log.h"
#include "core/device/counters.h"
#include "core/device/registry.h"
#include "core/schedule/memory_plan.h"
#include "core/schedule/schedule.h"
#include "core/uop/placement.h"
#include "core/util/config.h"
#include "hcq/device.h"
#include "hcq/trace/trace.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {
namespace {

using core::Device;
using core::Schedule;
using core::ScheduleBuffer;
using core::ScheduleItem;
using Kind = core::ScheduleBuffer::Kind;

using Moment = std::chrono::steady_clock::time_point;

Moment now() { return std::chrono::steady_clock::now(); }

i64 count_distinct(std::span<const KernelRef> kernels) {
  absl::flat_hash_set<const LoadedKernel*> distinct;  // counted, never iterated
  for (const KernelRef& kernel : kernels) distinct.insert(kernel.get());
  return static_cast<i64>(distinct.size());
}

Device& device_at(u16 index) { return *must(core::Registry::instance().at(index)); }

void refuse_unbound_variables(const core::GraphKey& key) {
  for (const core::WalkNode& entry : key.order)
    if (entry.node.is(core::Op::Variable))
      throw fail(ErrorKind::Invalid, "variable {} has no value: bind it before asking for a result",
                 core::interned_name(entry.node.arg(0)));
}

i64 bytes_of(const ScheduleBuffer& buffer) { return buffer.count * buffer.dtype.bytes(); }

// Offsets and totals stay within 64 bits, with room for alignment.
void refuse_beyond_64_bits(const Schedule& schedule) {
  i64 total = 0;
  for (const ScheduleBuffer& buffer : schedule.buffers) {
    i64 bytes;
    const bool fits = !__builtin_mul_overflow(buffer.count, buffer.dtype.bytes(), &bytes) &&
                      !__builtin_add_overflow(total, bytes, &total) && total <= INT64_MAX / 2;
    if (!fits)
      throw fail(ErrorKind::OutOfMemory, "{} elements of {} are more than any memory holds",
                 buffer.count, core::long_name_of(buffer.dtype.scalar));
  }
}

Schedule schedule_of(const core::GraphKey& key, std::span<const core::UOp> roots) {
  Device& usual = *must(core::Registry::instance().default_device());
  // Kernels are cut as the device of the first result wants them; few graphs have several kinds.
  const u16 place = roots.empty() ? 0 : roots[0].device();
  Device& device = place == 0 ? usual : device_at(static_cast<u16>(place - 1));
  core::ScheduleOptions options = kernel_compiler().schedule_options(device);
  options.default_device = usual.index();
  const hcq::HostSpan span("schedule", "schedule");
  const auto start = std::chrono::steady_clock::now();
  Schedule schedule = core::make_schedule(key, roots, options);
  refuse_beyond_64_bits(schedule);
  const bool reuse = !core::config().no_memory_planner;
  core::plan_memory(&schedule, reuse);
  core::counters.schedules_made.fetch_add(1, std::memory_order_relaxed);
  if (core::config().debug >= 1) {
    const std::chrono::duration<f64, std::milli> spent = std::chrono::steady_clock::now() - start;
    i64 planned = 0, unplanned = 0;
    for (i64 bytes : schedule.temporary_bytes) planned += bytes;
    for (const ScheduleBuffer& buffer : schedule.buffers)
      if (buffer.kind == Kind::Temporary) unplanned += bytes_of(buffer);
    log().debug("schedule: {} nodes to {} items in {:.2f} ms; temporaries {} bytes in {}",
                key.order.size(), schedule.items.size(), spent.count(), unplanned, planned);
  }
  return schedule;
}

void place_buffers(const Schedule& schedule, Plan* plan) {
  absl::flat_hash_map<u16, u32> temporary_of;  // by device; looked up, never iterated
  for (const ScheduleBuffer& buffer : schedule.buffers) {
    Plan::BufferPlace place{buffer.kind, buffer.index, 0, bytes_of(buffer)};
    if (buffer.kind == Kind::Output) {
      place.index = static_cast<u32>(plan->outputs.size());
      plan->outputs.push_back({&device_at(buffer.device), bytes_of(buffer)});
    } else if (buffer.kind == Kind::Temporary && buffer.offset >= 0) {
      const auto [at, is_new] =
          temporary_of.try_emplace(buffer.device, static_cast<u32>(plan->temporaries.size()));
      if (is_new)
        plan->temporaries.push_back(
            {&device_at(buffer.device), schedule.temporary_bytes[buffer.device]});
      place.index = at->second;
      place.offset = buffer.offset;
    }
    plan->buffers.push_back(place);
  }
}

void place_item(const Schedule& schedule, const ScheduleItem& item, KernelRef kernel,
                const core::GraphKey& key, Plan* plan) {
  PlanItem placed;
  placed.device = &device_at(item.device);
  placed.first_buffer = static_cast<u32>(plan->arguments.size());
  placed.buffer_count = static_cast<u32>(item.buffers.size());
  plan->arguments.insert(plan->arguments.end(), item.buffers.begin(), item.buffers.end());
  placed.first_variable = static_cast<u32>(plan->variables.size());
  placed.variable_count = 0;
  if (kernel) {
    hcq::Device* device = hcq::Device::of(*placed.device);
    if (device != nullptr && device->launches_on_queue() &&
        std::ranges::find(plan->queued, device) == plan->queued.end())
      plan->queued.push_back(device);
    for (i64 name : kernel->variables) {
      u32 at = 0;
      while (at < key.variables.size() && key.variables[at].name != name) ++at;
      CHECK(at < key.variables.size(), "kernel {} reads {}, which the graph does not bind",
            kernel->name, core::interned_name(name));
      plan->variables.push_back(at);
    }
    placed.variable_count = static_cast<u32>(kernel->variables.size());
    plan->kernels += 1;
    plan->flops += kernel->flops;
    plan->bytes += kernel->bytes;
  } else {
    CHECK_EQ(item.buffers.size(), 2u);
    placed.copy_bytes = bytes_of(schedule.buffers[item.buffers[0]]);
    plan->copies += 1;
  }
  placed.kernel = std::move(kernel);
  plan->items.push_back(std::move(placed));
}

void place_results(const Schedule& schedule, std::span<const core::UOp> roots, Plan* plan) {
  std::vector<u32> results = schedule.results;
  if (results.empty()) {
    results.resize(roots.size());
    for (u32 i = 0; i < schedule.buffers.size(); ++i)
      if (schedule.buffers[i].kind == Kind::Output) results[schedule.buffers[i].index] = i;
  }
  CHECK_EQ(results.size(), roots.size());
  for (usize i = 0; i < roots.size(); ++i) {
    const ScheduleBuffer& buffer = schedule.buffers[results[i]];
    PlanResult result{results[i], roots[i].dtype(), {0, 0, buffer.device}};
    // The node of a symbolic shape holds the most it may have, flat; the lazy node keeps the shape.
    bool is_const = true;
    for (usize axis = 0; axis < roots[i].ndim(); ++axis) is_const &= roots[i].dim(axis).is_const();
    if (is_const) {
      for (usize axis = 0; axis < roots[i].ndim(); ++axis)
        result.args.push_back(roots[i].dim(axis).value());
    } else {
      result.args.push_back(buffer.count);
    }
    plan->results.push_back(std::move(result));
  }
}

// Of a graph in which every value is on one device.
Plan plan_sharded(const core::GraphKey& key, std::span<const core::UOp> roots, KernelCache& kernels,
                  GraphLog* log) {
  const Moment start = now();
  const Schedule schedule = schedule_of(key, roots);
  const Moment scheduled = now();
  std::vector<KernelRequest> requests;
  for (const ScheduleItem& item : schedule.items)
    if (item.kind == ScheduleItem::Kind::Kernel)
      requests.push_back({item.ast, &device_at(item.device)});
  std::vector<KernelRef> loaded = must(kernels.get(requests));
  Plan plan;
  plan.schedule_seconds = std::chrono::duration<f64>(scheduled - start).count();
  plan.compile_seconds = std::chrono::duration<f64>(now() - scheduled).count();
  plan.distinct_kernels = count_distinct(loaded);
  place_buffers(schedule, &plan);
  usize next_kernel = 0;
  for (const ScheduleItem& item : schedule.items) {
    KernelRef kernel;
    if (item.kind == ScheduleItem::Kind::Kernel) kernel = std::move(loaded[next_kernel++]);
    place_item(schedule, item, std::move(kernel), key, &plan);
  }
  place_results(schedule, roots, &plan);
  if (log != nullptr) log->add(key, roots, schedule, plan);
  return plan;
}

}  // namespace

Plan make_plan(const core::GraphKey& key, std::span<const core::UOp> roots, KernelCache& kernels,
               GraphLog* log) {
  refuse_unbound_variables(key);
  if (core::needs_sharding(key, must(core::Registry::instance().default_device())->index())) {
    const core::ShardedGraph sharded = core::shard_graph(key, roots);
    Plan plan = plan_sharded(sharded.key, sharded.roots, kernels, log);
    plan.roots = sharded.by_root;
    return plan;
  }
  Plan plan = plan_sharded(key, roots, kernels, log);
  for (u32 i = 0; i < roots.size(); ++i) plan.roots.push_back({i, 1, core::kReplicated});
  return plan;
}

core::UOpRef holder_of(const core::ShardedRoot& root, std::span<const core::UOpRef> buffers) {
  if (root.count == 1) return buffers[root.first];
  std::vector<core::UOp> parts;
  for (const core::UOpRef& buffer : buffers.subspan(root.first, root.count))
    parts.push_back(*buffer);
  return core::TensorGraph::make(core::Op::Multi, parts[0].dtype(), parts, {&root.axis, 1});
}

}  // namespace doorbell::engine
