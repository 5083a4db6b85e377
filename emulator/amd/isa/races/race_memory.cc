// Passes accesses on, and tells of them (race_memory.h).
#include "emulator/amd/isa/races/race_memory.h"

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/buffer_address.h"

namespace doorbell::emu::amdgpu {

// By its name, or by a descriptor that adds the lane's number: dispatches of PM4 on gfx10 do not
// say where scratch is.
bool RaceMemory::is_scratch(const Operation& op) const {
  if (op.name.starts_with("SCRATCH_")) return true;
  const bool is_buffer =
      op.name.starts_with("BUFFER_LOAD_") || op.name.starts_with("BUFFER_STORE_");
  return is_buffer &&
         read_resource(*wave_->chip, &wave_->s[op.src[kScalarAddress].index]).add_thread_id;
}

bool RaceMemory::is_shared(u64 va) const {
  const u64 bytes = u64{wave_->scratch_bytes_per_lane} * wave_->lanes;
  return !private_ && va - wave_->scratch_base >= bytes && va - wave_->flat_scratch >= bytes;
}

void RaceMemory::tell_load(u64 va, u32 bytes, CachePolicy policy) {
  if (races_ != nullptr) races_->load(va, bytes, policy);
  if (accesses_ != nullptr) accesses_->load(va, bytes, policy);
}

bool RaceMemory::load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  if (!memory_.load(va, bytes, out, policy)) return failed();
  if (is_shared(va)) tell_load(va, bytes, policy);
  return true;
}

bool RaceMemory::store(u64 va, u32 bytes, const void* in, CachePolicy policy) {
  const bool is_told = is_shared(va);
  if (is_told && accesses_ != nullptr)
    accesses_->store(va, std::span(static_cast<const u8*>(in), bytes), policy);
  if (!memory_.store(va, bytes, in, policy)) return failed();
  if (is_told && races_ != nullptr) races_->store(va, bytes, policy);
  return true;
}

bool RaceMemory::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                        u64& before, CachePolicy policy) {
  const bool is_told = is_shared(va);
  if (is_told && accesses_ != nullptr) accesses_->atomic(va, bytes, update, operand, compare);
  if (!memory_.atomic(va, bytes, update, operand, compare, before, policy)) return failed();
  if (is_told && races_ != nullptr) races_->atomic(va, bytes, policy);
  if (is_told && accesses_ != nullptr) accesses_->updated(va, bytes);
  return true;
}

bool RaceMemory::scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  if (!memory_.scalar_load(va, bytes, out, policy)) return failed();
  tell_load(va, bytes, policy);
  return true;
}

bool RaceMemory::fetch(u64 va, u32 bytes, void* out) {
  return memory_.fetch(va, bytes, out) || failed();
}

}  // namespace doorbell::emu::amdgpu
