// One run: memory and numbers to the executor, and nodes for the results.
#include "tensor/engine/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/counters.h"
#include "core/util/config.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {

using core::Buffer;
using core::Ref;
using core::UOp;
using core::UOpRef;

namespace {

Buffer* memory_of(UOp node) { return static_cast<Buffer*>(node.payload()); }

bool same_places(const ReplayLayout& a, const ReplayLayout& b) {
  const auto same = [](const ReplayLayout::Argument& left, const ReplayLayout::Argument& right) {
    return left.source == right.source;
  };
  return a.variables == b.variables && a.sources() == b.sources() &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    same);
}

}  // namespace

Replay::Replay(std::vector<RecordedRun> runs, std::span<const UOpRef> slots,
               std::span<const i64> variables, std::span<const UOpRef> results)
    : layout_(std::make_shared<const ReplayLayout>(lay_out(runs, slots, variables, results))),
      graph_(make_queue_graph(layout_)),
      fresh_now_(layout_->fresh.size()),
      memory_(layout_->sources()) {
  for (const ReplayLayout::Result& result : layout_->results) result_args_.push_back(result.args);
}

i64 Replay::arena_bytes() const {
  i64 bytes = 0;
  for (const Ref<Buffer>& arena : layout_->arenas) bytes += arena->bytes();
  return bytes;
}

// DEBUG=2 shows the time of each kernel, so that they run one by one.
ReplayExecutor& Replay::executor() {
  if (graph_ != nullptr && core::config().debug < 2) [[likely]]
    return *graph_;
  if (list_ == nullptr) list_ = make_launch_list(layout_);
  return *list_;
}

std::string Replay::difference(const Replay& other) const {
  const ReplayLayout &ours = *layout_, &theirs = *other.layout_;
  const usize count = launches(), others = other.launches();
  for (usize i = 0; i < std::min(count, others); ++i)
    if (ours.items[i].planned->kernel != theirs.items[i].planned->kernel)
      return fmt::format("launch {} of {} is another kernel", i, count);
  if (count != others) return fmt::format("it makes {} launches, not {}", others, count);
  if (!same_places(ours, theirs)) return "its kernels read other tensors";
  if (ours.constants.size() != theirs.constants.size()) return "it makes other constants";
  for (usize i = 0; i < ours.constants.size(); ++i) {
    const Buffer &a = *ours.constants[i], &b = *theirs.constants[i];
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
  for (usize i = 0; i < fresh_now_.size(); ++i)
    fresh_now_[i] = take_memory(*layout_->fresh[i].device, layout_->fresh[i].bytes);
}

hcq::Fence Replay::run(std::span<const UOp> slots, std::span<const i64> variables,
                       Results* results) {
  const ReplayLayout& layout = *layout_;
  Buffer** memory = memory_.data();
  for (UOp slot : slots) {
    *memory = slot ? memory_of(slot) : nullptr;
    if (*memory != nullptr) refuse_poisoned(**memory);
    ++memory;
  }
  for (const Ref<Buffer>& fresh : fresh_now_) *memory++ = fresh.get();
  hcq::Fence until = executor().run(memory_, variables);
  using std::memory_order_relaxed;
  core::counters.kernels.fetch_add(layout.kernels, memory_order_relaxed);
  if (layout.copies != 0) core::counters.copies.fetch_add(layout.copies, memory_order_relaxed);
  core::counters.flops.fetch_add(static_cast<i64>(layout.flops), memory_order_relaxed);
  core::counters.bytes_accessed.fetch_add(static_cast<i64>(layout.bytes), memory_order_relaxed);
  for (usize i = 0; i < layout.results.size(); ++i) {
    const ReplayLayout::Result& result = layout.results[i];
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
