// Splitting ranges by a plan for targets with work groups. The value of an output axis is, from the
// outermost part to the innermost,
//   group, loop (within the block of a Tile), work item, registers, lanes
// so that neighbouring items read neighbouring memory; that of a reduced axis
//   loop, registers, lanes.
#include <algorithm>

#include "base/util/check.h"
#include "codegen/opt/apply.h"
#include "codegen/opt/group_ids.h"

namespace doorbell::codegen {

using core::AxisType;
using core::Op;
using core::Rewriter;
using core::UOp;

namespace {

struct Parts {
  i64 group = 1;  // 0: all of the axis is `loop`
  i64 loop = 1;   // 0: symbolic and without bound, never split
  i64 local = 1, unrolled = 1, lanes = 1;
  i64 local_axis = -1;
  bool padded = false;  // the parts run past the end of the axis, and are not gated yet
};

class GroupApplier {
 public:
  GroupApplier(Rewriter& rewriter, const KernelInfo& info, const Caps& caps, const Plan& plan)
      : rw_(rewriter), info_(info), caps_(caps), plan_(plan), make_range_(rewriter) {}
  Applied run(UOp sink);

 private:
  Parts output_parts(i64 id) const;
  Parts reduced_parts(i64 id) const;
  void find_parts();
  void add_groups();
  void add_items();
  void add_loops(bool reduced);
  void add_unrolled();
  void add_lanes();
  void append(usize id, UOp part, i64 size);
  UOp size_of(usize id) const { return info_.ranges[id].range.src(0); }

  // Each pass appends one part to every axis.
  void each(auto&& f) {
    for (usize id = 0; id < parts_.size(); ++id) {
      if (info_.ranges[id].range) f(id, parts_[id]);
    }
  }

  Rewriter& rw_;
  const KernelInfo& info_;
  const Caps& caps_;
  const Plan& plan_;
  detail::RangeMaker make_range_;
  Applied result_;
  std::vector<Parts> parts_;
  std::vector<RangeImage> images_;
  std::vector<i64> rest_;  // by range: values that the parts not yet appended take
};

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

Parts GroupApplier::output_parts(i64 id) const {
  const RangeInfo& r = info_.ranges[static_cast<usize>(id)];
  Parts p;
  p.local = amount_of(plan_, OptOp::Local, id);
  p.unrolled = amount_of(plan_, OptOp::Upcast, id);
  p.lanes = amount_of(plan_, OptOp::Vector, id);
  i64 inner = p.local * p.unrolled * p.lanes;
  i64 block = std::max(inner, amount_of(plan_, OptOp::Tile, id));
  CHECK(block % inner == 0, "tile {} is not a multiple of {}", block, inner);
  i64 size = r.size > 0 ? r.size : r.range.src(0).vmax();
  if (size == core::kPlusInf) {
    CHECK(block == 1, "axis {} has no bound and cannot be split", id);
    p.loop = 0;
    return p;
  }
  p.loop = block / inner;
  p.group = ceil_div(size, block);
  p.padded = r.size == 0 || p.group * block != size;
  return p;
}

Parts GroupApplier::reduced_parts(i64 id) const {
  const RangeInfo& r = info_.ranges[static_cast<usize>(id)];
  Parts p;
  p.unrolled = amount_of(plan_, OptOp::Unroll, id);
  p.lanes = amount_of(plan_, OptOp::Vector, id);
  i64 inner = p.unrolled * p.lanes;
  if (r.size == 0) {
    CHECK(inner == 1, "axis {} is symbolic and cannot be split", id);
    p.loop = 0;
    return p;
  }
  p.loop = ceil_div(r.size, inner);
  p.padded = p.loop * inner != r.size;
  return p;
}

void GroupApplier::find_parts() {
  parts_.resize(info_.ranges.size());
  images_.resize(info_.ranges.size());
  rest_.resize(info_.ranges.size(), 1);
  for (usize id = 0; id < parts_.size(); ++id) {
    if (!info_.ranges[id].range) continue;
    i64 axis = static_cast<i64>(id);
    parts_[id] = info_.ranges[id].reduce ? reduced_parts(axis) : output_parts(axis);
    const Parts& p = parts_[id];
    rest_[id] = p.group * std::max<i64>(1, p.loop) * p.local * p.unrolled * p.lanes;
  }
  i64 items = 1, next = 0;
  for (const Opt& o : plan_) {
    if (o.op != OptOp::Local) continue;
    CHECK(next < 3, "more than three axes of work items");
    i64 limit = caps_.max_local_axis[next];
    CHECK(limit == 0 || o.amount <= limit, "{} work items on axis {}, at most {}", o.amount, next,
          limit);
    items *= result_.items[next] = o.amount;
    parts_[static_cast<usize>(o.axis)].local_axis = next++;
  }
  CHECK(caps_.max_local == 0 || items <= caps_.max_local, "{} work items, at most {}", items,
        caps_.max_local);
}

// A padded axis is gated as far out as may be: where all that is inside divides the size, whole
// vectors and register tiles are in or out.
void GroupApplier::append(usize id, UOp part, i64 size) {
  RangeImage& image = images_[id];
  detail::append_part(rw_, image, part, size);
  i64& rest = rest_[id];
  if (size > 0) rest /= size;
  i64 constant = info_.ranges[id].size;
  bool divides = constant > 0 ? constant % rest == 0 : rest == 1;
  if (!parts_[id].padded || !divides) return;
  UOp limit = constant > 0 ? rw_.index(constant / rest) : size_of(id);
  UOp inside = rw_.lt(image.value, limit);
  image.gate = image.gate ? rw_.land(image.gate, inside) : inside;
  parts_[id].padded = false;
}

void GroupApplier::add_groups() {
  std::vector<i64> extents;
  each([&](usize, Parts& p) { extents.push_back(p.group); });
  GroupIds ids = make_group_ids(rw_, extents, caps_.max_global);
  std::copy_n(ids.size, 3, result_.groups);
  usize next = 0;
  each([&](usize id, Parts& p) {
    UOp part = ids.values[next++];
    // An axis of nothing but a gate needs a value too.
    bool alone = rest_[id] == 1 && p.padded;
    if (p.group == 1 && !alone) return;
    // Stores vary with every output axis: it is enough that one is gated.
    images_[id].gate = ids.gate;
    ids.gate = UOp();
    append(id, part, p.group);
  });
}

void GroupApplier::add_items() {
  each([&](usize id, Parts& p) {
    if (p.local == 1) return;
    UOp item = rw_.make(Op::Special, core::dtypes::index, {},
                        {static_cast<i64>(core::SpecialKind::LocalId), p.local_axis, p.local});
    append(id, item, p.local);
  });
}

void GroupApplier::add_loops(bool reduced) {
  each([&](usize id, Parts& p) {
    if (info_.ranges[id].reduce != reduced || p.loop == 1) return;
    UOp size = p.loop == 0 ? size_of(id) : rw_.index(p.loop);
    append(id, make_range_(reduced ? AxisType::Reduce : AxisType::Loop, size), p.loop);
  });
}

void GroupApplier::add_unrolled() {
  each([&](usize id, Parts& p) {
    if (p.unrolled == 1) return;
    AxisType type = info_.ranges[id].reduce ? AxisType::Unroll : AxisType::Upcast;
    append(id, make_range_(type, p.unrolled), p.unrolled);
  });
}

void GroupApplier::add_lanes() {
  each([&](usize id, Parts& p) {
    if (p.lanes > 1) append(id, make_range_(AxisType::Vector, p.lanes), p.lanes);
  });
}

Applied GroupApplier::run(UOp sink) {
  find_parts();
  add_groups();
  add_loops(false);
  add_items();
  add_loops(true);
  add_unrolled();
  add_lanes();
  Rebuilder rebuild(rw_);
  for (usize id = 0; id < parts_.size(); ++id) {
    if (images_[id].value) rebuild.set(static_cast<i64>(id), std::move(images_[id]));
  }
  result_.sink = rebuild(sink);
  return result_;
}

}  // namespace

Applied apply_groups(Rewriter& rewriter, const KernelInfo& info, const Caps& caps, UOp sink,
                     const Plan& plan) {
  return GroupApplier(rewriter, info, caps, plan).run(sink);
}

}  // namespace doorbell::codegen
