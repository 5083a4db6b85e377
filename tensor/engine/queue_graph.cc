// Where items run, recording them, and the values of a run.
#include "tensor/engine/queue_graph.h"

#include <algorithm>

#include "base/util/log.h"
#include "core/device/registry.h"
#include "core/util/config.h"
#include "hcq/software/launch_device.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using hcq::Access;
using hcq::Operand;
using hcq::Queue;

// Whether `at` sees what `of` allocates. Asked with a byte of it, because a device may see some
// memory of another and not all.
bool reaches(hcq::Device& at, core::Device& of) {
  if (&at == &of) return true;
  Result<core::Ref<Buffer>> probe = Buffer::allocate(of, 1);
  return probe && at.address_of(**probe).has_value();
}

bool wait_for_each_other(hcq::Device& one, hcq::Device& other) {
  return one.copy_queue().can_wait_for(other.copy_queue()) &&
         other.copy_queue().can_wait_for(one.copy_queue());
}

hcq::Device& device_with_queues(core::Device& device) {
  hcq::Device* found = hcq::Device::of(device);
  if (found == nullptr)
    throw fail(ErrorKind::Unsupported, "{} only keeps memory: it can neither compute nor copy",
               device.name());
  return *found;
}

}  // namespace

QueueGraph::Placement QueueGraph::placement_of(const ExecutionPlan& plan, const Item& item) {
  const std::span<const Argument> arguments = plan.arguments_of(item);
  if (item.kernel) {
    hcq::Device& own = device_with_queues(*item.device);
    for (const Argument& argument : arguments)
      if (!reaches(own, *argument.device))
        throw fail(ErrorKind::Unsupported, "kernel {} on {} with memory of {}", item.kernel->name,
                   own.name(), argument.device->name());
    return {&own, &own.compute_queue()};
  }
  hcq::Device& to = device_with_queues(*arguments[0].device);
  hcq::Device& from = device_with_queues(*arguments[1].device);
  if (&to != &from && !from.runs())
    throw fail(ErrorKind::Unsupported,
               "{} bytes cannot be read from {}: its kernels never run, so its memory has no "
               "contents",
               item.copy_bytes, from.name());
  for (hcq::Device* device : {&to, &from})
    if (core::Registry::instance().is_remote(device->index()))
      return {device, &device->copy_queue()};
  if (&to == &from) return {&to, &to.copy_queue()};
  if (!wait_for_each_other(to, from)) return {};
  for (hcq::Device* device : {&to, &from})
    if (device->copies_any_memory())
      // Its queue would call the other device, whose queues may wait for the copy.
      return to.copy_queue().sees_signals_of(from.copy_queue())
                 ? Placement{device, &device->copy_queue()}
                 : Placement{};
  if (reaches(to, from)) return {&to, &to.copy_queue()};
  if (reaches(from, to)) return {&from, &from.copy_queue()};
  if (const Staging* staging = staging_between(from, to)) return {&to, &to.copy_queue(), staging};
  return {};
}

bool QueueGraph::adds_to(std::vector<hcq::Device*>* devices, const ExecutionPlan& plan,
                         const Item& item) {
  for (const Argument& argument : plan.arguments_of(item)) {
    hcq::Device& device = device_with_queues(*argument.device);
    if (std::ranges::find(*devices, &device) != devices->end()) continue;
    for (hcq::Device* known : *devices)
      if (!wait_for_each_other(*known, device)) return false;
    devices->push_back(&device);
  }
  return true;
}

// The device at whose address a queue uses an argument of an item.
hcq::Device& QueueGraph::viewer_of(const Placement& placement, usize argument) {
  const bool is_source = placement.staging != nullptr && argument == 1;
  return is_source ? *placement.staging->from : *placement.device;
}

// Whoever waits for a device finds its memory written only if work on others ends with its own.
bool QueueGraph::writes_elsewhere(const ExecutionPlan& plan, const Item& item,
                                  const Placement& placement) {
  return plan.arguments_of(item)[0].device != placement.device;
}

std::vector<QueueGraph::Placement> QueueGraph::placements_of(const PlanPart& part) {
  std::vector<Placement> placements;
  for (const Item& item : part.items()) placements.push_back(placement_of(*part.plan, item));
  return placements;
}

bool QueueGraph::joins(const PlanPart& part, std::span<const Placement> placements) {
  for (usize i = 0; i < placements.size(); ++i)
    if (placements[i].staging != nullptr ||
        writes_elsewhere(*part.plan, part.items()[i], placements[i]))
      return true;
  return false;
}

QueueGraph::QueueGraph(PlanPart part)
    : part_(std::move(part)),
      placements_(placements_of(part_)),
      graph_({.trace = is_traced_by_driver(*part_.plan, part_.items()[0])
                           ? nullptr
                           : hcq::Trace::of_process(),
              .join = joins(part_, placements_)}) {
  make_slots();
  inputs_ = graph_.storage();
  for (usize i = 0; i < placements_.size(); ++i) {
    const Item& item = part_.items()[i];
    record(item, placements_[i]);
    if (writes_elsewhere(*part_.plan, item, placements_[i]))
      graph_.join(device_with_queues(*part_.plan->arguments_of(item)[0].device).copy_queue());
  }
  must(graph_.bind());
  const int debug = core::config().debug;
  if (debug >= 1)
    log().debug("graph: {} nodes, {} slots{}", graph_.node_count(), values_.size(),
                debug >= 2 ? "\n" + graph_.str() : "");
}

// A run that is under way needs fixed memory and programs.
QueueGraph::~QueueGraph() { in_flight().keep(last_, {.more = part_.plan}); }

void QueueGraph::make_slots() {
  const ExecutionPlan& plan = *part_.plan;
  for (usize i = 0; i < placements_.size(); ++i) {
    const std::span<const Argument> arguments = plan.arguments_of(part_.items()[i]);
    for (usize k = 0; k < arguments.size(); ++k) {
      const Argument& argument = arguments[k];
      hcq::Device& owner = device_with_queues(*argument.device);
      for (Queue* queue : {&owner.compute_queue(), &owner.copy_queue()})
        if (std::ranges::find(queues_, queue) == queues_.end()) queues_.push_back(queue);
      if (plan.is_fixed(argument.source)) continue;
      const Address address{&viewer_of(placements_[i], k), argument.source};
      if (std::ranges::find(addresses_, address) != addresses_.end()) continue;
      graph_.slot();
      addresses_.push_back(address);
    }
  }
  for (usize i = 0; i < plan.variable_count; ++i) graph_.slot();
  values_.resize(addresses_.size() + plan.variable_count);
}

Operand QueueGraph::address_of(hcq::Device& device, const Argument& argument) {
  const ExecutionPlan& plan = *part_.plan;
  if (plan.is_fixed(argument.source))
    return must(device.address_of(plan.fixed_at(argument.source))) +
           static_cast<u64>(argument.offset);
  const Address address{&device, argument.source};
  const auto at = std::ranges::find(addresses_, address);
  // The offset is the operand's, so that drivers know how the slot's memory is aligned.
  return Operand::of_slot(static_cast<u32>(at - addresses_.begin())) +
         static_cast<u64>(argument.offset);
}

// Fresh and fixed memory overlaps nothing; inputs may be one tensor.
u32 QueueGraph::storage_of(const Argument& argument) {
  if (part_.plan->is_input(argument.source)) return inputs_;
  const auto [at, is_new] = storages_.try_emplace(argument.source, 0);
  if (is_new) at->second = graph_.storage();
  return at->second;
}

// `bytes` from `offset` on, of those of the argument.
u32 QueueGraph::memory_of(hcq::Device& viewer, const Argument& argument, i64 offset, i64 bytes) {
  return graph_.memory(storage_of(argument), static_cast<u64>(argument.offset + offset),
                       static_cast<u64>(bytes),
                       address_of(viewer, argument) + static_cast<u64>(offset));
}

// Piece by piece, each through the next part of the staging memory.
void QueueGraph::record_staged(const Item& item, const Staging& staging) {
  const std::span<const Argument> arguments = part_.plan->arguments_of(item);
  const auto [at, is_new] = staging_storages_.try_emplace(&staging, 0);
  if (is_new) at->second = graph_.storage();
  const u32 storage = at->second;
  for (i64 piece = 0; piece < Staging::pieces_of(item.copy_bytes); ++piece) {
    const i64 done = piece * Staging::kPieceBytes;
    const i64 bytes = std::min(Staging::kPieceBytes, item.copy_bytes - done);
    const u64 place = static_cast<u64>(piece % Staging::kPieces * Staging::kPieceBytes);
    const u64 size = static_cast<u64>(bytes);
    graph_.copy(staging.from->copy_queue(),
                graph_.memory(storage, place, size, staging.seen_by_from + place),
                memory_of(*staging.from, arguments[1], done, bytes), size);
    graph_.copy(staging.to->copy_queue(), memory_of(*staging.to, arguments[0], done, bytes),
                graph_.memory(storage, place, size, staging.seen_by_to + place), size);
  }
}

void QueueGraph::record(const Item& item, const Placement& placement) {
  if (placement.staging != nullptr) return record_staged(item, *placement.staging);
  std::vector<hcq::Graph::Argument> buffers;
  const usize written = part_.plan->outputs_of(item).size();
  for (const Argument& argument : part_.plan->arguments_of(item)) {
    const u32 memory = memory_of(*placement.device, argument, 0, argument.bytes);
    buffers.push_back({memory, buffers.size() < written ? Access::Write : Access::Read});
  }
  if (!item.kernel) {
    graph_.copy(*placement.queue, buffers[0].memory, buffers[1].memory,
                static_cast<u64>(item.copy_bytes));
    return;
  }
  std::vector<Operand> variables;
  for (u32 variable : part_.plan->variables_of(item))
    variables.push_back(Operand::of_slot(static_cast<u32>(addresses_.size()) + variable));
  graph_.exec(*placement.queue,
              {item.kernel->program.get(), item.kernel->name, buffers, variables});
}

hcq::Fence QueueGraph::prepare(std::span<Buffer* const> memory, std::span<const i64> variables) {
  end_if_stopped();
  u64* value = values_.data();
  for (const Address& address : addresses_) {
    const Buffer& buffer = *memory[address.source];
    *value++ = &buffer.device() == address.device && !address.device->copies_any_memory()
                   ? buffer.memory().address
                   : must(address.device->address_of(buffer)).value;
  }
  for (i64 variable : variables) *value++ = static_cast<u64>(variable);
  // What other runs put on any queue of these devices may have made, or still read, our memory.
  hcq::Fence after;
  for (Queue* queue : queues_) {
    // Polling here would cost more than it saves: work of the same queue is waited for anyway.
    if (queue->done(queue->last().position)) [[likely]]
      continue;
    after.add(queue->last());
    // Else the parts on other devices would run.
    if (queue->is_dead()) must(queue->wait(queue->last().position));
  }
  return after;
}

void QueueGraph::finish(Result<hcq::Fence> replayed, hcq::Fence* started) {
  if (replayed) [[likely]] {
    last_ = *std::move(replayed);
    started->add(last_);
    return;
  }
  // Queues that did not fail may run their part.
  for (Queue* queue : queues_) last_.add(queue->last());
  started->add(last_);
  // What was to come from another process is told here, once.
  if (!exchanges_work())
    for (Queue* queue : queues_) (void)queue->synchronize();
  throw_error(std::move(replayed).error());
}

bool QueueGraph::is_traced_by_driver(const ExecutionPlan& plan, const Item& item) {
  const auto* called = dynamic_cast<const hcq::LaunchDevice*>(placement_of(plan, item).device);
  return called != nullptr && called->adds_spans();
}

usize QueueGraph::queue_nodes(const ExecutionPlan& plan, const Item& item) {
  const Placement placement = placement_of(plan, item);
  if (placement.device == nullptr) return 0;
  if (placement.staging == nullptr) return 1;
  return 2 * static_cast<usize>(Staging::pieces_of(item.copy_bytes));
}

}  // namespace doorbell::engine
