// The formats of typed buffer elements: how many bits each component has, what they mean, and the
// numbers of both in descriptors and instructions, by generation.
//
// The documents define a format's values, but not how other values are rounded to them (except for
// normalised formats, which are Direct3D's): such a conversion returns nothing, and the instruction
// stops.
#pragma once

#include <array>
#include <optional>

#include "emulator/amd/isa/chip.h"

namespace doorbell::emu::amdgpu {

enum class NumberFormat : u8 { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float };

struct BufferFormat {
  std::array<u8, 4> bits{};  // of X, Y, Z, W, from the lowest bit on; 0: there is none
  NumberFormat number = NumberFormat::Uint;

  u32 components() const;
  u32 bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
  bool is_integer() const { return number == NumberFormat::Uint || number == NumberFormat::Sint; }
};

// By the number in a typed instruction's word, or in a descriptor. Empty for an unknown number.
std::optional<BufferFormat> format_of_number(const Chip& chip, u32 number);
// gfx9 has two numbers.
std::optional<BufferFormat> format_of_numbers(u32 data, u32 number);

// A component as a register of 32 bits holds it: a float, or an integer.
u32 component_to_register(u32 bits, u32 width, NumberFormat number);
std::optional<u32> register_to_component(u32 value, u32 width, NumberFormat number);
// The same of registers' halves. `is_float`: the format's components are no integers.
std::optional<u32> register_to_half(u32 value, NumberFormat number);
u32 half_to_register(u32 half, NumberFormat number);

}  // namespace doorbell::emu::amdgpu
