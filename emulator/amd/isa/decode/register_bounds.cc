// Counts registers from shapes; memory and matrix instructions have theirs in Shape::wide.
#include "emulator/amd/isa/decode/register_bounds.h"

#include <algorithm>

#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/matrix/matrix_operation.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kFirstVector = 256;

u32 count_of(const Shape& shape, Type type, usize wide) {
  const bool says = type == Type::Wide || (shape.flags & kMemory) != 0;
  return says ? shape.wide[wide] : registers_of(type);
}

// 64 or 32 lanes, from the rows of a register; 64 if all are register 0.
u32 lanes_of(const Operation& op) {
  if (op.dst != 0 && op.dst_row != 0) return op.dst_row / op.dst;
  for (const Source& source : op.src)
    if (source.kind == Source::Kind::Vector && source.index != 0) return source.row / source.index;
  return 64;
}

// The number of registers of a memory instruction's address, by its form.
u32 address_registers(const Operation& op) {
  const std::string_view name = op.entry->name;
  if (name.starts_with("BUFFER_")) {
    const bool both = (op.flags & kMemoryOffset) != 0 && (op.flags & kMemoryIndex) != 0;
    return both ? 2 : (op.flags & (kMemoryOffset | kMemoryIndex)) != 0 ? 1 : 0;
  }
  const bool wide = name.starts_with("GLOBAL_") || name.starts_with("FLAT_");
  return wide && op.src[kScalarAddress].kind == Source::Kind::None ? 2 : op.entry->shape.wide[1];
}

// Matrix instructions state their operands' registers for waves of 64; C is as large as the result.
// An operand of one register may use only a part of it.
u32 matrix_registers(const Operation& op, usize source) {
  const Shape& shape = op.entry->shape;
  constexpr usize kC = 2;
  const bool sparse = (shape.flags & kReadsDst) != 0;
  const u32 of_64 = source == kC && !sparse ? shape.wide[0] : shape.wide[1 + source];
  return of_64 > 1 ? of_64 * (64 / lanes_of(op)) : of_64;
}

void add_scalars(RegisterNeeds& needs, u32 index, u32 count) {
  if (count == 0 || index >= kAllocatedScalars) return;
  needs.sgprs = std::max(needs.sgprs, std::min(index + count, kAllocatedScalars));
}

bool is_scalar(std::string_view name) { return name.starts_with("S_"); }

// Comparisons, whose result is SCC. [RDNA3 ISA, "SOPC"]
bool is_sopc(const Operation& op) { return field(op.words[0], 31, 23) == 0x17e; }

// The data registers of SMEM instructions, from their names; 0: not one of them.
u32 scalar_data_registers(std::string_view name) {
  if (name == "S_MEMTIME" || name == "S_MEMREALTIME") return 2;
  const bool load = name.find("_LOAD_") != name.npos, store = name.find("_STORE_") != name.npos;
  if (load || store) {
    u32 bits = 0;
    for (char digit : name.substr(name.find_last_not_of("0123456789") + 1))
      bits = bits * 10 + static_cast<u32>(digit - '0');
    return std::max(bits / 32, 1u);
  }
  if (name.find("_ATOMIC_") == name.npos) return 0;
  return (name.ends_with("_X2") ? 2 : 1) * (name.find("CMPSWAP") != name.npos ? 2 : 1);
}

// An atomic operation of vector memory has a destination field, whether it returns anything or not.
bool returns_nothing(const Operation& op) {
  return (op.flags & kMemoryReturns) == 0 && op.entry->name.find("_ATOMIC_") != op.name.npos;
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
  sgprs = std::max(sgprs, other.sgprs);
}

u32 source_registers(const Operation& op, usize source) {
  const Shape& shape = op.entry->shape;
  constexpr usize kC = 2;
  const bool matrix = (shape.flags & kMatrixOperands) != 0;
  if (matrix && (shape.src[source] == Type::Wide || source == kC) &&
      !(source == kC && (shape.flags & kReadsDst) != 0))
    return matrix_registers(op, source);
  if ((shape.flags & kMemory) != 0 && source == kAddress && shape.wide[1] != 0)
    return address_registers(op);
  return count_of(shape, shape.src[source], 1 + source);
}

u32 result_registers(const Operation& op) {
  const Shape& shape = op.entry->shape;
  const bool matrix = (shape.flags & kMatrixOperands) != 0;
  // Transposing loads load the same amount in waves of 64 and of 32.
  const bool shared =
      op.name.starts_with("GLOBAL_LOAD_TR_") && op.name.find("_w64") != op.name.npos;
  return count_of(shape, shape.dst, 0) * (matrix ? 64 / lanes_of(op) : 1) / (shared ? 2 : 1);
}

u32 scalar_source_registers(const Operation& op, usize source) {
  const std::string_view name = op.entry->name;
  const Type type = op.entry->shape.src[source];
  if (op.src[source].kind != Source::Kind::Scalar) return 0;
  if ((op.entry->shape.flags & kMemory) != 0) {
    if (source != kScalarAddress || name.starts_with("SCRATCH_")) return 1;
    return name.starts_with("BUFFER_") || name.starts_with("TBUFFER_") ? 4 : 2;
  }
  if (source == 0 && is_scalar(name) && scalar_data_registers(name) != 0)
    return name.find("_BUFFER_") != name.npos ? 4 : 2;
  return type == Type::None ? 0 : type == Type::Mask ? 2 : registers_of(type);
}

u32 scalar_result_registers(const Operation& op) {
  const Shape& shape = op.entry->shape;
  if (is_scalar(op.entry->name)) {
    if (const u32 data = scalar_data_registers(op.entry->name)) return data;
    if (is_sopc(op)) return 0;
    return shape.dst == Type::None ? 0 : shape.dst == Type::Mask ? 2 : registers_of(shape.dst);
  }
  if ((shape.flags & kCompare) != 0) return 2;
  return (shape.flags & kScalarDst) != 0 ? registers_of(shape.dst) : 0;
}

RegisterRanges register_ranges(const Operation& op, u32 lanes) {
  RegisterRanges ranges;
  if (op.entry == nullptr) return ranges;
  const auto add = [&](bool scalar, bool written, u32 first, u32 count) {
    if (count == 0 || (!scalar && first >= kSpareRegister)) return;
    ranges.add({static_cast<u16>(first), static_cast<u16>(count), scalar, written});
  };
  const Shape& shape = op.entry->shape;
  // The words say which of MFMA's operands are accumulation registers: see matrix.cc.
  const bool matrix = (shape.flags & kAccumulators) != 0;
  const u32 acc = matrix ? field(op.words[1], 28, 27) : 0;
  const u32 acc_cd = matrix ? field(op.words[0], 15, 15) : 0;
  const bool source = (shape.flags & kAccumulatorSrc) != 0;
  // The third operand is C, or the indices of a sparse A, and C is the fourth.
  const u32 sparse = matrix && (shape.flags & kReadsDst) != 0 ? 1 : 0;
  const u32 banks[] = {source ? 1 : acc & 1, acc >> 1 & 1, sparse ? 0 : acc_cd, acc_cd};
  const u32 dst_bank = (shape.flags & kAccumulatorDst) != 0 ? 1 : acc_cd;
  const u32 mask = lanes / 32;
  const auto scalars = [&](Type type, u32 count) { return type == Type::Mask ? mask : count; };
  for (usize i = 0; i < op.src.size(); ++i) {
    if (const u32 count = scalar_source_registers(op, i))
      add(true, false, op.src[i].index, scalars(shape.src[i], count));
    if (op.src[i].kind != Source::Kind::Vector) continue;
    add(false, false, op.src[i].index + banks[i] * kFirstAccumulator, source_registers(op, i));
  }
  if (matrix && op.size == kScaledBytes) {
    for (u32 code : scale_operands(op)) {
      if (code >= kFirstVector) add(false, false, code - kFirstVector, 1);
    }
  }
  if (const u32 count = scalar_result_registers(op))
    add(true, true, op.dst, (shape.flags & kCompare) != 0 ? mask : scalars(shape.dst, count));
  if ((shape.flags & kCarryOut) != 0) add(true, true, op.sdst, mask);
  // Scalar destinations have no row, and no operand ends at register 0.
  const bool is_load = (shape.flags & kMemory) != 0 && !returns_nothing(op);
  if (is_load || (op.dst_row != 0 && (shape.flags & kMemory) == 0))
    add(false, true, op.dst + dst_bank * kFirstAccumulator, result_registers(op));
  return ranges;
}

RegisterNeeds register_needs(const Operation& op) {
  RegisterNeeds needs;
  constexpr u32 kMostLanes = 64;
  for (const RegisterRange& range : register_ranges(op, kMostLanes)) {
    if (range.scalar)
      add_scalars(needs, range.first, range.count);
    else
      add(needs, range.first, range.count);
  }
  return needs;
}

RegisterNeeds register_needs(std::span<const Operation> ops) {
  RegisterNeeds needs;
  for (const Operation& op : ops) needs.include(register_needs(op));
  return needs;
}

}  // namespace doorbell::emu::amdgpu
