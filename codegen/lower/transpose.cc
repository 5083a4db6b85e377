// The network of shuffles takes log2(n) of them for each vector of n lanes. Each takes from two
// vectors, within blocks of four lanes at first and then blocks as a whole, which are single
// instructions of all x86 processors with vectors of that size.
#include "codegen/lower/transpose.h"

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <bit>

#include "codegen/lower/affine.h"

namespace doorbell::codegen {

using core::Arena;
using core::DType;
using core::Op;
using core::UOp;

namespace {

constexpr usize kBlock = 4;   // lanes
constexpr usize kFewest = 4;  // instances that are worth it
constexpr int kElementBytes = 4;

// Lane i of the result is number place(i) of those of a, then b.
UOp shuffle(Arena& arena, UOp a, UOp b, absl::FunctionRef<usize(usize)> place) {
  const usize lanes = a.dtype().lanes;
  absl::InlinedVector<UOp, 16> taken;
  for (usize i = 0; i < lanes; ++i) {
    const usize from = place(i);
    const i64 lane = static_cast<i64>(from % lanes);
    taken.push_back(arena.make(Op::Lane, a.dtype().element(), {from < lanes ? a : b}, {lane}));
  }
  return arena.make(Op::Vec, a.dtype(), taken);
}

// In each block lanes at, at + 1, .. of a and b in turn, `together` of each at a time.
UOp interleave(Arena& arena, UOp a, UOp b, usize at, usize together) {
  const usize lanes = a.dtype().lanes;
  return shuffle(arena, a, b, [=](usize i) {
    const usize in = i % kBlock, turn = in / together;
    return turn % 2 * lanes + i - in + at + turn / 2 * together + in % together;
  });
}

// Every other block of a, then of b, from block `first` on.
UOp every_other(Arena& arena, UOp a, UOp b, usize first) {
  return shuffle(arena, a, b,
                 [=](usize i) { return (i / kBlock * 2 + first) * kBlock + i % kBlock; });
}

// Vectors of as many blocks as there are vectors: vector b has block b of each.
std::vector<UOp> transpose_blocks(Arena& arena, std::span<const UOp> vectors) {
  if (vectors.size() == 1) return {vectors[0]};
  std::vector<UOp> halves[2], made(vectors.size());
  for (usize first = 0; first < 2; ++first) {
    for (usize i = 0; i < vectors.size(); i += 2)
      halves[first].push_back(every_other(arena, vectors[i], vectors[i + 1], first));
    const std::vector<UOp> blocks = transpose_blocks(arena, halves[first]);
    for (usize i = 0; i < blocks.size(); ++i) made[2 * i + first] = blocks[i];
  }
  return made;
}

}  // namespace

std::vector<UOp> transpose(Arena& arena, std::span<const UOp> rows) {
  const usize blocks = rows.size() / kBlock;
  std::vector<UOp> by_place[kBlock];  // of a column in its block: for each four rows
  for (usize r = 0; r < rows.size(); r += kBlock) {
    for (usize half = 0; half < 2; ++half) {
      UOp upper = interleave(arena, rows[r], rows[r + 1], 2 * half, 1);
      UOp lower = interleave(arena, rows[r + 2], rows[r + 3], 2 * half, 1);
      for (usize c = 0; c < 2; ++c)
        by_place[2 * half + c].push_back(interleave(arena, upper, lower, 2 * c, 2));
    }
  }
  std::vector<UOp> columns(rows.size());
  for (usize place = 0; place < kBlock; ++place) {
    const std::vector<UOp> made = transpose_blocks(arena, by_place[place]);
    for (usize b = 0; b < blocks; ++b) columns[b * kBlock + place] = made[b];
  }
  return columns;
}

// Lanes that are transposed at once: a register of them. 0: none.
u16 Transposer::width(DType element, UOp v) const {
  if (!v || caps_.has_local || !caps_.vector_arithmetic || element.bytes() != kElementBytes)
    return 0;
  const i64 lanes = std::min<i64>(v.range_size(), caps_.vector_bytes / kElementBytes);
  return lanes >= static_cast<i64>(kBlock) && std::has_single_bit(static_cast<u64>(lanes))
             ? static_cast<u16>(lanes)
             : 0;
}

usize Transposer::run_of(DType element, std::span<const LaneAccess> accesses, UOp v) const {
  const bool is_load = !accesses[0].value;
  const usize most = std::min<usize>(width(element, v), accesses.size());
  const auto is_plain = [](UOp gate) { return !gate || gate.is_const(1); };
  if (most < kFewest || !is_plain(accesses[0].gate)) return 0;
  const auto first = linear_in(rw_, accesses[0].index, v);
  if (!first || first->stride == 0 || first->stride == 1 || first->stride == -1) return 0;
  usize count = 1;
  for (; count < most; ++count) {
    const LaneAccess& next = accesses[count];
    const UOp expected = rw_.add(accesses[0].index, rw_.index(static_cast<i64>(count)));
    if (!is_plain(next.gate) || next.index != expected) break;
  }
  if (is_load && count < width(element, v) && !caps_.masked_access) return 0;
  return count >= kFewest ? count : 0;
}

UOp Transposer::store(UOp memory, std::span<const LaneAccess> run, UOp v) {
  Arena& arena = rw_.arena();
  const DType element = memory.dtype().element();
  const u16 lanes = static_cast<u16>(v.range_size()), wide = width(element, v);
  absl::InlinedVector<UOp, 64> parts;
  for (u16 part = 0; part < lanes; part += wide) {
    std::vector<UOp> rows;
    for (usize r = 0; r < wide; ++r) {
      UOp value = lanes_.splat(run[std::min(r, run.size() - 1)].value, lanes);
      if (lanes > wide) value = arena.make(Op::Lane, element.with_lanes(wide), {value}, {part});
      rows.push_back(value);
    }
    const std::vector<UOp> columns = transpose(arena, rows);
    for (u16 c = 0; c < wide; ++c) {
      UOp at = lanes_.at_lane(run[0].index, v, part + c);
      for (usize done = 0, some = 0; done < run.size(); done += some) {
        some = std::bit_floor(run.size() - done);
        const DType t = element.with_lanes(static_cast<u16>(some));
        const i64 from = static_cast<i64>(done);
        UOp value = some == wide ? columns[c] : arena.make(Op::Lane, t, {columns[c]}, {from});
        UOp place = arena.make(Op::Index, memory.dtype(), {memory, rw_.add(at, rw_.index(from))});
        parts.push_back(arena.make(Op::Store, core::dtypes::void_, {place, value}));
      }
    }
  }
  return arena.make(Op::Group, core::dtypes::void_, parts);
}

std::vector<UOp> Transposer::load(UOp memory, DType element, std::span<const LaneAccess> run,
                                  UOp v) {
  Arena& arena = rw_.arena();
  const u16 lanes = static_cast<u16>(v.range_size()), wide = width(element, v);
  const DType t = element.with_lanes(wide);
  absl::InlinedVector<UOp, 16> wanted;  // of the lanes of a column
  for (usize r = 0; r < wide; ++r)
    wanted.push_back(arena.const_int(core::dtypes::bool_, r < run.size()));
  UOp gate = run.size() < wide ? lanes_.vec(wanted) : UOp();
  std::vector<absl::InlinedVector<UOp, 64>> made(run.size());  // lanes of each instance
  for (u16 part = 0; part < lanes; part += wide) {
    std::vector<UOp> columns;
    for (u16 c = 0; c < wide; ++c) {
      absl::InlinedVector<UOp, 3> place{memory, lanes_.at_lane(run[0].index, v, part + c)};
      if (gate) place.push_back(gate);
      absl::InlinedVector<UOp, 2> srcs{arena.make(Op::Index, memory.dtype(), place)};
      if (gate) srcs.push_back(lanes_.splat(arena.const_of(element, 0), wide));
      columns.push_back(arena.make(Op::Load, t, srcs));
    }
    const std::vector<UOp> rows = transpose(arena, columns);
    for (usize r = 0; r < run.size(); ++r)
      for (u16 i = 0; i < wide; ++i)
        made[r].push_back(arena.make(Op::Lane, element, {rows[r]}, {i}));
    if (lanes == wide) return {rows.begin(), rows.begin() + static_cast<i64>(run.size())};
  }
  std::vector<UOp> values;
  for (const auto& all : made)
    values.push_back(arena.make(Op::Vec, element.with_lanes(lanes), all));
  return values;
}

}  // namespace doorbell::codegen
