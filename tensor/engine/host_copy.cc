// Waiting for both devices, and bytes through memory of the host.
#include "tensor/engine/host_copy.h"

#include <fmt/format.h>

#include "hcq/device.h"
#include "hcq/trace/trace.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {

void copy_by_host(const ExecutionPlan& plan, const ExecutionPlan::Item& item,
                  std::span<core::Buffer* const> memory) {
  const std::span<const ExecutionPlan::Argument> arguments = plan.arguments_of(item);
  const auto buffer_of = [&](const ExecutionPlan::Argument& argument) -> core::Buffer& {
    return plan.is_fixed(argument.source) ? plan.fixed_at(argument.source)
                                          : *memory[argument.source];
  };
  const ExecutionPlan::Argument &to = arguments[0], &from = arguments[1];
  end_if_stopped();
  for (core::Device* device : {from.device, to.device})
    for (const hcq::Point& point : hcq::Device::of(*device)->fence()) {
      must(point.queue->wait_or_stop(point.position));
      must(point.queue->wait(point.position));
    }
  const hcq::HostSpan span(fmt::format("copy {} bytes, {} to {}", item.copy_bytes,
                                       from.device->name(), to.device->name()),
                           "copy");
  must(core::copy_bytes(buffer_of(to), to.offset, buffer_of(from), from.offset, item.copy_bytes));
}

}  // namespace doorbell::engine
