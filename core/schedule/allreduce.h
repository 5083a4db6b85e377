// Allreduce: every device has a partial result of the same shape; afterwards every device has all
// of them combined, each the same bits. Expressed as copies and elementwise ops of one device each.
#pragma once

#include "core/schedule/shard_builder.h"

namespace doorbell::core {

// How the partial results travel.
//   Naive      every device gets all others and combines them: few steps, most bytes
//   Ring       chunks go around, combined on the way, and around again: least bytes per link
//   AllToAll   each device gets one chunk of all others, combines it and gives it to all: two steps
enum class Allreduce : u8 { Choose, Naive, Ring, AllToAll };

// The algorithm for this many elements on this many devices.
Allreduce choose_allreduce(i64 elements, i64 devices);

Parts allreduce(ShardBuilder& builder, Op op, const Parts& partial, const Line& line);

}  // namespace doorbell::core
