// Scalar stores and atomics of gfx9. Stores go to memory at once and leave no stale line in the
// scalar cache; that they may stay in that cache until s_dcache_wb is not modelled.
// [CDNA3 ISA, chapter "Scalar memory operations", SMEM instructions]
#include "emulator/amd/isa/memory/atomic_updates.h"
#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/scalar/scalar_address.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

enum class Into : u8 { Memory, Buffer, Scratch };

// The address, and the bytes inside: accesses beyond a buffer have no effect.
template <Into into>
ScalarBufferAccess access_of(const Wave& wave, const Operation& op, u32 bytes) {
  if (into == Into::Buffer) return scalar_buffer_access(wave, op, bytes);
  const u64 address =
      into == Into::Scratch ? scalar_scratch_address(wave, op) : scalar_address(wave, op);
  return {address & ~u64{3}, bytes};
}

void forget_stale_lines(Wave& wave) {
  wave.memory->cache(CacheOperation::ScalarInvalidate, CachePolicy{});
}

// The data registers are encoded as a load's destination.
template <Into into, u32 bytes>
Flow store(Wave& wave, const Operation& op) {
  const auto [address, within] = access_of<into>(wave, op, bytes);
  if (within == 0) return Flow::Next;
  if (!wave.memory->store(address, within, &wave.s[op.dst], scalar_policy(wave, op))) {
    return scalar_fault(wave, op, wave.memory->fault().address);
  }
  forget_stale_lines(wave);
  return Flow::Next;
}

// GLC asks for the value before, in the data's place: 0 beyond a buffer, as for vector atomics.
template <Into into, u32 bytes, AtomicUpdate update, bool compares>
Flow atomic(Wave& wave, const Operation& op) {
  const auto [address, within] = access_of<into>(wave, op, bytes);
  const auto data = [&](u32 i) -> u64 {
    return bytes == 8 ? wave.pair(op.dst + 2 * i) : wave.s[op.dst + i];
  };
  u64 before = 0;
  if (within == bytes) {
    if (address % bytes != 0) return stop_unaligned_atomic(wave, op, address, 0, bytes);
    if (!wave.memory->atomic(address, bytes, update, data(0), compares ? data(1) : 0, before,
                             scalar_policy(wave, op))) {
      return scalar_fault(wave, op, wave.memory->fault().address);
    }
    forget_stale_lines(wave);
  }
  const bool returns = (op.words[0] >> 16 & 1) != 0;
  if (!returns) return Flow::Next;
  wave.s[op.dst] = static_cast<u32>(before);
  if (bytes == 8) wave.s[op.dst + 1] = static_cast<u32>(before >> 32);
  return Flow::Next;
}

// Drops a line that need not be written back any more; here no writes are pending, so it has no
// effect.
Flow discard(Wave&, const Operation&) { return Flow::Next; }

constexpr Shape kShape{Type::B32, {Type::B64, Type::B32}, 0};

template <Into into, u32 bytes>
constexpr Entry scalar_store(std::string_view name) {
  return {name, kShape, &store<into, bytes>};
}
template <Into into, u32 bytes, AtomicUpdate update, bool compares = false>
constexpr Entry scalar_atomic(std::string_view name) {
  return {name, kShape, &atomic<into, bytes, update, compares>};
}

#define DOORBELL_SCALAR_ATOMICS(PREFIX, INTO)                                    \
  scalar_atomic<INTO, 4, update::swap<u32>>(PREFIX "SWAP"),                      \
      scalar_atomic<INTO, 8, update::swap<u64>>(PREFIX "SWAP_X2"),               \
      scalar_atomic<INTO, 4, update::add<u32>>(PREFIX "ADD"),                    \
      scalar_atomic<INTO, 8, update::add<u64>>(PREFIX "ADD_X2"),                 \
      scalar_atomic<INTO, 4, update::subtract<u32>>(PREFIX "SUB"),               \
      scalar_atomic<INTO, 8, update::subtract<u64>>(PREFIX "SUB_X2"),            \
      scalar_atomic<INTO, 4, update::minimum<i32>>(PREFIX "SMIN"),               \
      scalar_atomic<INTO, 8, update::minimum<i64>>(PREFIX "SMIN_X2"),            \
      scalar_atomic<INTO, 4, update::minimum<u32>>(PREFIX "UMIN"),               \
      scalar_atomic<INTO, 8, update::minimum<u64>>(PREFIX "UMIN_X2"),            \
      scalar_atomic<INTO, 4, update::maximum<i32>>(PREFIX "SMAX"),               \
      scalar_atomic<INTO, 8, update::maximum<i64>>(PREFIX "SMAX_X2"),            \
      scalar_atomic<INTO, 4, update::maximum<u32>>(PREFIX "UMAX"),               \
      scalar_atomic<INTO, 8, update::maximum<u64>>(PREFIX "UMAX_X2"),            \
      scalar_atomic<INTO, 4, update::bit_and<u32>>(PREFIX "AND"),                \
      scalar_atomic<INTO, 8, update::bit_and<u64>>(PREFIX "AND_X2"),             \
      scalar_atomic<INTO, 4, update::bit_or<u32>>(PREFIX "OR"),                  \
      scalar_atomic<INTO, 8, update::bit_or<u64>>(PREFIX "OR_X2"),               \
      scalar_atomic<INTO, 4, update::bit_xor<u32>>(PREFIX "XOR"),                \
      scalar_atomic<INTO, 8, update::bit_xor<u64>>(PREFIX "XOR_X2"),             \
      scalar_atomic<INTO, 4, update::increment<u32>>(PREFIX "INC"),              \
      scalar_atomic<INTO, 8, update::increment<u64>>(PREFIX "INC_X2"),           \
      scalar_atomic<INTO, 4, update::decrement<u32>>(PREFIX "DEC"),              \
      scalar_atomic<INTO, 8, update::decrement<u64>>(PREFIX "DEC_X2"),           \
      scalar_atomic<INTO, 4, update::compare_swap<u32>, true>(PREFIX "CMPSWAP"), \
      scalar_atomic<INTO, 8, update::compare_swap<u64>, true>(PREFIX "CMPSWAP_X2")

constexpr Entry kTable[] = {
    scalar_store<Into::Memory, 4>("S_STORE_B32"),
    scalar_store<Into::Memory, 8>("S_STORE_B64"),
    scalar_store<Into::Memory, 16>("S_STORE_B128"),
    scalar_store<Into::Buffer, 4>("S_BUFFER_STORE_B32"),
    scalar_store<Into::Buffer, 8>("S_BUFFER_STORE_B64"),
    scalar_store<Into::Buffer, 16>("S_BUFFER_STORE_B128"),
    scalar_store<Into::Scratch, 4>("S_SCRATCH_STORE_B32"),
    scalar_store<Into::Scratch, 8>("S_SCRATCH_STORE_B64"),
    scalar_store<Into::Scratch, 16>("S_SCRATCH_STORE_B128"),
    {"S_DCACHE_DISCARD", kShape, &discard},
    {"S_DCACHE_DISCARD_X2", kShape, &discard},
    DOORBELL_SCALAR_ATOMICS("S_ATOMIC_", Into::Memory),
    DOORBELL_SCALAR_ATOMICS("S_BUFFER_ATOMIC_", Into::Buffer),
};

}  // namespace

HandlerTable scalar_atomics_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
