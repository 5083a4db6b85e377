// Splitting ranges by a plan for targets with work groups: which parts each axis has, and their
// order (group_loops.h).
#include <algorithm>
#include <bit>

#include "base/util/check.h"
#include "codegen/linear/program.h"
#include "codegen/opt/group_ids.h"
#include "codegen/opt/group_loops.h"
#include "codegen/opt/stage_tile.h"
#include "codegen/opt/tensor_core_plan.h"

namespace doorbell::codegen {

using core::AxisType;
using core::Op;
using core::Rewriter;
using core::UOp;
using detail::GroupParts;

namespace {

class GroupApplier {
 public:
  GroupApplier(Rewriter& rewriter, const KernelInfo& info, const Caps& caps, const Plan& plan)
      : rw_(rewriter), info_(info), plan_(plan), loops_(rewriter, info, caps) {}
  Applied run(UOp sink);

 private:
  void set_output_parts(i64 id);
  void set_reduced_parts(i64 id);
  UOp loop_of(i64 id, i64 block) const;
  void find_parts();
  void find_matrix();
  void place_items();
  bool may_share(i64 output_axis) const;
  void add_groups();
  GroupIds persistent_ids(std::span<const i64> extents, i64 groups);
  void add_loops(bool reduced);
  void add_inner();
  void add_matrix();
  void add_matrix_axis(i64 axis, i64 size, UOp of_result, UOp of_operand, RangeImage* operand);
  UOp coordinate(const Coordinate& c, UOp element);
  bool has_pairs(i64 axis) const;
  void append(usize id, UOp part, i64 size, bool in_block);
  void rebuild_reduces(Rebuilder& rebuild);
  UOp matrix_product(const ReduceInfo& r, std::span<const i64> staged, i64 buffers);
  void rebuild_stores(Rebuilder& rebuild);
  UOp size_of(usize id) const { return info_.ranges[id].range.src(0); }

  // f(id, parts) for every axis, outer ones first.
  void each(auto&& f) {
    for (usize id = 0; id < loops_.parts.size(); ++id) {
      if (info_.ranges[id].range) f(id, loops_.parts[id]);
    }
  }

  Rewriter& rw_;
  const KernelInfo& info_;
  const Plan& plan_;
  detail::GroupLoops loops_;
  Applied result_;
  u64 grouped_ = 0;         // reduced axes with a Group
  i64 group_axis_ = -1;     // of the work items that share their reductions
  bool one_stores_ = true;  // those items hold the same results: the first stores them
  // With a tensor core: the axes, the images of rows and columns in the operands' layout, and the
  // ranges of an item's results and operands. Where the depth lies otherwise in A than in B, a
  // range stands for it until the product is made.
  const TensorCore* core_ = nullptr;
  i64 core_number_ = -1, rows_ = -1, columns_ = -1, depth_ = -1;
  RangeImage operand_rows_, operand_columns_;
  UOp results_, operands_, any_depth_;
};

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

// Rows or columns in another order: n % 8 * 2 + n / 8 in place of n, of 16. Each digit's step is a
// power of two.
Coordinate in_pairs(Coordinate c) {
  const auto order = [](Digit& d) { d.step = d.step < 8 ? d.step * 2 : d.step / 8; };
  std::ranges::for_each(c.item, order);
  std::ranges::for_each(c.element, order);
  return c;
}

// The loop over blocks of an axis, or null where there is one.
UOp GroupApplier::loop_of(i64 id, i64 block) const {
  const RangeInfo& r = info_.ranges[static_cast<usize>(id)];
  if (r.size > 0) {
    i64 n = ceil_div(r.size, block);
    return n > 1 ? rw_.index(n) : UOp();
  }
  UOp rounded = rw_.add(r.range.src(0), block - 1);
  return rw_.floordiv(rounded, block);
}

void GroupApplier::set_output_parts(i64 id) {
  const RangeInfo& r = info_.ranges[static_cast<usize>(id)];
  GroupParts& p = loops_.parts[static_cast<usize>(id)];
  p.items = amount_of(plan_, OptOp::Local, id);
  p.unrolled = amount_of(plan_, OptOp::Upcast, id);
  p.lanes = amount_of(plan_, OptOp::Vector, id);
  if (id == rows_) p.matrix = core_->rows;
  if (id == columns_) p.matrix = core_->columns;
  i64 inner = p.items * p.unrolled * p.lanes * p.matrix;
  p.block = std::max(inner, amount_of(plan_, OptOp::Tile, id));
  CHECK(p.block % inner == 0, "tile {} is not a multiple of {}", p.block, inner);
  i64 size = r.size > 0 ? r.size : r.range.src(0).vmax();
  if (size == core::kPlusInf) {
    CHECK(p.block == 1, "axis {} has no bound and cannot be split", id);
    p.loop = size_of(static_cast<usize>(id));
    return;
  }
  if (r.size == 0 && p.block > inner && p.block >= size) {  // the whole axis: its exact size
    p.loop = loop_of(id, inner);
    p.rest = inner;
    p.padded = inner > 1;
    return;
  }
  if (p.block > inner) p.loop = rw_.index(p.block / inner);
  p.group = ceil_div(size, p.block);
  p.rest = p.group * p.block;
  p.padded = r.size == 0 || p.rest != size;
}

void GroupApplier::set_reduced_parts(i64 id) {
  const RangeInfo& r = info_.ranges[static_cast<usize>(id)];
  GroupParts& p = loops_.parts[static_cast<usize>(id)];
  p.items = amount_of(plan_, OptOp::Group, id);
  p.unrolled = amount_of(plan_, OptOp::Unroll, id);
  p.lanes = amount_of(plan_, OptOp::Vector, id);
  if (id == depth_) p.matrix = core_->depth;
  i64 inner = p.items * p.unrolled * p.lanes * p.matrix;
  p.block = amount_of(plan_, OptOp::Tile, id);
  if (p.block > 1) {
    CHECK(p.block % inner == 0, "tile {} is not a multiple of {}", p.block, inner);
    p.tile_loop = p.block / inner;
  }
  i64 once = std::max(p.block, inner);
  p.loop = loop_of(id, once);
  p.padded = once > 1 && (r.size == 0 || r.size % once);
  p.rest = r.size == 0 ? once : ceil_div(r.size, once) * once;
}

// The same items may index an output axis and the partials of reductions that do not vary with it:
// a row's outputs and its sums.
bool GroupApplier::may_share(i64 output_axis) const {
  for (const ReduceInfo& r : info_.reduces) {
    if (r.closed & grouped_ && r.mask >> output_axis & 1) return false;
  }
  return true;
}

void GroupApplier::find_matrix() {
  const Opt* rows = find_opt(plan_, OptOp::Rows);
  if (!rows) return;
  const Opt *columns = find_opt(plan_, OptOp::Columns), *depth = find_opt(plan_, OptOp::Depth);
  CHECK(columns && depth && columns->amount == rows->amount && depth->amount == rows->amount,
        "a tensor core without all of its axes in {}", print(plan_));
  core_number_ = rows->amount;
  core_ = &tensor_core(core_number_);
  rows_ = rows->axis, columns_ = columns->axis, depth_ = depth->axis;
  for (auto [axis, step] :
       {std::pair{rows_, core_->rows}, {columns_, core_->columns}, {depth_, core_->depth}}) {
    CHECK(info_.size(axis) > 0 && (core_->reads_local || info_.size(axis) % step == 0),
          "axis {} of {} is not a multiple of {}", axis, info_.size(axis), step);
  }
}

void GroupApplier::place_items() {
  for (const Opt& o : plan_) {
    if (o.op == OptOp::Group && o.amount > 1) grouped_ |= u64{1} << o.axis;
    if (o.op == OptOp::Stage || o.op == OptOp::Persistent) continue;
    bool of_reduced = o.op == OptOp::Group || o.op == OptOp::Unroll || o.op == OptOp::Depth;
    bool either = o.op == OptOp::Vector || o.op == OptOp::Tile;
    CHECK(either || info_.ranges[static_cast<usize>(o.axis)].reduce == of_reduced,
          "an opt of the wrong kind of axis {} in {}", o.axis, print(plan_));
  }
  for (const ReduceInfo& r : info_.reduces) {
    if (!(r.closed & grouped_)) continue;
    CHECK(std::popcount(r.closed & grouped_) == 1, "a reduction with two Group opts");
    CHECK((r.mask & ~r.closed & grouped_) == 0, "a Group inside another's reduction");
  }
  i64 next = 0, shared = 1;
  auto take = [&](i64 amount) {
    CHECK(next < 3, "more than three axes of work items");
    loops_.item_count[next] = amount;
    return next++;
  };
  if (core_) take(core_->items());
  for (const Opt& o : plan_) {
    if (o.op == OptOp::Group) shared = std::max(shared, o.amount);
  }
  for (const Opt& o : plan_) {
    GroupParts* p = o.op == OptOp::Local || o.op == OptOp::Group
                        ? &loops_.parts[static_cast<usize>(o.axis)]
                        : nullptr;
    if (!p || (o.op == OptOp::Group && o.amount == 1)) continue;
    bool with_group =
        o.op == OptOp::Group || (one_stores_ && o.amount == shared && may_share(o.axis));
    with_group = with_group && grouped_ != 0 && o.amount > 1;
    if (with_group) {
      CHECK(o.amount == shared, "Group opts of {} and {} items", o.amount, shared);
      if (group_axis_ < 0) group_axis_ = take(o.amount);
      p->item_axis = group_axis_;
      if (o.op == OptOp::Local) one_stores_ = false;
    } else {
      p->item_axis = take(o.amount);
    }
  }
  const Caps& caps = loops_.caps;
  for (i64 axis = 0; axis < 3; ++axis) {
    i64 limit = caps.max_local_axis[axis], n = loops_.item_count[axis];
    CHECK(limit == 0 || n <= limit, "{} work items on axis {}, at most {}", n, axis, limit);
  }
  CHECK(caps.max_local == 0 || loops_.all_items() <= caps.max_local, "{} work items, at most {}",
        loops_.all_items(), caps.max_local);
  std::copy_n(loops_.item_count, 3, result_.items);
}

void GroupApplier::find_parts() {
  loops_.parts.resize(info_.ranges.size());
  loops_.images.resize(info_.ranges.size());
  find_matrix();
  each([&](usize id, GroupParts&) {
    i64 axis = static_cast<i64>(id);
    info_.ranges[id].reduce ? set_reduced_parts(axis) : set_output_parts(axis);
  });
  place_items();
}

// Gates a padded axis at the outermost part possible: if all parts inside divide the size, whole
// vectors and register tiles are inside or outside.
void GroupApplier::append(usize id, UOp part, i64 size, bool in_block) {
  RangeImage& image = loops_.images[id];
  GroupParts& p = loops_.parts[id];
  detail::append_part(rw_, image, part, size);
  if (in_block)
    p.inner = p.inner ? loops_.mul_add(p.inner, size, part) : part;
  else
    p.outer = image.value;
  p.rest = std::max<i64>(1, p.rest / std::max<i64>(1, size));
  i64 constant = info_.ranges[id].size;
  bool divides = constant > 0 ? constant % p.rest == 0 : p.rest == 1;
  if (!p.padded || !divides) return;
  UOp limit = constant > 0 ? rw_.index(constant / p.rest) : size_of(id);
  UOp inside = rw_.lt(image.value, limit);
  image.gate = image.gate ? rw_.land(image.gate, inside) : inside;
  p.padded = false;
}

// Group g of n computes what the groups g, g + n, ... of the whole grid would.
GroupIds GroupApplier::persistent_ids(std::span<const i64> extents, i64 groups) {
  i64 total = 1;
  for (i64 extent : extents) total *= extent;
  if (total <= groups) return make_group_ids(rw_, extents, loops_.caps.max_global);
  CHECK(grouped_ == 0, "a Group of persistent groups");
  GroupIds ids;
  ids.size[0] = groups;
  UOp group = groups == 1 ? rw_.index(0)
                          : rw_.make(Op::Special, core::dtypes::index, {},
                                     {static_cast<i64>(core::SpecialKind::GroupId), 0, groups});
  UOp left = rw_.sub(rw_.index(total + groups - 1), group);
  loops_.walk = loops_.range(AxisType::Loop, rw_.floordiv(left, groups));
  ids.values = split_group_number(rw_, loops_.mul_add(loops_.walk, groups, group), extents);
  return ids;
}

void GroupApplier::add_groups() {
  std::vector<i64> extents;
  each([&](usize, GroupParts& p) { extents.push_back(p.group); });
  const Opt* persistent = find_opt(plan_, OptOp::Persistent);
  GroupIds ids = persistent ? persistent_ids(extents, persistent->amount)
                            : make_group_ids(rw_, extents, loops_.caps.max_global);
  std::copy_n(ids.size, 3, result_.groups);
  usize next = 0;
  bool walks = false;
  each([&](usize id, GroupParts& p) {
    UOp part = ids.values[next++];
    p.outer = rw_.index(0);
    // An axis that has only a gate needs a value too.
    bool alone = p.rest == 1 && p.padded;
    if (p.group == 1 && !alone) return;
    // Stores vary with every output axis: one gate is enough, and one that closes the walk.
    loops_.images[id].gate = ids.gate;
    ids.gate = UOp();
    append(id, part, p.group, false);
    RangeList& closed = loops_.images[id].ranges;
    if (loops_.walk && !walks && closed.empty()) closed.push_back(loops_.walk);
    walks |= !closed.empty();
  });
}

void GroupApplier::add_loops(bool reduced) {
  each([&](usize id, GroupParts& p) {
    if (info_.ranges[id].reduce != reduced || !p.loop) return;
    i64 size = p.loop.is_const() ? p.loop.const_int() : 1;
    UOp loop = loops_.range(reduced ? AxisType::Reduce : AxisType::Loop, p.loop);
    append(id, loop, size, !reduced);
  });
  each([&](usize id, GroupParts& p) {
    if (info_.ranges[id].reduce != reduced || p.tile_loop == 1) return;
    append(id, loops_.range(AxisType::Reduce, p.tile_loop), p.tile_loop, true);
  });
}

// Items, registers, lanes.
void GroupApplier::add_inner() {
  each([&](usize id, GroupParts& p) {
    if (p.items > 1) append(id, loops_.item(p.item_axis), p.items, true);
  });
  each([&](usize id, GroupParts& p) {
    if (p.unrolled == 1) return;
    AxisType type = info_.ranges[id].reduce ? AxisType::Unroll : AxisType::Upcast;
    append(id, loops_.range(type, p.unrolled), p.unrolled, true);
  });
  each([&](usize id, GroupParts& p) {
    if (p.lanes > 1) append(id, loops_.range(AxisType::Vector, p.lanes), p.lanes, true);
  });
}

// A coordinate of the item's element (codegen/tensor_core.h).
UOp GroupApplier::coordinate(const Coordinate& c, UOp element) {
  UOp sum = rw_.index(0);
  auto add = [&](UOp number, const Digit& d) {
    if (d.step == 0 || d.modulo == 1) return;
    UOp digit = rw_.floormod(rw_.floordiv(number, d.divide), d.modulo);
    sum = loops_.mul_add(digit, d.step, sum);
  };
  for (const Digit& d : c.item) add(loops_.item(0), d);
  for (const Digit& d : c.element) add(element, d);
  return sum;
}

// Whether matrix loads transpose bytes along the axis: an item gets pairs of neighbours, which are
// rows or columns of two instructions then.
bool GroupApplier::has_pairs(i64 axis) const {
  if (!core_->loads_matrices || core_->operand_bytes() != 1) return false;
  const auto is_staged = [&](UOp memory) {
    return std::ranges::any_of(plan_, [&](const Opt& o) {
      return o.op == OptOp::Stage && memory.is(Op::Param) && o.axis == memory.arg(0);
    });
  };
  return std::ranges::any_of(info_.order, [&](UOp u) {
    return u.is(Op::Load) && is_staged(u.src(0).src(0)) && detail::axis_of_rows(loops_, u) == axis;
  });
}

// The part of a matrix instruction is innermost; operands may have another layout than results.
void GroupApplier::add_matrix_axis(i64 axis, i64 size, UOp of_result, UOp of_operand,
                                   RangeImage* operand) {
  GroupParts& p = loops_.parts[static_cast<usize>(axis)];
  RangeImage& image = loops_.images[static_cast<usize>(axis)];
  *operand = image;
  UOp inner = p.inner;
  append(static_cast<usize>(axis), of_result, size, true);
  detail::append_part(rw_, *operand, of_operand, size);
  operand->gate = image.gate;
  p.inner = inner ? loops_.mul_add(inner, size, of_operand) : of_operand;
}

void GroupApplier::add_matrix() {
  if (!core_) return;
  loops_.reads_local = core_->reads_local;
  loops_.overlaps_products = core_->reads_local && !core_->short_sums;
  if (core_->loads_matrices || core_->reads_local)
    loops_.matrix_rows = rows_, loops_.matrix_columns = columns_;
  results_ = loops_.range(AxisType::Vector, core_->result_elements);
  operands_ = loops_.range(AxisType::Vector, core_->operand_elements);
  const bool row_pairs = has_pairs(rows_), column_pairs = has_pairs(columns_);
  const auto ordered = [](const Coordinate& c, bool pairs) { return pairs ? in_pairs(c) : c; };
  UOp operand_row = coordinate(ordered(core_->a_row, row_pairs), operands_);
  UOp operand_column = coordinate(ordered(core_->b_column, column_pairs), operands_);
  if (core_->a_depth != core_->b_depth) any_depth_ = loops_.range(AxisType::Vector, core_->depth);
  UOp depth = any_depth_ ? any_depth_ : coordinate(core_->a_depth, operands_);
  UOp result_row = coordinate(ordered(core_->result_row, row_pairs), results_);
  UOp result_column = coordinate(ordered(core_->result_column, column_pairs), results_);
  add_matrix_axis(columns_, core_->columns, result_column, operand_column, &operand_columns_);
  append(static_cast<usize>(depth_), depth, core_->depth, true);
  if (any_depth_) loops_.images[static_cast<usize>(depth_)].ranges.pop_back();  // it is no loop
  add_matrix_axis(rows_, core_->rows, result_row, operand_row, &operand_rows_);
  RangeList& closed = loops_.images[static_cast<usize>(rows_)].ranges;
  if (closed.empty() || closed.back() != results_) closed.push_back(results_);
}

// The reduction by matrix instructions. The operands' memory is staged at the Param slots.
UOp GroupApplier::matrix_product(const ReduceInfo& r, std::span<const i64> staged, i64 buffers) {
  std::optional<detail::Product> product = detail::find_product(info_);
  CHECK(product && product->x.dtype().scalar == core_->operand, "no product for a tensor core");
  Rebuilder inside(rw_);
  for (usize id = 0; id < loops_.images.size(); ++id) {
    const i64 axis = static_cast<i64>(id);
    const RangeImage& image = axis == rows_      ? operand_rows_
                              : axis == columns_ ? operand_columns_
                                                 : loops_.images[id];
    if (image.value) inside.set(static_cast<i64>(id), image);
  }
  if (!staged.empty()) detail::stage_operands(loops_, inside, r, staged, buffers);
  UOp x = inside(product->x), y = inside(product->y);
  CHECK(!core_->reads_local || (is_local_matrix(x) && is_local_matrix(y)),
        "{} reads operands from local memory, where {} has none", core_->name, print(plan_));
  const bool x_has_rows = product->x.range_mask() >> rows_ & 1;
  UOp a = x_has_rows ? x : y, b = x_has_rows ? y : x;
  if (any_depth_) {
    const std::pair<UOp, UOp> of_a[] = {{any_depth_, coordinate(core_->a_depth, operands_)}};
    const std::pair<UOp, UOp> of_b[] = {{any_depth_, coordinate(core_->b_depth, operands_)}};
    a = rw_.substitute(a, of_a);
    b = rw_.substitute(b, of_b);
  }
  UOp made = rw_.make(Op::Wmma, r.reduce.dtype(), {a, b, results_, operands_}, {core_number_});
  absl::InlinedVector<UOp, 4> srcs{made};
  for (u64 m = r.closed; m; m &= m - 1) {
    for (UOp loop : loops_.images[static_cast<usize>(std::countr_zero(m))].ranges)
      if (loop != operands_) srcs.push_back(loop);
  }
  return srcs.size() == 1 ? made : rw_.make(Op::Reduce, r.reduce.dtype(), srcs, r.reduce.args());
}

// Each grouped reduction is rebuilt and combined before what uses it.
void GroupApplier::rebuild_reduces(Rebuilder& rebuild) {
  std::vector<i64> slots;
  i64 buffers = 1;
  for (const Opt& o : plan_) {
    if (o.op != OptOp::Stage) continue;
    slots.push_back(o.axis);
    buffers = std::max(buffers, o.amount);
  }
  for (const ReduceInfo& r : info_.reduces) {
    bool tiled = false;
    for (u64 m = r.closed; m; m &= m - 1) {
      tiled |= loops_.parts[static_cast<usize>(std::countr_zero(m))].block > 1;
    }
    if (core_) {
      UOp product = matrix_product(r, tiled ? slots : std::vector<i64>{}, buffers);
      if (r.closed & grouped_)
        product = detail::combine_items(loops_, r.reduce, product, group_axis_);
      rebuild.replace(r.reduce, product);
      continue;
    }
    if (tiled && !slots.empty()) detail::stage_operands(loops_, rebuild, r, slots, buffers);
    if (!(r.closed & grouped_)) continue;
    UOp partial = rebuild(r.reduce);
    rebuild.replace(r.reduce, detail::combine_items(loops_, r.reduce, partial, group_axis_));
  }
}

void GroupApplier::rebuild_stores(Rebuilder& rebuild) {
  if (group_axis_ < 0 || !one_stores_) return;
  UOp first = rw_.eq(loops_.item(group_axis_), rw_.index(0));
  for (UOp u : info_.order) {
    if (!u.is(Op::Store)) continue;
    UOp place = rebuild(u.src(0)), value = rebuild(u.src(1));
    UOp gate = place.nsrc() > 2 ? rw_.land(place.src(2), first) : first;
    place = rw_.make(Op::Index, place.dtype(), {place.src(0), place.src(1), gate});
    rebuild.replace(u, rw_.make(Op::Store, u.dtype(), {place, value}));
  }
}

Applied GroupApplier::run(UOp sink) {
  find_parts();
  add_groups();
  add_loops(false);
  add_loops(true);
  add_inner();
  add_matrix();
  Rebuilder rebuild(rw_);
  for (usize id = 0; id < loops_.images.size(); ++id) {
    if (loops_.images[id].value) rebuild.set(static_cast<i64>(id), loops_.images[id]);
  }
  rebuild_reduces(rebuild);
  rebuild_stores(rebuild);
  result_.sink = rebuild(sink);
  return result_;
}

}  // namespace

Applied apply_groups(Rewriter& rewriter, const KernelInfo& info, const Caps& caps, UOp sink,
                     const Plan& plan) {
  return GroupApplier(rewriter, info, caps, plan).run(sink);
}

}  // namespace doorbell::codegen
