// SMEM: scalar loads, and the instructions on the scalar and instruction caches.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Scalar memory operations"]
#include "emulator/amd/isa/memory.h"
#include "emulator/amd/isa/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emulator::amd {

namespace {

// The cache bits of the word, as isa/memory.h's CachePolicy has them.
CachePolicy scalar_policy(const Wave& wave, const Operation& op) {
  const u32 word = op.words[0];
  switch (wave.chip->generation) {
    case Generation::Gfx9: return static_cast<CachePolicy>(word >> 16 & 1);
    case Generation::Gfx10:
      return static_cast<CachePolicy>((word >> 16 & 1) | (word >> 14 & 1) << 2);
    case Generation::Gfx11:
      return static_cast<CachePolicy>((word >> 14 & 1) | (word >> 13 & 1) << 2);
    default: return static_cast<CachePolicy>((word >> 23 & 3) | (word >> 21 & 3) << 3);
  }
}

Flow scalar_fault(Wave& wave, const Operation& op, u64 address) {
  wave.exit = {.kind = Exit::Kind::Fault, .pc = op.pc, .address = address};
  wave.exit.name = op.name;
  wave.pc = op.pc;
  return Flow::Stop;
}

// Loads `bytes` to the destination's registers; those of 1 and 2 bytes are extended.
template <u32 bytes, bool is_signed>
Flow scalar_load_from(Wave& wave, const Operation& op, u64 address) {
  Memory& memory = *wave.memory;
  u32 loaded[bytes < 4 ? 1 : bytes / 4] = {};
  if (bytes >= 4) address &= ~u64{3};
  if (!memory.scalar_load(address, bytes, loaded, scalar_policy(wave, op))) {
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
  const u64 address =
      wave.pair(op.src[0].index) + static_cast<u64>(op.immediate) + read_32(wave, op.src[1]);
  return scalar_load_from<bytes, is_signed>(wave, op, address);
}

// Through a buffer descriptor: base in bits 47 to 0, stride in 61 to 48, number of records in the
// third word, in bytes when the stride is 0. What lies beyond reads as 0.
template <u32 bytes, bool is_signed>
Flow scalar_buffer_load(Wave& wave, const Operation& op) {
  const u32* words = &wave.s[op.src[0].index];
  const u64 base = words[0] | u64{words[1] & 0xffff} << 32;
  const u64 stride = words[1] >> 16 & 0x3fff;
  const u64 size = stride == 0 ? words[2] : words[2] * stride;
  const u64 offset = static_cast<u64>(op.immediate) + read_32(wave, op.src[1]);
  if (offset + bytes > size) {
    for (u32 i = 0; i < (bytes + 3) / 4; ++i) wave.s[op.dst + i] = 0;
    return Flow::Next;
  }
  return scalar_load_from<bytes, is_signed>(wave, op, base + offset);
}

template <CacheOperation operation>
Flow scalar_cache(Wave& wave, const Operation&) {
  wave.memory->cache(operation, CachePolicy{});
  return Flow::Next;
}
Flow scalar_prefetch(Wave&, const Operation&) { return Flow::Next; }

// Instructions executed stand for time.
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
    {"S_DCACHE_INV", {}, &scalar_cache<CacheOperation::ScalarInvalidate>},
    {"S_DCACHE_INV_VOL", {}, &scalar_cache<CacheOperation::ScalarInvalidate>},
    {"S_DCACHE_WB", {}, &scalar_cache<CacheOperation::ScalarWriteBack>},
    {"S_GL1_INV", {}, &scalar_cache<CacheOperation::Gl1Invalidate>},
    {"S_ICACHE_INV", {}, &scalar_cache<CacheOperation::InstructionInvalidate>},
    {"S_PREFETCH_INST", {}, &scalar_prefetch},
    {"S_PREFETCH_INST_PC_REL", {}, &scalar_prefetch},
    {"S_PREFETCH_DATA", {}, &scalar_prefetch},
    {"S_PREFETCH_DATA_PC_REL", {}, &scalar_prefetch},
    {"S_BUFFER_PREFETCH_DATA", {}, &scalar_prefetch},
    {"S_MEMTIME", {}, &scalar_time},
    {"S_MEMREALTIME", {}, &scalar_time},
};

}  // namespace

HandlerTable scalar_memory_table() { return kTable; }

}  // namespace doorbell::emulator::amd
