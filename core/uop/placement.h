// Placement: the devices of a value that is on several, and how it lies on them: split evenly along
// axes of its own, or as equal copies (layout.h). A Node says where its value is by one number: 0
// where nothing fixes it, the Registry's number of a device plus one, or the number of a Placement.
// The rules here say where the value of an op is, given its sources; core/schedule/shard.h makes
// the parts.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <span>

#include "core/uop/layout.h"
#include "core/uop/uop.h"

namespace doorbell::core {

inline constexpr u16 kFirstPlacement = 0x8000;

// Values of several processes (core/device/communicator.h) are these ops with more args:
//   Shard  args = {kUnited + layout, devices...}: of the parts each process has one; this one's is
//          src[0]
//   Copy   args = {device, ExchangeKind, reduction op, root or number, devices, dims...}: what a
//          device has after an exchange of src[0] with those of that placement, and its dims
inline constexpr i64 kUnited = 64;         // a bit
inline constexpr usize kExchangeArgs = 4;  // before the dims

struct Placement {
  std::span<const u16> devices;  // the Registry's numbers; two at least
  i64 layout;
  std::span<const MeshAxis> axes;  // what the layout says

  i64 count() const { return static_cast<i64>(devices.size()); }
  bool is_split() const { return layout != kReplicated; }
  bool is_line() const { return axes.size() == 1; }  // along the axis `layout`, or copies
};

// Devices along which a value lies as a whole of its own: parts along an axis, or copies.
struct Line {
  std::span<const u16> devices;
  i64 axis;

  i64 count() const { return static_cast<i64>(devices.size()); }
};

inline bool is_united(UOp node) {
  return node.is(Op::Shard) && node.arg(0) >= kUnited && (node.arg(0) & kUnited) != 0;
}
// That the first arg of a Multi or Shard says.
constexpr i64 layout_in(i64 arg) { return arg < 0 ? arg : arg & ~kUnited; }
inline bool is_exchange(UOp node) { return node.is(Op::Copy) && node.narg() >= kExchangeArgs; }
constexpr bool is_placement(u16 device) { return device >= kFirstPlacement; }
// The number of a placement; the same for equal ones. Kept for the life of the process.
u16 intern_placement(std::span<const u16> devices, i64 layout);
Placement placement_of(u16 number);
// The same devices, otherwise laid out.
u16 with_layout(u16 number, i64 layout);
// Whether an op may have sources at both: one of them has no device, or both are on the same
// devices.
bool devices_compatible(u16 a, u16 b);

// Where the value of a node with these parts is; `dims` is its shape.
u16 infer_device(Op op, std::span<const UOp> srcs, std::span<const i64> args,
                 std::span<const Dim> dims);

// Of a movement op or Reduce that is done on each part of `src` by itself: the axis of the result
// that lies as `axis` of the source does, over as many devices; kReplicated where the parts do not
// make up the result.
i64 local_axis(Op op, UOp src, std::span<const i64> args, std::span<const Dim> dims, i64 axis,
               i64 parts);
// The same for each mesh axis.
MeshAxes local_axes(UOp node, std::span<const MeshAxis> from);
// The axis of a source that broadcasts to `rank` axes which lies along `axis` of the result;
// kReplicated where every part needs all of the source.
i64 source_axis(UOp src, usize rank, i64 axis);

}  // namespace doorbell::core
