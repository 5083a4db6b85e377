// The tables of formats, and the conversions.
// [CDNA3 ISA, "Buffer resource descriptor"; RDNA2 ISA, RDNA3 ISA, tables of buffer image formats;
// LLVM's names of the numbers in tbuffer instructions; Direct3D 11.3 functional specification,
// "Integer conversion", for normalised formats]
#include "emulator/amd/isa/memory/buffer_format.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "emulator/core/number/number.h"

namespace doorbell::emu::amdgpu {

namespace {

using Bits = std::array<u8, 4>;
using enum NumberFormat;

// A layout of components, and which number formats it has, a bit each in their order.
struct Layout {
  Bits bits;
  u32 numbers;
};
constexpr u32 kWhole = 0x3f;  // all but floats
constexpr u32 kAll = 0x7f, kWide = 0x70, kFloats = 0x40;
constexpr u32 kFew = 0x33;  // UNORM, SNORM, UINT, SINT

// The numbers from 1 on count through the rows, and through each row's number formats. The
// documents name components from the highest bit on, these rows from the lowest.
constexpr Layout kGfx10[] = {
    {{8}, kWhole},
    {{16}, kAll},
    {{8, 8}, kWhole},
    {{32}, kWide},
    {{16, 16}, kAll},
    {{11, 11, 10}, kAll},
    {{10, 11, 11}, kAll},
    {{2, 10, 10, 10}, kWhole},
    {{10, 10, 10, 2}, kWhole},
    {{8, 8, 8, 8}, kWhole},
    {{32, 32}, kWide},
    {{16, 16, 16, 16}, kAll},
    {{32, 32, 32}, kWide},
    {{32, 32, 32, 32}, kWide},
};
constexpr Layout kGfx11[] = {
    {{8}, kWhole},
    {{16}, kAll},
    {{8, 8}, kWhole},
    {{32}, kWide},
    {{16, 16}, kAll},
    {{11, 11, 10}, kFloats},
    {{10, 11, 11}, kFloats},
    {{2, 10, 10, 10}, kFew},
    {{10, 10, 10, 2}, kWhole},
    {{8, 8, 8, 8}, kWhole},
    {{32, 32}, kWide},
    {{16, 16, 16, 16}, kAll},
    {{32, 32, 32}, kWide},
    {{32, 32, 32, 32}, kWide},
};
// gfx9's data formats from 1 on.
constexpr Bits kGfx9[] = {
    {8},
    {16},
    {8, 8},
    {32},
    {16, 16},
    {11, 11, 10},
    {10, 11, 11},
    {2, 10, 10, 10},
    {10, 10, 10, 2},
    {8, 8, 8, 8},
    {32, 32},
    {16, 16, 16, 16},
    {32, 32, 32},
    {32, 32, 32, 32},
};

u32 largest(u32 width) { return width == 32 ? ~0u : (1u << width) - 1; }
i32 extended(u32 bits, u32 width) { return static_cast<i32>(bits << (32 - width)) >> (32 - width); }
u32 bits_of(f32 value) { return std::bit_cast<u32>(value); }

// Small floats without a sign, of 11 and 10 bits, are halves cut short.
u32 to_half(u32 bits, u32 width) { return width == 16 ? bits : bits << (15 - width); }

// A whole number in the range, else nothing.
std::optional<u32> whole(f64 value, f64 least, f64 most, u32 width) {
  if (!(value >= least && value <= most) || value != std::floor(value)) return std::nullopt;
  return static_cast<u32>(static_cast<i64>(value)) & largest(width);
}

}  // namespace

u32 BufferFormat::components() const {
  return static_cast<u32>(std::count_if(bits.begin(), bits.end(), [](u8 b) { return b != 0; }));
}

std::optional<BufferFormat> format_of_number(const Chip& chip, u32 number) {
  const bool gfx10 = chip.generation == Generation::Gfx10;
  const std::span<const Layout> layouts = gfx10 ? std::span(kGfx10) : std::span(kGfx11);
  u32 next = 1;
  for (const Layout& layout : layouts) {
    for (u32 kind = 0; kind < 7; ++kind) {
      if (!(layout.numbers >> kind & 1)) continue;
      if (next++ == number) return BufferFormat{layout.bits, static_cast<NumberFormat>(kind)};
    }
  }
  return std::nullopt;
}

std::optional<BufferFormat> format_of_numbers(u32 data, u32 number) {
  constexpr u32 kFloatNumber = 7;
  if (data == 0 || data > std::size(kGfx9) || number == 6) return std::nullopt;
  const NumberFormat kind = number == kFloatNumber ? Float : static_cast<NumberFormat>(number);
  const Bits bits = kGfx9[data - 1];
  const bool no_floats = bits[0] == 8 || bits[0] == 2 || bits[3] == 2;
  if (kind == Float && no_floats) return std::nullopt;
  // No normalised or scaled numbers of 32 bits.
  if (bits[0] == 32 && kind < Uint) return std::nullopt;
  return BufferFormat{bits, kind};
}

u32 component_to_register(u32 bits, u32 width, NumberFormat number) {
  const f32 range = static_cast<f32>(largest(width - 1));
  switch (number) {
    case Unorm: return bits_of(static_cast<f32>(bits) / static_cast<f32>(largest(width)));
    case Snorm: return bits_of(std::max(static_cast<f32>(extended(bits, width)) / range, -1.0f));
    case Uscaled: return bits_of(static_cast<f32>(bits));
    case Sscaled: return bits_of(static_cast<f32>(extended(bits, width)));
    case Uint: return bits;
    case Sint: return static_cast<u32>(extended(bits, width));
    case Float: break;
  }
  return width == 32 ? bits : bits_of(half_to_float(to_half(bits, width)));
}

std::optional<u32> register_to_component(u32 value, u32 width, NumberFormat number) {
  const f64 real = std::bit_cast<f32>(value), most = largest(width), half = largest(width - 1);
  switch (number) {
    case Unorm:
      if (real != real) return 0;
      return static_cast<u32>(std::floor(std::clamp(real, 0.0, 1.0) * most + 0.5));
    case Snorm: {
      if (real != real) return 0;
      const f64 scaled = std::clamp(real, -1.0, 1.0) * half;
      return static_cast<u32>(static_cast<i32>(scaled + std::copysign(0.5, scaled))) &
             largest(width);
    }
    case Uscaled: return whole(real, 0, most, width);
    case Sscaled: return whole(real, -half - 1, half, width);
    case Uint: return whole(value, 0, most, width);
    case Sint: return whole(static_cast<i32>(value), -half - 1, half, width);
    case Float: break;
  }
  if (width == 32) return value;
  const u32 result = float_to_half(std::bit_cast<f32>(value), {});
  const u32 cut = width == 16 ? 0 : 15 - width;
  if (result & ((1u << cut) - 1)) return std::nullopt;
  if (width != 16 && (result & 0x8000)) return std::nullopt;
  if (bits_of(half_to_float(result)) != value) return std::nullopt;
  return result >> cut;
}

std::optional<u32> register_to_half(u32 value, NumberFormat number) {
  if (number == Uint) return whole(value, 0, 0xffff, 16);
  if (number == Sint) return whole(static_cast<i32>(value), -0x8000, 0x7fff, 16);
  return register_to_component(value, 16, Float);
}

u32 half_to_register(u32 half, NumberFormat number) {
  return component_to_register(half, 16, number == Uint || number == Sint ? number : Float);
}

}  // namespace doorbell::emu::amdgpu
