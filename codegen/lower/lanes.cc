// Lanes: splats, gathers, masks, horizontal reduction.
#include "codegen/lower/lanes.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "base/util/check.h"
#include "codegen/linear/program.h"
#include "codegen/lower/affine.h"
#include "codegen/lower/op_builder.h"

namespace doorbell::codegen {

using core::Arena;
using core::DType;
using core::Op;
using core::UOp;
using UOps = absl::InlinedVector<UOp, 16>;

UOp Lanes::splat(UOp value, u16 lanes) {
  if (value.dtype().lanes == lanes) return value;
  CHECK(value.dtype().lanes == 1, "splat of {} to {} lanes", value.dtype().str(), lanes);
  return rw_.arena().make(Op::Splat, value.dtype().with_lanes(lanes), {value});
}

UOp Lanes::lane(UOp value, u16 i) {
  if (value.dtype().lanes == 1) return value;
  if (value.is(Op::Splat)) return value.src(0);
  if (value.is(Op::Vec)) return value.src(i);
  if (value.is(Op::Ramp)) return rw_.add(value.src(0), rw_.index(i * value.arg(0)));
  return rw_.arena().make(Op::Lane, value.dtype().element(), {value}, {i});
}

UOp Lanes::lane_of(UOp value, UOp v) {
  UOp made = rw_.arena().make(Op::Lane, value.dtype().element(), {value, v}, {0});
  if (std::find(lanes_of_.begin(), lanes_of_.end(), made) == lanes_of_.end()) {
    lanes_of_.push_back(made);
  }
  return made;
}

UOp Lanes::vec(std::span<const UOp> scalars) {
  bool equal = true;
  for (UOp s : scalars) equal &= s == scalars[0];
  DType t = scalars[0].dtype().with_lanes(static_cast<u16>(scalars.size()));
  if (equal) return rw_.arena().make(Op::Splat, t, {scalars[0]});
  return rw_.arena().make(Op::Vec, t, scalars);
}

UOp Lanes::elementwise(Op op, DType element, std::span<const UOp> srcs) {
  u16 lanes = 1;
  for (UOp s : srcs) lanes = std::max(lanes, s.dtype().lanes);
  if (lanes == 1) return scalar(op, element, srcs);
  if (op == Op::Where && srcs[0].is_const())
    return splat(srcs[0].const_int() ? srcs[1] : srcs[2], lanes);
  if (!caps_.vector_arithmetic) {
    UOps made;
    for (u16 i = 0; i < lanes; ++i) {
      UOps at;
      for (UOp s : srcs) at.push_back(lane(s, i));
      made.push_back(scalar(op, element, at));
    }
    return vec(made);
  }
  UOps wide;
  for (UOp s : srcs) wide.push_back(splat(s, lanes));
  return rw_.arena().make(op, element.with_lanes(lanes), wide);
}

UOp Lanes::scalar(Op op, DType element, std::span<const UOp> srcs) {
  UOp made = rw_.make(op, element, srcs);
  bool lacking =
      core::is_elementwise(made.op()) && !made.dtype().is_index() && !caps_.has(made.op());
  return lacking ? OpBuilder(rw_, caps_).make(op, element, srcs) : made;
}

UOp Lanes::at_lane(UOp expr, UOp v, i64 i) {
  if (!(expr.range_mask() >> v.range_id() & 1)) return expr;
  absl::InlinedVector<std::pair<UOp, UOp>, 4> replacements{{v, rw_.index(i)}};
  for (UOp l : lanes_of_) {
    if (l.src(1) == v) replacements.push_back({l, lane(l.src(0), static_cast<u16>(i))});
  }
  return rw_.substitute(expr, replacements);
}

UOp Lanes::vectorize(UOp expr, UOp v) {
  u64 bit = u64{1} << v.range_id();
  if (!(expr.range_mask() & bit)) return expr;
  Arena& arena = rw_.arena();
  u16 lanes = static_cast<u16>(v.range_size());
  absl::flat_hash_map<const core::Node*, UOp> done;
  struct Frame {
    UOp node;
    bool open;
  };
  absl::InlinedVector<Frame, 16> stack{{expr, false}};
  while (!stack.empty()) {
    auto [e, open] = stack.back();
    stack.pop_back();
    if (done.contains(e.node())) continue;
    if (!(e.range_mask() & bit)) {
      done[e.node()] = e;
      continue;
    }
    if (e.is(Op::Lane)) {
      done[e.node()] = e.src(0);
      continue;
    }
    if (!open && e.dtype().is_index()) {
      if (auto linear = linear_in(rw_, e, v)) {
        done[e.node()] =
            arena.make(Op::Ramp, e.dtype().with_lanes(lanes), {linear->base}, {linear->stride});
        continue;
      }
    }
    if (!open) {
      stack.push_back({e, true});
      for (UOp s : e.srcs()) stack.push_back({s, false});
      continue;
    }
    UOps srcs;
    for (UOp s : e.srcs()) srcs.push_back(done[s.node()]);
    done[e.node()] = elementwise(e.op(), e.dtype(), srcs);
  }
  return done[expr.node()];
}

UOp Lanes::access(UOp memory, UOp index, UOp gate) {
  if (gate && gate.is_const(1)) gate = UOp();
  if (!gate) return rw_.arena().make(Op::Index, memory.dtype(), {memory, index});
  return rw_.arena().make(Op::Index, memory.dtype(), {memory, index, gate});
}

namespace {

bool varies(UOp u, UOp v) { return u && v && (u.range_mask() >> v.range_id() & 1); }

}  // namespace

std::vector<Lanes::Run> Lanes::runs_of(UOp index, UOp gate, UOp v) {
  const u16 lanes = static_cast<u16>(v.range_size());
  Run order;
  for (u16 i = 0; i < lanes; ++i) order.push_back(i);
  usize size = 1;
  if (caps_.has_local && varies(index, v)) {
    UOps places;
    std::vector<i64> offsets;
    for (const u16 i : order) {
      places.push_back(at_lane(index, v, i));
      offsets.push_back(to_affine(places.back()).constant);
    }
    std::ranges::stable_sort(order, {}, [&](u16 i) { return offsets[i]; });
    size = lanes;
    for (usize i = 0; i < lanes && size > 1; ++i) {
      const u16 lane = order[i], first = order[i / size * size];
      const UOp next = rw_.add(places[first], rw_.index(static_cast<i64>(i % size)));
      const bool follows = places[lane] == next &&
                           (!varies(gate, v) || at_lane(gate, v, lane) == at_lane(gate, v, first));
      if (!follows) size /= 2, i = static_cast<usize>(-1);
    }
    if (lanes % size != 0) size = 1;
  }
  if (size == 1) std::ranges::sort(order);
  std::vector<Run> runs;
  for (usize i = 0; i < lanes; i += size)
    runs.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(i),
                      order.begin() + static_cast<std::ptrdiff_t>(i + size));
  return runs;
}

UOp Lanes::load(UOp memory, DType element, UOp index, UOp gate, UOp alt, UOp v, bool transposes) {
  Arena& arena = rw_.arena();
  if (transposes) {
    const std::optional<LinearIn> row = linear_in(rw_, index, v);
    CHECK(row && row->stride == 1 && !gate && v.range_size() == kTransposedElements,
          "a load that transposes other than rows of {}", kTransposedElements);
    const DType line = element.with_lanes(static_cast<u16>(kTransposedElements));
    return arena.make(Op::Load, line, {access(memory, row->base, UOp())}, {kTransposing});
  }
  auto scalar = [&](UOp at, UOp on) {
    if (on && on.is_const(0)) return alt;
    UOp place = access(memory, at, on);
    if (place.nsrc() < 3) return arena.make(Op::Load, element, {place});
    return arena.make(Op::Load, element, {place, alt});
  };
  if (!varies(index, v) && !varies(gate, v)) return scalar(index, gate);
  u16 lanes = static_cast<u16>(v.range_size());
  DType wide = element.with_lanes(lanes);
  std::optional<LinearIn> linear = linear_in(rw_, index, v);
  bool masked = varies(gate, v);
  if (linear && (linear->stride == 1 || linear->stride == -1) && (!masked || caps_.masked_access)) {
    bool reversed = linear->stride == -1;
    UOp base = reversed ? rw_.add(linear->base, rw_.index(1 - lanes)) : linear->base;
    if (!masked || !reversed) {
      UOp place = access(memory, base, gate ? vectorize(gate, v) : gate);
      UOp loaded = place.nsrc() < 3 ? arena.make(Op::Load, wide, {place})
                                    : arena.make(Op::Load, wide, {place, splat(alt, lanes)});
      if (!reversed) return loaded;
      UOps order;
      for (u16 i = 0; i < lanes; ++i)
        order.push_back(lane(loaded, static_cast<u16>(lanes - 1 - i)));
      return vec(order);
    }
  }
  UOps parts(lanes);
  for (const Run& run : runs_of(index, gate, v)) {
    UOp at = at_lane(index, v, run[0]), on = gate ? at_lane(gate, v, run[0]) : gate;
    if (run.size() == 1 || (on && on.is_const(0))) {
      for (usize k = 0; k < run.size(); ++k)
        parts[run[k]] = scalar(rw_.add(at, rw_.index(static_cast<i64>(k))), on);
      continue;
    }
    UOp place = access(memory, at, on);
    const u16 count = static_cast<u16>(run.size());
    const DType some = element.with_lanes(count);
    UOp loaded = place.nsrc() < 3 ? arena.make(Op::Load, some, {place})
                                  : arena.make(Op::Load, some, {place, splat(alt, count)});
    for (u16 k = 0; k < count; ++k) parts[run[k]] = lane(loaded, k);
  }
  return vec(parts);
}

UOp Lanes::store(UOp memory, UOp index, UOp gate, UOp value, UOp v) {
  Arena& arena = rw_.arena();
  auto make_store = [&](UOp at, UOp on, UOp what) {
    return arena.make(Op::Store, core::dtypes::void_, {access(memory, at, on), what});
  };
  if (!v || (!varies(index, v) && !varies(gate, v) && value.dtype().lanes == 1)) {
    return make_store(index, gate, value);
  }
  u16 lanes = static_cast<u16>(v.range_size());
  bool masked = varies(gate, v);
  std::optional<LinearIn> linear = linear_in(rw_, index, v);
  if (linear && linear->stride == 1 && (!masked || caps_.masked_access)) {
    return make_store(linear->base, gate ? vectorize(gate, v) : gate, splat(value, lanes));
  }
  UOps parts;
  for (const Run& run : runs_of(index, gate, v)) {
    UOp on = gate ? at_lane(gate, v, run[0]) : gate;
    if (on && on.is_const(0)) continue;
    UOps some;
    for (const u16 i : run) some.push_back(lane(value, i));
    parts.push_back(
        make_store(at_lane(index, v, run[0]), on, run.size() == 1 ? some[0] : vec(some)));
  }
  return arena.make(Op::Group, core::dtypes::void_, parts);
}

UOp Lanes::horizontal(Op op, UOp value) {
  // Adds halves while they are even, so that the tree has the depth of a hardware reduction.
  while (value.dtype().lanes > 1 && value.dtype().lanes % 2 == 0) {
    u16 half = value.dtype().lanes / 2;
    if (!caps_.vector_arithmetic) {
      UOps sums;
      for (u16 i = 0; i < half; ++i) {
        UOp pair[] = {lane(value, i), lane(value, static_cast<u16>(i + half))};
        sums.push_back(scalar(op, value.dtype().element(), pair));
      }
      value = half == 1 ? sums[0] : vec(sums);
      continue;
    }
    DType t = value.dtype().with_lanes(half);
    UOp low = rw_.arena().make(Op::Lane, t, {value}, {0});
    UOp high = rw_.arena().make(Op::Lane, t, {value}, {half});
    value = rw_.arena().make(op, t, {low, high});
  }
  UOp result = lane(value, 0);
  for (u16 i = 1; i < value.dtype().lanes; ++i) {
    UOp pair[] = {result, lane(value, i)};
    result = scalar(op, value.dtype().element(), pair);
  }
  return result;
}

}  // namespace doorbell::codegen
