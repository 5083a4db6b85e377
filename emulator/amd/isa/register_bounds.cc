// Counting registers from shapes; those of memory and matrix instructions say so in Shape::wide.
#include "emulator/amd/isa/register_bounds.h"

#include <algorithm>

#include "emulator/amd/isa/decode.h"

namespace doorbell::emulator::amd {

namespace {

constexpr u32 kFirstAccumulator = 256;

u32 count_of(const Shape& shape, Type type, usize wide) {
  const bool says = type == Type::Wide || (shape.flags & kMemory) != 0;
  return says ? shape.wide[wide] : registers_of(type);
}

void add(RegisterNeeds& needs, u32 index, u32 count) {
  if (count == 0 || index >= kSpareRegister) return;
  u32& limit = index < kFirstAccumulator ? needs.vgprs : needs.accumulators;
  limit = std::max(limit, index % kFirstAccumulator + count);
}

}  // namespace

void RegisterNeeds::include(const RegisterNeeds& other) {
  vgprs = std::max(vgprs, other.vgprs);
  accumulators = std::max(accumulators, other.accumulators);
}

RegisterNeeds register_needs(const Operation& op) {
  RegisterNeeds needs;
  if (op.entry == nullptr) return needs;
  const Shape& shape = op.entry->shape;
  // Which of MFMA's operands are accumulation registers stands in the words: matrix.cc.
  const bool matrix = (shape.flags & kAccumulators) != 0;
  const u32 acc = matrix ? field(op.words[1], 28, 27) : 0;
  const u32 acc_cd = matrix ? field(op.words[0], 15, 15) : 0;
  const bool source = (shape.flags & kAccumulatorSrc) != 0;
  // The third operand is C, or what a sparse A's elements stand for, with C the fourth.
  const u32 sparse = matrix && (shape.flags & kReadsDst) != 0 ? 1 : 0;
  const u32 banks[] = {source ? 1 : acc & 1, acc >> 1 & 1, sparse ? 0 : acc_cd, acc_cd};
  const u32 dst_bank = (shape.flags & kAccumulatorDst) != 0 ? 1 : acc_cd;
  for (usize i = 0; i < op.src.size(); ++i) {
    if (op.src[i].kind != Source::Kind::Vector) continue;
    add(needs, op.src[i].index + banks[i] * kFirstAccumulator,
        count_of(shape, shape.src[i], 1 + i));
  }
  // Scalar destinations have no row. Register 0 is nobody's last one.
  if (op.dst_row != 0 || (shape.flags & kMemory) != 0) {
    add(needs, op.dst + dst_bank * kFirstAccumulator, count_of(shape, shape.dst, 0));
  }
  return needs;
}

RegisterNeeds register_needs(std::span<const Operation> ops) {
  RegisterNeeds needs;
  for (const Operation& op : ops) needs.include(register_needs(op));
  return needs;
}

}  // namespace doorbell::emulator::amd
