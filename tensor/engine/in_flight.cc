// One for all devices: work of a replay may be on several.
#include "tensor/engine/in_flight.h"

#include "hcq/queue/queue.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {

namespace {

constexpr hcq::Queue::AbandonListener kListener = {
    [](const hcq::Queue& queue, hcq::Position first, hcq::Position last) {
      in_flight().mark_abandoned(queue, first, last);
    },
    [] { in_flight().undo_abandoned(); }};

hcq::InFlightResources* make_resources() {
  hcq::Queue::set_abandon_listener(&kListener);
  return new hcq::InFlightResources;  // never freed: work may outlive main()
}

}  // namespace

hcq::InFlightResources& in_flight() {
  static hcq::InFlightResources& resources = *make_resources();
  return resources;
}

void keep_run(const ExecutionPlan& plan, const hcq::Fence& until,
              std::span<core::Buffer* const> memory) {
  // Inputs are read; fresh memory comes behind them.
  const std::span<core::Buffer* const> written = memory.subspan(plan.input_count);
  if (hcq::InFlightResources::settle(until, written)) return;
  std::vector<core::Ref<core::Buffer>> owned;
  for (core::Buffer* buffer : memory)
    if (buffer != nullptr) owned.emplace_back(buffer);
  in_flight().keep(until, {.buffers = owned, .written = written});
}

core::Ref<core::Buffer> take_memory(core::Device& device, i64 bytes) {
  Result<core::Ref<core::Buffer>> memory = core::Buffer::allocate(device, bytes);
  if (!memory && memory.error().kind == ErrorKind::OutOfMemory && in_flight().count() > 0) {
    in_flight().wait();
    memory = core::Buffer::allocate(device, bytes);
  }
  return must(std::move(memory));
}

}  // namespace doorbell::engine
