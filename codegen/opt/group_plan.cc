// The plan of a kernel on a target with work groups. Neighbouring work items read neighbouring
// memory; loads are as wide as the target's vectors; a reduction with too few results to keep the
// target busy is split over the items of a group; one group computes a row's reductions and
// outputs.
#include "codegen/opt/group_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/opt/occupancy.h"
#include "codegen/opt/tensor_core_plan.h"

namespace doorbell::codegen {

namespace detail {

std::vector<i64> GroupAxes::outputs() const {
  std::vector<i64> axes;
  for (u64 m = info_.output_mask; m; m &= m - 1) axes.push_back(std::countr_zero(m));
  const Access* store = nullptr;
  for (const Access& a : info_.accesses) {
    if (a.store && !store) store = &a;
  }
  auto step = [&](i64 axis) {
    return store ? std::abs(store->affine.coefficient(axis).value_or(INT32_MAX)) : 0;
  };
  std::reverse(axes.begin(), axes.end());
  std::stable_sort(axes.begin(), axes.end(), [&](i64 a, i64 b) { return step(a) < step(b); });
  return axes;
}

f64 GroupAxes::values(u64 mask) const {
  f64 n = 1;
  for (; mask; mask &= mask - 1) {
    i64 size = info_.size(std::countr_zero(mask));
    n *= size > 0 ? static_cast<f64>(size) : 64;  // symbolic: an assumed size
  }
  return n;
}

i64 GroupAxes::lanes(i64 axis, const std::function<bool(const Access&)>& chosen) const {
  i64 size = info_.size(axis), bytes = 1;
  if (size == 0) return 1;
  bool any = false;
  for (const Access& a : info_.accesses) {
    if (!chosen(a)) continue;
    std::optional<i64> step = a.affine.coefficient(axis);
    if (!step || *step > 1 || *step < 0 || a.gate_mask >> axis & 1) return 1;
    any |= *step == 1;
    bytes = std::max(bytes, a.bytes);
  }
  i64 lanes = any ? std::max<i64>(1, std::min<i64>(16, caps_.vector_bytes / bytes)) : 1;
  while (size % lanes) lanes /= 2;
  return lanes;
}

void GroupAxes::add_items(Plan& plan, i64 axis, i64* left, OptOp op) const {
  i64 used = has_opt(plan, OptOp::Group) ? 1 : 0;  // all of them share their items
  for (const Opt& o : plan) used += o.op == OptOp::Local;
  i64 inner = amount_of(plan, OptOp::Vector, axis) * amount_of(plan, OptOp::Upcast, axis) *
              amount_of(plan, OptOp::Unroll, axis);
  i64 size = info_.size(axis) > 0 ? info_.size(axis) : kGroupItems;
  i64 most = *left, wanted = (size + inner - 1) / inner;
  if (used >= 3 || wanted < 2) return;
  if (i64 limit = caps_.max_local_axis[used]; limit > 0) most = std::min(most, limit);
  i64 amount = wanted;
  if (wanted > most) {
    amount = static_cast<i64>(std::bit_floor(static_cast<u64>(most)));
    // Prefers group sizes that leave few items without work.
    for (i64 smaller = amount; smaller >= 32 && smaller * 4 > most; smaller /= 2) {
      i64 waste = (wanted + smaller - 1) / smaller * smaller - wanted;
      i64 now = (wanted + amount - 1) / amount * amount - wanted;
      if (waste < now) amount = smaller;
    }
  }
  if (amount < 2) return;
  plan.push_back({op, axis, amount});
  *left /= amount;
}

}  // namespace detail

namespace {

constexpr i64 kMinGroup = 32, kMaxUnrolled = 16;

i64 floor_power(i64 n) { return static_cast<i64>(std::bit_floor(static_cast<u64>(n))); }

class GroupChooser {
 public:
  GroupChooser(const KernelInfo& info, const Caps& caps)
      : info_(info), caps_(caps), axes_(info, caps), left_(axes_.all_items()) {
    u64 inside = 0;
    for (const ReduceInfo& r : info.reduces) inside |= r.closed;
    for (const ReduceInfo& r : info.reduces) {
      // Each item computes a reduction inside another one's body by itself.
      if (r.closed == 0 || r.mask & ~r.closed & inside) continue;
      outer_.push_back(&r);
      row_mask_ |= r.mask & ~r.closed;
    }
  }
  Plan choose();

 private:
  void elementwise();
  void rows();
  void reduction();
  void unroll(const ReduceInfo& r, i64 grouped);
  i64 items_of(const ReduceInfo& r, i64 axis, i64 outputs_along) const;
  i64 max_grouped() const {
    i64 most = left_;
    for (i64 limit : {caps_.max_local_axis[0], caps_.max_local_axis[1]}) {
      if (limit > 0) most = std::min(most, limit);
    }
    return floor_power(most);
  }
  i64 grouped_axis(const ReduceInfo& r) const;
  bool reads_along(const ReduceInfo& r, i64 axis) const;
  i64 lanes_along(i64 axis) const;
  i64 affordable(OptOp op, i64 axis, i64 amount) const;
  void fill_wave();
  void items_of_outputs() {
    for (i64 axis : axes_.outputs()) axes_.add_items(plan_, axis, &left_);
  }

  const KernelInfo& info_;
  const Caps& caps_;
  detail::GroupAxes axes_;
  std::vector<const ReduceInfo*> outer_;  // reductions that are in no other's body
  u64 row_mask_ = 0;                      // output axes that their results vary with
  i64 left_;                              // work items not yet assigned
  Plan plan_;
};

void GroupChooser::elementwise() {
  std::vector<i64> outputs = axes_.outputs();
  if (outputs.empty()) return;
  // A transposition: items along both contiguous axes, so that each side has whole cache lines.
  for (const Access& a : info_.accesses) {
    for (usize i = 1; i < outputs.size() && !a.store; ++i) {
      bool steps = a.affine.coefficient(outputs[0]).value_or(0) > 1;
      if (!steps || !axes_.contiguous(a, outputs[i])) continue;
      i64 columns = std::min<i64>(left_, 16), rows = left_ / columns;
      axes_.add_items(plan_, outputs[0], &columns);
      axes_.add_items(plan_, outputs[i], &rows);
      return;
    }
  }
  i64 lanes = axes_.lanes(outputs[0], [](const Access&) { return true; });
  f64 all = axes_.values(info_.output_mask);
  while (lanes > 1 && all / static_cast<f64>(lanes) < axes_.busy_items() / 4) lanes /= 2;
  lanes = affordable(OptOp::Vector, outputs[0], lanes);
  if (lanes > 1) plan_.push_back({OptOp::Vector, outputs[0], lanes});
  items_of_outputs();
}

// Halves the amount until the registers leave room for other waves.
i64 GroupChooser::affordable(OptOp op, i64 axis, i64 amount) const {
  for (; amount > 1; amount /= 2) {
    if (info_.size(axis) % amount) continue;
    Plan plan = plan_;
    plan.push_back({op, axis, amount});
    const i64 registers = item_registers(info_, caps_, plan);
    if (!is_crowded(caps_, {.registers = registers, .items = axes_.all_items()})) break;
  }
  return amount;
}

bool GroupChooser::reads_along(const ReduceInfo& r, i64 axis) const {
  for (const Access& a : info_.accesses) {
    if (!a.store && a.mask & r.closed && axes_.contiguous(a, axis)) return true;
  }
  return false;
}

// The reduced axis to split over items: one contiguous in memory, otherwise the longest.
i64 GroupChooser::grouped_axis(const ReduceInfo& r) const {
  i64 best = -1;
  auto rank = [&](i64 axis) {
    i64 size = info_.size(axis) > 0 ? info_.size(axis) : detail::kGroupItems;
    return reads_along(r, axis) && size >= kMinGroup ? size + (i64{1} << 32) : size;
  };
  for (u64 m = r.closed; m; m &= m - 1) {
    i64 axis = std::countr_zero(m);
    if (best < 0 || rank(axis) > rank(best)) best = axis;
  }
  return best;
}

i64 GroupChooser::lanes_along(i64 axis) const {
  return axes_.lanes(axis, [&](const Access& a) { return a.mask >> axis & 1; });
}

// Small reduced axes as straight-line code, or some iterations of the innermost loop.
void GroupChooser::unroll(const ReduceInfo& r, i64 grouped) {
  i64 room = kMaxUnrolled;
  for (i64 axis = 63; axis >= 0; --axis) {
    if (!(r.closed >> axis & 1) || axis == grouped) continue;
    i64 size = info_.size(axis);
    i64 some = room == kMaxUnrolled ? detail::largest_divisor(size, 4, 1) : 1;
    i64 amount = size <= room ? size : some;
    if (size == 0 || amount < 2) return;
    if (affordable(OptOp::Unroll, axis, amount) < amount) {
      amount = affordable(OptOp::Unroll, axis, some);
    }
    if (amount < 2) return;
    plan_.push_back({OptOp::Unroll, axis, amount});
    room /= amount;
    if (amount < size) return;
  }
}

// Items that share a result: as many as keep the target busy and read a row in order.
i64 GroupChooser::items_of(const ReduceInfo& r, i64 axis, i64 outputs_along) const {
  f64 results = axes_.values(info_.output_mask), terms = axes_.values(r.closed);
  if (outer_.size() != 1 || terms < 2 * kMinGroup) return 1;
  i64 items = 1;
  while (static_cast<f64>(items) * results < axes_.busy_items() && items < left_) items *= 2;
  if (outputs_along < 0 && reads_along(r, axis)) items = std::max(items, kMinGroup);
  f64 longest = info_.size(axis) > 0 ? static_cast<f64>(info_.size(axis)) : terms;
  while (items > 1 && static_cast<f64>(items) * 2 > longest) items /= 2;
  return std::min(items, max_grouped());
}

void GroupChooser::reduction() {
  const ReduceInfo* main = nullptr;
  for (const ReduceInfo* r : outer_) {
    if (!main || r->trips > main->trips) main = r;
  }
  i64 axis = grouped_axis(*main), along = -1;
  for (i64 o : axes_.outputs()) {
    if (along < 0 && info_.size(o) >= 16 && reads_along(*main, o)) along = o;
  }
  i64 items = items_of(*main, axis, along);
  if (along >= 0) {
    i64 lanes = lanes_along(along);
    f64 threads = axes_.values(info_.output_mask) * static_cast<f64>(items);
    while (lanes > 1 && threads / static_cast<f64>(lanes) < axes_.busy_items()) lanes /= 2;
    lanes = affordable(OptOp::Vector, along, lanes);
    if (lanes > 1) plan_.push_back({OptOp::Vector, along, lanes});
  }
  if (items > 1) {
    if (along >= 0) {  // neighbouring items read along the output, one row each
      i64 columns = std::min<i64>(16, left_);
      left_ /= columns;
      axes_.add_items(plan_, along, &columns);
    } else {
      i64 lanes = lanes_along(axis);
      while (lanes > 1 && info_.size(axis) / lanes < items) lanes /= 2;
      if (lanes > 1) plan_.push_back({OptOp::Vector, axis, lanes});
    }
    items = std::min(items, floor_power(left_));
    if (items > 1) plan_.push_back({OptOp::Group, axis, items});
    left_ /= items;
  }
  if (outer_.size() == 1) unroll(*main, items > 1 ? axis : -1);
  bool few = items > 1 && axes_.values(info_.output_mask) <= axes_.busy_items();
  few ? fill_wave() : items_of_outputs();
}

// Few results are spread over many groups. The unused lanes of a group's wave are free: they
// compute neighbours along the output axis that leaves the fewest of them idle.
void GroupChooser::fill_wave() {
  i64 idle = std::min(left_, caps_.simd.wave_items * left_ / axes_.all_items()), best = -1;
  auto use = [&](i64 axis) {
    f64 size = axes_.values(u64{1} << axis), lanes = static_cast<f64>(idle);
    return size / (std::ceil(size / lanes) * lanes);
  };
  if (idle < 2) return;
  for (i64 axis : axes_.outputs()) {
    bool has_items = amount_of(plan_, OptOp::Local, axis) > 1;
    if (!has_items && (best < 0 || use(axis) > use(best))) best = axis;
  }
  if (best >= 0) axes_.add_items(plan_, best, &idle);
}

// Reductions whose results serve a whole row of outputs: a group computes the row.
void GroupChooser::rows() {
  i64 items = 1;
  for (const ReduceInfo* r : outer_) {
    i64 axis = grouped_axis(*r), size = info_.size(axis) > 0 ? info_.size(axis) : 1024;
    items = std::max(items, static_cast<i64>(std::bit_ceil(static_cast<u64>((size + 3) / 4))));
  }
  items = std::min(items, max_grouped());
  for (const ReduceInfo* r : outer_) {
    i64 axis = grouped_axis(*r), lanes = lanes_along(axis);
    if (amount_of(plan_, OptOp::Group, axis) > 1) continue;  // it shares another's loops
    bool simple = info_.reduces.size() == outer_.size();
    while (lanes > 1 && info_.size(axis) / lanes < items) lanes /= 2;
    if (lanes > 1 && simple) plan_.push_back({OptOp::Vector, axis, lanes});
    if (items > 1) plan_.push_back({OptOp::Group, axis, items});
  }
  bool first = true;
  for (i64 axis : axes_.outputs()) {
    i64 size = info_.size(axis), inner = 1;
    if (size == 0) size = info_.ranges[static_cast<usize>(axis)].range.src(0).vmax();
    if (row_mask_ >> axis & 1 || size == core::kPlusInf) continue;
    if (first && items > 1) {
      bool simple = info_.reduces.size() == outer_.size();
      i64 lanes = simple ? lanes_along(axis) : 1;
      while (lanes > 1 && size / lanes < items) lanes /= 2;
      if (lanes > 1) plan_.push_back({OptOp::Vector, axis, lanes});
      plan_.push_back({OptOp::Local, axis, items});
      inner = items * lanes;
    }
    plan_.push_back({OptOp::Tile, axis, (size + inner - 1) / inner * inner});
    first = false;
  }
  // Several short rows make a group.
  i64 rows = std::min(2 * kMinGroup, left_) / items;
  for (i64 axis : axes_.outputs()) {
    if (row_mask_ >> axis & 1 && rows > 1) axes_.add_items(plan_, axis, &rows);
  }
}

Plan GroupChooser::choose() {
  // Several reductions of a row, with or without outputs along it.
  bool has_rows = (info_.output_mask & ~row_mask_) != 0;
  if (outer_.size() > 1) {
    has_rows |= std::any_of(outer_.begin(), outer_.end(), [&](const ReduceInfo* r) {
      return axes_.values(r->closed) >= kMinGroup && reads_along(*r, grouped_axis(*r));
    });
  }
  if (outer_.empty()) {
    elementwise();
  } else if (has_rows) {
    rows();
  } else {
    Plan tiled = detail::tensor_core_plan(info_, caps_);
    if (tiled.empty()) tiled = detail::group_tile_plan(info_, caps_);
    if (!tiled.empty()) return tiled;
    reduction();
  }
  return plan_;
}

}  // namespace

namespace {

// An upper bound of the local memory that grouped reductions take (group_reduce.cc) among `items`.
i64 partial_bytes(const KernelInfo& info, const Plan& plan, i64 items) {
  i64 values = 1, bytes = 0;
  u64 grouped = 0;
  for (const Opt& o : plan) {
    if (o.op == OptOp::Group) grouped |= u64{1} << o.axis;
    bool of_output = info.output_mask >> o.axis & 1;
    if (o.op == OptOp::Upcast || (o.op == OptOp::Vector && of_output)) values *= o.amount;
  }
  for (const ReduceInfo& r : info.reduces) {
    if (r.closed & grouped) bytes += items * values * r.reduce.dtype().bytes() * 3 / 2 + 128;
  }
  return bytes;
}

}  // namespace

Plan choose_group_plan(const KernelInfo& info, const Caps& caps) {
  Plan plan = GroupChooser(info, caps).choose();
  // Without local memory for combining, each item computes its own reductions.
  i64 items = detail::GroupAxes(info, caps).all_items();
  if (caps.max_shared_bytes > 0 && partial_bytes(info, plan, items) > caps.max_shared_bytes) {
    std::erase_if(plan, [](const Opt& o) { return o.op == OptOp::Group; });
  }
  return plan;
}

}  // namespace doorbell::codegen
