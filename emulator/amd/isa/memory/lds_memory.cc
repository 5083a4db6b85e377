// DS loads and stores. [RDNA3 ISA, "Data share operations"; CDNA3 ISA, the same chapter]
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

struct LdsAddresses {
  alignas(64) u32 offset[64];
};

LdsAddresses lds_addresses(const Wave& wave, const Operation& op, u32 offset) {
  LdsAddresses result;
  const u32* address = wave.v + op.src[kAddress].row;
  for (u32 lane = 0; lane < wave.lanes; ++lane) result.offset[lane] = address[lane] + offset;
  return result;
}

template <Element e>
Flow load(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const LdsAddresses addresses = lds_addresses(wave, op, static_cast<u32>(op.immediate));
  return load_lds<e>(wave, op, active, addresses.offset, wave.v + op.dst_row);
}

template <Element e>
Flow store(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const LdsAddresses addresses = lds_addresses(wave, op, static_cast<u32>(op.immediate));
  return store_lds<e>(wave, op, active, addresses.offset, wave.v + op.src[kData].row);
}

// Two elements, whose offsets count elements, or 64 of them.
template <Element e, u32 kStride>
Flow load_two(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const u32 first = static_cast<u32>(op.immediate & 0xff), second = op.immediate >> 8 & 0xff;
  const u32 scale = bytes_of(e) * kStride;
  // Both are computed first: the destination may be the address.
  const LdsAddresses one = lds_addresses(wave, op, first * scale);
  const LdsAddresses two = lds_addresses(wave, op, second * scale);
  u32* dst = wave.v + op.dst_row;
  if (load_lds<e>(wave, op, active, one.offset, dst) == Flow::Stop) return Flow::Stop;
  return load_lds<e>(wave, op, active, two.offset, dst + rows_of(e) * wave.lanes);
}

template <Element e, u32 kStride>
Flow store_two(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const u32 first = static_cast<u32>(op.immediate & 0xff), second = op.immediate >> 8 & 0xff;
  const u32 scale = bytes_of(e) * kStride;
  const LdsAddresses one = lds_addresses(wave, op, first * scale);
  const LdsAddresses two = lds_addresses(wave, op, second * scale);
  if (store_lds<e>(wave, op, active, one.offset, wave.v + op.src[kData].row) == Flow::Stop) {
    return Flow::Stop;
  }
  return store_lds<e>(wave, op, active, two.offset, wave.v + op.src[kData1].row);
}

// The lane's own dword behind M0 and the offset.
template <bool kStore>
Flow add_thread_id(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  LdsAddresses addresses;
  const u32 base = (wave.s[kM0] & 0xffff) + static_cast<u32>(op.immediate);
  for (u32 lane = 0; lane < wave.lanes; ++lane) addresses.offset[lane] = base + lane * 4;
  if (kStore) {
    const u32* src = wave.v + op.src[kData].row;
    return store_lds<Element::B32>(wave, op, active, addresses.offset, src);
  }
  return load_lds<Element::B32>(wave, op, active, addresses.offset, wave.v + op.dst_row);
}

Flow nothing(Wave&, const Operation&) { return Flow::Next; }

constexpr Shape kThreadId{.flags = kMemory | kNoLaneAddress | kM0Address};
constexpr Shape kNothing{.flags = kMemory | kNoLaneAddress};

template <Element e, u32 kStride>
LoadedByte find_loaded_two(const Operation& op, u32 word, u32 lane, u32) {
  const i64 element = word < rows_of(e) ? op.immediate & 0xff : op.immediate >> 8 & 0xff;
  return {lane, static_cast<u64>(element) * bytes_of(e) * kStride + word % rows_of(e) * 4};
}

template <Element e>
constexpr Entry load_entry(std::string_view name) {
  return {name, load_shape(e), &load<e>, &fast_memory<load<e>>};
}
template <Element e>
constexpr Entry store_entry(std::string_view name) {
  return {name, store_shape(e), &store<e>, &fast_memory<store<e>>};
}
template <Element e, u32 kStride>
constexpr Entry load_two_entry(std::string_view name) {
  return {name, load_shape(e, 2), &load_two<e, kStride>, &fast_memory<load_two<e, kStride>>,
          &find_loaded_two<e, kStride>};
}
template <Element e, u32 kStride>
constexpr Entry store_two_entry(std::string_view name) {
  return {name, store_two_shape(e), &store_two<e, kStride>, &fast_memory<store_two<e, kStride>>};
}

// clang-format off
constexpr Entry kTable[] = {
    load_entry<Element::U8>("DS_LOAD_U8"),
    load_entry<Element::I8>("DS_LOAD_I8"),
    load_entry<Element::U16>("DS_LOAD_U16"),
    load_entry<Element::I16>("DS_LOAD_I16"),
    load_entry<Element::D16U8>("DS_LOAD_U8_D16"),
    load_entry<Element::D16I8>("DS_LOAD_I8_D16"),
    load_entry<Element::D16B16>("DS_LOAD_U16_D16"),
    load_entry<Element::D16HiU8>("DS_LOAD_U8_D16_HI"),
    load_entry<Element::D16HiI8>("DS_LOAD_I8_D16_HI"),
    load_entry<Element::D16HiB16>("DS_LOAD_U16_D16_HI"),
    load_entry<Element::B32>("DS_LOAD_B32"),
    load_entry<Element::B64>("DS_LOAD_B64"),
    load_entry<Element::B96>("DS_LOAD_B96"),
    load_entry<Element::B128>("DS_LOAD_B128"),
    load_two_entry<Element::B32, 1>("DS_LOAD2_B32"),
    load_two_entry<Element::B64, 1>("DS_LOAD2_B64"),
    load_two_entry<Element::B32, 64>("DS_LOAD2ST64_B32"),
    load_two_entry<Element::B64, 64>("DS_LOAD2ST64_B64"),
    {"DS_LOAD_ADDTID_B32", kThreadId, &add_thread_id<false>},
    store_entry<Element::U8>("DS_STORE_B8"),
    store_entry<Element::U16>("DS_STORE_B16"),
    store_entry<Element::D16HiU8>("DS_STORE_B8_D16_HI"),
    store_entry<Element::D16HiB16>("DS_STORE_B16_D16_HI"),
    store_entry<Element::B32>("DS_STORE_B32"),
    store_entry<Element::B64>("DS_STORE_B64"),
    store_entry<Element::B96>("DS_STORE_B96"),
    store_entry<Element::B128>("DS_STORE_B128"),
    store_two_entry<Element::B32, 1>("DS_STORE2_B32"),
    store_two_entry<Element::B64, 1>("DS_STORE2_B64"),
    store_two_entry<Element::B32, 64>("DS_STORE2ST64_B32"),
    store_two_entry<Element::B64, 64>("DS_STORE2ST64_B64"),
    {"DS_STORE_ADDTID_B32", kThreadId, &add_thread_id<true>},
    {"DS_NOP", kNothing, &nothing},
};
// clang-format on

}  // namespace

HandlerTable lds_memory_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
