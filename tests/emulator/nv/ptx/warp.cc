// What threads of a warp do together. [PTX ISA 9.0, "Data Movement and Conversion Instructions:
// shfl.sync", "Parallel Synchronization and Communication Instructions: vote.sync, match.sync,
// redux.sync, bar.warp.sync"]
#include <algorithm>

#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

namespace {

// The members of a thread's mask that are there.
u32 members_of(const Group& group, const Thread& thread, const Operand& mask) {
  return static_cast<u32>(thread.read(mask)) & group.mask();
}
// The lanes of the group where an operand is not zero.
u32 lanes_where(Group& group, const Operand& operand) {
  u32 lanes = 0;
  group.each([&](Thread& thread) {
    if (thread.read(operand) != 0) lanes |= u32{1} << thread.lane();
  });
  return lanes;
}

// shfl.sync.mode.b32 d{|p}, a, b, c, mask;
void shfl(Group& group, const Instruction& op) {
  const usize first = op.operands.size() == 6 ? 2 : 1;
  std::array<u64, kWarp> values{}, results{};
  group.each([&](Thread& t) { values[t.lane()] = t.read(op.operands[first]); });
  std::array<bool, kWarp> in_range{};
  group.each([&](Thread& t) {
    const u64 b = t.read(op.operands[first + 1]) & 31, c = t.read(op.operands[first + 2]);
    const i64 lane = t.lane(), count = static_cast<i64>(b);
    const i64 segment = static_cast<i64>(c >> 8 & 31), clamp = static_cast<i64>(c & 31);
    const i64 most = (lane & segment) | (clamp & ~segment & 31);
    i64 from = (lane & segment) | (count & ~segment);
    if (op.has(Word::Up)) from = lane - count;
    if (op.has(Word::Down)) from = lane + count;
    if (op.has(Word::Bfly)) from = lane ^ count;
    const bool inside = op.has(Word::Up) ? from >= most : from <= most;
    in_range[t.lane()] = inside;
    results[t.lane()] = values[static_cast<usize>(inside ? from : lane)];
  });
  group.each([&](Thread& t) {
    t.write(op.operands[0], results[t.lane()]);
    if (first == 2) t.write(op.operands[1], in_range[t.lane()] ? 1 : 0);
  });
}

// vote.sync.mode.type d, a, mask;
void vote(Group& group, const Instruction& op) {
  const u32 votes = lanes_where(group, op.operands[1]);
  group.each([&](Thread& t) {
    const u32 members = members_of(group, t, op.operands[2]), yes = votes & members;
    u64 result = yes;
    if (op.has(Word::All)) result = yes == members ? 1 : 0;
    if (op.has(Word::Any)) result = yes != 0 ? 1 : 0;
    if (op.has(Word::Uniform)) result = yes == members || yes == 0 ? 1 : 0;
    t.write(op.operands[0], result);
  });
}

// match.any.sync d, a, mask: the members with the same value; match.all.sync d{|p}, a, mask.
void match(Group& group, const Instruction& op) {
  const usize first = op.operands.size() == 4 ? 2 : 1;
  std::array<u64, kWarp> values{};
  group.each([&](Thread& t) { values[t.lane()] = t.read(op.operands[first]); });
  group.each([&](Thread& t) {
    const u32 members = members_of(group, t, op.operands[first + 1]);
    u32 same = 0;
    for (u32 lane = 0; lane < kWarp; ++lane) {
      const bool equal = (members >> lane & 1) != 0 && values[lane] == values[t.lane()];
      same |= u32{equal} << lane;
    }
    const bool all = same == members;
    t.write(op.operands[0], op.has(Word::All) ? (all ? members : 0) : same);
    if (first == 2) t.write(op.operands[1], all ? 1 : 0);
  });
}

i128 reduced(const Instruction& op, i128 a, i128 b) {
  if (op.has(Word::Add)) return a + b;
  if (op.has(Word::Min)) return std::min(a, b);
  if (op.has(Word::Max)) return std::max(a, b);
  if (op.has(Word::And)) return a & b;
  if (op.has(Word::Or)) return a | b;
  return a ^ b;
}
// redux.sync.op.type d, a, mask;
void redux(Group& group, const Instruction& op) {
  std::array<u64, kWarp> results{};
  group.each([&](Thread& t) {
    const u32 members = members_of(group, t, op.operands[2]);
    i128 result = integer_of(t.read(op.operands[1]), op.type());
    group.each([&](Thread& other) {
      if (&other == &t || (members >> other.lane() & 1) == 0) return;
      result = reduced(op, result, integer_of(other.read(op.operands[1]), op.type()));
    });
    results[t.lane()] = static_cast<u64>(result) & mask_of(32);
  });
  group.each([&](Thread& t) { t.write(op.operands[0], results[t.lane()]); });
}

void barrier(Group&, const Instruction&) {}

}  // namespace

std::vector<HandlerEntry> warp_handlers() {
  return {{"shfl", nullptr, shfl},
          {"vote", nullptr, vote},
          {"match", nullptr, match},
          {"redux", nullptr, redux},
          {"bar.warp", nullptr, barrier}};
}

}  // namespace doorbell::ptx
