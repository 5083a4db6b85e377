// Reads a matrix instruction's words, and writes its results to registers.
#include "emulator/amd/isa/matrix/matrix_operation.h"

#include <algorithm>
#include <limits>

#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/scalar/scalar_op.h"

namespace doorbell::emu::amdgpu {

namespace {

// CBSZ and BLGP of *_F8F6F4. [CDNA4 ISA, "Matrix arithmetic", formats of F8F6F4]
Number said_number(u32 code) {
  constexpr Number kNumbers[] = {Number::Fp8, Number::Bf8, Number::Fp6, Number::Bf6, Number::Fp4};
  return kNumbers[std::min(code, 4u)];
}

// The scales that a 9-bit operand names: a register's words, or the same for all lanes. Decoding
// rejects other codes.
void read_scales(const Wave& wave, u32 code, u32* out) {
  constexpr u32 kFirstVector = 256;
  Source source{.kind = Source::Kind::Scalar, .index = static_cast<u16>(code)};
  if (code >= kFirstVector) {
    std::copy_n(wave.v + (code - kFirstVector) * wave.lanes, wave.lanes, out);
    return;
  }
  if (code >= 128)
    source = {.kind = Source::Kind::Constant, .value = code <= 192 ? code - 128 : 192 - code};
  std::fill_n(out, wave.lanes, read_32(wave, source));
}

void read_mfma(const Wave& wave, const Operation& op, MatrixOperation& what) {
  const u32 low = op.words[0], high = op.words[1];
  const u32 cbsz = field(low, 10, 8), abid = field(low, 14, 11), blgp = field(high, 31, 29);
  const MatrixShape& shape = what.shape();
  what.fnuz = wave.chip->name == "gfx942";
  if (shape.sparse) {
    what.index_set = cbsz == 0 ? abid : 0;
  } else if (shape.a == Number::F64) {
    what.negate = blgp;
  } else if (shape.a == Number::Said) {
    MatrixShape said = shape;
    said.a = said_number(cbsz);
    said.b = said_number(blgp);
    what.layout = MatrixLayout(said, wave.lanes, false);
  } else {
    what.broadcast_size = cbsz;
    what.broadcast_block = abid;
    what.broadcast_lanes = blgp;
  }
  if (op.size != kScaledBytes) return;
  what.scaled = true;
  const u32 op_sel = field(op.words[2], 12, 11), op_sel_high = field(op.words[3], 28, 27);
  for (u32 operand = 0; operand < 2; ++operand) {
    what.scale_byte[operand] = (op_sel >> operand & 1) | (op_sel_high >> operand & 1) << 1;
    read_scales(wave, scale_operands(op)[operand], what.scales[operand]);
  }
}

}  // namespace

MatrixOperation read_matrix_operation(const Wave& wave, const Operation& op,
                                      const MatrixShape& shape) {
  const bool gfx12 = wave.chip->generation == Generation::Gfx12;
  MatrixOperation what{.layout = MatrixLayout(shape, wave.lanes, gfx12)};
  if (shape.family == MatrixFamily::Mfma) {
    read_mfma(wave, op, what);
    return what;
  }
  const u32 low = op.words[0], high = op.words[1];
  what.clamp = field(low, 15, 15) != 0;
  what.negate = field(high, 31, 29);
  what.negate_high = field(low, 10, 8);
  (shape.sparse ? what.index_set : what.op_sel) = field(low, 13, 11);
  return what;
}

MatrixRows matrix_rows(const Wave& wave, const Operation& op, const MatrixShape& shape) {
  const bool mfma = shape.family == MatrixFamily::Mfma;
  // Which operands are accumulation registers: C and D together. Indices never are.
  const u32 accumulators = kFirstAccumulator * wave.lanes;
  const u32 acc_ab = mfma ? field(op.words[1], 28, 27) : 0;
  const u32 acc_cd = mfma && field(op.words[0], 15, 15) != 0 ? accumulators : 0;
  const Source& c = op.src[shape.sparse ? 3 : 2];
  return {.a = wave.v + op.src[0].row + ((acc_ab & 1) != 0 ? accumulators : 0),
          .b = wave.v + op.src[1].row + ((acc_ab & 2) != 0 ? accumulators : 0),
          .c = c.kind == Source::Kind::Vector ? wave.v + c.row + acc_cd : nullptr,
          .index = wave.v + op.src[2].row,
          .d = wave.v + op.dst_row + acc_cd};
}

// [CDNA3 ISA, "Broadcasting values"]
u32 broadcast_lane(u32 blgp, u32 lane) {
  switch (blgp) {
    case 1: return lane % 32;
    case 2: return 32 + lane % 32;
    case 3: return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7: return (blgp - 4) * 16 + lane % 16;
    default: return lane;
  }
}

// CBSZ makes 2^cbsz blocks share the one that ABID says.
u32 input_block(const MatrixOperation& what, u32 block) {
  const u32 size = 1u << what.broadcast_size;
  if (what.broadcast_size == 0 || size > what.shape().blocks) return block;
  return block / size * size + what.broadcast_block % size;
}

// A pair of held elements has four bits. [CDNA3 ISA, "Sparse matrices"; RDNA4 ISA, "SWMMAC"]
u32 sparse_column(const MatrixOperation& what, const u32* index, u32 lane, u32 e, u32 column) {
  const u32 set_bits = 2 * what.layout.inputs_per_lane(0);
  const u32 set = what.index_set % (32 / set_bits);
  return column / 2 * 4 + (index[lane] >> (set * set_bits + 2 * e) & 3);
}

void write_sum(const MatrixOperation& what, u32* row, u32 lanes, u32 lane, u32 r, i64 sum) {
  constexpr i64 kLow = std::numeric_limits<i32>::min(), kHigh = std::numeric_limits<i32>::max();
  row[lane + r * lanes] = static_cast<u32>(what.clamp ? std::clamp(sum, kLow, kHigh) : sum);
}

void write_sum(const MatrixOperation& what, u32* row, u32 lanes, u32 lane, u32 r, f64 sum) {
  if (what.shape().result != Number::F64) {
    return write_sum(what, row, lanes, lane, r, static_cast<f32>(sum));
  }
  const u64 bits = std::bit_cast<u64>(sum);
  row[lane + 2 * r * lanes] = static_cast<u32>(bits);
  row[lane + (2 * r + 1) * lanes] = static_cast<u32>(bits >> 32);
}

void write_sum(const MatrixOperation& what, u32* row, u32 lanes, u32 lane, u32 r, f32 sum) {
  const Number result = what.shape().result;
  const u32 bits = float_to_element(sum, result);
  if (bits_of(result) == 32) {
    row[lane + r * lanes] = bits;
    return;
  }
  const bool packed = what.layout.packed_results();
  const bool high = packed ? r % 2 != 0 : (what.op_sel & 4) != 0;
  u32& word = row[lane + (packed ? r / 2 : r) * lanes];
  word = high ? (word & 0xffff) | bits << 16 : (word & 0xffff0000) | bits;
}

}  // namespace doorbell::emu::amdgpu
