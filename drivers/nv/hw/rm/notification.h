// The error notifier: memory of the client's into which RM writes why it stopped a channel. It is
// an array of notifications, of which the first is about errors.
// [NVIDIA/open-gpu-kernel-modules src/common/sdk/nvidia/inc/nvgputypes.h NvNotification; nvos.h
// NV_CHANNELGPFIFO_NOTIFICATION_*; nverror.h]
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::nv::hw {

// RM writes the status last. The time is nanoseconds since 1970, of which nvgputypes.h does not say
// the order of the halves: RM writes the upper one first.
// [method_notification.c notifyFillNvNotification()]
struct Notification {
  u32 time_upper = 0, time_lower = 0;
  u32 info32 = 0;  // of errors: the Xid
  u16 info16 = 0;  // of errors: the engine's type
  u16 status = 0;  // 0: nothing has happened yet; 0xffff: an error
};
static_assert(sizeof(Notification) == 16);

// NV_CHANNELGPFIFO_NOTIFICATION_TYPE_ERROR and ..._TYPE__SIZE_1.
inline constexpr u32 kErrorNotification = 0, kChannelNotifications = 3;

// What a Xid means, for those that end a channel; empty for others. [nverror.h ROBUST_CHANNEL_*;
// NVIDIA "XID Errors", docs.nvidia.com/deploy/xid-errors]
constexpr std::string_view xid_name(u32 xid) {
  switch (xid) {
    case 13: return "graphics engine exception";
    case 31: return "MMU fault";
    case 32: return "invalid or corrupted pushbuffer";
    case 39:
    case 40:
    case 41:
    case 70:
    case 71:
    case 72: return "copy engine exception";
    case 43: return "the GPU stopped processing";
    case 44: return "graphics engine fault during a context switch";
    case 45: return "preemptive cleanup, due to previous errors";
    case 48: return "double-bit ECC error";
    case 69: return "graphics engine class error";
    case 79: return "the GPU has fallen off the bus";
    case 94: return "contained ECC error";
    case 95: return "uncontained ECC error";
    case 109: return "context switch timeout";
    case 119: return "GSP RPC timeout";
    default: return {};
  }
}

}  // namespace doorbell::nv::hw
