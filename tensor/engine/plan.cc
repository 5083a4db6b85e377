// Making a plan: schedule, place the temporaries, compile, lay out.
#include "tensor/engine/plan.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <chrono>

#include "base/util/check.h"
#include "base/util/log.h"
#include "core/device/counters.h"
#include "core/device/registry.h"
#include "core/schedule/exchange.h"
#include "core/schedule/memory_plan.h"
#include "core/schedule/schedule.h"
#include "core/uop/placement.h"
#include "core/util/config.h"
#include "hcq/device.h"
#include "hcq/trace/trace.h"
#include "tensor/engine/exchanges.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"

namespace doorbell::engine {
namespace {

using core::Device;
using core::Registry;
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
  Device& usual = device();
  // Kernels are cut as the device of the first result wants them; few graphs have several kinds.
  // Where processes share the work, all of them cut alike: as for the device that each has first.
  u16 place = 0;
  for (usize i = 0; i < roots.size() && place == 0; ++i)
    if (!is_of_others(roots[i].device())) place = roots[i].device();
  Device& device = place == 0 ? usual : device_at(static_cast<u16>(place - 1));
  core::ScheduleOptions options = kernel_compiler().schedule_options(device);
  options.default_device = usual.index();
  const hcq::HostSpan span("schedule", "schedule");
  const auto start = std::chrono::steady_clock::now();
  Schedule schedule = core::make_schedule(key, roots, options);
  keep_own_work(&schedule);
  refuse_beyond_64_bits(schedule);
  const bool reuse = !core::config().no_memory_planner;
  core::plan_memory(&schedule, reuse);
  core::counters.schedules_made.add(1);
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

class Layout {
 public:
  Layout(const Schedule& schedule, const core::GraphKey& key) : schedule_(schedule), key_(key) {
    work_.input_count = key.inputs.size();
    work_.variable_count = key.variables.size();
    place_buffers();
  }

  void add(const ScheduleItem& item, KernelRef kernel);
  std::vector<PlanResult> results(std::span<const core::UOp> roots) const;
  ExecutionPlan take() { return std::move(work_); }

 private:
  static constexpr u32 kUnused = ~u32{0};

  void place_buffers();
  u32 add_fresh(Device& device, i64 bytes);
  void add_variables(const LoadedKernel& kernel);

  const Schedule& schedule_;
  const core::GraphKey& key_;
  ExecutionPlan work_;
  std::vector<ExecutionPlan::Argument> arguments_;  // by buffer of the schedule
};

u32 Layout::add_fresh(Device& device, i64 bytes) {
  work_.fresh.push_back({&device, bytes});
  return static_cast<u32>(work_.run_sources() - 1);
}

// Outputs have memory of their own; the temporaries of a device share one piece.
void Layout::place_buffers() {
  absl::flat_hash_map<u16, u32> temporary_of;  // by device; looked up, never iterated
  for (const ScheduleBuffer& buffer : schedule_.buffers) {
    ExecutionPlan::Argument argument{nullptr, kUnused, 0, bytes_of(buffer)};
    if (buffer.kind == Kind::Input) {
      argument.device = &static_cast<core::Buffer*>(key_.inputs[buffer.index].payload())->device();
      argument.source = buffer.index;
    } else if (buffer.kind == Kind::Output) {
      argument.device = &device_at(buffer.device);
      argument.source = add_fresh(*argument.device, argument.bytes);
    } else if (buffer.offset >= 0) {
      argument.device = &device_at(buffer.device);
      const auto [at, is_new] = temporary_of.try_emplace(buffer.device, kUnused);
      if (is_new)
        at->second = add_fresh(*argument.device, schedule_.temporary_bytes[buffer.device]);
      argument.source = at->second;
      argument.offset = buffer.offset;
    }
    arguments_.push_back(argument);
  }
}

void Layout::add_variables(const LoadedKernel& kernel) {
  for (i64 name : kernel.variables) {
    u32 at = 0;
    while (at < key_.variables.size() && key_.variables[at].name != name) ++at;
    CHECK(at < key_.variables.size(), "kernel {} reads {}, which the graph does not bind",
          kernel.name, core::interned_name(name));
    work_.variables.push_back(at);
  }
}

void Layout::add(const ScheduleItem& item, KernelRef kernel) {
  ExecutionPlan::Item placed;
  placed.device = core::is_exchange(item) ? &Registry::instance().communicator()->device()
                                          : &device_at(item.device);
  placed.first_argument = static_cast<u32>(work_.arguments.size());
  placed.argument_count = static_cast<u32>(item.buffers.size());
  for (u32 buffer : item.buffers) {
    CHECK(arguments_[buffer].source != kUnused, "buffer {} of the schedule has no memory", buffer);
    work_.arguments.push_back(arguments_[buffer]);
  }
  placed.first_variable = static_cast<u32>(work_.variables.size());
  if (kernel) {
    add_variables(*kernel);
    work_.kernels += 1;
    work_.flops += kernel->flops;
    work_.bytes += kernel->bytes;
  } else {
    CHECK_EQ(item.buffers.size(), 2u);
    placed.copy_bytes = bytes_of(schedule_.buffers[item.buffers[0]]);
    work_.copies += 1;
  }
  placed.variable_count = static_cast<u32>(work_.variables.size()) - placed.first_variable;
  placed.kernel = std::move(kernel);
  work_.items.push_back(std::move(placed));
}

std::vector<PlanResult> Layout::results(std::span<const core::UOp> roots) const {
  std::vector<u32> buffers = schedule_.results;
  if (buffers.empty()) {
    buffers.resize(roots.size());
    for (u32 i = 0; i < schedule_.buffers.size(); ++i)
      if (schedule_.buffers[i].kind == Kind::Output) buffers[schedule_.buffers[i].index] = i;
  }
  CHECK_EQ(buffers.size(), roots.size());
  std::vector<PlanResult> results;
  for (usize i = 0; i < roots.size(); ++i) {
    const ScheduleBuffer& buffer = schedule_.buffers[buffers[i]];
    CHECK(buffer.kind == Kind::Output, "root {} is not an output of its schedule", i);
    PlanResult result{arguments_[buffers[i]].source - static_cast<u32>(work_.input_count),
                      roots[i].dtype(),
                      {0, 0, buffer.device}};
    // The node of a symbolic shape holds the most it may have, flat; the lazy node keeps the shape.
    bool is_const = true;
    for (usize axis = 0; axis < roots[i].ndim(); ++axis) is_const &= roots[i].dim(axis).is_const();
    if (is_const) {
      for (usize axis = 0; axis < roots[i].ndim(); ++axis)
        result.args.push_back(roots[i].dim(axis).value());
    } else {
      result.args.push_back(buffer.count);
    }
    results.push_back(std::move(result));
  }
  std::vector<bool> is_later(work_.fresh.size());
  for (usize i = results.size(); i-- > 0;) {
    results[i].is_last = !is_later[results[i].fresh];
    is_later[results[i].fresh] = true;
  }
  return results;
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
  Layout layout(schedule, key);
  usize next_kernel = 0;
  for (const ScheduleItem& item : schedule.items) {
    KernelRef kernel;
    if (item.kind == ScheduleItem::Kind::Kernel) kernel = std::move(loaded[next_kernel++]);
    if (core::is_exchange(item)) kernel = load_exchange(item, schedule);
    layout.add(item, std::move(kernel));
  }
  plan.results = layout.results(roots);
  for (const ScheduleItem& item : schedule.items) {
    hcq::Device* device = hcq::Device::of(device_at(item.device));
    if (item.kind == ScheduleItem::Kind::Kernel && device != nullptr)
      plan.waits |= device->realize_waits();
  }
  plan.work = std::make_shared<const ExecutionPlan>(layout.take());
  if (log != nullptr) log->add(key, roots, schedule, plan);
  return plan;
}

// Whether each root has its own result, in order.
bool has_own_results(std::span<const core::ShardedRoot> roots) {
  for (usize i = 0; i < roots.size(); ++i)
    if (roots[i].first != i || roots[i].count != 1) return false;
  return true;
}

}  // namespace

Plan make_plan(const core::GraphKey& key, std::span<const core::UOp> roots, KernelCache& kernels,
               GraphLog* log) {
  refuse_unbound_variables(key);
  if (core::needs_sharding(key, device().index())) {
    const core::ShardedGraph sharded = core::shard_graph(key, roots);
    Plan plan = plan_sharded(sharded.key, sharded.roots, kernels, log);
    if (!has_own_results(sharded.by_root)) plan.roots = sharded.by_root;
    return plan;
  }
  return plan_sharded(key, roots, kernels, log);
}

core::UOpRef holder_of(const core::ShardedRoot& root, std::span<const core::UOpRef> buffers) {
  if (root.count == 1) return buffers[root.first];
  std::vector<core::UOp> parts;
  for (const core::UOpRef& buffer : buffers.subspan(root.first, root.count))
    parts.push_back(*buffer);
  return core::TensorGraph::make(core::Op::Multi, parts[0].dtype(), parts, {&root.layout, 1});
}

}  // namespace doorbell::engine
