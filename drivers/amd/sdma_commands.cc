// One function for each operation.
#include "drivers/amd/sdma_commands.h"

#include <algorithm>

#include "base/util/check.h"
#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"

namespace doorbell::amd {
namespace {

constexpr u8 kUncached = 3;  // a fence's MTYPE

}  // namespace

void SdmaCommands::copy(hcq::Operand to, hcq::Operand from, u64 bytes) {
  for (u64 done = 0; done < bytes;) {
    const u64 now = std::min(bytes - done, caps_.sdma_copy_bytes);
    const u32 at = emit(hw::SdmaCopyLinear{.count = static_cast<u32>(now - 1)});
    set(at, field_of<hw::SdmaCopyLinear>("src"), from + done);
    set(at, field_of<hw::SdmaCopyLinear>("dst"), to + done);
    done += now;
  }
}

// The engine finishes what is under way before it takes a packet that moves nothing.
// [Mesa src/amd/vulkan/radv_sdma.c, radv_sdma_emit_nop]
void SdmaCommands::memory_barrier() { emit(hw::SdmaNop{}); }

// 32 bits: timelines stay below 2^31, the upper half of their cells is zero.
void SdmaCommands::fence(hcq::Operand address, hcq::Operand value) {
  const u32 at = emit(hw::SdmaFence{.mtype = caps_.sdma_fence_mtype ? kUncached : u8{0}});
  set(at, field_of<hw::SdmaFence>("addr"), address);
  set_half(at, field_of<hw::SdmaFence>("data"), value, false);
}

void SdmaCommands::signal(hcq::Operand address, hcq::Operand value) { fence(address, value); }

void SdmaCommands::interrupt(u64 mailbox, u32 event_id) {
  fence(mailbox, u64{event_id});
  emit(hw::SdmaTrap{.int_context = event_id});
}

void SdmaCommands::wait(hcq::Operand address, hcq::Operand value) {
  const u32 at = emit(hw::SdmaPollRegmem{.function = hw::Compare::GreaterEqual});
  set(at, field_of<hw::SdmaPollRegmem>("addr"), address);
  set_half(at, field_of<hw::SdmaPollRegmem>("value"), value, false);
}

void SdmaCommands::poll(hcq::Operand address, hcq::Operand value, u64 mask) {
  for (const bool high : {false, true}) {
    const u32 part = static_cast<u32>(high ? mask >> 32 : mask);
    if (part == 0) continue;
    const u32 at = emit(hw::SdmaPollRegmem{.function = hw::Compare::Equal, .mask = part});
    set(at, field_of<hw::SdmaPollRegmem>("addr"), address + (high ? 4 : 0));
    set_half(at, field_of<hw::SdmaPollRegmem>("value"), value, high);
  }
}

void SdmaCommands::timestamp(hcq::Operand address) {
  const u32 at = emit(hw::SdmaTimestamp{});
  set(at, field_of<hw::SdmaTimestamp>("addr"), address);
}

void SdmaCommands::write(hcq::Operand address, hcq::Operand value) {
  constexpr u32 kPayload = 2;
  const u32 at = emit(hw::SdmaWrite{.count = kPayload - 1});
  set(at, field_of<hw::SdmaWrite>("dst"), address);
  constexpr u32 kZero[kPayload] = {};
  set(append(kZero), Field{0, Bits{63, 0}, 0}, value);
}

void SdmaCommands::exec(const hcq::Launch&) { UNREACHABLE("a kernel on a copy queue"); }

}  // namespace doorbell::amd
