// The table of placements, and the rules by which ops pass them on.
#include "core/uop/placement.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/util/check.h"

namespace doorbell::core {

namespace {

struct Entry {
  std::vector<u16> devices;
  i64 layout;
  MeshAxes axes;
};

// Entries are never freed: nodes may outlive static destructors. Reading takes no lock.
constexpr usize kMaxPlacements = 4096;
constinit std::array<std::atomic<const Entry*>, kMaxPlacements> entries{};
constinit std::atomic<usize> entry_count{0};
constinit std::mutex adding;

const Entry& entry_of(u16 number) {
  CHECK(is_placement(number) && number < kFirstPlacement + entry_count.load(), "{} is no placement",
        number);
  return *entries[number - kFirstPlacement].load(std::memory_order_acquire);
}

u16 find_or_add(std::span<const u16> devices, i64 layout) {
  std::lock_guard lock(adding);
  const usize count = entry_count.load(std::memory_order_relaxed);
  for (usize i = 0; i < count; ++i) {
    const Entry& entry = *entries[i].load(std::memory_order_relaxed);
    if (entry.layout == layout && std::ranges::equal(entry.devices, devices))
      return static_cast<u16>(kFirstPlacement + i);
  }
  CHECK(count < kMaxPlacements, "more than {} placements", kMaxPlacements);
  const MeshAxes axes = mesh_axes_of(layout, static_cast<i64>(devices.size()));
  entries[count].store(new Entry{{devices.begin(), devices.end()}, layout, axes},
                       std::memory_order_release);
  entry_count.store(count + 1);
  return static_cast<u16>(kFirstPlacement + count);
}

}  // namespace

u16 intern_placement(std::span<const u16> devices, i64 layout) {
  CHECK(devices.size() >= 2, "a placement on {} devices", devices.size());
  return find_or_add(devices, layout);
}

Placement placement_of(u16 number) {
  const Entry& entry = entry_of(number);
  return {entry.devices, entry.layout, entry.axes};
}

u16 with_layout(u16 number, i64 layout) {
  const Placement placement = placement_of(number);
  return placement.layout == layout ? number : intern_placement(placement.devices, layout);
}

bool devices_compatible(u16 a, u16 b) {
  if (a == 0 || b == 0 || a == b) return true;
  if (!is_placement(a) || !is_placement(b)) return false;
  return std::ranges::equal(placement_of(a).devices, placement_of(b).devices);
}

namespace {

bool divides(Dim dim, i64 parts) { return dim.is_const() && dim.value() % parts == 0; }

// Sizes multiplied up: the constant ones as a number, the others by identity, in order.
struct Product {
  i64 constant = 1;
  std::vector<u64> symbolic;
  void times(Dim dim) {
    if (dim.is_const())
      constant *= dim.value();
    else
      symbolic.push_back(dim.bits());
  }
  bool operator==(const Product&) const = default;
};

// Row-major order keeps the parts whole where the sizes before the split axis stay the same number
// of elements and the axis that begins there can be split.
i64 reshaped_axis(UOp src, std::span<const Dim> to, i64 axis, i64 parts) {
  Product before;
  for (i64 i = 0; i < axis; ++i) before.times(src.dim(static_cast<usize>(i)));
  Product passed;
  for (usize i = 0; i < to.size(); ++i) {
    if (passed == before && to[i] != Dim(1) && divides(to[i], parts)) return static_cast<i64>(i);
    passed.times(to[i]);
  }
  return kReplicated;
}

bool keeps_axis(UOp src, std::span<const i64> args, i64 axis) {
  const usize at = static_cast<usize>(axis);
  const Dim size = src.dim(at);
  return args[2 * at] == 0 && size.is_const() && args[2 * at + 1] == size.value();
}

}  // namespace

i64 local_axis(Op op, UOp src, std::span<const i64> args, std::span<const Dim> dims, i64 axis,
               i64 parts) {
  if (axis == kReplicated) return kReplicated;
  switch (op) {
    case Op::Permute: return std::ranges::find(args, axis) - args.begin();
    case Op::Expand: return axis + static_cast<i64>(dims.size()) - static_cast<i64>(src.ndim());
    case Op::Reshape: return reshaped_axis(src, dims, axis, parts);
    case Op::Pad:
    case Op::Shrink: return keeps_axis(src, args, axis) ? axis : kReplicated;
    case Op::Flip: return args[0] >> axis & 1 ? kReplicated : axis;
    case Op::Reduce: return args[1] >> axis & 1 ? kReplicated : axis;
    default: UNREACHABLE("{} has no axis of its own", name_of(op));
  }
}

MeshAxes local_axes(UOp node, std::span<const MeshAxis> from) {
  std::vector<Dim> dims;
  for (usize i = 0; i < node.ndim(); ++i) dims.push_back(node.dim(i));
  MeshAxes axes(from.begin(), from.end());
  for (MeshAxis& one : axes)
    one.axis = local_axis(node.op(), node.src(0), node.args(), dims, one.axis,
                          parts_along(from, one.axis));
  return axes;
}

i64 source_axis(UOp src, usize rank, i64 axis) {
  if (axis == kReplicated) return kReplicated;
  const i64 own = axis - static_cast<i64>(rank) + static_cast<i64>(src.ndim());
  return own < 0 || src.dim(static_cast<usize>(own)) == Dim(1) ? kReplicated : own;
}

namespace {

i64 max_count(UOp node) {
  i64 count = 1;
  for (usize i = 0; i < node.ndim(); ++i) count *= node.dim(i).max();
  return count;
}

// Makes the mesh of `to` as fine as that of `from` and the other way round, and lets `to` lie as
// `from` does over the mesh axes where `from` is larger.
void take_larger(const Placement& placement, UOp src, std::span<const Dim> dims, MeshAxes* to,
                 std::vector<i64>* most) {
  MeshAxes from(placement.axes.begin(), placement.axes.end());
  MeshAxes finer = *to;
  if (!refine(&from, &finer)) return;  // it will be moved
  // What is known of an axis holds for those that it was divided into.
  std::vector<i64> known;
  i64 covered = 0;
  usize at = 0;
  for (const MeshAxis& one : finer) {
    covered = covered == 0 ? one.count : covered * one.count;
    known.push_back((*most)[at]);
    if (covered == (*to)[at].count) ++at, covered = 0;
  }
  *to = finer, *most = known;
  const i64 size = max_count(src), shift = static_cast<i64>(dims.size() - src.ndim());
  for (usize i = 0; i < from.size(); ++i) {
    if (!from[i].is_split() || size <= (*most)[i]) continue;
    const MeshAxis before = std::exchange((*to)[i], {from[i].count, from[i].axis + shift});
    // Other sources may have divided the axis over other mesh axes.
    if (divides(dims[static_cast<usize>((*to)[i].axis)], parts_along(*to, (*to)[i].axis)))
      (*most)[i] = size;
    else
      (*to)[i] = before;
  }
}

// Over each mesh axis as the largest source that is split there: moving the others is cheaper.
u16 infer_elementwise(std::span<const UOp> srcs, std::span<const Dim> dims) {
  u16 device = 0;
  MeshAxes axes;
  std::vector<i64> most{-1};
  for (UOp src : srcs) {
    const u16 own = src.device();
    CHECK(devices_compatible(device, own), "sources at {} and {}", device, own);
    if (own == 0) continue;
    if (device == 0) device = own;
    if (!is_placement(own)) continue;
    const Placement placement = placement_of(own);
    if (axes.empty()) axes = {{placement.count(), kReplicated}};
    if (placement.is_split()) take_larger(placement, src, dims, &axes, &most);
  }
  return axes.empty() ? device : with_layout(device, layout_of(axes));
}

// What cannot be done on each part by itself: elements move, to parts again where they divide.
// Over several mesh axes they become copies where they move.
u16 infer_moved(Op op, u16 from, std::span<const i64> args, std::span<const Dim> dims) {
  const Placement placement = placement_of(from);
  const usize axis = static_cast<usize>(placement.layout);
  const bool in_place = op == Op::Flip || op == Op::Pad || op == Op::Shrink;
  if (!in_place || !divides(dims[axis], placement.count()) ||
      (op != Op::Flip && is_dynamic_dim(args[2 * axis])))
    return with_layout(from, kReplicated);
  return from;
}

u16 infer_multi(std::span<const UOp> parts, i64 layout) {
  std::vector<u16> devices;
  for (UOp part : parts) {
    CHECK(part.device() != 0 && !is_placement(part.device()), "a part at {}", part.device());
    devices.push_back(static_cast<u16>(part.device() - 1));
  }
  return intern_placement(devices, layout);
}

}  // namespace

u16 infer_device(Op op, std::span<const UOp> srcs, std::span<const i64> args,
                 std::span<const Dim> dims) {
  switch (op) {
    case Op::Buffer: return static_cast<u16>(args[2] + 1);
    case Op::Copy: return static_cast<u16>(args[0] + 1);
    case Op::Multi: return infer_multi(srcs, args[0]);
    case Op::Shard: {
      std::vector<u16> devices;
      for (i64 device : args.subspan(1)) devices.push_back(static_cast<u16>(device));
      return intern_placement(devices, layout_in(args[0]));
    }
    case Op::Assign:
    case Op::CustomGradient: return srcs[0].device();
    default: break;
  }
  if (is_elementwise(op)) return infer_elementwise(srcs, dims);
  if (srcs.empty()) return 0;
  const u16 from = srcs[0].device();
  if (!is_placement(from) || !placement_of(from).is_split()) return from;
  if (!is_movement(op) && op != Op::Reduce) return from;
  const Placement placement = placement_of(from);
  MeshAxes axes(placement.axes.begin(), placement.axes.end());
  for (MeshAxis& one : axes)
    one.axis = local_axis(op, srcs[0], args, dims, one.axis, parts_along(placement.axes, one.axis));
  const i64 layout = layout_of(axes);
  if (placement.is_line() && layout == kReplicated && is_movement(op))
    return infer_moved(op, from, args, dims);
  return with_layout(from, layout);
}

}  // namespace doorbell::core
