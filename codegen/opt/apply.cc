// Splits ranges by a plan. For tiles of reduced axes see tile.cc.
#include "codegen/opt/apply.h"

#include <bit>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::AxisType;
using core::Op;
using core::Rewriter;
using core::UOp;

namespace detail {

UOp RangeMaker::operator()(AxisType type, UOp size) {
  if (size.is_const(1)) return rewriter_.index(0);
  CHECK(next_ < 64, "a kernel has more than 64 loops");
  return rewriter_.arena().range(next_++, type, size);
}

UOp RangeMaker::operator()(AxisType type, i64 size) { return (*this)(type, rewriter_.index(size)); }

void append_part(Rewriter& rewriter, RangeImage& image, UOp part, i64 size) {
  if (part.is(Op::Range)) image.ranges.push_back(part);
  if (!image.value) {
    image.value = part;
    return;
  }
  UOp scaled = rewriter.mul(image.value, rewriter.index(size));
  image.value = rewriter.add(scaled, part);
}

UOp thread_part(Rewriter& rewriter, i64 amount) {
  return rewriter.make(Op::Special, core::dtypes::index, {},
                       {static_cast<i64>(core::SpecialKind::ThreadId), 0, amount});
}

}  // namespace detail

namespace {

// The parts of one axis, outermost first: thread, loop, tile loop, unrolled, lanes.
struct Parts {
  i64 thread = 1, loop = 0, tile = 1, unrolled = 1, lanes = 1;  // loop 0: symbolic, never split
  bool padded = false;  // the last vectors run past the axis and are masked
};

Parts parts_of(const RangeInfo& r, i64 id, const Plan& plan) {
  Parts p;
  p.thread = amount_of(plan, OptOp::Thread, id);
  p.lanes = amount_of(plan, OptOp::Vector, id);
  p.unrolled = amount_of(plan, OptOp::Upcast, id) * amount_of(plan, OptOp::Unroll, id);
  i64 inner = p.lanes * p.unrolled, tile = amount_of(plan, OptOp::Tile, id);
  if (r.size == 0) {
    CHECK(p.thread * inner * tile == 1, "axis {} is symbolic and cannot be split", id);
    return p;
  }
  if (tile > 1) {
    CHECK(tile % inner == 0, "tile {} is not a multiple of {}", tile, inner);
    p.tile = tile / inner;
  }
  i64 fixed = p.thread * p.tile * inner;
  p.padded = p.lanes > 1 && r.size % fixed != 0;
  CHECK(p.padded || r.size % fixed == 0, "axis {} of size {} does not split into {}", id, r.size,
        fixed);
  p.loop = (r.size + fixed - 1) / fixed;
  return p;
}

}  // namespace

Applied apply(Rewriter& rewriter, const KernelInfo& info, UOp sink, const Plan& plan) {
  for (const Opt& o : plan) {
    bool reduced = o.op == OptOp::Tile && info.ranges[static_cast<usize>(o.axis)].reduce;
    if (reduced) return detail::apply_tiled(rewriter, info, sink, plan);
  }
  Applied result{sink, 1};
  usize n = info.ranges.size();
  std::vector<Parts> parts(n);
  std::vector<RangeImage> images(n);
  for (usize i = 0; i < n; ++i) {
    if (info.ranges[i].range) parts[i] = parts_of(info.ranges[i], static_cast<i64>(i), plan);
  }
  detail::RangeMaker make_range(rewriter);
  // Each pass appends one part to every axis, so that ids follow the nest: output loops, then the
  // loops inside output tiles, then reduced loops, then what is unrolled.
  auto each = [&](auto&& f) {
    for (usize i = 0; i < n; ++i) {
      if (info.ranges[i].range) f(info.ranges[i], parts[i], images[i]);
    }
  };
  each([&](const RangeInfo&, Parts& p, RangeImage& image) {
    if (p.thread == 1) return;
    CHECK(result.threads == 1, "two Thread opts");
    result.threads = p.thread;
    detail::append_part(rewriter, image, detail::thread_part(rewriter, p.thread), p.thread);
  });
  auto loops = [&](bool reduce) {
    AxisType type = reduce ? AxisType::Reduce : AxisType::Loop;
    each([&](const RangeInfo& r, Parts& p, RangeImage& image) {
      if (r.reduce != reduce) return;
      UOp size = p.loop == 0 ? r.range.src(0) : rewriter.index(p.loop);
      detail::append_part(rewriter, image, make_range(type, size), p.loop);
    });
    each([&](const RangeInfo& r, Parts& p, RangeImage& image) {
      if (r.reduce != reduce || p.tile == 1) return;
      detail::append_part(rewriter, image, make_range(type, p.tile), p.tile);
    });
  };
  loops(false);
  loops(true);
  each([&](const RangeInfo& r, Parts& p, RangeImage& image) {
    if (p.unrolled == 1) return;
    AxisType type = r.reduce ? AxisType::Unroll : AxisType::Upcast;
    detail::append_part(rewriter, image, make_range(type, p.unrolled), p.unrolled);
  });
  each([&](const RangeInfo& r, Parts& p, RangeImage& image) {
    if (p.lanes == 1) return;
    detail::append_part(rewriter, image, make_range(AxisType::Vector, p.lanes), p.lanes);
    if (p.padded) image.gate = rewriter.lt(image.value, r.size);
  });
  Rebuilder rebuild(rewriter);
  for (usize i = 0; i < n; ++i) {
    if (images[i].value) rebuild.set(static_cast<i64>(i), std::move(images[i]));
  }
  result.sink = rebuild(sink);
  return result;
}

}  // namespace doorbell::codegen
