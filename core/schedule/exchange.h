// Exchanges: where the devices of a line are one of each process, parts become other parts by
// an operation of all processes at once, which the network does best. Elsewhere they are made of
// copies (shard.h, allreduce.h).
#pragma once

#include <memory>

#include "core/device/communicator.h"
#include "core/schedule/kernel.h"
#include "core/schedule/shard_builder.h"

namespace doorbell::core {

// Whether some of the devices are another process's.
bool spans_processes(std::span<const u16> devices);
// Whether they are one of each process, this one among them or not.
bool can_exchange(std::span<const u16> devices);
// The first of the devices that is this process's; -1: none is.
i64 own_part(std::span<const u16> devices);

// What another process has on its device: part number `part` of a value of the graph before, whose
// number `value` tells it from others. Nobody reads it here.
UOp stand_in(ShardBuilder& builder, UOp like, std::span<const i64> sizes, i64 value, u16 device);

// The following take values of constant shape. All parts combined, on each device.
Parts exchange_sum(ShardBuilder& builder, Op op, const Parts& partial, const Line& line);
// All parts combined, of which each device gets its part along an axis.
Parts exchange_sum_parts(ShardBuilder& builder, Op op, const Parts& partial, const Line& line,
                         i64 axis);
// Parts along line.axis to the whole value on each device.
Parts exchange_whole(ShardBuilder& builder, const Parts& parts, const Line& line);
// One of the parts, on each device.
Parts exchange_one(ShardBuilder& builder, const Parts& parts, const Line& line, i64 root);
// Parts along line.axis to parts along another axis.
Parts exchange_axis(ShardBuilder& builder, const Parts& parts, const Line& line, i64 axis);

bool has_constant_shape(UOp x);

// In a schedule an exchange is a Copy with a graph: its sink is the Copy of a Param, with the args
// of the node that it was. `args` are those behind the device. Its buffers are the results of
// `values` values, then the values.
std::shared_ptr<const KernelAst> exchange_ast(DType dtype, u16 device, std::span<const i64> args,
                                              u32 values = 1);
inline bool is_exchange(const ScheduleItem& item) {
  return item.kind == ScheduleItem::Kind::Copy && item.ast != nullptr;
}
// What such an item asks of the processes, with the bytes of its sources.
Exchange exchange_of(const ScheduleItem& item, const Schedule& schedule);

}  // namespace doorbell::core
