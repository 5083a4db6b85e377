// How handlers are made from lambdas over one lane's values. The loops run over 32 lanes, which the
// compiler vectorises; each handler exists twice, for any x86-64 and for CPUs with AVX2 and FMA.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "emulator/nv/isa/warp.h"

#define DOORBELL_NV_FAST_CPU \
  [[gnu::target("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c"), gnu::flatten, gnu::noinline]]
#define DOORBELL_NV_ANY_CPU [[gnu::flatten, gnu::noinline]]
// A lane's result never depends on what was stored for another lane.
#ifdef __clang__
#define DOORBELL_NV_LANES _Pragma("clang loop vectorize(assume_safety)")
#define DOORBELL_NV_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DOORBELL_NV_LANES _Pragma("GCC ivdep")
#define DOORBELL_NV_UNROLL _Pragma("GCC unroll 8")
#endif

namespace doorbell::emu::nvgpu {

// Whether this CPU runs what DOORBELL_NV_FAST_CPU compiles.
bool has_fast_cpu();

// Stores a row of results: lanes that do not execute keep theirs. RZ stays zero.
[[gnu::always_inline]] inline void store_row(Warp& warp, u32 dst, const u32* values, u32 mask) {
  if (dst == kZero || dst == kUniformZero) return;
  u32* out = warp.rows[dst].data();
  if (mask == kAllLanes) {
    std::memcpy(out, values, sizeof(Row));
    return;
  }
  DOORBELL_NV_LANES
  for (u32 i = 0; i < kLanes; ++i) out[i] = mask >> i & 1 ? values[i] : out[i];
}

// The second row of a pair.
inline u32 next_row(u32 row) { return row == kZero || row == kUniformZero ? row : row + 1; }

[[gnu::always_inline]] inline f32 as_float(u32 bits, const Source& s) {
  return std::bit_cast<f32>((bits & s.keep) ^ s.flip);
}
[[gnu::always_inline]] inline f64 as_double(u32 low, u32 high, const Source& s) {
  return std::bit_cast<f64>(u64{(high & s.keep) ^ s.flip} << 32 | low);
}

// A handler of F(a, b, c): words of the three sources. Reads the sources that F has.
enum class Second : u8 { X, B };  // whether the second source is x, or b and c

template <auto F, Second second>
[[gnu::always_inline]] inline Flow run_words(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op);
  alignas(64) u32 out[kLanes];
  const u32* a = row_of(warp, op.a).data();
  const u32* b = row_of(warp, second == Second::X ? op.x : op.b).data();
  const u32* c = row_of(warp, op.c).data();
  DOORBELL_NV_LANES
  for (u32 i = 0; i < kLanes; ++i) out[i] = F(a[i], b[i], c[i], op);
  store_row(warp, op.dst, out, mask);
  return Flow::Next;
}
template <auto F, Second second>
DOORBELL_NV_FAST_CPU Flow words_fast(Warp& warp, const Operation& op) {
  return run_words<F, second>(warp, op);
}
template <auto F, Second second>
DOORBELL_NV_ANY_CPU Flow words_any(Warp& warp, const Operation& op) {
  return run_words<F, second>(warp, op);
}
// Chooses between them.
template <auto F, Second second>
Flow on_words(Warp& warp, const Operation& op) {
  return has_fast_cpu() ? words_fast<F, second>(warp, op) : words_any<F, second>(warp, op);
}

// Minus where the source says so.
[[gnu::always_inline]] inline u32 signed_word(u32 value, const Source& s) {
  return s.negative ? 0u - value : value;
}

}  // namespace doorbell::emu::nvgpu
