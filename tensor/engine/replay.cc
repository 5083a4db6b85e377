// Laying out and running. Building: every place that a recorded run names is a slot, fresh memory,
// a block of an arena, or memory that never changes; only the first two are patched per run.
#include "tensor/engine/replay.h"

#include <absl/container/flat_hash_map.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/device/counters.h"
#include "core/schedule/memory_plan.h"
#include "core/util/config.h"
#include "tensor/engine/must.h"
#include "tensor/engine/timed.h"

namespace doorbell::engine {

using core::Buffer;
using core::BufferView;
using core::Ref;
using core::UOp;
using core::UOpRef;
using Kind = core::ScheduleBuffer::Kind;

class Replay::Builder {
 public:
  Builder(Replay* replay, std::span<const RecordedRun> runs, std::span<const UOpRef> slots,
          std::span<const i64> variables)
      : replay_(*replay), runs_(runs), slots_(slots), variables_(variables) {}

  void build(std::span<const UOpRef> results);

 private:
  struct Place {
    i32 slot = -1, fresh = -1, block = -1;  // at most one of them
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
  void add_view(const Place& place);
  void add_variables(const RecordedRun& run, const PlanItem& item);
  void place_blocks();

  Replay& replay_;
  std::span<const RecordedRun> runs_;
  std::span<const UOpRef> slots_;
  std::span<const i64> variables_;
  // Looked up, never iterated.
  absl::flat_hash_map<const core::Node*, u32> slot_of_;
  absl::flat_hash_map<const Buffer*, Place> produced_;  // by the recorded runs so far
  absl::flat_hash_map<const Buffer*, u32> results_in_;  // memory of results -> the first of them
  std::vector<Block> blocks_;
  struct BlockView {
    u32 view, block;
  };
  std::vector<BlockView> block_views_;
};

namespace {

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

}  // namespace

// Where a result of the whole is slot or constant is known at once; the others are found by memory
// when the run that makes them is laid out.
void Replay::Builder::find_results(std::span<const UOpRef> results) {
  for (const UOpRef& node : results) {
    Result result;
    result.dtype = node->dtype();
    result.args.assign(node->args().begin(), node->args().end());
    const auto slot = slot_of_.find(node->node());
    if (slot != slot_of_.end()) {
      result.slot = static_cast<i32>(slot->second);
      replay_.reads_[slot->second] = true;
    } else {
      result.constant = node;
      if (node->is(core::Op::Buffer))
        results_in_.try_emplace(memory_of(*node), static_cast<u32>(replay_.results_.size()));
    }
    replay_.results_.push_back(std::move(result));
  }
}

Replay::Builder::Place Replay::Builder::place_of_input(UOp node) {
  const auto slot = slot_of_.find(node.node());
  if (slot != slot_of_.end()) {
    replay_.reads_[slot->second] = true;
    return {.slot = static_cast<i32>(slot->second)};
  }
  const auto made = produced_.find(memory_of(node));
  if (made != produced_.end()) return made->second;
  replay_.constants_.emplace_back(memory_of(node));
  return {.constant = memory_of(node)};
}

i32 Replay::Builder::add_block(const PlanMemory& memory) {
  blocks_.push_back({memory.device, {.bytes = memory.bytes, .first = ~u32{0}, .last = 0}});
  return static_cast<i32>(blocks_.size()) - 1;
}

std::vector<Replay::Builder::Place> Replay::Builder::places_of(const RecordedRun& run) {
  std::vector<Place> outputs, temporaries, places;
  for (usize i = 0; const Buffer* memory : recorded_outputs(run)) {
    Place place;
    if (results_in_.contains(memory)) {
      place.fresh = static_cast<i32>(replay_.fresh_.size());
      replay_.fresh_.push_back(run.plan->outputs[i]);
    } else {
      place.block = add_block(run.plan->outputs[i]);
    }
    outputs.push_back(place);
    if (memory != nullptr) produced_[memory] = place;
    ++i;
  }
  for (const PlanMemory& memory : run.plan->temporaries)
    temporaries.push_back({.block = add_block(memory)});
  for (const Plan::BufferPlace& buffer : run.plan->buffers) {
    switch (buffer.kind) {
      case Kind::Input: places.push_back(place_of_input(*run.inputs[buffer.index])); break;
      case Kind::Output: places.push_back(outputs[buffer.index]); break;
      case Kind::Temporary:
        places.push_back(temporaries.empty() ? Place{} : temporaries[buffer.index]);
        places.back().offset = buffer.offset;
        break;
    }
  }
  return places;
}

void Replay::Builder::add_view(const Place& place) {
  const u32 view = static_cast<u32>(replay_.views_.size());
  const u32 item = static_cast<u32>(replay_.launches_.size());
  replay_.views_.push_back({place.constant, place.offset});
  if (place.slot >= 0) replay_.patches_.push_back({view, static_cast<u32>(place.slot)});
  if (place.fresh >= 0)
    replay_.patches_.push_back(
        {view, static_cast<u32>(slots_.size()) + static_cast<u32>(place.fresh)});
  if (place.block < 0) return;
  core::PlannedBlock& planned = blocks_[static_cast<usize>(place.block)].planned;
  planned.first = std::min(planned.first, item);
  planned.last = std::max(planned.last, item);
  block_views_.push_back({view, static_cast<u32>(place.block)});
}

void Replay::Builder::add_variables(const RecordedRun& run, const PlanItem& item) {
  for (u32 i = 0; i < item.variable_count; ++i) {
    const core::BoundVariable& bound = run.variables[run.plan->variables[item.first_variable + i]];
    const auto at = std::find(variables_.begin(), variables_.end(), bound.name);
    if (at == variables_.end())
      throw fail(ErrorKind::Invalid,
                 "variable {} is bound inside a jitted function, where its value would be {} for "
                 "ever; pass the bound size as an argument",
                 core::interned_name(bound.name), bound.value);
    replay_.variable_patches_.push_back(
        {static_cast<u32>(replay_.variables_.size()), static_cast<u32>(at - variables_.begin())});
    replay_.variables_.push_back(bound.value);
  }
}

void Replay::Builder::add_items(const RecordedRun& run, const std::vector<Place>& places) {
  for (const PlanItem& item : run.plan->items) {
    Launch launch{item.kernel ? item.kernel->program.get() : nullptr,
                  static_cast<u32>(replay_.views_.size()),
                  item.buffer_count,
                  static_cast<u32>(replay_.variables_.size()),
                  item.variable_count,
                  item.copy_bytes};
    for (u32 i = 0; i < item.buffer_count; ++i)
      add_view(places[run.plan->arguments[item.first_buffer + i]]);
    add_variables(run, item);
    replay_.launches_.push_back(launch);
  }
  replay_.kernels_ += run.plan->kernels;
  replay_.copies_ += run.plan->copies;
  replay_.flops_ += run.plan->flops;
  replay_.bytes_ += run.plan->bytes;
  replay_.plans_.push_back(run.plan);
}

// One arena per device; blocks that live at different times share it.
void Replay::Builder::place_blocks() {
  const bool reuse = !core::config().no_memory_planner;
  const u32 end = static_cast<u32>(replay_.launches_.size());
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
    replay_.arenas_.push_back(must(Buffer::allocate(*blocks_[members[0]].device, bytes)));
    for (usize i = 0; i < members.size(); ++i) {
      blocks_[members[i]].planned = planned[i];
      arena_of[members[i]] = replay_.arenas_.back().get();
    }
  }
  for (const BlockView& at : block_views_) {
    replay_.views_[at.view].buffer = arena_of[at.block];
    replay_.views_[at.view].offset += blocks_[at.block].planned.offset;
  }
}

void Replay::Builder::build(std::span<const UOpRef> results) {
  for (u32 i = 0; i < slots_.size(); ++i)
    if (slots_[i]) slot_of_.try_emplace(slots_[i]->node(), i);
  find_results(results);
  for (const RecordedRun& run : runs_) add_items(run, places_of(run));
  for (Result& result : replay_.results_) {
    if (result.slot >= 0 || !result.constant->is(core::Op::Buffer)) continue;
    const auto made = produced_.find(memory_of(*result.constant));
    if (made == produced_.end()) continue;
    result.fresh = made->second.fresh;
    result.constant = {};
  }
  place_blocks();
}

Replay::Replay(std::vector<RecordedRun> runs, std::span<const UOpRef> slots,
               std::span<const i64> variables, std::span<const UOpRef> results)
    : reads_(slots.size(), false) {
  Builder(this, runs, slots, variables).build(results);
  fresh_now_.resize(fresh_.size());
}

i64 Replay::arena_bytes() const {
  i64 bytes = 0;
  for (const Ref<Buffer>& arena : arenas_) bytes += arena->bytes();
  return bytes;
}

inline void Replay::launch(const Launch& launch) {
  const BufferView* first = views_.data() + launch.first_view;
  if (launch.program != nullptr) [[likely]] {
    must(
        launch.program->launch({first, launch.view_count},
                               {variables_.data() + launch.first_variable, launch.variable_count}));
  } else {
    must(core::copy_between(*first[0].buffer, first[0].offset, *first[1].buffer, first[1].offset,
                            launch.copy_bytes));
  }
}

// With DEBUG=2 each item is waited for and timed, as outside of replays.
void Replay::launch_timed() {
  const Launch* next = launches_.data();
  for (const std::shared_ptr<const Plan>& plan : plans_)
    for (const PlanItem& item : plan->items) timed(item, [&] { launch(*next++); });
}

std::string Replay::difference(const Replay& other) const {
  const usize count = launches_.size(), others = other.launches_.size();
  for (usize i = 0; i < std::min(count, others); ++i)
    if (launches_[i].program != other.launches_[i].program)
      return fmt::format("launch {} of {} is another kernel", i, count);
  if (count != others) return fmt::format("it makes {} launches, not {}", others, count);
  if (patches_ != other.patches_ || variable_patches_ != other.variable_patches_)
    return "its kernels read other tensors";
  if (constants_.size() != other.constants_.size()) return "it makes other constants";
  for (usize i = 0; i < constants_.size(); ++i) {
    const Buffer &a = *constants_[i], &b = *other.constants_[i];
    if (a.bytes() != b.bytes()) return "it makes constants of other sizes";
    std::vector<u8> left(static_cast<usize>(a.bytes())), right(left.size());
    must(a.device().synchronize());
    // Where contents cannot be read (NULL) there is nothing to compare.
    if (!a.copy_out(left.data(), a.bytes()) || !b.copy_out(right.data(), b.bytes())) continue;
    if (left != right) return "it makes constants of other values";
  }
  return "";
}

void Replay::reserve() {
  for (usize i = 0; i < fresh_.size(); ++i)
    fresh_now_[i] = must(Buffer::allocate(*fresh_[i].device, fresh_[i].bytes));
}

void Replay::run(std::span<const UOp> slots, std::span<const i64> variables,
                 std::vector<UOpRef>* results) {
  const usize slot_count = reads_.size();
  for (const Patch& patch : patches_)
    views_[patch.view].buffer = patch.source < slot_count
                                    ? memory_of(slots[patch.source])
                                    : fresh_now_[patch.source - slot_count].get();
  for (const VariablePatch& patch : variable_patches_)
    variables_[patch.at] = variables[patch.variable];
  if (core::config().debug >= 2) [[unlikely]] {
    launch_timed();
  } else {
    for (const Launch& item : launches_) launch(item);
  }
  using std::memory_order_relaxed;
  core::counters.kernels.fetch_add(kernels_, memory_order_relaxed);
  if (copies_ != 0) core::counters.copies.fetch_add(copies_, memory_order_relaxed);
  core::counters.flops.fetch_add(static_cast<i64>(flops_), memory_order_relaxed);
  core::counters.bytes_accessed.fetch_add(static_cast<i64>(bytes_), memory_order_relaxed);
  for (Result& result : results_) {
    if (result.slot >= 0) {
      results->emplace_back(slots[static_cast<usize>(result.slot)]);
    } else if (result.fresh >= 0) {
      result.args[0] = next_buffer_id();
      results->push_back(
          core::TensorGraph::make(core::Op::Buffer, result.dtype, {}, result.args,
                                  fresh_now_[static_cast<usize>(result.fresh)].get()));
    } else {
      results->push_back(result.constant);
    }
  }
  for (Ref<Buffer>& memory : fresh_now_) memory = {};
}

}  // namespace doorbell::engine
