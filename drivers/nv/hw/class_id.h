// The classes of NVIDIA's engines and channels, as RM's class list and SET_OBJECT number them.
// [NVIDIA/open-gpu-kernel-modules src/common/sdk/nvidia/inc/class/cl*.h; open-gpu-doc classes/]
#pragma once

#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::nv::hw {

enum class ClassId : u16 {
  None = 0,

  VoltaUsermodeA = 0xc361,
  TuringUsermodeA = 0xc461,
  AmpereUsermodeA = 0xc561,
  HopperUsermodeA = 0xc661,
  BlackwellUsermodeA = 0xc761,

  TuringChannelGpfifoA = 0xc46f,
  AmpereChannelGpfifoA = 0xc56f,
  HopperChannelGpfifoA = 0xc86f,
  BlackwellChannelGpfifoA = 0xc96f,
  BlackwellChannelGpfifoB = 0xca6f,

  TuringComputeA = 0xc5c0,
  AmpereComputeA = 0xc6c0,     // GA100
  AmpereComputeB = 0xc7c0,     // GA10x
  AdaComputeA = 0xc9c0,        // AD10x
  HopperComputeA = 0xcbc0,     // GH100
  BlackwellComputeA = 0xcdc0,  // GB10x
  BlackwellComputeB = 0xcec0,  // GB20x

  TuringDmaCopyA = 0xc5b5,
  AmpereDmaCopyA = 0xc6b5,
  AmpereDmaCopyB = 0xc7b5,
  HopperDmaCopyA = 0xc8b5,
  BlackwellDmaCopyA = 0xc9b5,
  BlackwellDmaCopyB = 0xcab5,
};

// What objects of a class are for. Classes of one kind share the low byte of their number.
enum class ClassKind : u8 { Other, Usermode, Channel, Compute, Copy };

constexpr ClassKind kind_of(ClassId id) {
  switch (static_cast<u16>(id) & 0xff) {
    case 0x61: return ClassKind::Usermode;
    case 0x6f: return ClassKind::Channel;
    case 0xc0: return ClassKind::Compute;
    case 0xb5: return ClassKind::Copy;
    default: return ClassKind::Other;
  }
}

// NVIDIA's name, or empty for a class that is not listed above.
std::string_view name_of(ClassId id);

// The newest classes that RM's class list has for a chip; older channel and usermode classes work
// too. [open-gpu-kernel-modules src/nvidia/generated/g_gpu_class_list.c]
struct ChipClasses {
  std::string_view name;  // as isa/chip.h
  ClassId usermode, channel, compute, copy;
};
// Null for a chip that is not in the table.
const ChipClasses* find_classes(std::string_view chip);
// "sm_75, sm_80, ...": for messages.
std::string chips_with_classes();

}  // namespace doorbell::nv::hw
