// Loads that transpose a matrix among lanes on its way to the registers that matrix instructions
// take it from: gfx950's from LDS, gfx12's from memory. The documents require that all lanes are
// active; otherwise the result is undefined.
//
// Each lane loads the bytes at its address, as a plain load does; then elements are exchanged. LDS:
// [CDNA4 ISA, 11.4 "MFMA Transpose Load from LDS"; which lane gets what: ROCm/rocm-libraries
//  shared/rocroller/test/unit/TransposeLoadsTest.cpp, executeTransposeLoad(), which runs on GPUs;
//  ROCm/rocm-systems emulation/rocjitsu ds_transpose.h@c186c45, B64_TR_B8 and B64_TR_B16]
// Memory: [RDNA4 ISA, 11.6.2 "WMMA Load-Transpose Instructions"; which lane gets what was measured
//  on gfx1201, for 16 bits by gstoner/tessera (docs/backends/rocm/wmma-fragment-layout.md, 8), for
//  8 bits by kmbandy/llama.cpp (ggml/src/ggml-cuda/aiter-integration/rdna4_fp8_gemm/bench/
//  global_load_tr_contract.md). In waves of 64 the upper lanes get the second half of the
//  elements: there WMMA takes them, and there rocjitsu puts them]
#include <fmt/format.h>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/number/lane_bits.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kMaxRegisters = 4;

// Element `element` of what the lane's own address names.
struct LoadedElement {
  u32 lane, element;
};

// DS_READ_B64_TR_B16, _B8, _B4 and DS_READ_B96_TR_B6. Sixteen lanes load a matrix whose rows are of
// 16 elements, one row behind the other; each gets a column. So 16 / `count` lanes load one row.
constexpr LoadedElement transposed_in_lds(u32 count, u32 lane, u32 e) {
  const u32 column = lane & 15, lanes_per_row = 16 / count;
  return {(lane & ~15u) + e * lanes_per_row + column / count, column % count};
}

// GLOBAL_LOAD_TR_B128 (16 bits, eight in a lane) and _B64 (8 bits, eight in a lane) in waves of 32.
// Blocks of 8 by 8 elements are transposed; a block's rows are what eight lanes load: for elements
// of 16 bits eight lanes beside each other, for those of 8 bits four, and four more eight lanes
// on.
constexpr LoadedElement transposed_in_memory(u32 bits, u32 lane, u32 e) {
  if (bits == 16) return {(lane & ~7u) + e, lane & 7};
  return {(lane & 16) + (e & 4) * 2 + (lane & 8) / 2 + (e & 3), lane & 7};
}

// What the lanes loaded: registers as a plain load would fill them.
struct Loaded {
  alignas(64) u32 row[kMaxRegisters * 64];
};

Flow stop_at_inactive_lanes(Wave& wave, const Operation& op) {
  return stop_undocumented(
      wave, op,
      fmt::format("with exec {:#x}, where all {} lanes must be active", wave.exec(), wave.lanes));
}

// `from(lane, e)` is where a lane's element comes from, `count` how many a lane gets.
template <class From>
void store_elements(Wave& wave, const Operation& op, const Loaded& loaded, u32 count, u32 bits,
                    From&& from) {
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    u32 words[kMaxRegisters] = {};
    for (u32 e = 0; e < count; ++e) {
      const LoadedElement at = from(lane, e);
      put_element_bits(
          words, e, bits,
          static_cast<u32>(read_element_bits(loaded.row, wave.lanes, at.lane, at.element, bits)));
    }
    for (u32 r = 0; r < count * bits / 32; ++r) {
      wave.v[op.dst_row + r * wave.lanes + lane] = words[r];
    }
  }
}

// Rows of three registers are read in pieces of 16 bytes. [rocRoller, the same test]
template <Element e, u32 kBits>
Flow load_from_lds(Wave& wave, const Operation& op) {
  constexpr u32 kBytes = bytes_of(e), kAlignment = kBytes == 12 ? 16 : kBytes;
  const u64 active = wave.exec();
  if (active != wave.all_lanes()) return stop_at_inactive_lanes(wave, op);
  u32 address[64];
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    address[lane] = wave.v[op.src[kAddress].row + lane] + static_cast<u32>(op.immediate);
    if (address[lane] % kAlignment != 0) {
      return stop_undocumented(wave, op,
                               fmt::format("at {:#x} of LDS in lane {}, no multiple of {}",
                                           address[lane], lane, kAlignment));
    }
  }
  Loaded loaded;
  if (load_lds<e>(wave, op, active, address, loaded.row) == Flow::Stop) return Flow::Stop;
  constexpr u32 kCount = kBytes * 8 / kBits;
  store_elements(wave, op, loaded, kCount, kBits,
                 [](u32 lane, u32 i) { return transposed_in_lds(kCount, lane, i); });
  return Flow::Next;
}

template <Element e, u32 kBits>
Flow load_from_memory(Wave& wave, const Operation& op) {
  constexpr u32 kLoadingLanes = 32, kCount = bytes_of(e) * 8 / kBits;
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  if (active != wave.all_lanes()) return stop_at_inactive_lanes(wave, op);
  constexpr u64 kLoading = (u64{1} << kLoadingLanes) - 1;
  LaneAddresses addresses;
  global_addresses(wave, op, kLoading, addresses);
  Loaded loaded;
  if (load_lanes<e>(wave, op, kLoading, addresses, loaded.row) == Flow::Stop) return Flow::Stop;
  const u32 count = kCount * kLoadingLanes / wave.lanes;
  store_elements(wave, op, loaded, count, kBits, [&](u32 lane, u32 i) {
    const u32 half = lane / kLoadingLanes;
    return transposed_in_memory(kBits, lane % kLoadingLanes, half * count + i);
  });
  return Flow::Next;
}

template <u32 kCount, u32 kBits>
LoadedByte find_in_lds(const Operation& op, u32 word, u32 lane, u32 bit) {
  const LoadedElement at = transposed_in_lds(kCount, lane, (word * 32 + bit) / kBits);
  return {at.lane, static_cast<u64>(op.immediate) + at.element * kBits / 8};
}

template <Element e, u32 kBits>
constexpr Entry lds_entry(std::string_view name) {
  return {name, load_shape(e), &load_from_lds<e, kBits>, nullptr,
          &find_in_lds<bytes_of(e) * 8 / kBits, kBits>};
}

template <Element e, u32 kBits>
constexpr Entry memory_entry(std::string_view name) {
  Shape shape = load_shape(e);
  shape.flags |= kLowerLanes;
  return {name, shape, &load_from_memory<e, kBits>};
}

constexpr Entry kTable[] = {
    lds_entry<Element::B64, 16>("DS_LOAD_B64_TR_B16"),
    lds_entry<Element::B64, 8>("DS_LOAD_B64_TR_B8"),
    lds_entry<Element::B64, 4>("DS_LOAD_B64_TR_B4"),
    lds_entry<Element::B96, 6>("DS_LOAD_B96_TR_B6"),
    memory_entry<Element::B128, 16>("GLOBAL_LOAD_TR_B128"),
    memory_entry<Element::B64, 8>("GLOBAL_LOAD_TR_B64"),
};

}  // namespace

HandlerTable transposed_loads_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
