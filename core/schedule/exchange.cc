// Blocks of equal parts lie along a new first axis while they are exchanged.
#include "core/schedule/exchange.h"

#include <algorithm>

#include "core/device/registry.h"

namespace doorbell::core {

namespace {

using Sizes = std::vector<i64>;

Sizes sizes_of(UOp x) {
  Sizes sizes;
  for (usize i = 0; i < x.ndim(); ++i) sizes.push_back(x.dim(i).value());
  return sizes;
}

UOp exchange(ShardBuilder& builder, ExchangeKind kind, i64 number, const Line& line, UOp x,
             const Sizes& sizes) {
  std::vector<i64> args{x.device() - 1, static_cast<i64>(kind), number,
                        intern_placement(line.devices, kReplicated)};
  args.insert(args.end(), sizes.begin(), sizes.end());
  return builder.unary(Op::Copy, x, args);
}

// x of rank n + 1, with its axis `from` moved to `to`.
UOp move_axis(ShardBuilder& builder, UOp x, i64 from, i64 to) {
  if (from == to) return x;
  // Past axes of one element it keeps its place in memory, and takes no kernel.
  Sizes moved = sizes_of(x);
  const i64 size = moved[static_cast<usize>(from)];
  moved.erase(moved.begin() + from);
  if (std::all_of(moved.begin() + std::min(from, to), moved.begin() + std::max(from, to),
                  [](i64 passed) { return passed == 1; })) {
    moved.insert(moved.begin() + to, size);
    return builder.reshape(x, moved);
  }
  Sizes order;
  for (i64 i = 0; i < static_cast<i64>(x.ndim()); ++i)
    if (i != from) order.push_back(i);
  order.insert(order.begin() + to, from);
  return builder.unary(Op::Permute, x, order);
}

// The blocks along an axis of x, along a new first axis.
UOp to_blocks(ShardBuilder& builder, UOp x, i64 axis, i64 count) {
  Sizes sizes = sizes_of(x);
  sizes[static_cast<usize>(axis)] /= count;
  sizes.insert(sizes.begin() + axis, count);
  return move_axis(builder, builder.reshape(x, sizes), axis, 0);
}

// The blocks along the first axis of x, along an axis of the others.
UOp from_blocks(ShardBuilder& builder, UOp x, i64 axis) {
  const UOp moved = move_axis(builder, x, 0, axis);
  Sizes sizes = sizes_of(moved);
  const usize at = static_cast<usize>(axis);
  sizes[at + 1] *= sizes[at];
  sizes.erase(sizes.begin() + axis);
  return builder.reshape(moved, sizes);
}

// Floats narrower than 32 bits are summed as f32; bools combine as bytes do.
DType summed_as(DType dtype) { return dtype.is_float() && dtype.bytes() < 4 ? dtypes::f32 : dtype; }

UOp cast(ShardBuilder& builder, UOp x, DType dtype) {
  return x.dtype() == dtype ? x : builder.make(Op::Cast, dtype, {&x, 1}, {});
}

}  // namespace

bool spans_processes(std::span<const u16> devices) {
  return std::ranges::any_of(devices,
                             [](u16 device) { return Registry::instance().is_remote(device); });
}

bool can_exchange(std::span<const u16> devices) {
  if (!spans_processes(devices)) return false;
  std::vector<int> ranks;
  for (u16 device : devices) ranks.push_back(Registry::instance().rank_of(device));
  std::ranges::sort(ranks);
  return std::ranges::adjacent_find(ranks) == ranks.end();
}

i64 own_part(std::span<const u16> devices) {
  for (usize i = 0; i < devices.size(); ++i)
    if (!Registry::instance().is_remote(devices[i])) return static_cast<i64>(i);
  return -1;
}

bool has_constant_shape(UOp x) {
  for (usize i = 0; i < x.ndim(); ++i)
    if (!x.dim(i).is_const()) return false;
  return true;
}

UOp stand_in(ShardBuilder& builder, UOp like, std::span<const i64> sizes, i64 value, u16 device) {
  const i64 zero = 0;
  const UOp nothing = builder.copy(builder.make(Op::Const, like.dtype(), {}, {&zero, 1}), device);
  std::vector<i64> args{device, static_cast<i64>(ExchangeKind::StandIn), value, 0};
  args.insert(args.end(), sizes.begin(), sizes.end());
  return builder.unary(Op::Copy, nothing, args);
}

Parts exchange_sum(ShardBuilder& builder, Op op, const Parts& partial, const Line& line) {
  Parts results;
  for (UOp part : partial) {
    const UOp wide = cast(builder, part, summed_as(part.dtype()));
    const UOp all =
        exchange(builder, ExchangeKind::Reduce, static_cast<i64>(op), line, wide, sizes_of(part));
    results.push_back(cast(builder, all, part.dtype()));
  }
  return results;
}

Parts exchange_sum_parts(ShardBuilder& builder, Op op, const Parts& partial, const Line& line,
                         i64 axis) {
  Parts results;
  for (UOp part : partial) {
    const UOp wide = cast(builder, part, summed_as(part.dtype()));
    const UOp blocks = to_blocks(builder, wide, axis, line.count());
    Sizes sizes = sizes_of(part);
    sizes[static_cast<usize>(axis)] /= line.count();
    const UOp own =
        exchange(builder, ExchangeKind::ReduceScatter, static_cast<i64>(op), line, blocks, sizes);
    results.push_back(cast(builder, own, part.dtype()));
  }
  return results;
}

Parts exchange_whole(ShardBuilder& builder, const Parts& parts, const Line& line) {
  Parts results;
  for (UOp part : parts) {
    Sizes sizes = sizes_of(part);
    sizes.insert(sizes.begin(), line.count());
    const UOp all = exchange(builder, ExchangeKind::Gather, 0, line, part, sizes);
    results.push_back(from_blocks(builder, all, line.axis));
  }
  return results;
}

Parts exchange_one(ShardBuilder& builder, const Parts& parts, const Line& line, i64 root) {
  Parts results;
  for (UOp part : parts)
    results.push_back(exchange(builder, ExchangeKind::Broadcast, root, line, part, sizes_of(part)));
  return results;
}

Parts exchange_axis(ShardBuilder& builder, const Parts& parts, const Line& line, i64 axis) {
  Parts results;
  for (UOp part : parts) {
    const UOp blocks = to_blocks(builder, part, axis, line.count());
    const UOp all = exchange(builder, ExchangeKind::AllToAll, 0, line, blocks, sizes_of(blocks));
    results.push_back(from_blocks(builder, all, line.axis));
  }
  return results;
}

std::shared_ptr<const KernelAst> exchange_ast(DType dtype, u16 device, std::span<const i64> args,
                                              u32 values) {
  auto ast = std::make_shared<KernelAst>();
  ast->arena = std::make_unique<Arena>();
  const UOp param = ast->arena->make(Op::Param, dtype, {}, {values, 0});
  std::vector<i64> all{device};
  all.insert(all.end(), args.begin(), args.end());
  ast->sink = ast->arena->make(Op::Copy, dtype, {&param, 1}, all);
  ast->param_count = 2 * values;
  ast->output_count = values;
  return ast;
}

Exchange exchange_of(const ScheduleItem& item, const Schedule& schedule) {
  const std::span<const i64> args = item.ast->sink.args();
  Exchange exchange{.kind = static_cast<ExchangeKind>(args[1]), .dtype = item.ast->sink.dtype()};
  for (usize i = item.ast->output_count; i < item.buffers.size(); ++i) {
    const ScheduleBuffer& from = schedule.buffers[item.buffers[i]];
    exchange.parts.push_back(from.count * from.dtype.bytes());
    exchange.bytes += exchange.parts.back();
  }
  if (exchange.kind == ExchangeKind::Broadcast)
    exchange.root = static_cast<int>(args[2]);
  else
    exchange.op = static_cast<Op>(args[2]);
  for (u16 device : placement_of(static_cast<u16>(args[3])).devices)
    exchange.ranks.push_back(Registry::instance().rank_of(device));
  return exchange;
}

}  // namespace doorbell::core
