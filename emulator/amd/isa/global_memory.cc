// GLOBAL and FLAT loads and stores. FLAT addresses whose high half is an aperture's are LDS's or
// scratch's. [RDNA3 ISA, "Flat memory instructions"]
#include "emulator/amd/isa/decode_memory.h"
#include "emulator/amd/isa/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emulator::amd {

namespace {

// The active lanes of a FLAT access by the memory that they mean.
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

template <Element e>
Flow load(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  u32* dst = wave.v + op.dst_row;
  LaneAddresses addresses;
  global_addresses(wave, op, active, addresses);
  if ((op.flags & kMemoryFlat) == 0) return load_lanes<e>(wave, op, active, addresses, dst);
  const FlatLanes split = split_flat(wave, active, addresses);
  Flow flow = Flow::Next;
  if (split.global != 0) flow = load_lanes<e>(wave, op, split.global, addresses, dst);
  if (flow == Flow::Next && split.lds != 0) {
    flow = load_lds<e>(wave, op, split.lds, split.offset, dst);
  }
  if (flow == Flow::Next && split.scratch != 0) {
    flow = load_scratch<e>(wave, op, split.scratch, split.offset, dst);
  }
  return flow;
}

template <Element e>
Flow store(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const u32* src = wave.v + op.src[kData].row;
  LaneAddresses addresses;
  global_addresses(wave, op, active, addresses);
  if ((op.flags & kMemoryFlat) == 0) return store_lanes<e>(wave, op, active, addresses, src);
  const FlatLanes split = split_flat(wave, active, addresses);
  Flow flow = Flow::Next;
  if (split.global != 0) flow = store_lanes<e>(wave, op, split.global, addresses, src);
  if (flow == Flow::Next && split.lds != 0) {
    flow = store_lds<e>(wave, op, split.lds, split.offset, src);
  }
  if (flow == Flow::Next && split.scratch != 0) {
    flow = store_scratch<e>(wave, op, split.scratch, split.offset, src);
  }
  return flow;
}

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

constexpr Shape kShape{.flags = kMemory};

template <Element e>
constexpr Entry load_entry(std::string_view name) {
  return {name, load_shape(e), &load<e>, &fast_memory<load<e>>};
}
template <Element e>
constexpr Entry store_entry(std::string_view name) {
  return {name, store_shape(e), &store<e>, &fast_memory<store<e>>};
}

// clang-format off
constexpr Entry kTable[] = {
    load_entry<Element::U8>("GLOBAL_LOAD_U8"),
    load_entry<Element::I8>("GLOBAL_LOAD_I8"),
    load_entry<Element::U16>("GLOBAL_LOAD_U16"),
    load_entry<Element::I16>("GLOBAL_LOAD_I16"),
    load_entry<Element::D16U8>("GLOBAL_LOAD_D16_U8"),
    load_entry<Element::D16I8>("GLOBAL_LOAD_D16_I8"),
    load_entry<Element::D16B16>("GLOBAL_LOAD_D16_B16"),
    load_entry<Element::D16HiU8>("GLOBAL_LOAD_D16_HI_U8"),
    load_entry<Element::D16HiI8>("GLOBAL_LOAD_D16_HI_I8"),
    load_entry<Element::D16HiB16>("GLOBAL_LOAD_D16_HI_B16"),
    load_entry<Element::B32>("GLOBAL_LOAD_B32"),
    load_entry<Element::B64>("GLOBAL_LOAD_B64"),
    load_entry<Element::B96>("GLOBAL_LOAD_B96"),
    load_entry<Element::B128>("GLOBAL_LOAD_B128"),
    store_entry<Element::U8>("GLOBAL_STORE_B8"),
    store_entry<Element::U16>("GLOBAL_STORE_B16"),
    store_entry<Element::D16HiU8>("GLOBAL_STORE_D16_HI_B8"),
    store_entry<Element::D16HiB16>("GLOBAL_STORE_D16_HI_B16"),
    store_entry<Element::B32>("GLOBAL_STORE_B32"),
    store_entry<Element::B64>("GLOBAL_STORE_B64"),
    store_entry<Element::B96>("GLOBAL_STORE_B96"),
    store_entry<Element::B128>("GLOBAL_STORE_B128"),
    {"GLOBAL_LOAD_B32_ADDTID", kShape, &add_thread_id<false>},
    {"GLOBAL_STORE_B32_ADDTID", kShape, &add_thread_id<true>},
    load_entry<Element::U8>("FLAT_LOAD_U8"),
    load_entry<Element::I8>("FLAT_LOAD_I8"),
    load_entry<Element::U16>("FLAT_LOAD_U16"),
    load_entry<Element::I16>("FLAT_LOAD_I16"),
    load_entry<Element::D16U8>("FLAT_LOAD_D16_U8"),
    load_entry<Element::D16I8>("FLAT_LOAD_D16_I8"),
    load_entry<Element::D16B16>("FLAT_LOAD_D16_B16"),
    load_entry<Element::D16HiU8>("FLAT_LOAD_D16_HI_U8"),
    load_entry<Element::D16HiI8>("FLAT_LOAD_D16_HI_I8"),
    load_entry<Element::D16HiB16>("FLAT_LOAD_D16_HI_B16"),
    load_entry<Element::B32>("FLAT_LOAD_B32"),
    load_entry<Element::B64>("FLAT_LOAD_B64"),
    load_entry<Element::B96>("FLAT_LOAD_B96"),
    load_entry<Element::B128>("FLAT_LOAD_B128"),
    store_entry<Element::U8>("FLAT_STORE_B8"),
    store_entry<Element::U16>("FLAT_STORE_B16"),
    store_entry<Element::D16HiU8>("FLAT_STORE_D16_HI_B8"),
    store_entry<Element::D16HiB16>("FLAT_STORE_D16_HI_B16"),
    store_entry<Element::B32>("FLAT_STORE_B32"),
    store_entry<Element::B64>("FLAT_STORE_B64"),
    store_entry<Element::B96>("FLAT_STORE_B96"),
    store_entry<Element::B128>("FLAT_STORE_B128"),
};
// clang-format on

}  // namespace

HandlerTable global_memory_table() { return kTable; }

}  // namespace doorbell::emulator::amd
