// One run: memory and numbers to the executor, and nodes for the results.
#include "tensor/engine/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/registry.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {

using core::Buffer;
using core::Ref;
using core::UOp;
using core::UOpRef;

namespace {

Buffer* memory_of(UOp node) { return static_cast<Buffer*>(node.payload()); }

bool same_sources(const ExecutionPlan& a, const ExecutionPlan& b) {
  const auto same = [](const ExecutionPlan::Argument& left, const ExecutionPlan::Argument& right) {
    return left.source == right.source;
  };
  return a.variables == b.variables && a.run_sources() == b.run_sources() &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    same);
}

// By constant: whether the work reads it and never writes it. Memory of copies, which it writes or
// does without, has the values of some call.
std::vector<bool> read_only(const ReplayPlan& plan) {
  std::vector<bool> read(plan.constant_count, false), written(read);
  const ExecutionPlan& work = *plan.work;
  const auto mark = [&](std::span<const ExecutionPlan::Argument> arguments,
                        std::vector<bool>& marks) {
    for (const ExecutionPlan::Argument& argument : arguments)
      if (const usize at = argument.source - work.run_sources();
          work.is_fixed(argument.source) && at < marks.size())
        marks[at] = true;
  };
  for (const ExecutionPlan::Item& item : work.items) {
    mark(work.arguments_of(item), read);
    mark(work.outputs_of(item), written);
  }
  for (usize i = 0; i < read.size(); ++i) read[i] = read[i] && !written[i];
  return read;
}

}  // namespace

Replay::Replay(std::vector<RecordedRun> runs, std::span<const UOpRef> slots,
               std::span<const i64> variables, std::span<const UOpRef> results)
    : plan_(make_replay_plan(runs, slots, variables, results)),
      runner_(plan_.work),
      fresh_now_(plan_.work->fresh.size()),
      memory_(plan_.work->run_sources()) {
  for (const ReplayPlan::Result& result : plan_.results) result_args_.push_back(result.args);
}

i64 Replay::arena_bytes() const {
  i64 bytes = 0;
  for (const Ref<Buffer>& arena : plan_.arenas()) bytes += arena->bytes();
  return bytes;
}

std::string Replay::difference(const Replay& other) const {
  const ExecutionPlan &ours = *plan_.work, &theirs = *other.plan_.work;
  const usize count = launches(), others = other.launches();
  for (usize i = 0; i < std::min(count, others); ++i)
    if (ours.items[i].kernel != theirs.items[i].kernel)
      return fmt::format("launch {} of {} is another kernel", i, count);
  if (count != others) return fmt::format("it makes {} launches, not {}", others, count);
  if (!same_sources(ours, theirs)) return "its kernels read other tensors";
  const auto constants = plan_.constants(), others_constants = other.plan_.constants();
  if (constants.size() != others_constants.size()) return "it makes other constants";
  const std::vector<bool> compared = read_only(plan_);
  for (usize i = 0; i < constants.size(); ++i) {
    const Buffer &a = *constants[i], &b = *others_constants[i];
    if (a.bytes() != b.bytes()) return "it makes constants of other sizes";
    if (!compared[i]) continue;
    std::vector<u8> left(static_cast<usize>(a.bytes())), right(left.size());
    must(a.device().synchronize());
    if (core::Registry::instance().is_remote(a.device().index())) continue;
    // Where contents cannot be read (NULL) there is nothing to compare.
    if (!a.copy_out(left.data(), a.bytes()) || !b.copy_out(right.data(), b.bytes())) continue;
    if (left != right) return "it makes constants of other values";
  }
  return "";
}

void Replay::reserve() { take_fresh(*plan_.work, fresh_now_); }

hcq::Fence Replay::run(std::span<const UOp> slots, std::span<const i64> variables,
                       Results* results) {
  Buffer** memory = memory_.data();
  for (UOp slot : slots) {
    *memory = slot ? memory_of(slot) : nullptr;
    if (*memory != nullptr) refuse_poisoned(**memory);
    ++memory;
  }
  for (const Ref<Buffer>& fresh : fresh_now_) *memory++ = fresh.get();
  hcq::Fence until = runner_.run(memory_, variables);
  for (usize i = 0; i < plan_.results.size(); ++i) {
    const ReplayPlan::Result& result = plan_.results[i];
    if (result.slot >= 0) {
      results->emplace_back(slots[static_cast<usize>(result.slot)]);
    } else if (result.fresh >= 0) {
      result_args_[i][0] = next_buffer_id();
      results->push_back(
          core::TensorGraph::make(core::Op::Buffer, result.dtype, {}, result_args_[i],
                                  fresh_now_[static_cast<usize>(result.fresh)].get()));
    } else {
      results->push_back(result.constant);
    }
  }
  for (Ref<Buffer>& fresh : fresh_now_) fresh = {};
  return until;
}

}  // namespace doorbell::engine
