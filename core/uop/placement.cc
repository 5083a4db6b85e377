// The table of placements, and the rules by which ops pass them on.
#include "core/uop/placement.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/util/check.h"

namespace doorbell::core {

namespace {

struct Entry {
  std::vector<u16> devices;
  i64 axis;
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

u16 find_or_add(std::span<const u16> devices, i64 axis) {
  std::lock_guard lock(adding);
  const usize count = entry_count.load(std::memory_order_relaxed);
  for (usize i = 0; i < count; ++i) {
    const Entry& entry = *entries[i].load(std::memory_order_relaxed);
    if (entry.axis == axis && std::ranges::equal(entry.devices, devices))
      return static_cast<u16>(kFirstPlacement + i);
  }
  CHECK(count < kMaxPlacements, "more than {} placements", kMaxPlacements);
  entries[count].store(new Entry{{devices.begin(), devices.end()}, axis},
                       std::memory_order_release);
  entry_count.store(count + 1);
  return static_cast<u16>(kFirstPlacement + count);
}

}  // namespace

u16 intern_placement(std::span<const u16> devices, i64 axis) {
  CHECK(devices.size() >= 2, "a placement on {} devices", devices.size());
  return find_or_add(devices, axis);
}

Placement placement_of(u16 number) {
  const Entry& entry = entry_of(number);
  return {entry.devices, entry.axis};
}

u16 with_axis(u16 number, i64 axis) {
  const Placement placement = placement_of(number);
  return placement.axis == axis ? number : intern_placement(placement.devices, axis);
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
i64 reshaped_axis(UOp src, std::span<const Dim> to, const Placement& from) {
  Product before;
  for (i64 i = 0; i < from.axis; ++i) before.times(src.dim(static_cast<usize>(i)));
  Product passed;
  for (usize i = 0; i < to.size(); ++i) {
    if (passed == before && to[i] != Dim(1) && divides(to[i], from.count()))
      return static_cast<i64>(i);
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

i64 local_axis(Op op, UOp src, std::span<const i64> args, std::span<const Dim> dims,
               const Placement& from) {
  if (!from.is_split()) return kReplicated;
  switch (op) {
    case Op::Permute: return std::ranges::find(args, from.axis) - args.begin();
    case Op::Expand:
      return from.axis + static_cast<i64>(dims.size()) - static_cast<i64>(src.ndim());
    case Op::Reshape: return reshaped_axis(src, dims, from);
    case Op::Pad:
    case Op::Shrink: return keeps_axis(src, args, from.axis) ? from.axis : kReplicated;
    case Op::Flip: return args[0] >> from.axis & 1 ? kReplicated : from.axis;
    case Op::Reduce: return args[1] >> from.axis & 1 ? kReplicated : from.axis;
    default: UNREACHABLE("{} has no axis of its own", name_of(op));
  }
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

// Along the axis of the largest source that is split: moving the others is cheaper.
u16 infer_elementwise(std::span<const UOp> srcs, usize rank) {
  u16 device = 0;
  i64 most = -1;
  for (UOp src : srcs) {
    const u16 own = src.device();
    CHECK(devices_compatible(device, own), "sources at {} and {}", device, own);
    if (own == 0) continue;
    if (device == 0) device = own;
    if (!is_placement(own)) continue;
    const Placement placement = placement_of(own);
    if (!placement.is_split() || max_count(src) <= most) continue;
    most = max_count(src);
    device = with_axis(own, placement.axis + static_cast<i64>(rank - src.ndim()));
  }
  return device;
}

// What cannot be done on each part by itself: elements move, to parts again where they divide.
u16 infer_moved(Op op, u16 from, std::span<const i64> args, std::span<const Dim> dims) {
  const Placement placement = placement_of(from);
  const usize axis = static_cast<usize>(placement.axis);
  const bool in_place = op == Op::Flip || op == Op::Pad || op == Op::Shrink;
  if (!in_place || !divides(dims[axis], placement.count()) ||
      (op != Op::Flip && is_dynamic_dim(args[2 * axis])))
    return with_axis(from, kReplicated);
  return from;
}

u16 infer_multi(std::span<const UOp> parts, i64 axis) {
  std::vector<u16> devices;
  for (UOp part : parts) {
    CHECK(part.device() != 0 && !is_placement(part.device()), "a part at {}", part.device());
    devices.push_back(static_cast<u16>(part.device() - 1));
  }
  return intern_placement(devices, axis);
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
      return intern_placement(devices, args[0] >= kUnited ? args[0] - kUnited : args[0]);
    }
    case Op::Assign:
    case Op::CustomGradient: return srcs[0].device();
    default: break;
  }
  if (is_elementwise(op)) return infer_elementwise(srcs, dims.size());
  if (srcs.empty()) return 0;
  const u16 from = srcs[0].device();
  if (!is_placement(from) || !placement_of(from).is_split()) return from;
  if (!is_movement(op) && op != Op::Reduce) return from;
  const i64 axis = local_axis(op, srcs[0], args, dims, placement_of(from));
  if (axis == kReplicated && is_movement(op)) return infer_moved(op, from, args, dims);
  return with_axis(from, axis);
}

}  // namespace doorbell::core
