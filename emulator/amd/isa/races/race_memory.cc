// Passes accesses on, and tells of them (race_memory.h).
#include "emulator/amd/isa/races/race_memory.h"

#include <cstring>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/buffer_address.h"
#include "emulator/amd/isa/memory/reach.h"

namespace doorbell::emu::amdgpu {

namespace {

bool stores_have_scope(Generation generation) {
  return generation == Generation::Gfx9 || generation == Generation::Gfx12;
}

}  // namespace

GlobalRaces::Rules race_rules(const Chip& chip) {
  return {.stores_have_scope = stores_have_scope(chip.generation)};
}

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

bool RaceMemory::is_wide(CachePolicy policy) const {
  return reach_of(generation_, policy) >= Reach::Device;
}

// Scalar ones say it in other bits, and are taken to return it.
bool RaceMemory::returns_before() const {
  return (op_->flags & kMemoryReturns) != 0 || op_->name.starts_with("S_");
}

void RaceMemory::tell_load(u64 va, u32 bytes, CachePolicy policy) {
  const bool wide = is_wide(policy);
  if (races_ != nullptr)
    races_->access(va, bytes, wide ? GlobalAccess::AtomicLoad : GlobalAccess::Load, wide);
  if (accesses_ == nullptr) return;
  const u8* host = host_.at(va, bytes, false);
  if (host == nullptr) return;
  if (wide) accesses_->acquire(host, bytes);
  accesses_->access(va, host, bytes, wide ? AgentAccess::AtomicRead : AgentAccess::Read);
}

void RaceMemory::tell_agents_of_store(u64 va, u32 bytes, const void* in, CachePolicy policy) {
  const u8* host = host_.at(va, bytes, false);
  if (host == nullptr) return;
  const AgentAccess access = !stores_have_scope(generation_) ? AgentAccess::LooseWrite
                             : is_wide(policy)               ? AgentAccess::AtomicWrite
                                                             : AgentAccess::Write;
  accesses_->access(va, host, bytes, access);
  if (access == AgentAccess::AtomicWrite)
    accesses_->release(host, std::span(static_cast<const u8*>(in), bytes));
}

void RaceMemory::tell_agents_of_atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand,
                                       u64 compare) {
  const u8* host = host_.at(va, bytes, false);
  if (host == nullptr) return;
  u64 value = 0;
  std::memcpy(&value, host, bytes);
  value = update(value, operand, compare);
  accesses_->access(va, host, bytes, AgentAccess::AtomicWrite);
  accesses_->release(host, std::span(reinterpret_cast<const u8*>(&value), bytes));
}

bool RaceMemory::load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  if (!PassingMemory::load(va, bytes, out, policy)) return false;
  if (is_shared(va)) tell_load(va, bytes, policy);
  return true;
}

bool RaceMemory::store(u64 va, u32 bytes, const void* in, CachePolicy policy) {
  const bool is_told = is_shared(va);
  if (is_told && accesses_ != nullptr) tell_agents_of_store(va, bytes, in, policy);
  if (!PassingMemory::store(va, bytes, in, policy)) return false;
  const bool wide = stores_have_scope(generation_) && is_wide(policy);
  if (is_told && races_ != nullptr)
    races_->access(va, bytes, wide ? GlobalAccess::AtomicStore : GlobalAccess::Store, wide);
  return true;
}

// Atomic operations act in the L2 at least; only gfx12's have bits of their scope.
bool RaceMemory::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                        u64& before, CachePolicy policy) {
  const bool is_told = is_shared(va);
  if (is_told && accesses_ != nullptr) tell_agents_of_atomic(va, bytes, update, operand, compare);
  if (!PassingMemory::atomic(va, bytes, update, operand, compare, before, policy)) return false;
  const bool wide = generation_ != Generation::Gfx12 || is_wide(policy);
  if (is_told && races_ != nullptr)
    races_->access(va, bytes, returns_before() ? GlobalAccess::AtomicResult : GlobalAccess::Atomic,
                   wide);
  if (is_told && accesses_ != nullptr && returns_before())
    if (const u8* host = host_.at(va, bytes, false)) accesses_->acquire(host, bytes);
  return true;
}

bool RaceMemory::scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  if (!PassingMemory::scalar_load(va, bytes, out, policy)) return false;
  tell_load(va, bytes, policy);
  return true;
}

}  // namespace doorbell::emu::amdgpu
