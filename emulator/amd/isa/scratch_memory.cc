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

// clang-format off
constexpr Entry kTable[] = {
    {"SCRATCH_LOAD_U8", load_shape(Element::U8), &load<Element::U8>},
    {"SCRATCH_LOAD_I8", load_shape(Element::I8), &load<Element::I8>},
    {"SCRATCH_LOAD_U16", load_shape(Element::U16), &load<Element::U16>},
    {"SCRATCH_LOAD_I16", load_shape(Element::I16), &load<Element::I16>},
    {"SCRATCH_LOAD_D16_U8", load_shape(Element::D16U8), &load<Element::D16U8>},
    {"SCRATCH_LOAD_D16_I8", load_shape(Element::D16I8), &load<Element::D16I8>},
    {"SCRATCH_LOAD_D16_B16", load_shape(Element::D16B16), &load<Element::D16B16>},
    {"SCRATCH_LOAD_D16_HI_U8", load_shape(Element::D16HiU8), &load<Element::D16HiU8>},
    {"SCRATCH_LOAD_D16_HI_I8", load_shape(Element::D16HiI8), &load<Element::D16HiI8>},
    {"SCRATCH_LOAD_D16_HI_B16", load_shape(Element::D16HiB16), &load<Element::D16HiB16>},
    {"SCRATCH_LOAD_B32", load_shape(Element::B32), &load<Element::B32>},
    {"SCRATCH_LOAD_B64", load_shape(Element::B64), &load<Element::B64>},
    {"SCRATCH_LOAD_B96", load_shape(Element::B96), &load<Element::B96>},
    {"SCRATCH_LOAD_B128", load_shape(Element::B128), &load<Element::B128>},
    {"SCRATCH_STORE_B8", store_shape(Element::U8), &store<Element::U8>},
    {"SCRATCH_STORE_B16", store_shape(Element::U16), &store<Element::U16>},
    {"SCRATCH_STORE_D16_HI_B8", store_shape(Element::D16HiU8), &store<Element::D16HiU8>},
    {"SCRATCH_STORE_D16_HI_B16", store_shape(Element::D16HiB16), &store<Element::D16HiB16>},
    {"SCRATCH_STORE_B32", store_shape(Element::B32), &store<Element::B32>},
    {"SCRATCH_STORE_B64", store_shape(Element::B64), &store<Element::B64>},
    {"SCRATCH_STORE_B96", store_shape(Element::B96), &store<Element::B96>},
    {"SCRATCH_STORE_B128", store_shape(Element::B128), &store<Element::B128>},
};
// clang-format on

}  // namespace

HandlerTable scratch_memory_table() { return kTable; }

}  // namespace doorbell::emulator::amd
