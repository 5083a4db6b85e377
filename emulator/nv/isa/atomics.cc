// Atomic operations on memory, lane by lane in order. [PTX ISA, "atom", "red"; fields: Mesa's NAK,
// OpAtom]
#include <algorithm>
#include <cmath>
#include <cstring>

#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/memory_access.h"

namespace doorbell::emu::nvgpu {

namespace {

enum class Type : u8 { U32, I32, U64, F32, Halves, I64, F64, Unknown };
enum Kind : u32 { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExchange };

// Bits 73 to 75. The instructions of floats that sm_90 has besides have numbers of their own.
Type type_of(const Operation& op) {
  const u32 bits = op.field(73, 3);
  if (op.opcode->number != 0x1a3 && op.opcode->number != 0x1a6) return static_cast<Type>(bits);
  return bits == 1 ? Type::F32 : bits == 7 ? Type::F64 : Type::Unknown;
}

u32 bytes_of(Type type) {
  return type == Type::U64 || type == Type::I64 || type == Type::F64 ? 8 : 4;
}

template <class T>
u64 combine(u32 kind, T old, T value) {
  using U = std::make_unsigned_t<T>;
  const U a = static_cast<U>(old), b = static_cast<U>(value);
  switch (kind) {
    case kAdd: return static_cast<U>(a + b);
    case kMin: return static_cast<U>(std::min(old, value));
    case kMax: return static_cast<U>(std::max(old, value));
    case kInc: return a >= b ? 0 : static_cast<U>(a + 1);
    case kDec: return a == 0 || a > b ? b : static_cast<U>(a - 1);
    case kAnd: return a & b;
    case kOr: return a | b;
    case kXor: return a ^ b;
    default: return b;
  }
}

// .FTZ of a 32-bit sum.
u32 flushed(f32 value) {
  const u32 bits = std::bit_cast<u32>(value);
  if (value != value) return 0x7fff'ffff;
  return (bits & 0x7f80'0000) == 0 ? bits & 0x8000'0000 : bits;
}

// False: the combination does not exist.
bool update(Type type, u32 kind, u64 old, u64 value, u64& result) {
  switch (type) {
    case Type::U32: result = combine(kind, static_cast<u32>(old), static_cast<u32>(value)); break;
    case Type::I32: result = combine(kind, static_cast<i32>(old), static_cast<i32>(value)); break;
    case Type::U64: result = combine(kind, old, value); break;
    case Type::I64: result = combine(kind, static_cast<i64>(old), static_cast<i64>(value)); break;
    case Type::F32:
      if (kind != kAdd) return false;
      result = flushed(std::bit_cast<f32>(static_cast<u32>(old)) +
                       std::bit_cast<f32>(static_cast<u32>(value)));
      break;
    case Type::F64:
      if (kind != kAdd) return false;
      result = std::bit_cast<u64>(std::bit_cast<f64>(old) + std::bit_cast<f64>(value));
      break;
    default: return false;
  }
  return kind <= kExchange;
}

u64 register_value(const Warp& warp, u32 row, u32 lane, u32 bytes) {
  u64 value = warp.rows[row][lane];
  if (bytes == 8) value |= u64{warp.rows[next_row(row)][lane]} << 32;
  return value;
}

// New(old, value, result): false if there is no such operation.
template <class New>
Flow atomic(Warp& warp, const Operation& op, Space space, u32 bytes, bool returns, New new_value) {
  const u32 mask = warp.mask_of(op);
  alignas(64) u32 out[2][kLanes];
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    const u64 address = address_of(warp, op, space, lane, 64);
    u8* at = locate(warp, space, lane, address, bytes, true, true);
    if (at == nullptr) return Flow::Stop;
    u64 old = 0, result = 0;
    std::memcpy(&old, at, bytes);
    u64 returned = old;
    if (!new_value(lane, old, result, returned)) return unknown_instruction(warp, op);
    warp.block->hand_over(at, &result, bytes, true);
    std::memcpy(at, &result, bytes);
    out[0][lane] = static_cast<u32>(returned);
    out[1][lane] = static_cast<u32>(returned >> 32);
  }
  if (!returns) return Flow::Next;
  store_row(warp, op.dst, out[0], mask);
  if (bytes == 8) store_row(warp, next_row(op.dst), out[1], mask);
  return Flow::Next;
}

Flow update_memory(Warp& warp, const Operation& op, Space space, bool returns) {
  const Type type = type_of(op);
  const u32 bytes = bytes_of(type), kind = op.field(87, returns ? 4 : 3);
  if (type == Type::Unknown) return unknown_instruction(warp, op);
  // Compilers take it for an atomicAdd of 1 whose result nobody reads: it adds the number of lanes
  // at an address. What it returns is not known.
  if (space == Space::Shared && is_popc_inc(op) && type == Type::U32 && op.dst == kZero)
    return atomic(warp, op, space, bytes, false, [](u32, u64 old, u64& result, u64&) {
      result = static_cast<u32>(old + 1);
      return true;
    });
  return atomic(warp, op, space, bytes, returns, [&](u32 lane, u64 old, u64& result, u64&) {
    return update(type, kind, old, register_value(warp, op.field(32, 8), lane, bytes), result);
  });
}

Flow compare_exchange(Warp& warp, const Operation& op, Space space) {
  const u32 bytes = bytes_of(type_of(op));
  // .CAST.SPIN: whether it succeeded, in place of the old value.
  const bool tells = space == Space::Shared && op.field(87, 2) == 3;
  return atomic(warp, op, space, bytes, true, [&](u32 lane, u64 old, u64& result, u64& returned) {
    const bool equal = old == register_value(warp, op.field(32, 8), lane, bytes);
    result = equal ? register_value(warp, op.field(64, 8), lane, bytes) : old;
    if (tells) returned = equal ? 1 : 0;
    return true;
  });
}

}  // namespace

Flow atomic_generic(Warp& warp, const Operation& op) {
  return update_memory(warp, op, Space::Generic, true);
}
Flow atomic_global(Warp& warp, const Operation& op) {
  return update_memory(warp, op, Space::Global, true);
}
Flow atomic_shared(Warp& warp, const Operation& op) {
  return update_memory(warp, op, Space::Shared, true);
}
Flow reduce_global(Warp& warp, const Operation& op) {
  return update_memory(warp, op, Space::Global, false);
}
Flow compare_exchange_shared(Warp& warp, const Operation& op) {
  return compare_exchange(warp, op, Space::Shared);
}
Flow compare_exchange_global(Warp& warp, const Operation& op) {
  return compare_exchange(warp, op, Space::Global);
}

}  // namespace doorbell::emu::nvgpu
