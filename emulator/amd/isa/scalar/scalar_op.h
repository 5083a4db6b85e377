// How handlers of scalar instructions are made from lambdas. A lambda's parameter types say how
// its operands are read: u32, i32, u64, i64, f32, Half. What it returns goes to the destination.
#pragma once

#include <bit>
#include <type_traits>
#include <utility>

#include "emulator/amd/isa/number/host_float.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"
#include "emulator/core/number/number.h"

namespace doorbell::emu::amdgpu {

// A 16-bit float, held exactly in a float.
struct Half {
  f32 value;
};
// A 16-bit result that was computed in double, to be rounded once.
struct HalfOfDouble {
  f64 value;
};

// ---- reading ----

// Operand codes that are computed: apertures, VCCZ, EXECZ, SCC. [RDNA3 ISA, "Scalar operands"]
// LDS_DIRECT and POPS_EXITING_WAVE_ID, which are for graphics, and unused codes are not supported.
bool is_special_value(u32 code);
u64 special_value(const Wave& wave, u32 code);

inline u64 scalar_value(const Wave& wave, const Source& source) {
  switch (source.kind) {
    case Source::Kind::Scalar: return wave.s[source.index];
    case Source::Kind::Constant: return source.value;
    case Source::Kind::Special: return special_value(wave, source.index);
    default: return 0;
  }
}
inline u32 read_32(const Wave& wave, const Source& source) {
  return static_cast<u32>(scalar_value(wave, source));
}
inline u64 read_64(const Wave& wave, const Source& source) {
  return source.kind == Source::Kind::Scalar ? wave.pair(source.index) : scalar_value(wave, source);
}

// Denormals as MODE says: 0 where they are flushed. keep is MODE's bit.
inline f32 flush_32(f32 value, bool keep) {
  const u32 bits = std::bit_cast<u32>(value);
  return keep || (bits & 0x7f800000) != 0 ? value : std::bit_cast<f32>(bits & 0x80000000);
}
inline u32 flush_16(u32 half, bool keep) {
  return keep || (half & 0x7c00) != 0 ? half : half & 0x8000;
}

template <class T>
T read_scalar(const Wave& wave, const Source& source) {
  if constexpr (std::is_same_v<T, u64> || std::is_same_v<T, i64>) {
    return static_cast<T>(read_64(wave, source));
  } else if constexpr (std::is_same_v<T, f32>) {
    const f32 value = std::bit_cast<f32>(read_32(wave, source));
    return wave.float_plain ? value : flush_32(value, wave.mode.denorm_32 & 1);
  } else if constexpr (std::is_same_v<T, Half>) {
    const u32 half = read_32(wave, source) & 0xffff;
    return {half_to_float(flush_16(half, wave.mode.denorm_64 & 1))};
  } else {
    return static_cast<T>(read_32(wave, source));
  }
}

template <class T>
void write_scalar(Wave& wave, u16 index, T value) {
  if constexpr (std::is_same_v<T, u64> || std::is_same_v<T, i64>) {
    wave.set_pair(index, static_cast<u64>(value));
  } else if constexpr (std::is_same_v<T, f32>) {
    wave.s[index] =
        std::bit_cast<u32>(wave.float_plain ? value : flush_32(value, wave.mode.denorm_32 & 2));
  } else if constexpr (std::is_same_v<T, Half>) {
    const u32 half = float_to_half(value.value, wave.half_rounding());
    wave.s[index] = flush_16(half, wave.mode.denorm_64 & 2);
  } else if constexpr (std::is_same_v<T, HalfOfDouble>) {
    const u32 half = double_to_half(value.value, wave.half_rounding());
    wave.s[index] = flush_16(half, wave.mode.denorm_64 & 2);
  } else {
    wave.s[index] = static_cast<u32>(value);
  }
}

// ---- entries ----

template <class T>
consteval Type type_of() {
  if (std::is_same_v<T, u64>) return Type::B64;
  if (std::is_same_v<T, i64>) return Type::I64;
  if (std::is_same_v<T, f32>) return Type::F32;
  if (std::is_same_v<T, f64>) return Type::F64;
  if (std::is_same_v<T, Half> || std::is_same_v<T, HalfOfDouble>) return Type::F16;
  if (std::is_same_v<T, u16> || std::is_same_v<T, i16>) return Type::B16;
  return Type::B32;
}

// The parameter types of a lambda; a first parameter `bool&` is SCC.
template <class F>
struct Signature;
template <class L, class R, class... A>
struct Signature<R (L::*)(A...) const> {
  using Result = R;
  static constexpr bool kScc = false;
  static constexpr Shape shape(u32 flags) { return {type_of<R>(), {type_of<A>()...}, flags}; }
  template <auto F>
  static R call(Wave& wave, const Operation& op) {
    return [&]<usize... I>(std::index_sequence<I...>) {
      return F(read_scalar<A>(wave, op.src[I])...);
    }(std::index_sequence_for<A...>{});
  }
};
template <class L, class R, class... A>
struct Signature<R (L::*)(bool&, A...) const> {
  using Result = R;
  static constexpr bool kScc = true;
  static constexpr Shape shape(u32 flags) { return {type_of<R>(), {type_of<A>()...}, flags}; }
  template <auto F>
  static R call(Wave& wave, const Operation& op) {
    bool scc = wave.scc != 0;
    const R result = [&]<usize... I>(std::index_sequence<I...>) {
      return F(scc, read_scalar<A>(wave, op.src[I])...);
    }(std::index_sequence_for<A...>{});
    wave.scc = scc ? 1 : 0;
    return result;
  }
};
template <auto F>
using SignatureOf = Signature<decltype(&decltype(F)::operator())>;

enum class Scc { Keep, NonZero };

template <auto F, Scc scc>
Flow run_scalar(Wave& wave, const Operation& op) {
  using Result = typename SignatureOf<F>::Result;
  constexpr bool kHalf = std::is_same_v<Result, Half> || std::is_same_v<Result, HalfOfDouble>;
  const InstructionRounding<kHalf ? Rounds::Double : Rounds::Single> rounding(wave);
  const auto result = SignatureOf<F>::template call<F>(wave, op);
  write_scalar(wave, op.dst, result);
  if constexpr (scc == Scc::NonZero) wave.scc = result != 0 ? 1 : 0;
  return Flow::Next;
}
template <auto F>
Flow run_scalar_compare(Wave& wave, const Operation& op) {
  wave.scc = SignatureOf<F>::template call<F>(wave, op) ? 1 : 0;
  return Flow::Next;
}

// Leaves SCC as it is, or sets it through `bool& scc`.
template <auto F>
constexpr Entry scalar(std::string_view name, u32 flags = 0) {
  return {name, SignatureOf<F>::shape(flags), &run_scalar<F, Scc::Keep>};
}
// Sets SCC to whether the result is not zero.
template <auto F>
constexpr Entry scalar_bits(std::string_view name, u32 flags = 0) {
  return {name, SignatureOf<F>::shape(flags), &run_scalar<F, Scc::NonZero>};
}
// Sets SCC to the result and writes nothing else.
template <auto F>
constexpr Entry scalar_compare(std::string_view name) {
  return {name, SignatureOf<F>::shape(0), &run_scalar_compare<F>};
}

}  // namespace doorbell::emu::amdgpu
