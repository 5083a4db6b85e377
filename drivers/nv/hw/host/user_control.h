// What user space shares with the host engine beside pushbuffers: a channel's user control
// registers (USERD), which lie in memory of the client's, and the page of the doorbell.
// [NVIDIA/open-gpu-kernel-modules class/clc56f.h Nvc56fControl_struct; class/clc361.h
// NVC361_NOTIFY_CHANNEL_PENDING; nvos.h userdOffset]
#pragma once

#include "base/util/types.h"

namespace doorbell::nv::hw {

inline constexpr u32 kUserdBytes = 512;   // and its alignment
inline constexpr u32 kUserdGpGet = 0x88;  // u32: the entry that the host engine fetches next
inline constexpr u32 kUserdGpPut = 0x8c;  // u32: the entry behind the last one that is valid

// The usermode class's mapping, and the register in it that takes a channel's token.
inline constexpr u64 kUsermodeBytes = 0x10000;
inline constexpr u32 kDoorbell = 0x90;

}  // namespace doorbell::nv::hw
