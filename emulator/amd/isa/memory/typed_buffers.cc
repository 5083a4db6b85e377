// Typed buffer loads and stores: MTBUF, whose format is in the instruction, and MUBUF's FORMAT
// forms, whose format and order of components are in the descriptor.
// [RDNA3 ISA and CDNA3 ISA, "Memory buffer instructions", "Buffer data"]
#include <string>

#include "emulator/amd/isa/memory/buffer_access.h"
#include "emulator/amd/isa/memory/buffer_format.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kLanes = 64;
struct Rows {
  alignas(64) u32 word[4][kLanes];
};

std::optional<BufferFormat> instruction_format(const Chip& chip, const Operation& op) {
  const u32 low = op.words[0];
  switch (chip.generation) {
    case Generation::Gfx9: return format_of_numbers(field(low, 22, 19), field(low, 25, 23));
    case Generation::Gfx12: return format_of_number(chip, field(op.words[1], 29, 23));
    default: return format_of_number(chip, field(low, 25, 19));
  }
}
std::optional<BufferFormat> descriptor_format(const Chip& chip, u32 word) {
  switch (chip.generation) {
    case Generation::Gfx9: return format_of_numbers(field(word, 18, 15), field(word, 14, 12));
    case Generation::Gfx10: return format_of_number(chip, field(word, 18, 12));
    default: return format_of_number(chip, field(word, 17, 12));
  }
}

// The source of register i: 0 and 1 are constants, 4 to 7 components X to W.
constexpr u32 kInOrder = 4 | 5 << 3 | 6 << 6 | 7 << 9;

struct Typed {
  BufferFormat format;
  u32 order;
};

template <bool in_instruction>
std::optional<Typed> typed_of(const Wave& wave, const Operation& op) {
  const u32 word = wave.s[op.src[kScalarAddress].index + 3];
  const auto format =
      in_instruction ? instruction_format(*wave.chip, op) : descriptor_format(*wave.chip, word);
  if (!format) return std::nullopt;
  return Typed{*format, in_instruction ? kInOrder : word & 0xfff};
}

// The elements' bits, zero-extended.
Flow load_elements(Wave& wave, const Operation& op, const BufferAddresses& buffer, u32 bytes,
                   u32* rows) {
  switch (bytes) {
    case 1: return load_buffer<Element::U8>(wave, op, buffer, rows);
    case 2: return load_buffer<Element::U16>(wave, op, buffer, rows);
    case 4: return load_buffer<Element::B32>(wave, op, buffer, rows);
    case 8: return load_buffer<Element::B64>(wave, op, buffer, rows);
    case 12: return load_buffer<Element::B96>(wave, op, buffer, rows);
    default: return load_buffer<Element::B128>(wave, op, buffer, rows);
  }
}
Flow store_elements(Wave& wave, const Operation& op, const BufferAddresses& buffer, u32 bytes,
                    const u32* rows) {
  switch (bytes) {
    case 1: return store_buffer<Element::U8>(wave, op, buffer, rows);
    case 2: return store_buffer<Element::U16>(wave, op, buffer, rows);
    case 4: return store_buffer<Element::B32>(wave, op, buffer, rows);
    case 8: return store_buffer<Element::B64>(wave, op, buffer, rows);
    case 12: return store_buffer<Element::B96>(wave, op, buffer, rows);
    default: return store_buffer<Element::B128>(wave, op, buffer, rows);
  }
}

// Component i of a lane's element, in rows of `lanes` words.
u32 component(const BufferFormat& format, const u32* rows, u32 lanes, u32 lane, u32 i) {
  u32 first = 0;
  for (u32 k = 0; k < i; ++k) first += format.bits[k];
  const u32 bits = rows[first / 32 * lanes + lane] >> first % 32;
  return format.bits[i] == 32 ? bits : bits & ((1u << format.bits[i]) - 1);
}
void add_component(const BufferFormat& format, u32* rows, u32 lanes, u32 lane, u32 i, u32 bits) {
  u32 first = 0;
  for (u32 k = 0; k < i; ++k) first += format.bits[k];
  rows[first / 32 * lanes + lane] |= bits << first % 32;
}

// The value of register i: 0 for components that the format lacks. Beyond the buffer all components
// are 0, but a constant 1 stays 1. ["DST_SEL identity: X000, XY00, XYZ0 or XYZW", CDNA3 ISA 9.1.4,
// RDNA3 ISA 9.3; ROCm/rocm-systems rocjitsu buffer_format.cpp, unpack_format]
u32 selected(const Typed& typed, const u32* rows, u32 lanes, u32 lane, u32 i) {
  const BufferFormat& format = typed.format;
  const u32 select = typed.order >> 3 * i & 7;
  if (select == 1) return format.is_integer() ? 1 : 0x3f800000;
  if (select < 4 || format.bits[select - 4] == 0) return 0;
  return component_to_register(component(format, rows, lanes, lane, select - 4),
                               format.bits[select - 4], format.number);
}

// How registers hold components: one each, two halves each, or one in a high half.
enum class Packing : u8 { Words, Halves, HighHalf };

// The values of the first `count` registers.
template <u32 count, Packing packing>
Flow load_values(Wave& wave, const Operation& op, const BufferAddresses& buffer, const Typed& typed,
                 Rows& out) {
  Rows raw;
  const u32 bytes = typed.format.bytes(), lanes = wave.lanes;
  if (load_elements(wave, op, buffer, bytes, raw.word[0]) == Flow::Stop) return Flow::Stop;
  for (u64 left = wave.exec(); left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    for (u32 i = 0; i < count; ++i) {
      const u32 value = selected(typed, raw.word[0], lanes, lane, i);
      if (packing == Packing::Words) {
        out.word[i][lane] = value;
        continue;
      }
      const auto half = register_to_half(value, typed.format.number);
      if (!half) return stop_undocumented(wave, op, "of a value that no half holds");
      out.word[i][lane] = *half;
    }
  }
  return Flow::Next;
}

template <u32 count, Packing packing>
void write_registers(Wave& wave, const Operation& op, const Rows& values) {
  u32* const dst = wave.v + op.dst_row;
  const u32 lanes = wave.lanes;
  for_each_lane(wave.exec(), [&](u32 lane) {
    for (u32 i = 0; i < count; ++i) {
      const u32 value = values.word[i][lane];
      u32& word = dst[(packing == Packing::Words ? i : i / 2) * lanes + lane];
      if (packing == Packing::Words) {
        word = value;
      } else if (packing == Packing::HighHalf || i % 2 == 1) {
        word = (word & 0xffff) | value << 16;
      } else {
        word = (word & 0xffff0000) | value;
      }
    }
  });
}

template <bool in_instruction, u32 count, Packing packing>
Flow load(Wave& wave, const Operation& op) {
  const auto typed = typed_of<in_instruction>(wave, op);
  if (!typed) return stop_undocumented(wave, op, "with no format");
  return with_buffer(wave, op, BufferUse::Format, [&](const BufferAddresses& buffer) {
    Rows values;
    if (load_values<count, packing>(wave, op, buffer, *typed, values) == Flow::Stop) {
      return Flow::Stop;
    }
    write_registers<count, packing>(wave, op, values);
    return Flow::Next;
  });
}

Flow load_to_lds(Wave& wave, const Operation& op) {
  const auto typed = typed_of<false>(wave, op);
  if (!typed) return stop_undocumented(wave, op, "with no format");
  return with_buffer(wave, op, BufferUse::Format, [&](const BufferAddresses& buffer) {
    Rows values;
    if (load_values<1, Packing::Words>(wave, op, buffer, *typed, values) == Flow::Stop) {
      return Flow::Stop;
    }
    return store_to_lds<Element::B32>(wave, op, values.word[0]);
  });
}

template <bool in_instruction, u32 count, Packing packing>
Flow store(Wave& wave, const Operation& op) {
  const auto typed = typed_of<in_instruction>(wave, op);
  if (!typed) return stop_undocumented(wave, op, "with no format");
  // Components without a register of the instruction are undefined.
  const BufferFormat& format = typed->format;
  if (format.components() > count) {
    return stop_undocumented(wave, op, "of fewer components than the format has");
  }
  if ((typed->order ^ kInOrder) & ((1u << 3 * format.components()) - 1)) {
    return stop_undocumented(wave, op, "in another order");
  }
  Rows raw{};
  const u32* const src = wave.v + op.src[kData].row;
  const u32 lanes = wave.lanes;
  for (u64 left = wave.exec(); left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    for (u32 i = 0; i < format.components(); ++i) {
      const u32 word = src[(packing == Packing::Words ? i : i / 2) * lanes + lane];
      const bool high = packing == Packing::HighHalf || i % 2 == 1;
      const u32 value = packing == Packing::Words
                            ? word
                            : half_to_register(word >> (high ? 16 : 0) & 0xffff, format.number);
      const auto bits = register_to_component(value, format.bits[i], format.number);
      if (!bits) return stop_undocumented(wave, op, "of a value that the format does not hold");
      add_component(format, raw.word[0], lanes, lane, i, *bits);
    }
  }
  return with_buffer(wave, op, BufferUse::Format, [&](const BufferAddresses& buffer) {
    return store_elements(wave, op, buffer, format.bytes(), raw.word[0]);
  });
}

constexpr u8 rows_for(u32 count, Packing packing) {
  return static_cast<u8>(packing == Packing::Words ? count : (count + 1) / 2);
}
template <bool in_instruction, u32 count, Packing packing>
constexpr Entry load_entry(std::string_view name) {
  return {name,
          {.flags = kMemory, .wide = {rows_for(count, packing), 1, 0, 0, 0}},
          &load<in_instruction, count, packing>};
}
template <bool in_instruction, u32 count, Packing packing>
constexpr Entry store_entry(std::string_view name) {
  return {name,
          {.flags = kMemory, .wide = {0, 1, rows_for(count, packing), 0, 0}},
          &store<in_instruction, count, packing>};
}

#define DOORBELL_TYPED(PREFIX, IN)                                         \
  load_entry<IN, 1, Packing::Words>(PREFIX "_LOAD_FORMAT_X"),              \
      load_entry<IN, 2, Packing::Words>(PREFIX "_LOAD_FORMAT_XY"),         \
      load_entry<IN, 3, Packing::Words>(PREFIX "_LOAD_FORMAT_XYZ"),        \
      load_entry<IN, 4, Packing::Words>(PREFIX "_LOAD_FORMAT_XYZW"),       \
      load_entry<IN, 1, Packing::Halves>(PREFIX "_LOAD_FORMAT_D16_X"),     \
      load_entry<IN, 2, Packing::Halves>(PREFIX "_LOAD_FORMAT_D16_XY"),    \
      load_entry<IN, 3, Packing::Halves>(PREFIX "_LOAD_FORMAT_D16_XYZ"),   \
      load_entry<IN, 4, Packing::Halves>(PREFIX "_LOAD_FORMAT_D16_XYZW"),  \
      store_entry<IN, 1, Packing::Words>(PREFIX "_STORE_FORMAT_X"),        \
      store_entry<IN, 2, Packing::Words>(PREFIX "_STORE_FORMAT_XY"),       \
      store_entry<IN, 3, Packing::Words>(PREFIX "_STORE_FORMAT_XYZ"),      \
      store_entry<IN, 4, Packing::Words>(PREFIX "_STORE_FORMAT_XYZW"),     \
      store_entry<IN, 1, Packing::Halves>(PREFIX "_STORE_FORMAT_D16_X"),   \
      store_entry<IN, 2, Packing::Halves>(PREFIX "_STORE_FORMAT_D16_XY"),  \
      store_entry<IN, 3, Packing::Halves>(PREFIX "_STORE_FORMAT_D16_XYZ"), \
      store_entry<IN, 4, Packing::Halves>(PREFIX "_STORE_FORMAT_D16_XYZW")

constexpr Entry kTable[] = {
    DOORBELL_TYPED("BUFFER", false),
    DOORBELL_TYPED("TBUFFER", true),
    {"BUFFER_LOAD_FORMAT_X_LDS", {.flags = kMemory | kM0Address | kCopiesToLds}, &load_to_lds},
    load_entry<false, 1, Packing::HighHalf>("BUFFER_LOAD_FORMAT_D16_HI_X"),
    store_entry<false, 1, Packing::HighHalf>("BUFFER_STORE_FORMAT_D16_HI_X"),
};

}  // namespace

HandlerTable typed_buffers_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
