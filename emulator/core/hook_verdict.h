// What an emulated GPU does with what it has read, as a test's hook before it says: NVIDIA's
// FetchHook (emulator/nv/host/fetch_hook.h), AMD's PacketHook (emulator/amd/cp/packet_hook.h).
#pragma once

#include "base/util/types.h"

namespace doorbell::emu {

enum class HookVerdict : u8 {
  Take,
  Skip,   // goes on as if it had not been there
  Again,  // takes it, and then reads it again, which the hook sees
  Later,  // takes what comes next first, if there is anything
};

}  // namespace doorbell::emu
