// Integer instructions. Meanings: PTX ISA, "Integer arithmetic instructions", and Mesa's NAK
// (ir.rs, `Foldable`, whose results its hw_tests.rs compares with GPUs).
#include <algorithm>
#include <bit>

#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"
#include "emulator/nv/isa/undefined_bits.h"

namespace doorbell::emu::nvgpu {

namespace {

// Sums of three words and carries, and their two carries out.
struct Sums {
  alignas(64) u32 value[kLanes];
  u32 carry = 0, second_carry = 0;
};

u32 lanes_of_bit(u32 mask, u32 lane) { return mask >> lane & 1; }

// A negative source is its complement and one; with .X (an addition of higher words) only its
// complement, since the one came in with the lower words.
u64 addend(u32 value, const Source& source, bool extended) {
  if (!source.negative) return value;
  return u64{~value} + (extended ? 0 : 1);
}

template <class Compare>
u32 compare_rows(const Row& a, const Row& b, Compare compare) {
  u32 bits = 0;
  for (u32 i = 0; i < kLanes; ++i) bits |= static_cast<u32>(compare(a[i], b[i])) << i;
  return bits;
}

// Bits 76 to 78. An extended comparison takes the lower words' result where the words are equal.
u32 compare(const Warp& warp, const Operation& op) {
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  const u32 flip = op.bit(73) ? 0x8000'0000 : 0;  // signed
  const u32 less = compare_rows(a, b, [=](u32 x, u32 y) { return (x ^ flip) < (y ^ flip); });
  const u32 equal = compare_rows(a, b, [](u32 x, u32 y) { return x == y; });
  const u32 greater = ~(less | equal);
  const bool extended = op.bit(72);
  const u32 lower = predicate_of(warp, op.in_s, op.not_s);
  switch (op.field(76, 3)) {
    case 0: return 0;
    case 1: return extended ? less | (equal & lower) : less;
    case 2: return extended ? equal & lower : equal;
    case 3: return extended ? less | (equal & lower) : less | equal;
    case 4: return extended ? greater | (equal & lower) : greater;
    case 5: return extended ? ~equal | lower : ~equal;
    case 6: return extended ? greater | (equal & lower) : greater | equal;
    default: return kAllLanes;
  }
}

}  // namespace

Flow compare_integers(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op), result = compare(warp, op);
  const u32 with = predicate_of(warp, op.in_p, op.not_p);
  set_predicate(warp, op.p, combine_predicates(op.field(74, 2), result, with), mask);
  set_predicate(warp, op.q, combine_predicates(op.field(74, 2), ~result, with), mask);
  return Flow::Next;
}

Flow add3(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op);
  const bool extended = op.bit(74);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.b), &c = row_of(warp, op.c);
  if (!extended && (op.p & op.q & 7) == kTrue) {
    const u32 not_a = op.a.negative ? kAllLanes : 0, not_b = op.b.negative ? kAllLanes : 0,
              not_c = op.c.negative ? kAllLanes : 0;
    alignas(64) u32 out[kLanes];
    DOORBELL_NV_LANES
    for (u32 i = 0; i < kLanes; ++i)
      out[i] = (a[i] ^ not_a) - not_a + (b[i] ^ not_b) - not_b + (c[i] ^ not_c) - not_c;
    store_row(warp, op.dst, out, mask);
    return Flow::Next;
  }
  const u32 in = extended ? predicate_of(warp, op.in_p, op.not_p) : 0;
  const u32 second_in = extended ? predicate_of(warp, op.in_q, op.not_q) : 0;
  Sums sums;
  for (u32 i = 0; i < kLanes; ++i) {
    const u64 sum = addend(a[i], op.a, extended) + addend(b[i], op.b, extended) +
                    addend(c[i], op.c, extended) + lanes_of_bit(in, i) + lanes_of_bit(second_in, i);
    sums.value[i] = static_cast<u32>(sum);
    sums.carry |= static_cast<u32>(sum >> 32 != 0) << i;
    sums.second_carry |= static_cast<u32>(sum >> 33 != 0) << i;
  }
  store_row(warp, op.dst, sums.value, mask);
  set_predicate(warp, op.p, sums.carry, mask);
  set_predicate(warp, op.q, sums.second_carry, mask);
  return Flow::Next;
}

Flow add2(Warp& warp, const Operation& op) {
  if (op.field(73, 2) != 0) return unknown_instruction(warp, op);  // .16x2
  constexpr auto kLane = [](u32 a, u32 b, u32, const Operation& o) {
    return signed_word(a, o.a) + signed_word(b, o.x);
  };
  return on_words<kLane, Second::X>(warp, op);
}

// Of pairs of uniform registers, without carries.
Flow add3_64(Warp& warp, const Operation& op) {
  // How a negative immediate is extended is not known: compilers have other code for it.
  const bool immediate = op.form == 4 && !op.bit(63);
  if ((op.form != 1 && !immediate) || op.bit(74) || (op.p & op.q & 7) != kTrue)
    return unknown_instruction(warp, op);
  const u32 mask = warp.mask_of(op) != 0 ? kAllLanes : 0;
  const auto pair = [&](const Source& source, u32 lane) {
    const u64 value = row_of(warp, source, 0)[lane] | u64{row_of(warp, source, 1)[lane]} << 32;
    return source.negative ? 0 - value : value;
  };
  alignas(64) u32 low[kLanes], high[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const u64 sum = pair(op.a, i) + pair(op.b, i) + pair(op.c, i);
    low[i] = static_cast<u32>(sum), high[i] = static_cast<u32>(sum >> 32);
  }
  store_row(warp, op.dst, low, mask);
  store_row(warp, next_row(op.dst), high, mask);
  return Flow::Next;
}

// (a << h) + b; .HI: the high word of the shifted pair of c and a.
Flow scaled_add(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op), shift = op.field(75, 5);
  const bool extended = op.bit(74), high = op.bit(80), sign = op.bit(73);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x), &c = row_of(warp, op.e);
  const u32 in = extended ? predicate_of(warp, op.in_p, op.not_p) : 0;
  const bool negative = op.bit(72);
  Sums sums;
  for (u32 i = 0; i < kLanes; ++i) {
    u64 wide = a[i];
    if (high) {
      const u32 upper = sign ? static_cast<u32>(static_cast<i32>(a[i]) >> 31) : c[i];
      wide |= u64{upper} << 32;
    }
    if (negative) wide = 0 - wide;
    const u32 scaled = static_cast<u32>(high ? wide << shift >> 32 : wide << shift);
    const u64 sum = scaled + addend(b[i], op.x, extended) + lanes_of_bit(in, i);
    sums.value[i] = static_cast<u32>(sum);
    sums.carry |= static_cast<u32>(sum >> 32 != 0) << i;
  }
  store_row(warp, op.dst, sums.value, mask);
  set_predicate(warp, op.p, sums.carry, mask);
  return Flow::Next;
}

// Each bit of the result is the bit of the table that the three sources' bits number.
Flow logic3(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op), table = op.field(72, 8);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.b), &c = row_of(warp, op.c);
  u32 terms[8];
  for (u32 i = 0; i < 8; ++i) terms[i] = table >> i & 1 ? kAllLanes : 0;
  alignas(64) u32 out[kLanes];
  DOORBELL_NV_LANES
  for (u32 i = 0; i < kLanes; ++i) {
    const u32 x = a[i], y = b[i], z = c[i];
    out[i] = (~x & ~y & ~z & terms[0]) | (~x & ~y & z & terms[1]) | (~x & y & ~z & terms[2]) |
             (~x & y & z & terms[3]) | (x & ~y & ~z & terms[4]) | (x & ~y & z & terms[5]) |
             (x & y & ~z & terms[6]) | (x & y & z & terms[7]);
  }
  if ((op.p & 7) != kTrue) {
    u32 set = 0;
    for (u32 i = 0; i < kLanes; ++i) set |= static_cast<u32>(out[i] != 0) << i;
    const u32 with = predicate_of(warp, op.in_p, op.not_p);
    store_row(warp, op.dst, out, mask);
    set_predicate(warp, op.p, op.bit(80) ? set & with : set | with, mask);
    return Flow::Next;
  }
  store_row(warp, op.dst, out, mask);
  return Flow::Next;
}

Flow absolute(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32, u32 b, u32, const Operation&) {
    return static_cast<i32>(b) < 0 ? 0u - b : b;
  };
  return on_words<kLane, Second::X>(warp, op);
}

Flow absolute_difference(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32 a, u32 b, u32 c, const Operation& o) {
    const u32 flip = o.bit(73) ? 0x8000'0000 : 0;
    return ((a ^ flip) < (b ^ flip) ? b - a : a - b) + c;
  };
  return on_words<kLane, Second::B>(warp, op);
}

namespace {

// How the elements of a minimum or maximum are read: as i32 or u32, or as pairs of 16 bits.
struct MinimumOf {
  bool is_signed = false, pairs = false, relu = false;

  i64 element(u32 word, u32 index) const {
    if (!pairs) return is_signed ? i64{static_cast<i32>(word)} : i64{word};
    const u32 half = word >> (16 * index) & 0xffff;
    return is_signed ? i64{static_cast<i16>(half)} : i64{half};
  }
  // A sum wraps as its elements do.
  i64 wrapped(i64 value) const {
    return element(static_cast<u32>(pairs ? value & 0xffff : value), 0);
  }
};

// The predicate chooses the minimum; .RELU makes it at least 0. `on_chosen` gets the lane, the
// element and whether the first source is the result.
template <auto Values, class OnChosen>
Flow choose_minimum(Warp& warp, const Operation& op, MinimumOf of, OnChosen on_chosen) {
  const u32 mask = warp.mask_of(op), minimum = predicate_of(warp, op.in_p, op.not_p);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.b), &c = row_of(warp, op.c);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    out[i] = 0;
    for (u32 element = 0; element < (of.pairs ? 2 : 1); ++element) {
      const i64 x = of.element(a[i], element);
      i64 y = of.element(b[i], element);
      if (op.b.negative) y = of.wrapped(-y);
      const bool least = minimum >> i & 1;
      i64 value = Values(x, y, of.element(c[i], element), of, least);
      on_chosen(i, element, least ? x <= y : x >= y);
      if (of.relu) value = std::max<i64>(value, 0);
      const u32 bits = static_cast<u32>(value);
      out[i] |= of.pairs ? (bits & 0xffff) << (16 * element) : bits;
    }
  }
  store_row(warp, op.dst, out, mask);
  return Flow::Next;
}
constexpr auto kIgnoreChosen = [](u32, u32, bool) {};
constexpr auto kOfTwo = [](i64 a, i64 b, i64, const MinimumOf&, bool minimum) {
  return minimum ? std::min(a, b) : std::max(a, b);
};

// Bits 72, 73 and 76 [nvdisasm].
MinimumOf packed_minimum(const Operation& op) { return {op.bit(72), op.bit(73), op.bit(76)}; }

}  // namespace

Flow minimum_integer(Warp& warp, const Operation& op) {
  return choose_minimum<kOfTwo>(warp, op, {.is_signed = op.bit(73)}, kIgnoreChosen);
}
// The predicates say whether the first source is the result: of the low and of the high elements
// [CUDA Math API, "SIMD intrinsics", __vibmax_s16x2, which sm_86 computes by other instructions].
Flow minimum_vector(Warp& warp, const Operation& op) {
  if (op.field(74, 2) != 0 || op.bit(77)) return unknown_instruction(warp, op);
  const MinimumOf of = packed_minimum(op);
  u32 chosen[2] = {};
  const Flow flow = choose_minimum<kOfTwo>(warp, op, of, [&](u32 lane, u32 element, bool first) {
    chosen[element] |= static_cast<u32>(first) << lane;
  });
  set_predicate(warp, op.p, chosen[0], warp.mask_of(op));
  set_predicate(warp, op.q, chosen[of.pairs ? 1 : 0], warp.mask_of(op));
  return flow;
}
Flow minimum_of_three(Warp& warp, const Operation& op) {
  return choose_minimum<[](i64 a, i64 b, i64 c, const MinimumOf&, bool minimum) {
    return minimum ? std::min({a, b, c}) : std::max({a, b, c});
  }>(warp, op, packed_minimum(op), kIgnoreChosen);
}
Flow add_minimum(Warp& warp, const Operation& op) {
  return choose_minimum<[](i64 a, i64 b, i64 c, const MinimumOf& of, bool minimum) {
    const i64 sum = of.wrapped(a + b);
    return minimum ? std::min(sum, c) : std::max(sum, c);
  }>(warp, op, packed_minimum(op), kIgnoreChosen);
}

namespace {

// Bits 73 and 74: i64, u64, i32, u32; 75 wraps the count; 76 right; 80 the high word.
[[gnu::always_inline]] inline u32 funnel_lane(u32 low, u32 count, u32 high, const Operation& o) {
  const u32 type = o.field(73, 2), bits = type < 2 ? 64 : 32;
  const bool is_signed = type == 0 || type == 2;
  count = o.bit(75) ? count & (bits - 1) : std::min(count, bits);
  u64 value = low | u64{high} << 32;
  if (o.bit(76)) {
    if (is_signed) {
      value = static_cast<u64>(static_cast<i64>(value) >> std::min(count, 63u));
    } else {
      value = count >= 64 ? 0 : value >> count;
    }
  } else {
    value = count >= 64 ? 0 : value << count;
  }
  return static_cast<u32>(o.bit(80) ? value >> 32 : value);
}

}  // namespace

u32 funnel_shifted(u32 low, u32 count, u32 high, const Operation& op) {
  return funnel_lane(low, count, high, op);
}

Flow funnel_shift(Warp& warp, const Operation& op) {
  return on_words<funnel_lane, Second::B>(warp, op);
}

Flow sign_extend(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32 a, u32 b, u32, const Operation& o) {
    const u32 bits = o.bit(75) ? b & 31 : std::min(b, 32u);
    if (bits == 0) return 0u;
    if (bits == 32) return a;
    const u32 shifted = a << (32 - bits);
    return o.bit(73) ? static_cast<u32>(static_cast<i32>(shifted) >> (32 - bits))
                     : shifted >> (32 - bits);
  };
  return on_words<kLane, Second::X>(warp, op);
}

Flow bit_mask(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32 a, u32 b, u32, const Operation& o) {
    const u32 position = o.bit(75) ? a & 31 : std::min(a, 32u);
    const u32 width = o.bit(75) ? b & 31 : std::min(b, 32u);
    return static_cast<u32>(((u64{1} << width) - 1) << position);
  };
  return on_words<kLane, Second::X>(warp, op);
}

Flow multiply_add(Warp& warp, const Operation& op) {
  if (op.bit(74)) {  // .X: the third source's complement, and a carry
    const u32 mask = warp.mask_of(op), in = predicate_of(warp, op.in_p, op.not_p);
    const Row &a = row_of(warp, op.a), &b = row_of(warp, op.b), &c = row_of(warp, op.c);
    alignas(64) u32 out[kLanes];
    for (u32 i = 0; i < kLanes; ++i)
      out[i] = a[i] * b[i] + (op.c.negative ? ~c[i] : c[i]) + lanes_of_bit(in, i);
    store_row(warp, op.dst, out, mask);
    return Flow::Next;
  }
  constexpr auto kLane = [](u32 a, u32 b, u32 c, const Operation& o) {
    return a * b + signed_word(c, o.c);
  };
  return on_words<kLane, Second::B>(warp, op);
}

namespace {

// a * b + the pair c, of 65 bits: the carry is the second.
struct WideSum {
  u64 value;
  bool carry;
};
WideSum wide_sum(u32 a, u32 b, u64 c, u64 carry, bool is_signed, bool negative, bool extended) {
  const u64 product =
      is_signed ? static_cast<u64>(static_cast<i64>(static_cast<i32>(a)) * static_cast<i32>(b))
                : u64{a} * b;
  if (negative) c = extended ? ~c : 0 - c;
  const u64 sum = product + c;
  const u64 all = sum + carry;
  return {all, sum < product || all < sum};
}

template <bool high>
Flow multiply_wide(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op);
  const bool extended = op.bit(74);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.b);
  const Row &low = row_of(warp, op.c, 0), &upper = row_of(warp, op.c, 1);
  const u32 in = extended ? predicate_of(warp, op.in_p, op.not_p) : 0;
  alignas(64) u32 out[2][kLanes];
  u32 carry = 0;
  for (u32 i = 0; i < kLanes; ++i) {
    const WideSum sum = wide_sum(a[i], b[i], low[i] | u64{upper[i]} << 32, lanes_of_bit(in, i),
                                 op.bit(73), op.c.negative, extended);
    out[0][i] = static_cast<u32>(sum.value);
    out[1][i] = static_cast<u32>(sum.value >> 32);
    carry |= static_cast<u32>(sum.carry) << i;
  }
  if (high) {
    store_row(warp, op.dst, out[1], mask);
  } else {
    store_row(warp, op.dst, out[0], mask);
    store_row(warp, next_row(op.dst), out[1], mask);
  }
  set_predicate(warp, op.p, carry, mask);
  return Flow::Next;
}

}  // namespace

Flow multiply_add_wide(Warp& warp, const Operation& op) { return multiply_wide<false>(warp, op); }
Flow multiply_add_high(Warp& warp, const Operation& op) { return multiply_wide<true>(warp, op); }

// Bit 76 (.2A): the products of two halves with two bytes, the high ones with bit 77.
Flow dot_product_of_halves(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32 a, u32 b, u32 c, const Operation& o) {
    const bool signed_a = o.bit(73), signed_b = o.bit(74);
    if (o.bit(77)) b >>= 16;
    u32 sum = c;
    for (u32 i = 0; i < 2; ++i) {
      const u32 x = a >> (16 * i) & 0xffff, y = b >> (8 * i) & 0xff;
      const i32 p = signed_a ? static_cast<i16>(x) : static_cast<i32>(x);
      const i32 q = signed_b ? static_cast<i8>(y) : static_cast<i32>(y);
      sum += static_cast<u32>(p * q);
    }
    return sum;
  };
  return on_words<kLane, Second::B>(warp, op);
}

// .4A: four products of bytes. Bits 73 and 74: the first and second source are signed.
Flow dot_product(Warp& warp, const Operation& op) {
  if (op.bit(76)) return dot_product_of_halves(warp, op);
  constexpr auto kLane = [](u32 a, u32 b, u32 c, const Operation& o) {
    const bool signed_a = o.bit(73), signed_b = o.bit(74);
    u32 sum = c;
    for (u32 i = 0; i < 4; ++i) {
      const u32 x = a >> (8 * i) & 0xff, y = b >> (8 * i) & 0xff;
      const i32 p = signed_a ? static_cast<i8>(x) : static_cast<i32>(x);
      const i32 q = signed_b ? static_cast<i8>(y) : static_cast<i32>(y);
      sum += static_cast<u32>(p * q);
    }
    return sum;
  };
  return on_words<kLane, Second::B>(warp, op);
}

// The number of the highest bit that is set, or differs from the sign; none: all ones. .SH: how far
// it is from the top.
Flow find_leading_one(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32, u32 b, u32, const Operation& o) {
    if (o.x.negative) b = ~b;
    if (o.bit(73) && static_cast<i32>(b) < 0) b = ~b;
    if (b == 0) return kAllLanes;
    const u32 zeros = static_cast<u32>(std::countl_zero(b));
    return o.bit(74) ? zeros : 31 - zeros;
  };
  return on_words<kLane, Second::X>(warp, op);
}

Flow reverse_bits(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32, u32 b, u32, const Operation&) {
    u32 out = 0;
    for (u32 i = 0; i < 32; ++i) out |= (b >> i & 1) << (31 - i);
    return out;
  };
  return on_words<kLane, Second::X>(warp, op);
}

Flow count_ones(Warp& warp, const Operation& op) {
  constexpr auto kLane = [](u32, u32 b, u32, const Operation& o) {
    return static_cast<u32>(std::popcount(o.x.negative ? ~b : b));
  };
  return on_words<kLane, Second::X>(warp, op);
}

}  // namespace doorbell::emu::nvgpu
