// Sharding, node by node in the order of the walk. Long because one class keeps the parts of all
// nodes, whatever op or process they are of.
#include "core/schedule/shard.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>

#include "base/util/check.h"
#include "core/device/registry.h"
#include "core/schedule/exchange.h"
#include "core/schedule/relayout.h"
#include "core/schedule/shard_builder.h"

namespace doorbell::core {

namespace {

using Srcs = std::vector<UOp>;
using Args = std::vector<i64>;

class Sharder {
 public:
  Sharder(const GraphKey& key, ShardedGraph* graph) : key_(key), graph_(*graph), builder_(*graph) {}

  void run(std::span<const UOp> roots);

 private:
  Parts& parts_of(UOp node) { return parts_[index_.at(node.node())]; }
  void shard(usize at);
  UOp shard_single(const WalkNode& entry);
  Parts shard_several(UOp node);
  Parts shard_elementwise(UOp node);
  Parts shard_reduce(UOp node);
  Parts shard_movement(UOp node);
  Parts shard_moved(UOp node, const Placement& from, const Placement& to);
  Parts shard_cut(UOp node, const Placement& from, const Placement& to);
  Parts shard_padded(UOp node, const Placement& from, const Placement& to);
  Parts shard_copied(UOp node);
  UOp shard_own(UOp node);
  Parts shard_united(UOp node);
  Parts shard_summed(UOp node);

  // A value without a device, as it is computed on one.
  UOp on_device(UOp node, u16 device);
  bool is_leaf(UOp node) const;
  // The value on one device, where it is or is needed.
  UOp single(UOp node, u16 device) {
    return node.device() == 0 ? on_device(node, device) : parts_of(node)[0];
  }
  // The value as `placement` (a number) has it.
  const Parts& laid_out(UOp node, u16 placement);
  Parts move(UOp node, const Placement& to);
  Parts move_between(UOp node, const Placement& from, const Placement& to);
  Parts taken_by_each(UOp node, const Placement& from, const Placement& to);
  UOp own_copy(UOp node);
  const Parts& needed_by_all(const Parts& parts);
  UOp part_elsewhere(UOp node, const Placement& to, usize part);
  UOp piece(UOp node, const Placement& to, usize part);
  Parts partial_as(UOp sum, std::span<const UOp> moves, const Placement& to);
  Parts each(UOp node, const Parts& srcs, std::span<const i64> args);
  Args part_args(UOp node, std::span<const MeshAxis> axes);

  void finish(std::span<const UOp> roots);
  void prune();

  const GraphKey& key_;
  ShardedGraph& graph_;
  ShardBuilder builder_;
  std::vector<Parts> parts_;  // by number in the order; empty for values without a device
  // Looked up, never iterated.
  absl::flat_hash_map<const Node*, usize> index_;
  absl::flat_hash_map<std::pair<const Node*, u16>, UOp> local_;
  absl::flat_hash_map<std::pair<const Node*, u16>, Parts> moved_;
  struct Partial {
    Parts parts;
    u32 across;  // the mesh axes of its source over which they are to be combined
  };
  absl::flat_hash_map<const Node*, Partial> partial_;  // of Reduces over processes
  std::vector<UOp> of_others_;                         // needed, though by no root of this process
};

i64 size_of(UOp node, i64 axis) { return node.dim(static_cast<usize>(axis)).value(); }

std::vector<i64> sizes_of(UOp node) {
  std::vector<i64> sizes;
  for (usize i = 0; i < node.ndim(); ++i) sizes.push_back(size_of(node, static_cast<i64>(i)));
  return sizes;
}

void Sharder::run(std::span<const UOp> roots) {
  parts_.resize(key_.order.size());
  for (usize at = 0; at < key_.order.size(); ++at) {
    index_.try_emplace(key_.order[at].node.node(), at);
    shard(at);
  }
  finish(roots);
  prune();
}

void Sharder::shard(usize at) {
  const WalkNode& entry = key_.order[at];
  const UOp node = entry.node;
  if (entry.stored) {
    const Parts held = parts_of(entry.stored);
    parts_[at] = held;
  } else if (entry.input >= 0 || node.device() == 0) {
    builder_.keep(entry);
    if (node.device() != 0) parts_[at] = {node};
  } else if (!is_placement(node.device())) {
    const UOp sharded = shard_single(entry);
    parts_[at] = {sharded};
  } else {
    Parts sharded = shard_several(node);
    parts_[at] = std::move(sharded);
  }
}

UOp Sharder::shard_single(const WalkNode& entry) {
  const UOp node = entry.node;
  const u16 device = static_cast<u16>(node.device() - 1);
  if (is_exchange(node)) return shard_own(node);
  if (node.is(Op::Copy)) {
    if (is_placement(node.src(0).device())) return shard_copied(node)[0];
    if (node.src(0).device() == 0) return on_device(node.src(0), device);
    const UOp src = parts_of(node.src(0))[0];
    return builder_.with(node, {&src, 1});
  }
  if (node.is(Op::Detach) || node.is(Op::CustomGradient)) return single(node.src(0), device);
  Srcs srcs(node.srcs().begin(), node.srcs().end());
  const usize values = is_elementwise(node.op()) || node.is(Op::Assign) ? srcs.size() : 1;
  bool same = true;
  for (usize i = 0; i < values; ++i) {
    srcs[i] = single(node.src(i), device);
    same &= srcs[i] == node.src(i);
  }
  if (!same) return builder_.with(node, srcs);
  builder_.keep(entry);
  return node;
}

bool Sharder::is_leaf(UOp node) const {
  if (node.is(Op::Const) || node.is(Op::Variable) || node.is(Op::Bind)) return true;
  // Index arithmetic is for sizes; it has no memory anywhere.
  if (node.dtype().is_index() && node.ndim() == 0) return true;
  return key_.order[index_.at(node.node())].input >= 0;
}

UOp Sharder::on_device(UOp root, u16 device) {
  std::vector<UOp> open{root};
  auto find = [&](UOp node) {
    const auto at = local_.find({node.node(), device});
    return at == local_.end() ? UOp() : at->second;
  };
  while (!open.empty()) {
    const UOp node = open.back();
    if (find(node)) {
      open.pop_back();
      continue;
    }
    if (is_leaf(node)) {
      local_[{node.node(), device}] = builder_.copy(node, device);
      continue;
    }
    Srcs srcs(node.srcs().begin(), node.srcs().end());
    const usize values = is_elementwise(node.op()) ? srcs.size() : 1;
    const usize before = open.size();
    for (usize i = 0; i < values; ++i) {
      srcs[i] = find(node.src(i));
      if (!srcs[i]) open.push_back(node.src(i));
    }
    if (open.size() > before) continue;
    const bool passes = node.is(Op::Detach) || node.is(Op::CustomGradient);
    local_[{node.node(), device}] = passes ? srcs[0] : builder_.with(node, srcs);
  }
  return find(root);
}

// The same where another process has it.
UOp Sharder::part_elsewhere(UOp node, const Placement& to, usize part) {
  return stand_in(builder_, node, window_of_part(sizes_of(node), to.axes, 0).size,
                  static_cast<i64>(index_.at(node.node())), to.devices[part]);
}

// Whether every process has the value by itself, on devices of its own.
bool is_of_each_process(u16 device) {
  if (device == 0) return false;
  if (is_placement(device)) return !spans_processes(placement_of(device).devices);
  return !Registry::instance().is_remote(static_cast<u16>(device - 1));
}

// Part number `part` of a value that is not split: without a device, on one, or copied to each.
UOp Sharder::piece(UOp node, const Placement& to, usize part) {
  const u16 device = to.devices[part];
  if (Registry::instance().is_remote(device) && is_of_each_process(node.device()))
    return part_elsewhere(node, to, part);
  UOp value;
  if (node.device() == 0) {
    value = on_device(node, device);
  } else {
    const Parts& copies = parts_of(node);
    value = copies[part % copies.size()];
    for (UOp copy : copies)
      if (copy.device() == device + 1) value = copy;
  }
  return builder_.copy(part_of_whole(builder_, value, to.axes, part), device);
}

// Each process takes its own part, and so each must help to make the others'.
const Parts& Sharder::needed_by_all(const Parts& parts) {
  of_others_.insert(of_others_.end(), parts.begin(), parts.end());
  return parts;
}

// Of a value on devices of several processes: all of it, on one of this process.
UOp Sharder::own_copy(UOp node) {
  const Placement from = placement_of(node.device());
  const i64 own = own_part(from.devices);
  CHECK(own >= 0, "a value that only other processes have is read here");
  return needed_by_all(
      laid_out(node, with_layout(node.device(), kReplicated)))[static_cast<usize>(own)];
}

// From a value of which each process has all parts to one of several processes.
Parts Sharder::taken_by_each(UOp node, const Placement& from, const Placement& to) {
  const Parts parts = from.is_split() && !from.is_line()
                          ? laid_out(node, with_layout(node.device(), kReplicated))
                          : parts_of(node);
  Parts results;
  for (usize i = 0; i < to.devices.size(); ++i) {
    const u16 device = to.devices[i];
    if (Registry::instance().is_remote(device)) {
      results.push_back(part_elsewhere(node, to, i));
      continue;
    }
    const UOp whole = from.is_split() && from.is_line()
                          ? builder_.window_of(parts, {from.devices, from.layout}, 0,
                                               size_of(node, from.layout), device)
                          : builder_.copy(parts[0], device);
    results.push_back(part_of_whole(builder_, whole, to.axes, i));
  }
  return results;
}

// From a value that is split to other devices.
Parts Sharder::move_between(UOp node, const Placement& from, const Placement& to) {
  Parts results;
  if (!from.is_line() || !to.is_line()) {
    const Parts whole = laid_out(node, with_layout(node.device(), kReplicated));
    for (usize i = 0; i < to.devices.size(); ++i)
      results.push_back(builder_.copy(part_of_whole(builder_, whole[i % whole.size()], to.axes, i),
                                      to.devices[i]));
    return results;
  }
  const Line line{from.devices, from.layout};
  const Parts parts = parts_of(node);
  const i64 total = size_of(node, line.axis), share = total / to.count();
  for (i64 i = 0; i < to.count(); ++i) {
    const u16 device = to.devices[static_cast<usize>(i)];
    if (to.layout == line.axis) {
      results.push_back(builder_.window_of(parts, line, i * share, share, device));
      continue;
    }
    Parts cut = parts;
    for (UOp& part : cut) part = part_of_whole(builder_, part, to.axes, static_cast<usize>(i));
    results.push_back(builder_.window_of(cut, line, 0, total, device));
  }
  return results;
}

Parts Sharder::move(UOp node, const Placement& to) {
  Parts results;
  if (is_placement(node.device())) {
    const Placement from = placement_of(node.device());
    if (std::ranges::equal(from.devices, to.devices))
      return relayout(builder_, parts_of(node), from, to, has_constant_shape(node));
    const bool spans = spans_processes(from.devices);
    if (!spans && spans_processes(to.devices)) return taken_by_each(node, from, to);
    if (spans && !spans_processes(to.devices)) {
      const UOp whole = own_copy(node);
      for (usize i = 0; i < to.devices.size(); ++i)
        results.push_back(builder_.copy(part_of_whole(builder_, whole, to.axes, i), to.devices[i]));
      return results;
    }
    if (from.is_split()) return move_between(node, from, to);
  }
  for (usize i = 0; i < to.devices.size(); ++i) results.push_back(piece(node, to, i));
  return results;
}

const Parts& Sharder::laid_out(UOp node, u16 placement) {
  if (node.device() == placement) return parts_of(node);
  const std::pair<const Node*, u16> at{node.node(), placement};
  const auto found = moved_.find(at);
  if (found != moved_.end()) return found->second;
  Parts moved = move(node, placement_of(placement));
  return moved_[at] = std::move(moved);
}

Parts Sharder::each(UOp node, const Parts& values, std::span<const i64> args) {
  Parts results;
  Srcs srcs(node.srcs().begin(), node.srcs().end());
  for (UOp value : values) {
    srcs[0] = value;
    results.push_back(builder_.with(node, srcs, args));
  }
  return results;
}

Parts Sharder::shard_several(UOp node) {
  switch (node.op()) {
    case Op::Multi: return {node.srcs().begin(), node.srcs().end()};
    case Op::Shard: {
      if (is_united(node)) return shard_united(node);
      Parts summed = shard_summed(node);
      return summed.empty() ? laid_out(node.src(0), node.device()) : summed;
    }
    case Op::Detach:
    case Op::CustomGradient: return laid_out(node.src(0), node.device());
    case Op::Contiguous: return each(node, parts_of(node.src(0)), node.args());
    case Op::Reduce: return shard_reduce(node);
    case Op::Assign: {
      const Parts values = laid_out(node.src(1), node.device());
      Parts results;
      for (usize i = 0; i < values.size(); ++i) {
        const UOp srcs[] = {node.src(0).src(i), values[i]};
        results.push_back(builder_.with(node, srcs));
      }
      return results;
    }
    default: break;
  }
  return is_elementwise(node.op()) ? shard_elementwise(node) : shard_movement(node);
}

Parts Sharder::shard_elementwise(UOp node) {
  const Placement to = placement_of(node.device());
  std::vector<Parts> values;
  for (UOp src : node.srcs()) {
    MeshAxes axes(to.axes.begin(), to.axes.end());
    for (MeshAxis& one : axes) one.axis = source_axis(src, node.ndim(), one.axis);
    values.push_back(laid_out(src, with_layout(node.device(), layout_of(axes))));
  }
  Parts results;
  for (usize i = 0; i < to.devices.size(); ++i) {
    Srcs srcs;
    for (const Parts& value : values) srcs.push_back(value[i]);
    results.push_back(builder_.with(node, srcs));
  }
  return results;
}

Parts Sharder::shard_reduce(UOp node) {
  const Placement from = placement_of(node.src(0).device());
  const Parts results = each(node, parts_of(node.src(0)), node.args());
  u32 across = 0;
  for (usize i = 0; i < from.axes.size(); ++i)
    if (from.axes[i].is_split() && (node.arg(1) >> from.axes[i].axis & 1)) across |= 1u << i;
  if (across == 0) return results;
  const bool is_constant = has_constant_shape(node);
  if (is_constant && spans_processes(from.devices)) partial_[node.node()] = {results, across};
  return combine(builder_, node.reduce_op(), results, from.devices, from.axes, across, is_constant);
}

// The args of a movement op on each part, for parts of the result.
Args Sharder::part_args(UOp node, std::span<const MeshAxis> axes) {
  Args args(node.args().begin(), node.args().end());
  for (const MeshAxis& one : axes) {
    if (!one.is_split()) continue;
    const usize at = static_cast<usize>(one.axis);
    const i64 size = node.dim(at).value() / parts_along(axes, one.axis);
    if (node.is(Op::Reshape) || node.is(Op::Expand)) args[at] = size;
    if (node.is(Op::Pad) || node.is(Op::Shrink)) args[2 * at + 1] = size;
  }
  return args;
}

Parts Sharder::shard_movement(UOp node) {
  const UOp src = node.src(0);
  const Placement from = placement_of(src.device()), to = placement_of(node.device());
  if (!from.is_split()) return each(node, parts_of(src), node.args());
  const MeshAxes axes = local_axes(node, from.axes);
  if (from.is_line() && axes[0].axis == kReplicated) return shard_moved(node, from, to);
  // Over mesh axes where parts do not make up the result, it lies in copies.
  MeshAxes wanted(from.axes.begin(), from.axes.end());
  for (usize i = 0; i < axes.size(); ++i)
    if (axes[i].axis == kReplicated) wanted[i].axis = kReplicated;
  const Parts parts = laid_out(src, with_layout(src.device(), layout_of(wanted)));
  return each(node, parts, part_args(node, axes));
}

Line line_of(const Placement& placement) { return {placement.devices, placement.layout}; }

// Ops on the split axis itself, over one mesh axis.
Parts Sharder::shard_moved(UOp node, const Placement& from, const Placement& to) {
  const usize axis = static_cast<usize>(from.layout);
  if (node.is(Op::Flip)) {
    Parts mirrored;
    const Parts& parts = parts_of(node.src(0));
    for (usize i = 0; i < parts.size(); ++i)
      mirrored.push_back(builder_.copy(parts[parts.size() - 1 - i], from.devices[i]));
    return each(node, mirrored, node.args());
  }
  const bool is_window = node.is(Op::Shrink) || node.is(Op::Pad);
  if (is_window && !is_dynamic_dim(node.arg(2 * axis)) && node.dim(axis).is_const()) {
    if (node.is(Op::Shrink)) return shard_cut(node, from, to);
    if (to.is_split()) return shard_padded(node, from, to);
  }
  const Parts all = laid_out(node.src(0), with_layout(node.src(0).device(), kReplicated));
  return each(node, all, node.args());
}

// Copies only the elements that are needed.
Parts Sharder::shard_cut(UOp node, const Placement& from, const Placement& to) {
  const usize axis = static_cast<usize>(from.layout);
  Args args(node.args().begin(), node.args().end());
  Parts parts = parts_of(node.src(0));
  args[2 * axis] = 0;
  args[2 * axis + 1] = size_of(parts[0], from.layout);
  bool cuts_others = false;
  for (usize i = 0; i < node.ndim(); ++i)
    cuts_others |= i != axis && node.dim(i) != node.src(0).dim(i);
  if (cuts_others) parts = each(node, parts, args);
  const i64 start = node.arg(2 * axis);
  const i64 size = size_of(node, from.layout) / (to.is_split() ? to.count() : 1);
  const i64 length = size_of(parts[0], from.layout), owner = start / length;
  if (!to.is_split() && size > 0 && start + size <= (owner + 1) * length &&
      can_exchange(from.devices) && has_constant_shape(node)) {
    for (UOp& part : parts) part = builder_.window(part, from.layout, start - owner * length, size);
    return exchange_one(builder_, parts, line_of(from), owner);
  }
  Parts results;
  for (i64 i = 0; i < to.count(); ++i) {
    const i64 at = to.is_split() ? start + i * size : start;
    results.push_back(
        builder_.window_of(parts, line_of(from), at, size, to.devices[static_cast<usize>(i)]));
  }
  return results;
}

Parts Sharder::shard_padded(UOp node, const Placement& from, const Placement& to) {
  const usize axis = static_cast<usize>(from.layout);
  const i64 before = node.arg(2 * axis), inner = size_of(node.src(0), from.layout);
  const i64 size = size_of(node, from.layout) / to.count();
  Parts values;
  for (i64 i = 0; i < to.count(); ++i) {
    // This part of the result, as elements of the source.
    const i64 low = i * size - before, high = low + size;
    const i64 first = std::clamp<i64>(low, 0, inner), last = std::clamp<i64>(high, 0, inner);
    const u16 device = to.devices[static_cast<usize>(i)];
    const UOp window =
        builder_.window_of(parts_of(node.src(0)), line_of(from), first, last - first, device);
    values.push_back(last == first ? builder_.zeros(window, from.layout, size, device)
                                   : builder_.surround(window, from.layout, first - low, size));
  }
  Args args(node.args().begin(), node.args().end());
  args[2 * axis] = 0;
  args[2 * axis + 1] = size;
  return each(node, values, args);
}

// A sum over processes of which each wants a part: the whole is nobody's then, unless others use
// it. The sum may have been given another shape, or its axes another order.
Parts Sharder::shard_summed(UOp node) {
  const Placement to = placement_of(node.device());
  std::vector<UOp> moves;
  UOp sum = node.src(0);
  for (; sum.is(Op::Reshape) || sum.is(Op::Permute); sum = sum.src(0)) moves.push_back(sum);
  if (!partial_.contains(sum.node()) || !to.is_split() || !has_constant_shape(node)) return {};
  if (!std::ranges::equal(placement_of(sum.src(0).device()).devices, to.devices)) return {};
  return partial_as(sum, moves, to);
}

// Along the mesh axis of the sum the result is in parts; along the others it lies as the sum does.
Parts Sharder::partial_as(UOp sum, std::span<const UOp> moves, const Placement& to) {
  const Partial partial = partial_.at(sum.node());
  const Placement from = placement_of(sum.src(0).device());
  MeshAxes lies(from.axes.begin(), from.axes.end()), wanted(to.axes.begin(), to.axes.end());
  for (usize i = 0; i < lies.size(); ++i)
    if (partial.across >> i & 1) lies[i].axis = kReplicated;
  for (usize i = moves.size(); i-- > 0;) {
    const MeshAxes moved = local_axes(moves[i], lies);
    for (usize k = 0; k < lies.size(); ++k)
      if (lies[k].is_split() && !moved[k].is_split()) return {};
    lies = moved;
  }
  if (lies.size() != wanted.size() || !std::has_single_bit(partial.across)) return {};
  const usize at = static_cast<usize>(std::countr_zero(partial.across));
  for (usize k = 0; k < lies.size(); ++k)
    if (lies[k].count != wanted[k].count || (k != at && lies[k].axis != wanted[k].axis)) return {};
  const i64 axis = wanted[at].axis;
  if (axis == kReplicated || parts_along(wanted, axis) != wanted[at].count) return {};
  Parts parts = partial.parts;
  lies.assign(from.axes.begin(), from.axes.end());
  lies[at].axis = kReplicated;
  for (usize i = moves.size(); i-- > 0;) {
    lies = local_axes(moves[i], lies);
    parts = each(moves[i], parts, part_args(moves[i], lies));
  }
  return combine_parts(builder_, sum.reduce_op(), parts, to.devices, wanted, at, axis);
}

// Of each process its part: this one's is the source.
Parts Sharder::shard_united(UOp node) {
  const Placement to = placement_of(node.device());
  Parts results;
  for (u16 device : to.devices) {
    if (!Registry::instance().is_remote(device)) {
      results.push_back(builder_.copy(single(node.src(0), device), device));
      continue;
    }
    results.push_back(stand_in(builder_, node, window_of_part(sizes_of(node), to.axes, 0).size,
                               static_cast<i64>(index_.at(node.node())), device));
  }
  return results;
}

UOp Sharder::shard_own(UOp node) {
  const Placement from = placement_of(node.src(0).device());
  const Parts& parts = needed_by_all(parts_of(node.src(0)));
  const auto at = std::ranges::find(from.devices, static_cast<u16>(node.device() - 1));
  CHECK(at != from.devices.end(), "no part is on device {}", node.device() - 1);
  return parts[static_cast<usize>(at - from.devices.begin())];
}

Parts Sharder::shard_copied(UOp node) {
  const UOp src = node.src(0);
  const Placement from = placement_of(src.device());
  const u16 device = static_cast<u16>(node.device() - 1);
  if (spans_processes(from.devices) && !Registry::instance().is_remote(device))
    return {builder_.copy(own_copy(src), device)};
  if (!from.is_split()) return {piece(src, {{&device, 1}, kReplicated, {}}, 0)};
  if (!from.is_line())
    return {builder_.copy(laid_out(src, with_layout(src.device(), kReplicated))[0], device)};
  return {builder_.window_of(parts_of(src), line_of(from), 0, size_of(src, from.layout), device)};
}

void Sharder::finish(std::span<const UOp> roots) {
  for (UOp root : roots) {
    ShardedRoot sharded{static_cast<u32>(graph_.roots.size()), 1, kReplicated};
    if (root.device() == 0) {
      graph_.roots.push_back(root);
    } else {
      const Parts& parts = parts_of(root);
      graph_.roots.insert(graph_.roots.end(), parts.begin(), parts.end());
      sharded.count = static_cast<u32>(parts.size());
      if (is_placement(root.device())) sharded.layout = placement_of(root.device()).layout;
    }
    graph_.by_root.push_back(sharded);
  }
}

// Nodes that no root needs are dropped: ops such as Contiguous would store them.
void Sharder::prune() {
  std::vector<WalkNode>& order = graph_.key.order;
  absl::flat_hash_set<const Node*> needed;  // looked up, never iterated
  for (UOp root : graph_.roots) needed.insert(root.node());
  for (UOp part : of_others_) needed.insert(part.node());
  std::vector<bool> keep(order.size());
  for (usize at = order.size(); at-- > 0;) {
    const WalkNode& entry = order[at];
    keep[at] = needed.contains(entry.node.node());
    if (!keep[at]) continue;
    for (usize axis = 0; axis < entry.node.ndim(); ++axis)
      if (!entry.node.dim(axis).is_const()) needed.insert(entry.node.dim(axis).expr().node());
    if (entry.input >= 0 || entry.variable >= 0) continue;
    for (UOp src : entry.node.srcs()) needed.insert(src.node());
  }
  usize kept = 0;
  for (usize at = 0; at < order.size(); ++at)
    if (keep[at]) order[kept++] = order[at];
  order.resize(kept);
}

}  // namespace

bool needs_sharding(const GraphKey& key, u16 default_device) {
  const auto elsewhere = [&](u16 device) { return device != 0 && device != default_device + 1; };
  for (const WalkNode& entry : key.order)
    if (elsewhere(entry.node.device())) return true;
  return std::ranges::any_of(key.inputs, [&](UOp input) { return elsewhere(input.device()); });
}

ShardedGraph shard_graph(const GraphKey& key, std::span<const UOp> roots) {
  ShardedGraph graph;
  graph.key.inputs = key.inputs;
  graph.key.variables = key.variables;
  Sharder(key, &graph).run(roots);
  return graph;
}

}  // namespace doorbell::core
