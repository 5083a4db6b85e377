// GLOBAL and FLAT loads and stores. FLAT addresses whose high half is an aperture are in LDS or
// scratch. [RDNA3 ISA, "Flat memory instructions"]
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/access_table.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

// The active lanes of a FLAT access, by the memory that they access.
struct FlatLanes {
  u64 global = 0, lds = 0, scratch = 0;
  alignas(64) u32 offset[64];  // in LDS or scratch
};

// FLAT has no compact addresses: op.src[kScalarAddress] is None, so `wide` is filled.
FlatLanes split_flat(const Wave& wave, u64 active, LaneAddresses& addresses) {
  FlatLanes split;
  const u32 shared = static_cast<u32>(wave.shared_aperture >> 32);
  const u32 scratch = static_cast<u32>(wave.private_aperture >> 32);
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    const u32 high = static_cast<u32>(addresses.wide[lane] >> 32);
    split.offset[lane] = static_cast<u32>(addresses.wide[lane]);
    split.lds |= u64{high == shared} << lane;
    split.scratch |= u64{high == scratch} << lane;
  }
  split.lds &= active;
  split.scratch &= active;
  split.global = active & ~split.lds & ~split.scratch;
  if (split.global != active && split.global != 0) addresses.compact = false;
  return split;
}

// Calls the function for each memory with the lanes that access it; those for LDS and scratch get
// offsets too.
template <class Global, class Lds, class Scratch>
Flow for_each_memory(Wave& wave, const Operation& op, Global&& global, Lds&& lds,
                     Scratch&& scratch) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  LaneAddresses addresses;
  global_addresses(wave, op, active, addresses);
  if ((op.flags & kMemoryFlat) == 0) return global(active, addresses);
  const FlatLanes split = split_flat(wave, active, addresses);
  Flow flow = Flow::Next;
  if (split.global != 0) flow = global(split.global, addresses);
  if (flow == Flow::Next && split.lds != 0) flow = lds(split.lds, split.offset);
  if (flow == Flow::Next && split.scratch != 0) flow = scratch(split.scratch, split.offset);
  return flow;
}

struct Access {
  template <Element e>
  static Flow load(Wave& wave, const Operation& op) {
    u32* dst = wave.v + op.dst_row;
    return for_each_memory(
        wave, op,
        [&](u64 lanes, const LaneAddresses& at) { return load_lanes<e>(wave, op, lanes, at, dst); },
        [&](u64 lanes, const u32* at) { return load_lds<e>(wave, op, lanes, at, dst); },
        [&](u64 lanes, const u32* at) { return load_scratch<e>(wave, op, lanes, at, dst); });
  }
  template <Element e>
  static Flow store(Wave& wave, const Operation& op) {
    const u32* src = wave.v + op.src[kData].row;
    return for_each_memory(
        wave, op,
        [&](u64 lanes, const LaneAddresses& at) {
          return store_lanes<e>(wave, op, lanes, at, src);
        },
        [&](u64 lanes, const u32* at) { return store_lds<e>(wave, op, lanes, at, src); },
        [&](u64 lanes, const u32* at) { return store_scratch<e>(wave, op, lanes, at, src); });
  }
};
struct Global : Access {
  static constexpr std::string_view kPrefix = "GLOBAL_";
};
struct Flat : Access {
  static constexpr std::string_view kPrefix = "FLAT_";
};

// The lane's own dword behind an address that all lanes share.
template <bool kStore>
Flow add_thread_id(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  LaneAddresses addresses;
  addresses.base = static_cast<u64>(op.immediate);
  if (op.src[kScalarAddress].kind == Source::Kind::Scalar) {
    addresses.base += wave.pair(op.src[kScalarAddress].index);
  }
  for (u32 lane = 0; lane < wave.lanes; ++lane) addresses.offset[lane] = lane * 4;
  addresses.find_ends(active, wave.lanes);
  if (kStore) {
    return store_lanes<Element::B32>(wave, op, active, addresses, wave.v + op.src[kData].row);
  }
  return load_lanes<Element::B32>(wave, op, active, addresses, wave.v + op.dst_row);
}

constexpr Shape kShape{.flags = kMemory | kNoLaneAddress};

constexpr Entry kAddThreadId[] = {
    {"GLOBAL_LOAD_B32_ADDTID", kShape, &add_thread_id<false>},
    {"GLOBAL_STORE_B32_ADDTID", kShape, &add_thread_id<true>},
};

}  // namespace

HandlerTable global_memory_table() { return AccessTable<Global>::kEntries; }
HandlerTable flat_memory_table() { return AccessTable<Flat>::kEntries; }
HandlerTable global_thread_id_table() { return kAddThreadId; }

}  // namespace doorbell::emu::amdgpu
