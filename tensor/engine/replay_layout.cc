// Laying out: what a recorded run names is a slot, fresh memory, a block of an arena, or memory
// that never changes.
#include "tensor/engine/replay_layout.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>

#include "base/util/check.h"
#include "core/schedule/memory_plan.h"
#include "core/util/config.h"
#include "tensor/engine/in_flight.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using core::UOp;
using core::UOpRef;
using Kind = core::ScheduleBuffer::Kind;

Buffer* memory_of(UOp node) { return static_cast<Buffer*>(node.payload()); }

// By number of output: the memory that the recorded run put it in.
std::vector<const Buffer*> recorded_outputs(const RecordedRun& run) {
  std::vector<const Buffer*> outputs(run.plan->outputs.size(), nullptr);
  for (usize i = 0; i < run.results.size(); ++i) {
    const Plan::BufferPlace& place = run.plan->buffers[run.plan->results[i].buffer];
    CHECK(place.kind == Kind::Output, "a root is not an output of its plan");
    outputs[place.index] = memory_of(*run.results[i]);
  }
  return outputs;
}

class Builder {
 public:
  Builder(std::span<const RecordedRun> runs, std::span<const UOpRef> slots,
          std::span<const i64> variables)
      : runs_(runs), slots_(slots), variables_(variables) {
    layout_.reads.resize(slots.size(), false);
    layout_.variable_count = variables.size();
  }

  ReplayLayout build(std::span<const UOpRef> results);

 private:
  struct Place {
    core::Device* device = nullptr;
    i64 bytes = 0;
    i32 slot = -1, fresh = -1, block = -1;  // one of them, or
    Buffer* constant = nullptr;
    i64 offset = 0;
  };
  struct Block {
    core::Device* device;
    core::PlannedBlock planned;
  };

  void find_results(std::span<const UOpRef> results);
  std::vector<Place> places_of(const RecordedRun& run);
  Place place_of_input(UOp node);
  i32 add_block(const PlanMemory& memory);
  void add_items(const RecordedRun& run, const std::vector<Place>& places);
  void add_argument(const Place& place);
  void add_variables(const RecordedRun& run, const PlanItem& item);
  void place_blocks();

  ReplayLayout layout_;
  std::span<const RecordedRun> runs_;
  std::span<const UOpRef> slots_;
  std::span<const i64> variables_;
  // Looked up, never iterated.
  absl::flat_hash_map<const core::Node*, u32> slot_of_;
  absl::flat_hash_map<const Buffer*, Place> produced_;  // by the recorded runs so far
  absl::flat_hash_map<const Buffer*, u32> results_in_;  // memory of results -> the first of them
  std::vector<Block> blocks_;
  struct BlockArgument {
    u32 argument, block;
  };
  std::vector<BlockArgument> block_arguments_;
};

// Where a result of the whole is slot or constant is known at once; the others are found by memory
// when the run that makes them is laid out.
void Builder::find_results(std::span<const UOpRef> results) {
  for (const UOpRef& node : results) {
    ReplayLayout::Result result;
    result.dtype = node->dtype();
    result.args.assign(node->args().begin(), node->args().end());
    const auto slot = slot_of_.find(node->node());
    if (slot != slot_of_.end()) {
      result.slot = static_cast<i32>(slot->second);
      layout_.reads[slot->second] = true;
    } else {
      result.constant = node;
      if (node->is(core::Op::Buffer))
        results_in_.try_emplace(memory_of(*node), static_cast<u32>(layout_.results.size()));
    }
    layout_.results.push_back(std::move(result));
  }
}

Builder::Place Builder::place_of_input(UOp node) {
  const auto slot = slot_of_.find(node.node());
  if (slot != slot_of_.end()) {
    layout_.reads[slot->second] = true;
    return {.device = &memory_of(node)->device(), .slot = static_cast<i32>(slot->second)};
  }
  const auto made = produced_.find(memory_of(node));
  if (made != produced_.end()) return made->second;
  layout_.constants.emplace_back(memory_of(node));
  return {.device = &memory_of(node)->device(), .constant = memory_of(node)};
}

i32 Builder::add_block(const PlanMemory& memory) {
  blocks_.push_back({memory.device, {.bytes = memory.bytes, .first = ~u32{0}, .last = 0}});
  return static_cast<i32>(blocks_.size()) - 1;
}

std::vector<Builder::Place> Builder::places_of(const RecordedRun& run) {
  std::vector<Place> outputs, temporaries, places;
  for (usize i = 0; const Buffer* memory : recorded_outputs(run)) {
    Place place{.device = run.plan->outputs[i].device};
    if (results_in_.contains(memory)) {
      place.fresh = static_cast<i32>(layout_.fresh.size());
      layout_.fresh.push_back(run.plan->outputs[i]);
    } else {
      place.block = add_block(run.plan->outputs[i]);
    }
    outputs.push_back(place);
    if (memory != nullptr) produced_[memory] = place;
    ++i;
  }
  for (const PlanMemory& memory : run.plan->temporaries)
    temporaries.push_back({.device = memory.device, .block = add_block(memory)});
  for (const Plan::BufferPlace& buffer : run.plan->buffers) {
    switch (buffer.kind) {
      case Kind::Input: places.push_back(place_of_input(*run.inputs[buffer.index])); break;
      case Kind::Output: places.push_back(outputs[buffer.index]); break;
      case Kind::Temporary:
        places.push_back(temporaries.empty() ? Place{} : temporaries[buffer.index]);
        places.back().offset = buffer.offset;
        break;
    }
    places.back().bytes = buffer.bytes;
  }
  return places;
}

void Builder::add_argument(const Place& place) {
  const u32 number = static_cast<u32>(layout_.arguments.size());
  const u32 item = static_cast<u32>(layout_.items.size());
  ReplayLayout::Argument argument{place.device, place.constant};
  argument.offset = place.offset;
  argument.bytes = place.bytes;
  if (place.slot >= 0) argument.source = static_cast<u32>(place.slot);
  if (place.fresh >= 0)
    argument.source = static_cast<u32>(slots_.size()) + static_cast<u32>(place.fresh);
  layout_.arguments.push_back(argument);
  if (place.block < 0) return;
  core::PlannedBlock& planned = blocks_[static_cast<usize>(place.block)].planned;
  planned.first = std::min(planned.first, item);
  planned.last = std::max(planned.last, item);
  block_arguments_.push_back({number, static_cast<u32>(place.block)});
}

void Builder::add_variables(const RecordedRun& run, const PlanItem& item) {
  for (u32 i = 0; i < item.variable_count; ++i) {
    const core::BoundVariable& bound = run.variables[run.plan->variables[item.first_variable + i]];
    const auto at = std::find(variables_.begin(), variables_.end(), bound.name);
    if (at == variables_.end())
      throw fail(ErrorKind::Invalid,
                 "variable {} is bound inside a jitted function, where its value would be {} for "
                 "ever; pass the bound size as an argument",
                 core::interned_name(bound.name), bound.value);
    layout_.variables.push_back(static_cast<u32>(at - variables_.begin()));
  }
}

void Builder::add_items(const RecordedRun& run, const std::vector<Place>& places) {
  for (const PlanItem& planned : run.plan->items) {
    const ReplayLayout::Item item{&planned, static_cast<u32>(layout_.arguments.size()),
                                  static_cast<u32>(layout_.variables.size())};
    for (u32 i = 0; i < planned.buffer_count; ++i)
      add_argument(places[run.plan->arguments[planned.first_buffer + i]]);
    add_variables(run, planned);
    layout_.items.push_back(item);
  }
  layout_.kernels += run.plan->kernels;
  layout_.copies += run.plan->copies;
  layout_.flops += run.plan->flops;
  layout_.bytes += run.plan->bytes;
  layout_.plans.push_back(run.plan);
}

// One arena per device; blocks that live at different times share it.
void Builder::place_blocks() {
  const bool reuse = !core::config().no_memory_planner;
  const u32 end = static_cast<u32>(layout_.items.size());
  std::map<u16, std::vector<u32>> by_device;
  for (u32 i = 0; i < blocks_.size(); ++i)
    if (blocks_[i].planned.first <= blocks_[i].planned.last)
      by_device[blocks_[i].device->index()].push_back(i);
  std::vector<Buffer*> arena_of(blocks_.size(), nullptr);
  for (const auto& [device, members] : by_device) {
    std::vector<core::PlannedBlock> planned;
    for (u32 i : members) {
      planned.push_back(blocks_[i].planned);
      if (!reuse) planned.back().first = 0, planned.back().last = end;
    }
    const i64 bytes = core::place_blocks(planned);
    layout_.arenas.push_back(take_memory(*blocks_[members[0]].device, bytes));
    for (usize i = 0; i < members.size(); ++i) {
      blocks_[members[i]].planned = planned[i];
      arena_of[members[i]] = layout_.arenas.back().get();
    }
  }
  for (const BlockArgument& at : block_arguments_) {
    layout_.arguments[at.argument].buffer = arena_of[at.block];
    layout_.arguments[at.argument].offset += blocks_[at.block].planned.offset;
  }
}

ReplayLayout Builder::build(std::span<const UOpRef> results) {
  for (u32 i = 0; i < slots_.size(); ++i)
    if (slots_[i]) slot_of_.try_emplace(slots_[i]->node(), i);
  find_results(results);
  for (const RecordedRun& run : runs_) add_items(run, places_of(run));
  for (ReplayLayout::Result& result : layout_.results) {
    if (result.slot >= 0 || !result.constant->is(core::Op::Buffer)) continue;
    const auto made = produced_.find(memory_of(*result.constant));
    if (made == produced_.end()) continue;
    result.fresh = made->second.fresh;
    result.constant = {};
  }
  place_blocks();
  return std::move(layout_);
}

}  // namespace

ReplayLayout lay_out(std::span<const RecordedRun> runs, std::span<const UOpRef> slots,
                     std::span<const i64> variables, std::span<const UOpRef> results) {
  return Builder(runs, slots, variables).build(results);
}

}  // namespace doorbell::engine
