// How handlers of vector instructions are made from lambdas over one lane's values. A lambda's
// parameter types say how its operands are read, its result type how the result is stored:
//
//   u32, i32, f32         one register
//   u64, i64, f64         two
//   u16, i16, Half, BHalf  half of one (emulator/core/number/number.h)
//   bool                  a lane's bit of a mask in scalar registers
//
// Each handler exists twice, for any x86-64 and for CPUs with AVX2, FMA and F16C, and its loops run
// over 32 lanes, which the compiler vectorises. Unmodified vector registers are read in place;
// other operands (constants, scalars, modifiers, DPP, SDWA, halves) are first expanded to a row of
// lanes (vector_operand.cc). Results go directly to the register if nothing modifies them and all
// lanes are active, otherwise through a buffer.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emulator/amd/isa/scalar/scalar_op.h"

// GCC 12 reads > and >> inside a template argument's lambda as its end: they stand in parentheses.

#define DOORBELL_FAST_CPU \
  [[gnu::target("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c"), gnu::flatten, gnu::noinline]]
#define DOORBELL_ANY_CPU [[gnu::flatten, gnu::noinline]]
// A lane's result never depends on what was stored for another lane.
#ifdef __clang__
#define DOORBELL_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define DOORBELL_LANES _Pragma("GCC ivdep")
#endif

namespace doorbell::emu::amdgpu {

constexpr u32 kStep = 32;  // lanes that a loop handles
constexpr u32 kMaxLanes = 64;

// A bfloat16, held exactly in a float.
struct BHalf {
  f32 value;
};
// 32 bits of any type, to which neg and abs apply.
struct Bits32 {
  u32 value;
};
// The bits of a 16-bit float.
struct HalfBits {
  u32 value;
};
// A 16-bit result of a product and a sum that are rounded one after the other.
struct UnfusedHalf {
  f32 product, addend;
};
// A result with a bit per lane besides: a carry, or v_div_scale's.
template <class T>
struct WithBit {
  T value;
  bool bit;
};

// Both halves of a register, or two registers of floats: VOP3P.
template <class T>
struct Pair {
  T low, high;
};
template <class T>
constexpr bool kIsPair = false;
template <class T>
constexpr bool kIsPair<Pair<T>> = true;
// A float, read from a half if the instruction says so.
struct Mixed {
  f32 value;
};

// An operand's lanes; `high` for those of two registers.
struct Row {
  const u32* low;
  const u32* high;
  Row from(u32 lane) const { return {low + lane, high + lane}; }
};

template <class T>
consteval Type vector_type() {
  if (std::is_same_v<T, bool>) return Type::Mask;
  if (std::is_same_v<T, Mixed>) return Type::Mixed;
  if (std::is_same_v<T, Pair<f32>>) return Type::PackedF32;
  if (std::is_same_v<T, Pair<Half>> || std::is_same_v<T, Pair<HalfOfDouble>>) {
    return Type::PackedF16;
  }
  if (std::is_same_v<T, Pair<BHalf>>) return Type::PackedBF16;
  if (kIsPair<T>) return Type::PackedB16;
  if (std::is_same_v<T, BHalf>) return Type::BF16;
  if (std::is_same_v<T, Bits32>) return Type::M32;
  if (std::is_same_v<T, HalfBits>) return Type::F16;
  if (std::is_same_v<T, UnfusedHalf>) return Type::F16;
  return type_of<T>();
}
template <class T>
constexpr bool kIsWide = std::is_same_v<T, u64> || std::is_same_v<T, i64> ||
                         std::is_same_v<T, f64> || std::is_same_v<T, Pair<f32>>;
template <class T>
constexpr bool kIsHalf =
    std::is_same_v<T, Half> || std::is_same_v<T, HalfOfDouble> || std::is_same_v<T, UnfusedHalf> ||
    std::is_same_v<T, Pair<Half>> || std::is_same_v<T, Pair<HalfOfDouble>>;
template <class T>
constexpr bool kIsFloat =
    std::is_same_v<T, f32> || std::is_same_v<T, f64> || std::is_same_v<T, Pair<f32>> || kIsHalf<T>;

// ---- one lane ----

template <class T>
[[gnu::always_inline]] inline T load_lane(Row row, u32 i) {
  if constexpr (kIsPair<T>) {
    using Part = decltype(T::low);
    return {load_lane<Part>(row, i), load_lane<Part>({row.high, row.low}, i)};
  } else if constexpr (std::is_same_v<T, Mixed>) {
    return {std::bit_cast<f32>(row.low[i])};
  } else if constexpr (std::is_same_v<T, f32>) {
    return std::bit_cast<f32>(row.low[i]);
  } else if constexpr (kIsWide<T>) {
    return std::bit_cast<T>(row.low[i] | u64{row.high[i]} << 32);
  } else if constexpr (std::is_same_v<T, Half>) {
    return {half_to_float(row.low[i] & 0xffff)};
  } else if constexpr (std::is_same_v<T, BHalf>) {
    return {bfloat_to_float(row.low[i])};
  } else if constexpr (std::is_same_v<T, bool>) {
    return row.low[i] != 0;
  } else if constexpr (std::is_same_v<T, Bits32>) {
    return {row.low[i]};
  } else if constexpr (std::is_same_v<T, HalfBits>) {
    return {row.low[i] & 0xffff};
  } else {
    return static_cast<T>(row.low[i]);
  }
}

template <class T>
[[gnu::always_inline]] inline u64 result_bits(T value) {
  if constexpr (std::is_same_v<T, Pair<f32>>) {
    return result_bits(value.low) | result_bits(value.high) << 32;
  } else if constexpr (kIsPair<T>) {
    return result_bits(value.low) | result_bits(value.high) << 16;
  } else if constexpr (std::is_same_v<T, f32>) {
    return std::bit_cast<u32>(value);
  } else if constexpr (std::is_same_v<T, Half>) {
    return float_to_half(value.value);
  } else if constexpr (std::is_same_v<T, HalfOfDouble>) {
    return double_to_half(value.value);
  } else if constexpr (std::is_same_v<T, UnfusedHalf>) {
    return float_to_half(half_to_float(float_to_half(value.product)) + value.addend);
  } else if constexpr (std::is_same_v<T, BHalf>) {
    return float_to_bfloat(value.value);
  } else if constexpr (std::is_same_v<T, Bits32>) {
    return value.value;
  } else if constexpr (std::is_same_v<T, HalfBits>) {
    return value.value & 0xffff;
  } else if constexpr (kIsWide<T>) {
    return std::bit_cast<u64>(value);
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<u16>(value);
  } else {
    return static_cast<u32>(value);
  }
}

// The same of 16-bit floats, rounded as said.
template <class T>
u32 rounded_bits(T value, HalfRounding rounding) {
  if constexpr (kIsPair<T>) {
    return rounded_bits(value.low, rounding) | rounded_bits(value.high, rounding) << 16;
  } else if constexpr (std::is_same_v<T, Half>) {
    return float_to_half(value.value, rounding);
  } else if constexpr (std::is_same_v<T, HalfOfDouble>) {
    return double_to_half(value.value, rounding);
  } else {
    const f32 product = half_to_float(float_to_half(value.product, rounding));
    return float_to_half(product + value.addend, rounding);
  }
}

// ---- operands and results of all lanes: vector_operand.cc ----

// Makes operand k a row in `buffer`: kMaxLanes words of low halves, then as many of high ones.
void prepare_operand(const Wave& wave, const Operation& op, u32 k, Type type, u32* buffer);
// Both halves of a packed operand, each a row of 16-bit values, with op_sel and neg applied.
void prepare_packed(const Wave& wave, const Operation& op, u32 k, Type type, u32* low, u32* high);
// Stores 32 lanes' results, from `base` on, for the lanes in the mask, with all modifiers.
void store_result(Wave& wave, const Operation& op, Type type, const u32* low, const u32* high,
                  u32 base, u32 mask);
// The lanes that the instruction may write: EXEC without those that DPP excludes.
u64 dpp_lanes(const Wave& wave, const Operation& op);
[[gnu::always_inline]] inline u64 active_lanes(const Wave& wave, const Operation& op) {
  return op.flags & kDpp16 ? dpp_lanes(wave, op) : wave.exec();
}

template <class T>
[[gnu::always_inline]] inline Row fetch(const Wave& wave, const Operation& op, u32 k, u32* buffer) {
  if constexpr (kIsPair<T>) {
    prepare_packed(wave, op, k, vector_type<T>(), buffer, buffer + kMaxLanes);
    return {buffer, buffer + kMaxLanes};
  }
  const Source& source = op.src[k];
  if (source.kind == Source::Kind::Vector && source.modifiers == 0 &&
      (!kIsFloat<T> || wave.float_plain)) [[likely]] {
    const u32* low = wave.v + source.row;
    return {low, low + wave.lanes};
  }
  prepare_operand(wave, op, k, vector_type<T>(), buffer);
  return {buffer, buffer + kMaxLanes};
}

// ---- handlers ----

template <class F>
struct VectorSignature;
template <class L, class R, class... A>
struct VectorSignature<R (L::*)(A...) const> {
  using Result = R;
  static constexpr usize kCount = sizeof...(A);
  // What v_fma_mix makes a half of is a float first.
  static constexpr bool kMixed = (std::is_same_v<A, Mixed> || ...);
  static constexpr bool kDouble = std::is_same_v<R, f64> || std::is_same_v<R, WithBit<f64>>;
  static constexpr Rounds kRounds =
      kDouble || (kIsHalf<R> && !kMixed) ? Rounds::Double : Rounds::Single;

  static constexpr Shape shape(u32 flags, Type dst) { return {dst, {vector_type<A>()...}, flags}; }

  // Calls body(base, rows...) with the operands of 32 lanes, from `base` on.
  template <class Body>
  [[gnu::always_inline]] static void for_steps(const Wave& wave, const Operation& op, Body body) {
    [&]<usize... I>(std::index_sequence<I...>) {
      alignas(64) u32 buffers[kCount][2 * kMaxLanes];
      const Row rows[] = {fetch<A>(wave, op, I, buffers[I])...};
      for (u32 base = 0; base < wave.lanes; base += kStep) body(base, rows[I].from(base)...);
    }(std::index_sequence_for<A...>{});
  }

  template <auto F, Rounds rounds = kRounds>
  [[gnu::always_inline]] static Flow run(Wave& wave, const Operation& op) {
    const InstructionRounding<rounds> rounding(wave);
    if constexpr (kIsHalf<R>) {
      if (!wave.float_plain) [[unlikely]]
        return run_rounded<F, rounds>(wave, op);
    }
    const u64 active = active_lanes(wave, op);
    const bool direct = (op.flags & kDirect) != 0 && (!kIsFloat<R> || wave.float_plain);
    for_steps(wave, op, [&](u32 base, auto... rows) __attribute__((always_inline)) {
      const u32 mask = static_cast<u32>(active >> base);
      if (mask == 0) return;
      if constexpr (!kIsWide<R>) {
        if (direct && mask == ~0u) {
          u32* out = wave.v + op.dst_row + base;
          DOORBELL_LANES
          for (u32 i = 0; i < kStep; ++i) {
            out[i] = static_cast<u32>(result_bits(F(load_lane<A>(rows, i)...)));
          }
          return;
        }
      }
      alignas(64) u32 low[kStep], high[kStep];
      DOORBELL_LANES
      for (u32 i = 0; i < kStep; ++i) {
        const u64 bits = result_bits(F(load_lane<A>(rows, i)...));
        low[i] = static_cast<u32>(bits);
        if constexpr (kIsWide<R>) high[i] = static_cast<u32>(bits >> 32);
      }
      store_result(wave, op, vector_type<R>(), low, high, base, mask);
    });
    return Flow::Next;
  }

  // 16-bit results in a mode other than the default one.
  template <auto F, Rounds rounds>
  [[gnu::noinline]] static Flow run_rounded(Wave& wave, const Operation& op) {
    HalfRounding rounding = wave.half_rounding();
    if (rounds == Rounds::Nearest) rounding.mode = 0;
    const u64 active = active_lanes(wave, op);
    for_steps(wave, op, [&](u32 base, auto... rows) {
      const u32 mask = static_cast<u32>(active >> base);
      if (mask == 0) return;
      alignas(64) u32 out[kStep];
      for (u32 i = 0; i < kStep; ++i) {
        out[i] = rounded_bits(F(load_lane<A>(rows, i)...), rounding);
        if constexpr (rounds == Rounds::Nearest) {
          // A transcendental function's infinity is an overflow, unless it is its operand's.
          const bool finite = (std::isfinite(load_lane<A>(rows, i).value) && ...);
          if (finite && rounding.held && (out[i] & 0x7fff) == 0x7c00) --out[i];
        }
      }
      store_result(wave, op, vector_type<R>(), out, nullptr, base, mask);
    });
    return Flow::Next;
  }

  // A mask in scalar registers, 0 for lanes that are not active.
  template <auto F>
  [[gnu::always_inline]] static u64 compare(Wave& wave, const Operation& op) {
    u64 result = 0;
    for_steps(wave, op, [&](u32 base, auto... rows) __attribute__((always_inline)) {
      u32 bits = 0;
      for (u32 i = 0; i < kStep; ++i) {
        bits |= static_cast<u32>(F(load_lane<A>(rows, i)...)) << i;
      }
      result |= u64{bits} << base;
    });
    return result & active_lanes(wave, op);
  }

  // A result and a mask.
  template <auto F>
  [[gnu::always_inline]] static Flow run_with_bit(Wave& wave, const Operation& op) {
    using T = decltype(R::value);
    const InstructionRounding<kRounds> rounding(wave);
    const u64 active = active_lanes(wave, op);
    u64 carries = 0;
    for_steps(wave, op, [&](u32 base, auto... rows) __attribute__((always_inline)) {
      alignas(64) u32 low[kStep], high[kStep];
      u32 bits = 0;
      for (u32 i = 0; i < kStep; ++i) {
        const R result = F(load_lane<A>(rows, i)...);
        const u64 value = result_bits(result.value);
        low[i] = static_cast<u32>(value);
        if constexpr (kIsWide<T>) high[i] = static_cast<u32>(value >> 32);
        bits |= static_cast<u32>(result.bit) << i;
      }
      const u32 mask = static_cast<u32>(active >> base);
      if (mask != 0) store_result(wave, op, vector_type<T>(), low, high, base, mask);
      carries |= u64{bits & mask} << base;
    });
    wave.set_mask(op.sdst, carries);
    return Flow::Next;
  }
};
template <auto F>
using VectorOf = VectorSignature<decltype(&decltype(F)::operator())>;

template <auto F>
DOORBELL_ANY_CPU Flow vector_any(Wave& wave, const Operation& op) {
  return VectorOf<F>::template run<F>(wave, op);
}
template <auto F>
DOORBELL_FAST_CPU Flow vector_fast(Wave& wave, const Operation& op) {
  return VectorOf<F>::template run<F>(wave, op);
}
// Of instructions that round to nearest whatever MODE says.
template <auto F>
DOORBELL_ANY_CPU Flow nearest_any(Wave& wave, const Operation& op) {
  return VectorOf<F>::template run<F, Rounds::Nearest>(wave, op);
}
template <auto F>
DOORBELL_FAST_CPU Flow nearest_fast(Wave& wave, const Operation& op) {
  return VectorOf<F>::template run<F, Rounds::Nearest>(wave, op);
}
template <auto F>
DOORBELL_ANY_CPU Flow with_bit_any(Wave& wave, const Operation& op) {
  return VectorOf<F>::template run_with_bit<F>(wave, op);
}
template <auto F>
DOORBELL_FAST_CPU Flow with_bit_fast(Wave& wave, const Operation& op) {
  return VectorOf<F>::template run_with_bit<F>(wave, op);
}
template <auto F>
DOORBELL_ANY_CPU u64 compare_any(Wave& wave, const Operation& op) {
  return VectorOf<F>::template compare<F>(wave, op);
}
template <auto F>
DOORBELL_FAST_CPU u64 compare_fast(Wave& wave, const Operation& op) {
  return VectorOf<F>::template compare<F>(wave, op);
}
// v_cmp writes its destination; v_cmpx EXEC, and before gfx10 its destination too.
template <auto compare>
Flow compare_to_mask(Wave& wave, const Operation& op) {
  wave.set_mask(op.dst, compare(wave, op));
  return Flow::Next;
}
template <auto compare>
Flow compare_to_exec(Wave& wave, const Operation& op) {
  const u64 mask = compare(wave, op);
  if (wave.chip->generation == Generation::Gfx9) {
    wave.set_mask(op.flags & (kVop3 | kSdwa) ? op.dst : u16{kVccLo}, mask);
  }
  wave.set_mask(kExecLo, mask);
  return Flow::Next;
}

// ---- entries ----

template <auto F>
constexpr Entry vector(std::string_view name, u32 flags = 0) {
  return {name, VectorOf<F>::shape(flags, vector_type<typename VectorOf<F>::Result>()),
          &vector_any<F>, &vector_fast<F>};
}
template <auto F>
constexpr Entry transcendental(std::string_view name) {
  return {name, VectorOf<F>::shape(0, vector_type<typename VectorOf<F>::Result>()), &nearest_any<F>,
          &nearest_fast<F>};
}
// Integers for which the clamp bit means saturation: `Clamped` is used where it is set.
template <auto F, auto Clamped>
Flow clamped_any(Wave& wave, const Operation& op) {
  return op.flags & kClamp ? vector_any<Clamped>(wave, op) : vector_any<F>(wave, op);
}
template <auto F, auto Clamped>
Flow clamped_fast(Wave& wave, const Operation& op) {
  return op.flags & kClamp ? vector_fast<Clamped>(wave, op) : vector_fast<F>(wave, op);
}
template <auto F, auto Clamped>
constexpr Entry vector_clamped(std::string_view name, u32 flags = 0) {
  return {name, VectorOf<F>::shape(flags, vector_type<typename VectorOf<F>::Result>()),
          &clamped_any<F, Clamped>, &clamped_fast<F, Clamped>};
}
template <auto F>
constexpr Entry vector_with_bit(std::string_view name, u32 flags = 0) {
  using T = decltype(VectorOf<F>::Result::value);
  return {name, VectorOf<F>::shape(flags | kCarryOut, vector_type<T>()), &with_bit_any<F>,
          &with_bit_fast<F>};
}
template <auto F>
constexpr Entry vector_compare(std::string_view name) {
  return {name, VectorOf<F>::shape(kCompare, Type::Mask), &compare_to_mask<compare_any<F>>,
          &compare_to_mask<compare_fast<F>>};
}
template <auto F>
constexpr Entry vector_compare_exec(std::string_view name) {
  return {name, VectorOf<F>::shape(kCompare | kCompareExec, Type::Mask),
          &compare_to_exec<compare_any<F>>, &compare_to_exec<compare_fast<F>>};
}

}  // namespace doorbell::emu::amdgpu
