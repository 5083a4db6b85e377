// Laying out: memory that a recorded run names is a slot, fresh memory, a block of an arena, or
// memory that never changes.
#include "tensor/engine/replay_plan.h"

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

Buffer* memory_of(UOp node) { return static_cast<Buffer*>(node.payload()); }

// By fresh memory of the recorded run: what it was, where that is a result.
std::vector<const Buffer*> recorded_outputs(const RecordedRun& run) {
  std::vector<const Buffer*> outputs(run.plan->work->fresh.size(), nullptr);
  for (usize i = 0; i < run.results.size(); ++i)
    outputs[run.plan->results[i].fresh] = memory_of(*run.results[i]);
  return outputs;
}

class Builder {
 public:
  Builder(std::span<const RecordedRun> runs, std::span<const UOpRef> slots,
          std::span<const i64> variables)
      : runs_(runs), slots_(slots), variables_(variables) {
    plan_.reads.resize(slots.size(), false);
    work_.input_count = slots.size();
    work_.variable_count = variables.size();
  }

  ReplayPlan build(std::span<const UOpRef> results);

 private:
  struct Memory {
    enum class Kind : u8 { Slot, Fresh, Block, Constant };
    Kind kind = Kind::Slot;
    u32 index = 0;
    core::Device* device = nullptr;
  };
  struct Block {
    core::Device* device;
    core::PlannedBlock planned;
    u32 arena = 0;
  };

  void find_results(std::span<const UOpRef> results);
  std::vector<Memory> memories_of(const RecordedRun& run);
  Memory memory_of_input(UOp node);
  Memory add_block(const PlanMemory& memory);
  void add_items(const RecordedRun& run, const std::vector<Memory>& memories);
  void add_argument(const ExecutionPlan::Argument& recorded, const Memory& memory);
  void add_variables(const RecordedRun& run, const ExecutionPlan::Item& item);
  void place_blocks();
  void number_sources();

  ReplayPlan plan_;
  ExecutionPlan work_;
  std::vector<core::Ref<Buffer>> constants_, arenas_;
  std::vector<Memory> memories_;  // by argument
  std::span<const RecordedRun> runs_;
  std::span<const UOpRef> slots_;
  std::span<const i64> variables_;
  // Looked up, never iterated.
  absl::flat_hash_map<const core::Node*, u32> slot_of_;
  absl::flat_hash_map<const Buffer*, Memory> produced_;  // by the recorded runs so far
  absl::flat_hash_map<const Buffer*, u32> results_in_;   // memory of results -> the first of them
  std::vector<Block> blocks_;
};

// Where a result of the whole is slot or constant is known at once; the others are found by memory
// when the run that makes them is laid out.
void Builder::find_results(std::span<const UOpRef> results) {
  for (const UOpRef& node : results) {
    ReplayPlan::Result result;
    result.dtype = node->dtype();
    result.args.assign(node->args().begin(), node->args().end());
    const auto slot = slot_of_.find(node->node());
    if (slot != slot_of_.end()) {
      result.slot = static_cast<i32>(slot->second);
      plan_.reads[slot->second] = true;
    } else {
      result.constant = node;
      if (node->is(core::Op::Buffer))
        results_in_.try_emplace(memory_of(*node), static_cast<u32>(plan_.results.size()));
    }
    plan_.results.push_back(std::move(result));
  }
}

Builder::Memory Builder::memory_of_input(UOp node) {
  core::Device* device = &memory_of(node)->device();
  const auto slot = slot_of_.find(node.node());
  if (slot != slot_of_.end()) {
    plan_.reads[slot->second] = true;
    return {Memory::Kind::Slot, slot->second, device};
  }
  const auto made = produced_.find(memory_of(node));
  if (made != produced_.end()) return made->second;
  constants_.emplace_back(memory_of(node));
  return {Memory::Kind::Constant, static_cast<u32>(constants_.size() - 1), device};
}

Builder::Memory Builder::add_block(const PlanMemory& memory) {
  blocks_.push_back({memory.device, {.bytes = memory.bytes, .first = ~u32{0}, .last = 0}});
  return {Memory::Kind::Block, static_cast<u32>(blocks_.size() - 1), memory.device};
}

// By source of the recorded plan.
std::vector<Builder::Memory> Builder::memories_of(const RecordedRun& run) {
  std::vector<Memory> memories;
  for (const UOpRef& input : run.inputs) memories.push_back(memory_of_input(*input));
  for (usize i = 0; const Buffer* result : recorded_outputs(run)) {
    const PlanMemory& recorded = run.plan->work->fresh[i++];
    if (result != nullptr && results_in_.contains(result)) {
      memories.push_back(
          {Memory::Kind::Fresh, static_cast<u32>(work_.fresh.size()), recorded.device});
      work_.fresh.push_back(recorded);
    } else {
      memories.push_back(add_block(recorded));
    }
    if (result != nullptr) produced_[result] = memories.back();
  }
  return memories;
}

void Builder::add_argument(const ExecutionPlan::Argument& recorded, const Memory& memory) {
  work_.arguments.push_back({memory.device, 0, recorded.offset, recorded.bytes});
  memories_.push_back(memory);
  if (memory.kind != Memory::Kind::Block) return;
  const u32 item = static_cast<u32>(work_.items.size());
  core::PlannedBlock& planned = blocks_[memory.index].planned;
  planned.first = std::min(planned.first, item);
  planned.last = std::max(planned.last, item);
}

void Builder::add_variables(const RecordedRun& run, const ExecutionPlan::Item& item) {
  for (u32 variable : run.plan->work->variables_of(item)) {
    const core::BoundVariable& bound = run.variables[variable];
    const auto at = std::find(variables_.begin(), variables_.end(), bound.name);
    if (at == variables_.end())
      throw fail(ErrorKind::Invalid,
                 "variable {} is bound inside a jitted function, where its value would be {} for "
                 "ever; pass the bound size as an argument",
                 core::interned_name(bound.name), bound.value);
    work_.variables.push_back(static_cast<u32>(at - variables_.begin()));
  }
}

void Builder::add_items(const RecordedRun& run, const std::vector<Memory>& memories) {
  const ExecutionPlan& recorded = *run.plan->work;
  for (const ExecutionPlan::Item& from : recorded.items) {
    ExecutionPlan::Item item = from;
    item.first_argument = static_cast<u32>(work_.arguments.size());
    item.first_variable = static_cast<u32>(work_.variables.size());
    for (const ExecutionPlan::Argument& argument : recorded.arguments_of(from))
      add_argument(argument, memories[argument.source]);
    add_variables(run, from);
    work_.items.push_back(std::move(item));
  }
  work_.kernels += recorded.kernels;
  work_.copies += recorded.copies;
  work_.flops += recorded.flops;
  work_.bytes += recorded.bytes;
}

// One arena per device; blocks that live at different times share it.
void Builder::place_blocks() {
  const bool reuse = !core::config().no_memory_planner;
  const u32 end = static_cast<u32>(work_.items.size());
  std::map<u16, std::vector<u32>> by_device;
  for (u32 i = 0; i < blocks_.size(); ++i)
    if (blocks_[i].planned.first <= blocks_[i].planned.last)
      by_device[blocks_[i].device->index()].push_back(i);
  for (const auto& [device, members] : by_device) {
    std::vector<core::PlannedBlock> planned;
    for (u32 i : members) {
      planned.push_back(blocks_[i].planned);
      if (!reuse) planned.back().first = 0, planned.back().last = end;
    }
    const i64 bytes = core::place_blocks(planned);
    for (usize i = 0; i < members.size(); ++i) {
      blocks_[members[i]].planned = planned[i];
      blocks_[members[i]].arena = static_cast<u32>(arenas_.size());
    }
    arenas_.push_back(take_memory(*blocks_[members[0]].device, bytes));
  }
}

// Only now is it known how much of each kind there is.
void Builder::number_sources() {
  const u32 fresh = static_cast<u32>(work_.input_count);
  const u32 constants = static_cast<u32>(work_.run_sources());
  const u32 arenas = constants + static_cast<u32>(constants_.size());
  for (usize i = 0; i < memories_.size(); ++i) {
    const Memory& memory = memories_[i];
    ExecutionPlan::Argument& argument = work_.arguments[i];
    switch (memory.kind) {
      case Memory::Kind::Slot: argument.source = memory.index; break;
      case Memory::Kind::Fresh: argument.source = fresh + memory.index; break;
      case Memory::Kind::Constant: argument.source = constants + memory.index; break;
      case Memory::Kind::Block:
        argument.source = arenas + blocks_[memory.index].arena;
        argument.offset += blocks_[memory.index].planned.offset;
        break;
    }
  }
  plan_.constant_count = constants_.size();
  work_.fixed = std::move(constants_);
  for (core::Ref<Buffer>& arena : arenas_) work_.fixed.push_back(std::move(arena));
}

ReplayPlan Builder::build(std::span<const UOpRef> results) {
  for (u32 i = 0; i < slots_.size(); ++i)
    if (slots_[i]) slot_of_.try_emplace(slots_[i]->node(), i);
  find_results(results);
  for (const RecordedRun& run : runs_) add_items(run, memories_of(run));
  for (ReplayPlan::Result& result : plan_.results) {
    if (result.slot >= 0 || !result.constant->is(core::Op::Buffer)) continue;
    const auto made = produced_.find(memory_of(*result.constant));
    if (made == produced_.end()) continue;
    CHECK(made->second.kind == Memory::Kind::Fresh, "a result has no memory of its own");
    result.fresh = static_cast<i32>(made->second.index);
    result.constant = {};
  }
  place_blocks();
  number_sources();
  plan_.work = std::make_shared<const ExecutionPlan>(std::move(work_));
  return std::move(plan_);
}

}  // namespace

ReplayPlan make_replay_plan(std::span<const RecordedRun> runs, std::span<const UOpRef> slots,
                            std::span<const i64> variables, std::span<const UOpRef> results) {
  return Builder(runs, slots, variables).build(results);
}

}  // namespace doorbell::engine
