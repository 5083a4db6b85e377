// One part for each grid axis if they fit; otherwise one number over all groups, split anew.
#include "codegen/opt/group_ids.h"

#include <algorithm>

#include "base/util/check.h"
#include "codegen/opt/heuristic.h"

namespace doorbell::codegen {

using core::Op;
using core::Rewriter;
using core::UOp;

namespace {

i64 limit_of(i64 limit) { return limit > 0 ? limit : INT32_MAX; }

UOp group_id(Rewriter& rewriter, GroupIds& ids, i64 axis, i64 extent) {
  ids.size[axis] = extent;
  if (extent == 1) return rewriter.index(0);
  return rewriter.make(Op::Special, core::dtypes::index, {},
                       {static_cast<i64>(core::SpecialKind::GroupId), axis, extent});
}

}  // namespace

// Its digits in the mixed radix of the parts.
std::vector<UOp> split_group_number(Rewriter& rewriter, UOp number, std::span<const i64> extents) {
  std::vector<UOp> values(extents.size());
  for (usize i = extents.size(); i-- > 0;) {
    values[i] = rewriter.floormod(number, extents[i]);
    number = rewriter.floordiv(number, extents[i]);
  }
  return values;
}

GroupIds make_group_ids(Rewriter& rewriter, std::span<const i64> extents, const i64 (&limits)[3]) {
  GroupIds ids;
  ids.values.assign(extents.size(), rewriter.index(0));
  // Parts of one value take no axis.
  std::vector<usize> parts;
  i64 total = 1;
  for (usize i = 0; i < extents.size(); ++i) {
    if (extents[i] > 1) parts.push_back(i);
    total *= extents[i];
  }
  bool direct = parts.size() <= 3;
  for (usize i = 0; direct && i < parts.size(); ++i) {
    direct = extents[parts[parts.size() - 1 - i]] <= limit_of(limits[i]);
  }
  if (direct) {
    for (usize i = 0; i < parts.size(); ++i) {
      usize part = parts[parts.size() - 1 - i];
      ids.values[part] = group_id(rewriter, ids, static_cast<i64>(i), extents[part]);
    }
    return ids;
  }
  // One number for all groups: axis 0 as long as possible, and a divisor if there is a large one.
  i64 rest = total, scale = 1;
  UOp number = rewriter.index(0);
  for (i64 axis = 0; axis < 3; ++axis) {
    i64 limit = limit_of(limits[axis]), extent = std::min(rest, limit);
    if (rest > limit) {
      // With a divisor every group has work, but the other axes must hold the rest.
      i64 divisor = detail::largest_divisor(rest, limit, 1);
      i64 rows = (rest + limit - 1) / limit, room = 1;
      for (i64 next = axis + 1; next < 3; ++next) room *= limit_of(limits[next]);
      bool good = divisor >= limit / 2 && rest / divisor <= room;
      extent = good ? divisor : (rest + rows - 1) / rows;
    }
    UOp id = group_id(rewriter, ids, axis, extent);
    UOp scaled = rewriter.mul(id, scale);
    number = rewriter.add(number, scaled);
    rest = (rest + extent - 1) / extent;
    scale *= extent;
  }
  CHECK(rest == 1, "{} work groups are more than the grid of the target has", total);
  if (scale > total) ids.gate = rewriter.lt(number, total);
  ids.values = split_group_number(rewriter, number, extents);
  return ids;
}

}  // namespace doorbell::codegen
