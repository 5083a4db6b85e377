// Operand: a number in a command, known when it is recorded or given at each replay through a slot.
// GpuAddr: an address as a device sees it. The driver defines addresses.
#pragma once

#include "base/util/types.h"

namespace doorbell::hcq {

struct GpuAddr {
  u64 value = 0;

  u64 bits() const { return value; }
  static GpuAddr from_bits(u64 value) { return {value}; }
  GpuAddr operator+(u64 bytes) const { return {value + bytes}; }
  auto operator<=>(const GpuAddr&) const = default;
};

struct Operand {
  static constexpr u32 kNoSlot = ~u32{0};

  u64 value = 0;       // added to the slot's value, if there is a slot
  u32 slot = kNoSlot;  // in the table that a replay brings

  Operand() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a number is an operand.
  constexpr Operand(u64 value) : value(value) {}
  // NOLINTNEXTLINE(google-explicit-constructor): so is an address.
  constexpr Operand(GpuAddr address) : value(address.value) {}
  static constexpr Operand of_slot(u32 slot) {
    Operand operand(u64{0});
    operand.slot = slot;
    return operand;
  }

  constexpr bool is_slot() const { return slot != kNoSlot; }
  constexpr Operand operator+(u64 more) const {
    Operand sum = *this;
    sum.value += more;
    return sum;
  }
};

}  // namespace doorbell::hcq
