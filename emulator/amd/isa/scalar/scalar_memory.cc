// SMEM: scalar loads, and the instructions on the scalar and instruction caches.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Scalar memory operations"]
#include "emulator/amd/isa/scalar/scalar_address.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

// Loads `bytes` to the destination's registers, those behind the first `within` as 0; those of 1
// and 2 bytes are extended.
template <u32 bytes, bool is_signed>
Flow scalar_load_from(Wave& wave, const Operation& op, u64 address, u32 within = bytes) {
  Memory& memory = *wave.memory;
  u32 loaded[bytes < 4 ? 1 : bytes / 4] = {};
  if (bytes >= 4) address &= ~u64{3};
  if (within != 0 && !memory.scalar_load(address, within, loaded, scalar_policy(wave, op))) {
    return scalar_fault(wave, op, memory.fault().address);
  }
  if (bytes == 1 && is_signed) loaded[0] = static_cast<u32>(static_cast<i8>(loaded[0]));
  if (bytes == 2 && is_signed) loaded[0] = static_cast<u32>(static_cast<i16>(loaded[0]));
  if (op.dst == kSink) return Flow::Next;
  for (u32 i = 0; i < std::size(loaded); ++i) wave.s[op.dst + i] = loaded[i];
  return Flow::Next;
}

template <u32 bytes, bool is_signed>
Flow scalar_load(Wave& wave, const Operation& op) {
  return scalar_load_from<bytes, is_signed>(wave, op, scalar_address(wave, op));
}

template <u32 bytes>
Flow scratch_load(Wave& wave, const Operation& op) {
  return scalar_load_from<bytes, false>(wave, op, scalar_scratch_address(wave, op));
}

template <u32 bytes, bool is_signed>
Flow scalar_buffer_load(Wave& wave, const Operation& op) {
  const ScalarBufferAccess access = scalar_buffer_access(wave, op, bytes);
  return scalar_load_from<bytes, is_signed>(wave, op, access.address, access.within);
}

template <CacheOperation operation>
Flow scalar_cache(Wave& wave, const Operation&) {
  wave.memory->cache(operation, CachePolicy{});
  return Flow::Next;
}
Flow scalar_prefetch(Wave&, const Operation&) { return Flow::Next; }

// Time is the number of executed instructions.
Flow scalar_time(Wave& wave, const Operation& op) {
  wave.set_pair(op.dst, wave.clock);
  return Flow::Next;
}

template <u32 bytes, bool is_signed = false>
constexpr Entry scalar_load_entry(std::string_view name) {
  return {name, {Type::B32, {Type::B64, Type::B32}, 0}, &scalar_load<bytes, is_signed>};
}
template <u32 bytes, bool is_signed = false>
constexpr Entry scalar_buffer_entry(std::string_view name) {
  return {name, {Type::B32, {Type::B64, Type::B32}, 0}, &scalar_buffer_load<bytes, is_signed>};
}

template <u32 bytes>
constexpr Entry scratch_entry(std::string_view name) {
  return {name, {Type::B32, {Type::B64, Type::B32}, 0}, &scratch_load<bytes>};
}

constexpr Entry kTable[] = {
    scalar_load_entry<4>("S_LOAD_B32"),
    scalar_load_entry<8>("S_LOAD_B64"),
    scalar_load_entry<12>("S_LOAD_B96"),
    scalar_load_entry<16>("S_LOAD_B128"),
    scalar_load_entry<32>("S_LOAD_B256"),
    scalar_load_entry<64>("S_LOAD_B512"),
    scalar_load_entry<1>("S_LOAD_U8"),
    scalar_load_entry<1, true>("S_LOAD_I8"),
    scalar_load_entry<2>("S_LOAD_U16"),
    scalar_load_entry<2, true>("S_LOAD_I16"),
    scalar_buffer_entry<4>("S_BUFFER_LOAD_B32"),
    scalar_buffer_entry<8>("S_BUFFER_LOAD_B64"),
    scalar_buffer_entry<12>("S_BUFFER_LOAD_B96"),
    scalar_buffer_entry<16>("S_BUFFER_LOAD_B128"),
    scalar_buffer_entry<32>("S_BUFFER_LOAD_B256"),
    scalar_buffer_entry<64>("S_BUFFER_LOAD_B512"),
    scalar_buffer_entry<1>("S_BUFFER_LOAD_U8"),
    scalar_buffer_entry<1, true>("S_BUFFER_LOAD_I8"),
    scalar_buffer_entry<2>("S_BUFFER_LOAD_U16"),
    scalar_buffer_entry<2, true>("S_BUFFER_LOAD_I16"),
    scratch_entry<4>("S_SCRATCH_LOAD_B32"),
    scratch_entry<8>("S_SCRATCH_LOAD_B64"),
    scratch_entry<16>("S_SCRATCH_LOAD_B128"),
    {"S_DCACHE_INV", {}, &scalar_cache<CacheOperation::ScalarInvalidate>},
    {"S_DCACHE_INV_VOL", {}, &scalar_cache<CacheOperation::ScalarInvalidate>},
    {"S_DCACHE_WB", {}, &scalar_cache<CacheOperation::ScalarWriteBack>},
    {"S_DCACHE_WB_VOL", {}, &scalar_cache<CacheOperation::ScalarWriteBack>},
    {"S_GL1_INV", {}, &scalar_cache<CacheOperation::Gl1Invalidate>},
    {"S_ICACHE_INV", {}, &scalar_cache<CacheOperation::InstructionInvalidate>},
    {"S_PREFETCH_INST", {}, &scalar_prefetch},
    {"S_PREFETCH_INST_PC_REL", {}, &scalar_prefetch},
    {"S_PREFETCH_DATA", {}, &scalar_prefetch},
    {"S_PREFETCH_DATA_PC_REL", {}, &scalar_prefetch},
    {"S_BUFFER_PREFETCH_DATA", {}, &scalar_prefetch},
    // Requests a translation, without a visible effect.
    {"S_ATC_PROBE", {}, &scalar_prefetch},
    {"S_ATC_PROBE_BUFFER", {}, &scalar_prefetch},
    {"S_MEMTIME", {}, &scalar_time},
    {"S_MEMREALTIME", {}, &scalar_time},
};

}  // namespace

HandlerTable scalar_memory_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
