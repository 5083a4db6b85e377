// Matrix products of a warp, and the loads of their operands. [PTX ISA 9.0, "Warp-level Matrix
// Instructions": the tables of each shape's fragments; "ldmatrix", "movmatrix"]
//
// The order in which products are added is unspecified; so is their rounding. Here they are added
// in f64, so that tests whose sums are exact agree with any order.
#include <bit>
#include <cstring>

#include "tests/emulator/nv/ptx/machine.h"
#include "tests/emulator/nv/ptx/matrix.h"

namespace doorbell::ptx {

namespace {

// Where an element of a fragment lies. Of A and B, a register has 32 bits of elements along the
// depth; a thread's place in its group of four says which, its group says the row or column.
struct Place {
  u32 row, column;
};
Place place_in_a(u32 lane, u32 word, u32 element, u32 per_word) {
  return {lane / 4 + 8 * (word % 2), lane % 4 * per_word + element + 4 * per_word * (word / 2)};
}
Place place_in_b(u32 lane, u32 word, u32 element, u32 per_word) {
  return {lane % 4 * per_word + element + 4 * per_word * word, lane / 4};
}
// Of the sums, two neighbours in a row, then the same eight rows below.
Place place_in_c(u32 lane, u32 element) {
  return {lane / 4 + 8 * (element / 2), lane % 4 * 2 + element % 2};
}

// mma.sync.aligned.m16nNkK.row.col.d.a.b.c d, a, b, c;
void mma(Group& group, const Instruction& op) {
  const auto [rows, columns, depth] = op.shape;
  const Type &of_a = op.types[1], &of_b = op.types[2];
  if (group.mask() != ~u32{0} || rows != 16 || columns != 8 || op.types.size() != 4 ||
      of_a.format == &kF64) {
    for (Thread* t : group.threads)
      if (t != nullptr) t->fail("mma is known of whole warps and shapes m16n8");
    return;
  }
  std::vector<f64> a(usize{rows} * depth), b(usize{depth} * columns);
  const u32 per_word = 32 / of_a.bits;
  group.each([&](Thread& t) {
    for (u32 word = 0; word < op.operands[1].parts.size(); ++word) {
      for (u32 e = 0; e < per_word; ++e) {
        const Place at = place_in_a(t.lane(), word, e, per_word);
        a[at.row * depth + at.column] =
            value_of(t.read(op.operands[1].parts[word]) >> (e * of_a.bits), of_a);
      }
    }
    for (u32 word = 0; word < op.operands[2].parts.size(); ++word) {
      for (u32 e = 0; e < per_word; ++e) {
        const Place at = place_in_b(t.lane(), word, e, per_word);
        b[at.row * columns + at.column] =
            value_of(t.read(op.operands[2].parts[word]) >> (e * of_b.bits), of_b);
      }
    }
  });
  const Sums to{op.types[0]}, from{op.types[3]};
  group.each([&](Thread& t) {
    u64 words[4] = {};
    for (u32 e = 0; e < 4; ++e) {
      const Place at = place_in_c(t.lane(), e);
      f64 sum = from.read(t, op.operands[3], e);
      for (u32 k = 0; k < depth; ++k) sum += a[at.row * depth + k] * b[k * columns + at.column];
      words[e / to.per_word()] |= to.encoded(sum) << (16 * (e % to.per_word()));
    }
    for (usize word = 0; word < op.operands[0].parts.size(); ++word)
      t.write(op.operands[0].parts[word], words[word]);
  });
}

// ldmatrix.sync.aligned.m8n8.xN{.trans}.shared.b16 {d...}, [row]: threads 8 i to 8 i + 7 name the
// rows of matrix i; a thread gets two neighbours of row lane / 4, transposed of column lane / 4.
void ldmatrix(Group& group, const Instruction& op) {
  const u32 matrices = op.has(Word::X4) ? 4 : op.has(Word::X2) ? 2 : 1;
  std::vector<u16> elements(matrices * 64);
  for (u32 row = 0; row < matrices * 8; ++row) {
    Thread* t = group.threads[row];
    const u8* from = t == nullptr ? nullptr : t->memory(op.space, t->read(op.operands[1]), 16);
    if (from != nullptr) std::memcpy(&elements[row * 8], from, 16);
  }
  group.each([&](Thread& t) {
    for (u32 i = 0; i < matrices; ++i) {
      u32 word = 0;
      for (u32 e = 0; e < 2; ++e) {
        const u32 major = t.lane() / 4, minor = t.lane() % 4 * 2 + e;
        const u32 at = op.has(Word::Trans) ? minor * 8 + major : major * 8 + minor;
        word |= u32{elements[i * 64 + at]} << (16 * e);
      }
      t.write(op.operands[0].parts[i], word);
    }
  });
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a;
void movmatrix(Group& group, const Instruction& op) {
  u16 elements[8][8] = {};
  group.each([&](Thread& t) {
    const u64 word = t.read(op.operands[1]);
    for (u32 e = 0; e < 2; ++e)
      elements[t.lane() / 4][t.lane() % 4 * 2 + e] = static_cast<u16>(word >> (16 * e));
  });
  group.each([&](Thread& t) {
    const u32 row = t.lane() / 4, column = t.lane() % 4 * 2;
    t.write(op.operands[0], u64{elements[column][row]} | u64{elements[column + 1][row]} << 16);
  });
}

}  // namespace

std::vector<HandlerEntry> matrix_handlers() {
  return {
      {"mma", nullptr, mma}, {"ldmatrix", nullptr, ldmatrix}, {"movmatrix", nullptr, movmatrix}};
}

}  // namespace doorbell::ptx
