// The fields of DS, FLAT (GLOBAL, SCRATCH) and buffer instructions, per generation.
// [LLVM DSInstructions.td, FLATInstructions.td, BUFInstructions.td: classes DS_Real, FLAT_Real,
// VFLAT_Real, MUBUF_Real, VBUFFER_Real; the ISA documents' chapters "Microcode formats"]
#include "emulator/amd/isa/decode/decode_memory.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kFirstAccumulator = 256;  // of the rows in Wave::v
constexpr u32 kNoAddressGfx9 = 0x7f;    // in FLAT's saddr: none; from gfx10 on NULL says so

bool bit(u32 word, u32 at) { return (word >> at & 1) != 0; }

// Cache bits as LLVM's cpol operand has them: isa/memory/memory.h.
u32 cache_policy(bool glc, bool slc, bool dlc, bool scc = false) {
  return u32{glc} | u32{slc} << 1 | u32{dlc} << 2 | u32{scc} << 4;
}
// gfx12: th and scope, from the second word of VFLAT and VBUFFER.
u32 cache_policy_gfx12(u32 word) { return field(word, 22, 20) | field(word, 19, 18) << 3; }

struct Fields {
  u32 address = 0, data = 0, data1 = 0, dst = 0;
  bool accumulators = false;  // data and dst are accumulation registers
};

void set_vectors(const Decoder& decoder, const Fields& fields, Operation& op) {
  const u32 base = fields.accumulators ? kFirstAccumulator : 0;
  op.src[kAddress] = decoder.vector_source(fields.address);
  op.src[kData] = decoder.vector_source(base + fields.data);
  op.src[kData1] = decoder.vector_source(base + fields.data1);
  op.dst = static_cast<u16>(base + fields.dst);
  op.dst_row = op.dst * decoder.lanes();
}

void decode_lds(const Decoder& decoder, Operation& op) {
  const u32 low = op.words[0], high = op.words[1];
  const bool gfx9 = decoder.chip().generation == Generation::Gfx9;
  set_vectors(decoder,
              {.address = field(high, 7, 0),
               .data = field(high, 15, 8),
               .data1 = field(high, 23, 16),
               .dst = field(high, 31, 24),
               .accumulators = gfx9 && bit(low, 25)},
              op);
  op.immediate = field(low, 15, 0);
  if (bit(low, gfx9 ? 16 : 17)) op.flags |= kMemoryGds;
}

// Scalar operand code of an address; None where the instruction has none.
void set_scalar_address(const Decoder& decoder, u32 code, Operation& op) {
  const Chip& chip = decoder.chip();
  const bool none = code == kNoAddressGfx9 || (chip.has_null() && code == chip.null_code());
  op.src[kScalarAddress] = {};
  if (none) return;
  op.src[kScalarAddress] = {.kind = Source::Kind::Scalar, .index = decoder.scalar_register(code)};
}

void decode_flat_gfx12(const Decoder& decoder, Operation& op) {
  const u32 low = op.words[0], middle = op.words[1], high = op.words[2];
  set_vectors(
      decoder,
      {.address = field(high, 7, 0), .data = field(middle, 30, 23), .dst = field(middle, 7, 0)},
      op);
  set_scalar_address(decoder, field(low, 6, 0), op);
  op.immediate = sign_extend(field(high, 31, 8), 24);
  op.control = cache_policy_gfx12(middle);
  if ((op.control & 1) != 0) op.flags |= kMemoryReturns;
  const u32 segment = field(low, 25, 24);  // 0 flat, 1 scratch, 2 global
  if (segment == 0) op.flags |= kMemoryFlat;
  if (segment == 1 && !bit(middle, 17)) op.src[kAddress] = {};
}

void decode_flat(const Decoder& decoder, Operation& op) {
  const Generation generation = decoder.chip().generation;
  const u32 low = op.words[0], high = op.words[1];
  const bool gfx9 = generation == Generation::Gfx9, gfx11 = generation == Generation::Gfx11;
  const bool gfx940 = decoder.chip().architected_flat_scratch && gfx9;
  set_vectors(decoder,
              {.address = field(high, 7, 0),
               .data = field(high, 15, 8),
               .dst = field(high, 31, 24),
               .accumulators = gfx9 && bit(high, 23)},
              op);
  const u32 scalar = field(high, 22, 16);
  set_scalar_address(decoder, scalar, op);
  const u32 segment = gfx11 ? field(low, 17, 16) : field(low, 15, 14);
  if (segment == 0) {
    op.flags |= kMemoryFlat;
    op.src[kScalarAddress] = {};  // FLAT does not have the field
  }
  if (generation == Generation::Gfx10) {
    // FLAT's offset is unsigned.
    op.immediate = segment == 0 ? field(low, 10, 0) : sign_extend(field(low, 11, 0), 12);
    op.control = cache_policy(bit(low, 16), bit(low, 17), bit(low, 12));
  } else {
    op.immediate = segment == 0 && gfx9 ? field(low, 11, 0) : sign_extend(field(low, 12, 0), 13);
    op.control = gfx11 ? cache_policy(bit(low, 14), bit(low, 15), bit(low, 13))
                       : cache_policy(bit(low, 16), bit(low, 17), false, gfx940 && bit(low, 25));
  }
  if ((op.control & 1) != 0) op.flags |= kMemoryReturns;
  if (segment != 1) return;
  // Scratch: which of the two addresses are used.
  const bool vector =
      gfx11    ? bit(high, 23)
      : gfx940 ? bit(low, 13)
               : op.src[kScalarAddress].kind == Source::Kind::None && scalar != kNoAddressGfx9;
  const bool vector_gfx9 = gfx9 && !gfx940 && scalar == kNoAddressGfx9;
  if (!vector && !vector_gfx9) op.src[kAddress] = {};
}

void decode_buffer(const Decoder& decoder, Operation& op) {
  const Generation generation = decoder.chip().generation;
  const u32 low = op.words[0], high = op.words[1];
  const bool gfx11 = generation == Generation::Gfx11, gfx9 = generation == Generation::Gfx9;
  const bool gfx940 = decoder.chip().architected_flat_scratch && gfx9;
  const u32 switches = gfx11 ? high >> 22 : low >> 12;  // offen, idxen
  const bool typed = low >> 26 == 0x3a;                 // MTBUF
  set_vectors(decoder,
              {.address = field(high, 7, 0),
               .data = field(high, 15, 8),
               .dst = field(high, 15, 8),
               .accumulators = gfx9 && bit(high, 23)},
              op);
  op.src[kScalarAddress] = {.kind = Source::Kind::Scalar,
                            .index = static_cast<u16>(field(high, 20, 16) * 4)};
  op.src[kScalarOffset] = decoder.source(field(high, 31, 24), Type::B32, 0);
  op.immediate = field(low, 11, 0);
  if (bit(switches, 0)) op.flags |= kMemoryOffset;
  if (bit(switches, 1)) op.flags |= kMemoryIndex;
  if (gfx11) {
    op.control = cache_policy(bit(low, 14), bit(low, 12), bit(low, 13));
  } else if (gfx9) {
    const bool slc = typed ? bit(high, 22) : bit(low, 17);
    const bool scc = typed ? bit(high, 21) : bit(low, 15);
    op.control = cache_policy(bit(low, 14), slc, false, gfx940 && scc);
  } else {
    op.control = cache_policy(bit(low, 14), bit(high, 22), bit(low, 15));
  }
  if ((op.control & 1) != 0) op.flags |= kMemoryReturns;
}

void decode_buffer_gfx12(const Decoder& decoder, Operation& op) {
  const u32 low = op.words[0], middle = op.words[1], high = op.words[2];
  set_vectors(
      decoder,
      {.address = field(high, 7, 0), .data = field(middle, 7, 0), .dst = field(middle, 7, 0)}, op);
  op.src[kScalarAddress] = {.kind = Source::Kind::Scalar,
                            .index = static_cast<u16>(field(middle, 17, 9))};
  op.src[kScalarOffset] = decoder.source(field(low, 6, 0), Type::B32, 0);
  op.immediate = sign_extend(field(high, 31, 8), 24);
  if (bit(middle, 30)) op.flags |= kMemoryOffset;
  if (bit(middle, 31)) op.flags |= kMemoryIndex;
  op.control = cache_policy_gfx12(middle);
  if ((op.control & 1) != 0) op.flags |= kMemoryReturns;
}

}  // namespace

void decode_memory(const Decoder& decoder, Format format, Operation& op) {
  const bool gfx12 = decoder.chip().generation == Generation::Gfx12;
  switch (format) {
    case Format::Ds: decode_lds(decoder, op); break;
    case Format::Flat: gfx12 ? decode_flat_gfx12(decoder, op) : decode_flat(decoder, op); break;
    case Format::Buffer:
      gfx12 ? decode_buffer_gfx12(decoder, op) : decode_buffer(decoder, op);
      break;
    default: break;
  }
}

}  // namespace doorbell::emu::amdgpu
