// SCRATCH loads and stores: each lane has memory of its own.
#include "emulator/amd/isa/decode_memory.h"
#include "emulator/amd/isa/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emulator::amd {

namespace {

template <Element e>
Flow load(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  alignas(64) u32 offset[64];
  scratch_offsets(wave, op, offset);
  return load_scratch<e>(wave, op, active, offset, wave.v + op.dst_row);
}

template <Element e>
Flow store(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  alignas(64) u32 offset[64];
  scratch_offsets(wave, op, offset);
  return store_scratch<e>(wave, op, active, offset, wave.v + op.src[kData].row);
}

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
    load_entry<Element::U8>("SCRATCH_LOAD_U8"),
    load_entry<Element::I8>("SCRATCH_LOAD_I8"),
    load_entry<Element::U16>("SCRATCH_LOAD_U16"),
    load_entry<Element::I16>("SCRATCH_LOAD_I16"),
    load_entry<Element::D16U8>("SCRATCH_LOAD_D16_U8"),
    load_entry<Element::D16I8>("SCRATCH_LOAD_D16_I8"),
    load_entry<Element::D16B16>("SCRATCH_LOAD_D16_B16"),
    load_entry<Element::D16HiU8>("SCRATCH_LOAD_D16_HI_U8"),
    load_entry<Element::D16HiI8>("SCRATCH_LOAD_D16_HI_I8"),
    load_entry<Element::D16HiB16>("SCRATCH_LOAD_D16_HI_B16"),
    load_entry<Element::B32>("SCRATCH_LOAD_B32"),
    load_entry<Element::B64>("SCRATCH_LOAD_B64"),
    load_entry<Element::B96>("SCRATCH_LOAD_B96"),
    load_entry<Element::B128>("SCRATCH_LOAD_B128"),
    store_entry<Element::U8>("SCRATCH_STORE_B8"),
    store_entry<Element::U16>("SCRATCH_STORE_B16"),
    store_entry<Element::D16HiU8>("SCRATCH_STORE_D16_HI_B8"),
    store_entry<Element::D16HiB16>("SCRATCH_STORE_D16_HI_B16"),
    store_entry<Element::B32>("SCRATCH_STORE_B32"),
    store_entry<Element::B64>("SCRATCH_STORE_B64"),
    store_entry<Element::B96>("SCRATCH_STORE_B96"),
    store_entry<Element::B128>("SCRATCH_STORE_B128"),
};
// clang-format on

}  // namespace

HandlerTable scratch_memory_table() { return kTable; }

}  // namespace doorbell::emulator::amd
