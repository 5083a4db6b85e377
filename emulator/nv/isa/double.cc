// 64-bit floats: IEEE 754, subnormals kept [PTX ISA, "Floating point instructions"].
#include <cmath>

#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"
#include "emulator/nv/isa/rounding.h"

namespace doorbell::emu::nvgpu {

namespace {

struct Doubles {
  f64 value[kLanes];
};

Doubles load(const Warp& warp, const Source& source) {
  const Row &low = row_of(warp, source, 0), &high = row_of(warp, source, 1);
  Doubles out;
  for (u32 i = 0; i < kLanes; ++i) out.value[i] = as_double(low[i], high[i], source);
  return out;
}

// F(i): the result of lane i.
template <class F>
Flow compute(Warp& warp, const Operation& op, F f) {
  Doubles out;
  {
    const Rounding rounding(op.field(78, 2));
    for (u32 i = 0; i < kLanes; ++i) out.value[i] = f(i);
    asm volatile("" ::"r"(&out) : "memory");
  }
  alignas(64) u32 low[kLanes], high[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const u64 bits = std::bit_cast<u64>(out.value[i]);
    low[i] = static_cast<u32>(bits);
    high[i] = static_cast<u32>(bits >> 32);
  }
  const u32 mask = warp.mask_of(op);
  store_row(warp, op.dst, low, mask);
  store_row(warp, next_row(op.dst), high, mask);
  return Flow::Next;
}

}  // namespace

Flow add_double(Warp& warp, const Operation& op) {
  const Doubles a = load(warp, op.a), c = load(warp, op.c);
  return compute(warp, op, [&](u32 i) { return a.value[i] + c.value[i]; });
}

Flow multiply_double(Warp& warp, const Operation& op) {
  const Doubles a = load(warp, op.a), b = load(warp, op.x);
  return compute(warp, op, [&](u32 i) { return a.value[i] * b.value[i]; });
}

Flow fused_double(Warp& warp, const Operation& op) {
  const Doubles a = load(warp, op.a), b = load(warp, op.b), c = load(warp, op.c);
  return compute(warp, op, [&](u32 i) { return std::fma(a.value[i], b.value[i], c.value[i]); });
}

// Kinds 0 and 15 are .MIN and .MAX: whether the first is chosen, and whether both are NaN. Nothing
// documents them: that is what the code around them, PTX's min.f64 and max.f64, needs.
Flow compare_doubles(Warp& warp, const Operation& op) {
  const Doubles a = load(warp, op.a), b = load(warp, op.x);
  const u32 kind = op.field(76, 4), mask = warp.mask_of(op), how = op.field(74, 2);
  const bool chooses = kind == 0 || kind == 15;
  u32 result = 0, unordered = 0;
  for (u32 i = 0; i < kLanes; ++i) {
    const f64 x = a.value[i], y = b.value[i];
    const u32 relation = x < y ? 1 : x == y ? 2 : x > y ? 4 : 8;
    bool yes = (kind & relation) != 0;
    if (chooses) {
      const bool first =
          kind == 0 ? x < y || (x == y && std::signbit(x)) : x > y || (x == y && !std::signbit(x));
      yes = y != y || first;
    }
    result |= static_cast<u32>(yes) << i;
    unordered |= static_cast<u32>(x != x && y != y) << i;
  }
  const u32 with = predicate_of(warp, op.in_p, op.not_p);
  set_predicate(warp, op.p, combine_predicates(how, result, with), mask);
  set_predicate(warp, op.q, combine_predicates(how, chooses ? unordered : ~result, with), mask);
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
