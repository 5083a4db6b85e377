// How far an access goes to see, or be seen, by its cache bits. What caches do with it is in
// emulator/amd/cp/caches.h; what it orders, in isa/races.
//
// Cache bits, as the compilers use them:
//   gfx942        SC0 the group, SC1 the device, both the system
//   gfx10         GLC past the unit's cache, with DLC past GL1 too
//   gfx11         GLC past both
//   gfx12         SCOPE: wave, group, device, system
// [LLVM AMDGPUUsage "Memory Model gfx942", "gfx10-gfx11", "gfx12": the code sequences]
#pragma once

#include "emulator/amd/isa/chip.h"
#include "emulator/amd/isa/memory/memory.h"

namespace doorbell::emu::amdgpu {

// The unit's caches, past them to GL1, past that to the L2, past all.
enum class Reach : u8 { Unit, Array, Device, System };

// [LLVM SIDefines.h, namespace CPol]
inline constexpr CachePolicy kGlc = 1, kDlc = 4, kSc0 = 1, kSc1 = 16;
inline constexpr unsigned kScopeShift = 3, kScopeMask = 3;
enum PolicyScope : unsigned { kWaveScope, kGroupScope, kDeviceScope, kSystemScope };

constexpr unsigned scope_of(CachePolicy policy) { return policy >> kScopeShift & kScopeMask; }

constexpr Reach reach_of(Generation generation, CachePolicy policy) {
  switch (generation) {
    case Generation::Gfx9:
      if (!(policy & kSc1)) return Reach::Unit;
      return policy & kSc0 ? Reach::System : Reach::Device;
    case Generation::Gfx10:
      if (!(policy & kGlc)) return Reach::Unit;
      return policy & kDlc ? Reach::Device : Reach::Array;
    case Generation::Gfx11: return policy & kGlc ? Reach::Device : Reach::Unit;
    case Generation::Gfx12: {
      const unsigned scope = scope_of(policy);
      // A unit is a WGP here: a group lies within it.
      return scope <= kGroupScope    ? Reach::Unit
             : scope == kDeviceScope ? Reach::Device
                                     : Reach::System;
    }
  }
  return Reach::Unit;
}

}  // namespace doorbell::emu::amdgpu
