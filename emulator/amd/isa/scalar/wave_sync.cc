// DS_GWS_*: decodes the counter and the value; amd/compute performs the operation on the process's
// counters. [CDNA3 and RDNA2 ISA documents, DS_GWS_INIT and after: "rid[5:0] = gds_base[5:0] +
// offset0[5:0]", where the base is M0's high half (LLVM AMDGPUISelLowering.cpp, SelectDS_GWS: bits
// 21:16); the value is the first active lane's]
#include <bit>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

namespace {

template <WaveSync::Op kind, bool kHasValue>
Flow ask(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) {
    // [LLVM SIInstrInfo.cpp hasUnwantedEffectsWhenEXECEmpty: may lock the hardware up]
    wave.exit = {.kind = Exit::Kind::Illegal, .pc = op.pc};
    wave.exit.name = std::string(op.entry->name) + " without an active lane, which may hang";
    wave.pc = op.pc;
    return Flow::Stop;
  }
  wave.exit = {.kind = Exit::Kind::WaveSync, .pc = op.pc};
  wave.exit.name = op.entry->name;
  wave.exit.sync = {.op = kind,
                    .resource = ((wave.s[kM0] >> 16) + static_cast<u32>(op.immediate)) & 0x3f,
                    .value = 1};
  if (kHasValue)
    wave.exit.sync.value =
        wave.v[op.src[kAddress].row + static_cast<u32>(std::countr_zero(active))];
  wave.pc = op.pc + op.size;
  return Flow::Stop;
}

constexpr Shape kPlain{.flags = kMemory | kEndsBlock | kNoLaneAddress | kM0Address};
constexpr Shape kValue{.flags = kMemory | kEndsBlock | kNoLaneAddress | kM0Address,
                       .wide = {0, 1, 0, 0, 0}};

constexpr Entry kTable[] = {
    {"DS_GWS_INIT", kValue, &ask<WaveSync::Op::Init, true>},
    {"DS_GWS_BARRIER", kValue, &ask<WaveSync::Op::Barrier, true>},
    {"DS_GWS_SEMA_V", kPlain, &ask<WaveSync::Op::SemaphoreRaise, false>},
    {"DS_GWS_SEMA_BR", kValue, &ask<WaveSync::Op::SemaphoreRaise, true>},
    {"DS_GWS_SEMA_P", kPlain, &ask<WaveSync::Op::SemaphoreTake, false>},
    {"DS_GWS_SEMA_RELEASE_ALL", kPlain, &ask<WaveSync::Op::SemaphoreReleaseAll, false>},
};

}  // namespace

HandlerTable wave_sync_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
