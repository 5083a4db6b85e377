// Matrix products of four warps, from shared memory. [PTX ISA 9.0, "Asynchronous Warpgroup Level
// Matrix Multiply-Accumulate Instructions": "Register Fragments", "Matrix Descriptor Format",
// "wgmma.mma_async"; the canonical layouts: NVIDIA/cutlass
// include/cute/atom/mma_traits_sm90_gmma.hpp, make_gmma_desc]
//
// Each warp makes its sixteen rows when it comes to the instruction, which is one of the orders
// that an asynchronous product may have. For the order of additions see matrix.cc.
#include "tests/emulator/nv/ptx/matrix.h"

namespace doorbell::ptx {

namespace {

constexpr u32 kRows = 64, kWarpRows = 16, kWarps = 4, kUnit = 16;  // bytes of a unit

// A matrix in shared memory: of A `row` counts rows, of B columns.
class Descriptor {
 public:
  // `major`: rows lie along the output, not along the depth.
  Descriptor(u64 bits, bool major, u32 element_bytes)
      : start_(field(bits, 0, 14) * kUnit),
        leading_(field(bits, 16, 14) * kUnit),
        stride_(field(bits, 32, 14) * kUnit),
        base_(field(bits, 49, 3)),
        swizzle_(field(bits, 62, 2)),
        major_(major),
        bytes_(element_bytes) {}

  bool is_known() const { return base_ == 0; }
  u32 address(u32 row, u32 k) const {
    // The units of a swizzled row: 128, 64 or 32 bytes of them.
    const u32 width = swizzle_ == 0 ? 1 : 16u >> swizzle_, in_unit = kUnit / bytes_;
    const u32 outer = major_ ? row : k, unit = outer / in_unit;
    u32 offset = outer % in_unit * bytes_;
    if (swizzle_ == 0) {
      offset += major_ ? unit * stride_ + k % 8 * kUnit + k / 8 * leading_
                       : unit * leading_ + row % 8 * kUnit + row / 8 * stride_;
    } else {
      const u32 line = major_ ? k : row;
      offset += unit % width * kUnit + line % 8 * width * kUnit + line / 8 * stride_;
      if (major_) offset += unit / width * leading_;
    }
    const u32 at = start_ + offset;
    return at ^ (at >> 3 & (width - 1) * kUnit);
  }

 private:
  static u32 field(u64 bits, u32 first, u32 count) {
    return static_cast<u32>(bits >> first & mask_of(count));
  }
  u32 start_, leading_, stride_, base_, swizzle_;
  bool major_;
  u32 bytes_;
};

// Rows first to first + count - 1, `depth` elements each; empty after a fault.
std::vector<f64> load(Thread& t, const Descriptor& from, u32 first, u32 count, u32 depth,
                      const Type& type) {
  const u32 bytes = type.bits / 8;
  std::vector<f64> values;
  for (u32 row = first; row < first + count; ++row) {
    for (u32 k = 0; k < depth; ++k) {
      const u8* at = t.memory(Space::Shared, from.address(row, k), bytes);
      if (at == nullptr) return {};
      u64 bits = 0;
      std::memcpy(&bits, at, bytes);
      values.push_back(value_of(bits, type));
    }
  }
  return values;
}

void fail_all(Group& group, const char* message) {
  group.each([&](Thread& t) { t.fail(message); });
}

// wgmma.mma_async.sync.aligned.m64nNkK.d.a.b d, a-desc, b-desc, scale-d{, imm-scale-a,
// imm-scale-b{, imm-trans-a, imm-trans-b}};
void multiply(Group& group, const Instruction& op) {
  const auto [rows, columns, depth] = op.shape;
  if (group.mask() != ~u32{0} || group.threads[0]->block->threads.size() % (kWarps * kWarp) != 0)
    return fail_all(group, "wgmma is of groups of four whole warps");
  if (rows != kRows || op.types.size() != 3 || op.operands[1].kind != Operand::Kind::Register)
    return fail_all(group, "wgmma is known of m64 and factors in shared memory");
  Thread& first = *group.threads[0];
  const auto immediate = [&](usize at, u64 otherwise) {
    return at < op.operands.size() ? first.read(op.operands[at]) : otherwise;
  };
  const bool is_float = op.types[0].is_float();
  const Type &of_a = op.types[1], &of_b = op.types[2];
  const Descriptor a_at(first.read(op.operands[1]), immediate(6, 0) != 0, of_a.bits / 8);
  const Descriptor b_at(first.read(op.operands[2]), immediate(7, 0) != 0, of_b.bits / 8);
  if (!a_at.is_known() || !b_at.is_known())
    return fail_all(group, "a descriptor with an offset of its base is not known");
  const u32 warp = first.number / kWarp % kWarps;
  const std::vector<f64> a = load(first, a_at, warp * kWarpRows, kWarpRows, depth, of_a);
  const std::vector<f64> b = load(first, b_at, 0, columns, depth, of_b);
  if (!first.fault.empty()) return;
  const f64 sign = is_float && (immediate(4, 1) == 1) != (immediate(5, 1) == 1) ? -1 : 1;
  const bool adds = first.read(op.operands[3]) != 0;

  const Sums sums{op.types[0]};
  group.each([&](Thread& t) {
    const u32 count = columns * kWarpRows / kWarp;
    std::vector<u64> words(count / sums.per_word());
    for (u32 e = 0; e < count; ++e) {
      // As of mma.m16n8: two neighbours in a row, the same eight rows below, then the next columns.
      const u32 row = t.lane() / 4 + 8 * (e / 2 % 2), column = e / 4 * 8 + t.lane() % 4 * 2 + e % 2;
      f64 sum = adds ? sums.read(t, op.operands[0], e) : 0;
      for (u32 k = 0; k < depth; ++k) sum += sign * a[row * depth + k] * b[column * depth + k];
      words[e / sums.per_word()] |= sums.encoded(sum) << (16 * (e % sums.per_word()));
    }
    for (usize word = 0; word < words.size(); ++word)
      t.write(op.operands[0].parts[word], words[word]);
  });
}

// wgmma.fence, wgmma.commit_group, wgmma.wait_group: what they order has been done.
void wgmma(Group& group, const Instruction& op) {
  if (op.has(Word::MmaAsync)) multiply(group, op);
}

}  // namespace

std::vector<HandlerEntry> warpgroup_handlers() { return {{"wgmma", nullptr, wgmma}}; }

}  // namespace doorbell::ptx
