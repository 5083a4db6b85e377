// Untyped buffer loads and stores (MUBUF, VBUFFER), buffer atomics, loads into LDS, and the cache
// instructions in the buffers' and global memory's formats.
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/access_table.h"
#include "emulator/amd/isa/memory/atomic_updates.h"
#include "emulator/amd/isa/memory/buffer_access.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

// For elements beyond the buffer, LDS gets zeros. [ROCm/rocm-systems pull request 10928]
template <Element e>
Flow buffer_to_lds(Wave& wave, const Operation& op) {
  return with_buffer(wave, op, BufferUse::Dwords, [&](const BufferAddresses& buffer) {
    alignas(64) u32 values[rows_of(e) * 64] = {};
    if (load_buffer<e>(wave, op, buffer, values) == Flow::Stop) return Flow::Stop;
    return store_to_lds<e>(wave, op, values);
  });
}

template <Element e>
Flow global_to_lds(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  LaneAddresses addresses;
  global_addresses(wave, op, active, addresses);
  alignas(64) u32 values[rows_of(e) * 64] = {};
  if (load_lanes<e>(wave, op, active, addresses, values) == Flow::Stop) return Flow::Stop;
  return store_to_lds<e>(wave, op, values);
}

template <Element e>
Flow scratch_to_lds(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  alignas(64) u32 offset[64], values[64] = {};
  scratch_offsets(wave, op, offset);
  if (load_scratch<e>(wave, op, active, offset, values) == Flow::Stop) return Flow::Stop;
  return store_to_lds<e>(wave, op, values);
}

struct Buffer {
  static constexpr std::string_view kPrefix = "BUFFER_";

  template <Element e>
  static Flow load(Wave& wave, const Operation& op) {
    return with_buffer(wave, op, BufferUse::Dwords, [&](const BufferAddresses& buffer) {
      return load_buffer<e>(wave, op, buffer, wave.v + op.dst_row);
    });
  }
  template <Element e>
  static Flow store(Wave& wave, const Operation& op) {
    return with_buffer(wave, op, BufferUse::Dwords, [&](const BufferAddresses& buffer) {
      return store_buffer<e>(wave, op, buffer, wave.v + op.src[kData].row);
    });
  }
};

// Beyond the buffer the operation has no effect and returns zero, as loads do.
Flow atomic(Wave& wave, const Operation& op, const BufferAddresses& buffer, u32 bytes,
            AtomicUpdate update, bool compares) {
  const u64 within = buffer.within(wave.exec(), 0, bytes);
  LaneAddresses addresses;
  if (within != 0) buffer.fill(within, 0, addresses);
  const u32* data = wave.v + op.src[kData].row;
  const usize pitch = wave.lanes;
  u64 before[64] = {};
  Memory& memory = *wave.memory;
  for (u64 left = within; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    const u64 va = addresses.at(lane);
    if (va % bytes != 0) return stop_unaligned_atomic(wave, op, va, lane, bytes);
    const u64 operand = lane_value(data + lane, pitch, bytes);
    const u64 compare = compares ? lane_value(data + lane + pitch * (bytes / 4), pitch, bytes) : 0;
    if (!memory.atomic(va, bytes, update, operand, compare, before[lane],
                       static_cast<CachePolicy>(op.control))) {
      return stop_at_fault(wave, op, memory.fault(), lane);
    }
  }
  return_before(wave, op, bytes, before);
  return Flow::Next;
}

template <u32 kBytes, AtomicUpdate kUpdate, bool kCompares = false>
Flow run(Wave& wave, const Operation& op) {
  if constexpr (update::kRounds<kUpdate>) {
    if (!rounds_to_nearest(wave)) return stop_undocumented(wave, op, "rounding not to nearest");
  }
  return with_buffer(wave, op, BufferUse::Atomic, [&](const BufferAddresses& buffer) {
    return atomic(wave, op, buffer, kBytes, kUpdate, kCompares);
  });
}

template <u32 kBytes, AtomicUpdate kUpdate, bool kCompares = false>
constexpr Entry entry(std::string_view name) {
  return {name, atomic_shape(kBytes, kCompares ? 2 : 1), &run<kBytes, kUpdate, kCompares>};
}

template <CacheOperation kOperation>
Flow cache(Wave& wave, const Operation& op) {
  wave.memory->cache(kOperation, static_cast<CachePolicy>(op.control));
  return Flow::Next;
}

constexpr Shape kShape{.flags = kMemory};  // of those without data
constexpr Shape kToLds{.flags = kMemory | kM0Address | kCopiesToLds};

// clang-format off
constexpr Entry kTable[] = {
    {"BUFFER_LOAD_U8_LDS", kToLds, &buffer_to_lds<Element::U8>},
    {"BUFFER_LOAD_I8_LDS", kToLds, &buffer_to_lds<Element::I8>},
    {"BUFFER_LOAD_U16_LDS", kToLds, &buffer_to_lds<Element::U16>},
    {"BUFFER_LOAD_I16_LDS", kToLds, &buffer_to_lds<Element::I16>},
    {"BUFFER_LOAD_B32_LDS", kToLds, &buffer_to_lds<Element::B32>},
    {"BUFFER_LOAD_B96_LDS", kToLds, &buffer_to_lds<Element::B96>},
    {"BUFFER_LOAD_B128_LDS", kToLds, &buffer_to_lds<Element::B128>},
    {"GLOBAL_LOAD_LDS_U8", kToLds, &global_to_lds<Element::U8>},
    {"GLOBAL_LOAD_LDS_I8", kToLds, &global_to_lds<Element::I8>},
    {"GLOBAL_LOAD_LDS_U16", kToLds, &global_to_lds<Element::U16>},
    {"GLOBAL_LOAD_LDS_I16", kToLds, &global_to_lds<Element::I16>},
    {"GLOBAL_LOAD_LDS_B32", kToLds, &global_to_lds<Element::B32>},
    {"SCRATCH_LOAD_LDS_U8", kToLds, &scratch_to_lds<Element::U8>},
    {"SCRATCH_LOAD_LDS_I8", kToLds, &scratch_to_lds<Element::I8>},
    {"SCRATCH_LOAD_LDS_U16", kToLds, &scratch_to_lds<Element::U16>},
    {"SCRATCH_LOAD_LDS_I16", kToLds, &scratch_to_lds<Element::I16>},
    {"SCRATCH_LOAD_LDS_B32", kToLds, &scratch_to_lds<Element::B32>},
    {"GLOBAL_LOAD_LDS_B96", kToLds, &global_to_lds<Element::B96>},
    {"GLOBAL_LOAD_LDS_B128", kToLds, &global_to_lds<Element::B128>},
    entry<4, update::swap<u32>>("BUFFER_ATOMIC_SWAP"),
    entry<8, update::swap<u64>>("BUFFER_ATOMIC_SWAP_X2"),
    entry<4, update::compare_swap<u32>, true>("BUFFER_ATOMIC_CMPSWAP"),
    entry<8, update::compare_swap<u64>, true>("BUFFER_ATOMIC_CMPSWAP_X2"),
    entry<4, update::add<u32>>("BUFFER_ATOMIC_ADD"),
    entry<8, update::add<u64>>("BUFFER_ATOMIC_ADD_X2"),
    entry<4, update::subtract<u32>>("BUFFER_ATOMIC_SUB"),
    entry<8, update::subtract<u64>>("BUFFER_ATOMIC_SUB_X2"),
    entry<4, update::minimum<i32>>("BUFFER_ATOMIC_SMIN"),
    entry<8, update::minimum<i64>>("BUFFER_ATOMIC_SMIN_X2"),
    entry<4, update::minimum<u32>>("BUFFER_ATOMIC_UMIN"),
    entry<8, update::minimum<u64>>("BUFFER_ATOMIC_UMIN_X2"),
    entry<4, update::maximum<i32>>("BUFFER_ATOMIC_SMAX"),
    entry<8, update::maximum<i64>>("BUFFER_ATOMIC_SMAX_X2"),
    entry<4, update::maximum<u32>>("BUFFER_ATOMIC_UMAX"),
    entry<8, update::maximum<u64>>("BUFFER_ATOMIC_UMAX_X2"),
    entry<4, update::bit_and<u32>>("BUFFER_ATOMIC_AND"),
    entry<8, update::bit_and<u64>>("BUFFER_ATOMIC_AND_X2"),
    entry<4, update::bit_or<u32>>("BUFFER_ATOMIC_OR"),
    entry<8, update::bit_or<u64>>("BUFFER_ATOMIC_OR_X2"),
    entry<4, update::bit_xor<u32>>("BUFFER_ATOMIC_XOR"),
    entry<8, update::bit_xor<u64>>("BUFFER_ATOMIC_XOR_X2"),
    entry<4, update::increment<u32>>("BUFFER_ATOMIC_INC"),
    entry<8, update::increment<u64>>("BUFFER_ATOMIC_INC_X2"),
    entry<4, update::decrement<u32>>("BUFFER_ATOMIC_DEC"),
    entry<8, update::decrement<u64>>("BUFFER_ATOMIC_DEC_X2"),
    entry<4, update::subtract_clamped<u32>>("BUFFER_ATOMIC_CSUB"),
    entry<4, update::subtract_if_fits<u32>>("BUFFER_ATOMIC_COND_SUB_U32"),
    entry<4, update::compare_swap_float<f32>, true>("BUFFER_ATOMIC_FCMPSWAP"),
    entry<8, update::compare_swap_float<f64>, true>("BUFFER_ATOMIC_FCMPSWAP_X2"),
    entry<4, update::min_float<f32>>("BUFFER_ATOMIC_FMIN"),
    entry<8, update::min_float<f64>>("BUFFER_ATOMIC_FMIN_X2"),
    entry<4, update::max_float<f32>>("BUFFER_ATOMIC_FMAX"),
    entry<8, update::max_float<f64>>("BUFFER_ATOMIC_FMAX_X2"),
    entry<8, update::min_float<f64>>("BUFFER_ATOMIC_MIN_F64"),
    entry<8, update::max_float<f64>>("BUFFER_ATOMIC_MAX_F64"),
    entry<4, update::add_float<f32>>("BUFFER_ATOMIC_ADD_F32"),
    entry<8, update::add_float<f64>>("BUFFER_ATOMIC_ADD_F64"),
    entry<4, update::add_halves>("BUFFER_ATOMIC_PK_ADD_F16"),
    entry<4, update::add_bfloats>("BUFFER_ATOMIC_PK_ADD_BF16"),
    {"BUFFER_GL0_INV", kShape, &cache<CacheOperation::Gl0Invalidate>},
    {"BUFFER_GL1_INV", kShape, &cache<CacheOperation::Gl1Invalidate>},
    {"BUFFER_WBINVL1", kShape, &cache<CacheOperation::Gl0Invalidate>},
    {"BUFFER_WBINVL1_VOL", kShape, &cache<CacheOperation::Gl0Invalidate>},
    {"BUFFER_INV", kShape, &cache<CacheOperation::Invalidate>},
    {"BUFFER_INVL2", kShape, &cache<CacheOperation::Invalidate>},
    {"BUFFER_WBL2", kShape, &cache<CacheOperation::WriteBack>},
    {"GLOBAL_INV", kShape, &cache<CacheOperation::Invalidate>},
    {"GLOBAL_WB", kShape, &cache<CacheOperation::WriteBack>},
    {"GLOBAL_WBINV", kShape, &cache<CacheOperation::WriteBackInvalidate>},
};
// clang-format on

}  // namespace

HandlerTable buffer_memory_table() { return AccessTable<Buffer>::kEntries; }
HandlerTable buffer_operations_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
