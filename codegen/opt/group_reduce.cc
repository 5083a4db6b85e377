// Combines partial results in local memory. Few items: each item reads all partials of its
// reduction. Many items, A * B of them: after the first barrier item b < B combines A partials,
// after the second every item combines the B sums; a tree would need a barrier for each halving.
// Where waves combine values themselves, each wave combines all of them (linear/combined_load.h),
// with one barrier.
#include <algorithm>
#include <bit>

#include "base/util/check.h"
#include "codegen/linear/combined_load.h"
#include "codegen/opt/group_loops.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::Op;
using core::UOp;

namespace {

constexpr i64 kReadAtOnce = 16;  // partials that one item reads

class Combiner {
 public:
  Combiner(GroupLoops& loops, UOp reduce, UOp partial, i64 axis)
      : loops_(loops), rw_(loops.rw), reduce_(reduce), partial_(partial), axis_(axis) {
    for (UOp r : loops.ranges) {
      if (!(partial.range_mask() >> r.range_id() & 1)) continue;
      AxisType t = r.axis_type();
      bool instances = t == AxisType::Upcast || t == AxisType::Unroll;
      (instances ? unrolled_ : t == AxisType::Vector ? lanes_ : around_).push_back(r);
    }
    for (UOp r : unrolled_) instances_ *= r.range_size();
    width_ = lanes_.empty() ? 1 : lanes_[0].range_size();
  }
  UOp run();

 private:
  UOp element(UOp memory, i64 items, UOp item);
  UOp store(UOp memory, i64 items, UOp item, UOp value, UOp gate);
  UOp combine(UOp memory, i64 items, i64 count, i64 step, UOp first);
  bool waves_combine() const;
  UOp barrier(UOp effect) { return loops_.barrier({&effect, 1}); }
  UOp define(i64 items) {
    i64 others = loops_.all_items() / loops_.item_count[axis_];
    return loops_.define_local(partial_.dtype(), instances_ * others * items * width_);
  }

  GroupLoops& loops_;
  core::Rewriter& rw_;
  UOp reduce_, partial_;
  i64 axis_, instances_ = 1, width_ = 1;
  RangeList unrolled_, lanes_, around_;  // ranges of the partial: registers, lanes, loops
};

// Of an array [registers][other items][items][lanes].
UOp Combiner::element(UOp memory, i64 items, UOp item) {
  UOp at = rw_.index(0);
  for (UOp r : unrolled_) at = loops_.mul_add(at, r.range_size(), r);
  i64 others = loops_.all_items() / loops_.item_count[axis_];
  at = loops_.mul_add(at, others, loops_.item_number(axis_));
  at = loops_.mul_add(at, items, item);
  if (width_ > 1) at = loops_.mul_add(at, width_, lanes_[0]);
  return rw_.make(Op::Index, memory.dtype(), {memory, at});
}

UOp Combiner::store(UOp memory, i64 items, UOp item, UOp value, UOp gate) {
  UOp place = element(memory, items, item);
  if (gate) place = rw_.make(Op::Index, memory.dtype(), {memory, place.src(1), gate});
  absl::InlinedVector<UOp, 6> srcs{rw_.make(Op::Store, core::dtypes::void_, {place, value})};
  srcs.insert(srcs.end(), unrolled_.begin(), unrolled_.end());
  srcs.insert(srcs.end(), lanes_.begin(), lanes_.end());
  return srcs.size() == 1 ? srcs[0] : rw_.make(Op::End, core::dtypes::void_, srcs);
}

// Of items first, first + step, ...
UOp Combiner::combine(UOp memory, i64 items, i64 count, i64 step, UOp first) {
  bool unroll = count * instances_ <= 4 * kReadAtOnce;
  UOp n = loops_.range(unroll ? AxisType::Unroll : AxisType::Reduce, count);
  UOp place = element(memory, items, loops_.mul_add(n, step, first));
  UOp loaded = rw_.make(Op::Load, memory.dtype(), {place});
  UOp srcs[2] = {loaded, n};
  return rw_.make(Op::Reduce, memory.dtype(), srcs, reduce_.args());
}

// Of all items of the group, by what languages combine: numbers of a word and f16.
bool Combiner::waves_combine() const {
  const core::DType t = partial_.dtype();
  const Op op = reduce_.reduce_op();
  return loops_.caps.has(Op::Reduce) && loops_.caps.has(t) && width_ == 1 &&
         loops_.all_items() == loops_.item_count[axis_] &&
         (t.bits() == 32 || t == core::dtypes::f16) &&
         (op == Op::Add || op == Op::Mul || op == Op::Max);
}

UOp Combiner::run() {
  i64 items = loops_.item_count[axis_];
  UOp item = loops_.item(axis_), memory = define(items), before = memory;
  const bool wave = items > kReadAtOnce && waves_combine();
  bool twice = items > kReadAtOnce && !wave;
  // In a loop, all items must have finished reading the last iteration's values. With a second
  // round its barrier ensures that.
  if (!around_.empty() && !twice) before = loops_.after(memory, {loops_.barrier(around_)});
  UOp stored = loops_.after(memory, {barrier(store(before, items, item, partial_, UOp()))});
  if (wave)
    return rw_.make(Op::Load, memory.dtype(), {element(stored, items, rw_.index(0))},
                    {kCombined, static_cast<i64>(reduce_.reduce_op()), items});
  if (!twice) return combine(stored, items, items, 1, rw_.index(0));
  CHECK(std::has_single_bit(static_cast<u64>(items)), "a reduction over {} items", items);
  i64 sums = i64{1} << (std::countr_zero(static_cast<u64>(items)) + 1) / 2;
  UOp second = define(sums), column = rw_.floormod(item, sums);
  UOp sum = combine(stored, items, items / sums, sums, column);
  UOp all = barrier(store(second, sums, column, sum, rw_.lt(item, sums)));
  return combine(loops_.after(second, {all}), sums, sums, 1, rw_.index(0));
}

}  // namespace

UOp combine_items(GroupLoops& loops, UOp reduce, UOp partial, i64 axis) {
  return Combiner(loops, reduce, partial, axis).run();
}

}  // namespace doorbell::codegen::detail
