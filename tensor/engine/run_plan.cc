// Running a plan: memory, launches, and the nodes that hold the results. Where DEBUG=2 or a
// trace asks, each item is waited for and timed; otherwise nothing waits.
#include <absl/container/inlined_vector.h>

#include "core/device/counters.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan.h"
#include "tensor/engine/timed.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using core::BufferView;
using core::Ref;
using Kind = core::ScheduleBuffer::Kind;

struct Run {
  const Plan& plan;
  const core::GraphKey& key;
  absl::InlinedVector<Ref<Buffer>, 2> outputs, temporaries;
  absl::InlinedVector<BufferView, 12> views;  // by Plan::buffers
};

void take_all_memory(Run* run) {
  for (const PlanMemory& memory : run->plan.outputs)
    run->outputs.push_back(take_memory(*memory.device, memory.bytes));
  for (const PlanMemory& memory : run->plan.temporaries)
    run->temporaries.push_back(take_memory(*memory.device, memory.bytes));
  for (const Plan::BufferPlace& place : run->plan.buffers) {
    switch (place.kind) {
      case Kind::Input: {
        // Every Buffer node of a lazy graph has a Buffer behind it: make_buffer_node sees to that.
        auto* buffer = static_cast<Buffer*>(run->key.inputs[place.index].payload());
        refuse_poisoned(*buffer);
        run->views.push_back({buffer, 0});
        break;
      }
      case Kind::Output: run->views.push_back({run->outputs[place.index].get(), 0}); break;
      case Kind::Temporary:
        run->views.push_back(
            {run->temporaries.empty() ? nullptr : run->temporaries[place.index].get(),
             place.offset});
        break;
    }
  }
}

void launch(const Run& run, const PlanItem& item) {
  end_if_stopped();
  const u32* arguments = run.plan.arguments.data() + item.first_buffer;
  if (!item.kernel) {
    const BufferView &to = run.views[arguments[0]], &from = run.views[arguments[1]];
    must(core::copy_between(*to.buffer, to.offset, *from.buffer, from.offset, item.copy_bytes));
    return;
  }
  absl::InlinedVector<BufferView, 16> views(item.buffer_count);
  for (u32 i = 0; i < item.buffer_count; ++i) views[i] = run.views[arguments[i]];
  absl::InlinedVector<i64, 4> variables(item.variable_count);
  for (u32 i = 0; i < item.variable_count; ++i)
    variables[i] = run.key.variables[run.plan.variables[item.first_variable + i]].value;
  must(item.kernel->program->launch(views, variables));
}

// What has no value should the work be stopped that now runs on.
void keep_outputs(const Run& run) {
  const hcq::Fence until = unfinished(run.plan.queued);
  if (until.empty()) return;
  absl::InlinedVector<Buffer*, 2> written;
  for (const Ref<Buffer>& output : run.outputs) written.push_back(output.get());
  in_flight().keep(until, {.buffers = run.outputs, .written = written});
}

void count(const Plan& plan) {
  using std::memory_order_relaxed;
  core::counters.kernels.fetch_add(plan.kernels, memory_order_relaxed);
  if (plan.copies != 0) core::counters.copies.fetch_add(plan.copies, memory_order_relaxed);
  core::counters.flops.fetch_add(static_cast<i64>(plan.flops), memory_order_relaxed);
  core::counters.bytes_accessed.fetch_add(static_cast<i64>(plan.bytes), memory_order_relaxed);
}

}  // namespace

void run_plan(const Plan& plan, const core::GraphKey& key, std::vector<core::UOpRef>* results) {
  Run run{plan, key, {}, {}, {}};
  take_all_memory(&run);
  if (is_timed()) [[unlikely]] {
    for (const PlanItem& item : plan.items) timed(item, [&] { launch(run, item); });
  } else {
    for (const PlanItem& item : plan.items) launch(run, item);
  }
  if (!plan.queued.empty()) keep_outputs(run);
  count(plan);
  for (const PlanResult& result : plan.results) {
    absl::InlinedVector<i64, 8> args(result.args.begin(), result.args.end());
    args[0] = next_buffer_id();
    results->push_back(core::TensorGraph::make(core::Op::Buffer, result.dtype, {}, args,
                                               run.views[result.buffer].buffer));
  }
}

}  // namespace doorbell::engine
