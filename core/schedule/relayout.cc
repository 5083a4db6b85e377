// An axis of the value that is in parts over several mesh axes is joined from the last of them on,
// and divided from the first on: only then are a line's parts neighbours.
#include "core/schedule/relayout.h"

#include <algorithm>

#include "core/schedule/allreduce.h"
#include "core/schedule/exchange.h"

namespace doorbell::core {

namespace {

i64 size_at(UOp x, i64 axis) { return x.dim(static_cast<usize>(axis)).value(); }

// The devices and parts of one line.
struct LineParts {
  std::vector<u16> devices;
  Parts parts;
};

LineParts pick(const Parts& parts, std::span<const u16> devices, std::span<const usize> line) {
  LineParts picked;
  for (usize at : line) {
    picked.devices.push_back(devices[at]);
    picked.parts.push_back(parts[at]);
  }
  return picked;
}

Parts gather(ShardBuilder& builder, const Parts& parts, const Line& line, bool is_constant) {
  if (is_constant && can_exchange(line.devices)) return exchange_whole(builder, parts, line);
  const i64 total = size_at(parts[0], line.axis) * line.count();
  Parts results;
  for (u16 device : line.devices)
    results.push_back(builder.window_of(parts, line, 0, total, device));
  return results;
}

Parts turn(ShardBuilder& builder, const Parts& parts, const Line& line, i64 axis,
           bool is_constant) {
  if (is_constant && can_exchange(line.devices)) return exchange_axis(builder, parts, line, axis);
  const i64 total = size_at(parts[0], line.axis) * line.count();
  const i64 size = size_at(parts[0], axis) / line.count();
  Parts results;
  for (i64 i = 0; i < line.count(); ++i) {
    Parts cut = parts;
    for (UOp& part : cut) part = builder.window(part, axis, i * size, size);
    results.push_back(builder.window_of(cut, line, 0, total, line.devices[static_cast<usize>(i)]));
  }
  return results;
}

class Relayout {
 public:
  Relayout(ShardBuilder& builder, std::span<const u16> devices, MeshAxes axes, bool is_constant)
      : builder_(builder), devices_(devices), axes_(std::move(axes)), is_constant_(is_constant) {}

  Parts run(Parts parts, const MeshAxes& to);

 private:
  bool must_leave(usize at, const MeshAxes& to) const;
  bool turns_at_once(usize at, const MeshAxes& to) const;
  void leave(usize at, i64 axis, Parts* parts);

  ShardBuilder& builder_;
  const std::span<const u16> devices_;
  MeshAxes axes_;  // as the parts lie now
  const bool is_constant_;
};

// Whether parts over a mesh axis change, or hinder an earlier mesh axis that changes.
bool Relayout::must_leave(usize at, const MeshAxes& to) const {
  const i64 axis = axes_[at].axis;
  if (axis == kReplicated) return false;
  if (axis != to[at].axis) return true;
  for (usize i = 0; i < at; ++i)
    if (axes_[i].axis != to[i].axis && (axes_[i].axis == axis || to[i].axis == axis)) return true;
  return false;
}

// Whether nothing else divides the axis that it is to lie along.
bool Relayout::turns_at_once(usize at, const MeshAxes& to) const {
  const i64 axis = to[at].axis;
  if (axis == kReplicated || axis == axes_[at].axis) return false;
  for (usize i = 0; i < to.size(); ++i)
    if (i != at && (to[i].axis == axis || axes_[i].axis == axis)) return false;
  return true;
}

// Along `axis` afterwards, or in copies.
void Relayout::leave(usize at, i64 axis, Parts* parts) {
  for (const std::vector<usize>& line : lines_of(axes_, 1u << at)) {
    const LineParts own = pick(*parts, devices_, line);
    const Line from{own.devices, axes_[at].axis};
    const Parts moved = axis == kReplicated ? gather(builder_, own.parts, from, is_constant_)
                                            : turn(builder_, own.parts, from, axis, is_constant_);
    for (usize i = 0; i < line.size(); ++i) (*parts)[line[i]] = moved[i];
  }
  axes_[at].axis = axis;
}

Parts Relayout::run(Parts parts, const MeshAxes& to) {
  for (usize at = axes_.size(); at-- > 0;)
    if (must_leave(at, to)) leave(at, turns_at_once(at, to) ? to[at].axis : kReplicated, &parts);
  for (usize at = 0; at < axes_.size(); ++at) {
    const i64 axis = to[at].axis;
    if (axis == axes_[at].axis) continue;
    const i64 size = size_at(parts[0], axis) / axes_[at].count;
    for (usize i = 0; i < parts.size(); ++i)
      parts[i] =
          builder_.window(parts[i], axis, coordinate(axes_, at, static_cast<i64>(i)) * size, size);
    axes_[at].axis = axis;
  }
  return parts;
}

}  // namespace

std::vector<std::vector<usize>> lines_of(std::span<const MeshAxis> mesh, u32 along) {
  i64 count = 1, lines = 1;
  for (usize i = 0; i < mesh.size(); ++i) {
    count *= mesh[i].count;
    if (!(along >> i & 1)) lines *= mesh[i].count;
  }
  std::vector<std::vector<usize>> result(static_cast<usize>(lines));
  for (i64 part = 0; part < count; ++part) {
    i64 line = 0;
    for (usize i = 0; i < mesh.size(); ++i)
      if (!(along >> i & 1)) line = line * mesh[i].count + coordinate(mesh, i, part);
    result[static_cast<usize>(line)].push_back(static_cast<usize>(part));
  }
  return result;
}

UOp part_of_whole(ShardBuilder& builder, UOp whole, std::span<const MeshAxis> axes, usize part) {
  for (usize i = 0; i < axes.size(); ++i) {
    if (!axes[i].is_split()) continue;
    const i64 size = size_at(whole, axes[i].axis) / axes[i].count;
    const i64 at = coordinate(axes, i, static_cast<i64>(part));
    whole = builder.window(whole, axes[i].axis, at * size, size);
  }
  return whole;
}

Parts relayout(ShardBuilder& builder, const Parts& parts, const Placement& from,
               const Placement& to, bool is_constant) {
  MeshAxes now(from.axes.begin(), from.axes.end()), then(to.axes.begin(), to.axes.end());
  if (refine(&now, &then))
    return Relayout(builder, from.devices, now, is_constant).run(parts, then);
  MeshAxes copies = now;
  for (MeshAxis& one : copies) one.axis = kReplicated;
  Parts whole = Relayout(builder, from.devices, now, is_constant).run(parts, copies);
  for (usize i = 0; i < whole.size(); ++i) whole[i] = part_of_whole(builder, whole[i], to.axes, i);
  return whole;
}

Parts combine(ShardBuilder& builder, Op op, const Parts& parts, std::span<const u16> devices,
              std::span<const MeshAxis> mesh, u32 along, bool is_constant) {
  Parts results = parts;
  for (const std::vector<usize>& line : lines_of(mesh, along)) {
    const LineParts own = pick(parts, devices, line);
    const Line all{own.devices, kReplicated};
    const Parts combined = is_constant && can_exchange(all.devices)
                               ? exchange_sum(builder, op, own.parts, all)
                               : allreduce(builder, op, own.parts, all);
    for (usize i = 0; i < line.size(); ++i) results[line[i]] = combined[i];
  }
  return results;
}

Parts combine_parts(ShardBuilder& builder, Op op, const Parts& parts, std::span<const u16> devices,
                    std::span<const MeshAxis> mesh, usize mesh_axis, i64 axis) {
  Parts results = parts;
  for (const std::vector<usize>& line : lines_of(mesh, 1u << mesh_axis)) {
    const LineParts own = pick(parts, devices, line);
    if (!can_exchange(own.devices)) return {};
    const Parts combined =
        exchange_sum_parts(builder, op, own.parts, {own.devices, kReplicated}, axis);
    for (usize i = 0; i < line.size(); ++i) results[line[i]] = combined[i];
  }
  return results;
}

}  // namespace doorbell::core
