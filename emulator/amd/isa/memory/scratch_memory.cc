// SCRATCH loads and stores: each lane has memory of its own.
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/access_table.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

struct Scratch {
  static constexpr std::string_view kPrefix = "SCRATCH_";

  template <Element e>
  static Flow load(Wave& wave, const Operation& op) {
    const u64 active = wave.exec();
    if (active == 0) return Flow::Next;
    alignas(64) u32 offset[64];
    scratch_offsets(wave, op, offset);
    return load_scratch<e>(wave, op, active, offset, wave.v + op.dst_row);
  }
  template <Element e>
  static Flow store(Wave& wave, const Operation& op) {
    const u64 active = wave.exec();
    if (active == 0) return Flow::Next;
    alignas(64) u32 offset[64];
    scratch_offsets(wave, op, offset);
    return store_scratch<e>(wave, op, active, offset, wave.v + op.src[kData].row);
  }
};

}  // namespace

HandlerTable scratch_memory_table() { return AccessTable<Scratch>::kEntries; }

}  // namespace doorbell::emu::amdgpu
