// Kernels through core::Program, copies through the host.
#include "tensor/engine/launch_list.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "tensor/engine/must.h"
#include "tensor/engine/timed.h"

namespace doorbell::engine {

using core::Buffer;
using core::BufferView;

LaunchList::LaunchList(PlanPart part) : part_(std::move(part)) {
  for (const ExecutionPlan::Item& item : part_.items())
    for (const ExecutionPlan::Argument& argument : part_.plan->arguments_of(item))
      if (hcq::Device* device = hcq::Device::of(*argument.device))
        if (std::ranges::find(queued_, device) == queued_.end()) queued_.push_back(device);
}

BufferView LaunchList::view_of(const ExecutionPlan::Argument& argument,
                               std::span<Buffer* const> memory) const {
  const ExecutionPlan& plan = *part_.plan;
  Buffer* buffer =
      plan.is_fixed(argument.source) ? &plan.fixed_at(argument.source) : memory[argument.source];
  return {buffer, argument.offset};
}

void LaunchList::launch(const ExecutionPlan::Item& item, std::span<Buffer* const> memory,
                        std::span<const i64> variables) const {
  end_if_stopped();
  absl::InlinedVector<BufferView, 16> views;
  for (const ExecutionPlan::Argument& argument : part_.plan->arguments_of(item))
    views.push_back(view_of(argument, memory));
  if (!item.kernel) {
    const BufferView &to = views[0], &from = views[1];
    must(core::copy_between(*to.buffer, to.offset, *from.buffer, from.offset, item.copy_bytes));
    return;
  }
  absl::InlinedVector<i64, 4> values;
  for (u32 variable : part_.plan->variables_of(item)) values.push_back(variables[variable]);
  must(item.kernel->program->launch({views.data(), views.size()}, {values.data(), values.size()}));
}

void LaunchList::run(std::span<Buffer* const> memory, std::span<const i64> variables) {
  for (hcq::Device* device : queued_) must(device->synchronize());
  const bool is_traced = hcq::Trace::of_process() != nullptr;
  for (const ExecutionPlan::Item& item : part_.items()) {
    const auto launch_item = [&] { launch(item, memory, variables); };
    if (is_traced && !item.device->traces()) [[unlikely]]
      timed(item, true, launch_item);
    else
      launch_item();
  }
}

}  // namespace doorbell::engine
