// The memory that counts, and the order in which LDS serves lanes.
#include "emulator/amd/isa/count/wave_counter.h"

#include <utility>

#include "emulator/amd/isa/count/instruction_class.h"
#include "emulator/amd/isa/memory/lane_access.h"

namespace doorbell::emu::amdgpu {

namespace {

// Reads of 16 bytes on CDNA: eight lanes in a cycle, which are lanes 0 to 3 and 20 to 23, 4 to 7
// and 16 to 19, 8 to 11 and 28 to 31, 12 to 15 and 24 to 27; the same of lanes 32 to 63. All other
// accesses: neighbours. gfx950 has twice as many banks; how they are addressed is not documented,
// and it is counted like gfx942. [ROCm, "Composable Kernel", "Understanding AMD GPU LDS and Bank
// Conflicts", which names these lanes and the phases of ds_write_b128]
u32 cdna_cycle(u32 lane, u32 bytes, bool is_write) {
  if (bytes != 16 || is_write) return neighbours_cycle(lane, bytes, is_write);
  const u32 quad = lane % 32 / 4;
  return lane / 32 * 4 + (quad < 4 ? quad : (quad - 4) ^ 1);
}

}  // namespace

SharedCycle lds_cycle(const Chip& chip) {
  return chip.generation == Generation::Gfx9 ? cdna_cycle : neighbours_cycle;
}

void CountingMemory::set_wave(const Wave& wave) {
  scratch_ = wave.scratch_base;
  scratch_bytes_ = u64{wave.scratch_bytes_per_lane} * wave.lanes;
}

bool CountingMemory::note(bool succeeded, u64 va, u32 bytes, bool is_write) {
  if (succeeded && va - scratch_ >= scratch_bytes_) counter_.note_global(va, bytes, is_write);
  return succeeded;
}

bool CountingMemory::load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  return note(PassingMemory::load(va, bytes, out, policy), va, bytes, false);
}

bool CountingMemory::store(u64 va, u32 bytes, const void* in, CachePolicy policy) {
  return note(PassingMemory::store(va, bytes, in, policy), va, bytes, true);
}

bool CountingMemory::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                            u64& before, CachePolicy policy) {
  return note(PassingMemory::atomic(va, bytes, update, operand, compare, before, policy), va, bytes,
              true);
}

bool CountingMemory::scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  return note(PassingMemory::scalar_load(va, bytes, out, policy), va, bytes, false);
}

CountingMemory& WaveCounter::begin(Wave& wave) {
  wave.lds_observer = this;
  memory_.set_wave(wave);
  return memory_;
}

void WaveCounter::begin(const Operation& op) {
  if (op.pc != last_pc_) counter_.begin(class_of(op));
  last_pc_ = op.pc;
}

void WaveCounter::accessed(const Wave&, const Operation&, u64 active, const u32* address, u32 bytes,
                           LdsAccess access) {
  const bool is_write = access != LdsAccess::Load;
  for_each_lane(active,
                [&](u32 lane) { counter_.note_shared(lane, address[lane], bytes, is_write); });
  counter_.end_shared();
}

KernelCounts WaveCounter::take() { return std::exchange(counts_, {}); }

}  // namespace doorbell::emu::amdgpu
