// From instructions to accesses of agents (grid_accesses.h).
#include "emulator/amd/races/grid_accesses.h"

#include <algorithm>
#include <cstring>

#include "base/util/format.h"
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/reach.h"

namespace doorbell::emu::amdgpu {

u64 GridAccesses::cell_at(u64 va) {
  const u8* host = at(va / SignalClocks::kCell * SignalClocks::kCell, SignalClocks::kCell);
  return host == nullptr ? 0
                         : __atomic_load_n(reinterpret_cast<const u64*>(host), __ATOMIC_RELAXED);
}

void GridAccesses::load(u64 va, u32 bytes, CachePolicy policy) {
  if (reach_of(generation_, policy) < Reach::Device)
    return judge(va, bytes, AgentAccess::Read, "reads");
  acquire(va, bytes);
  judge(va, bytes, AgentAccess::AtomicRead, "reads");
}

// On gfx10 and gfx11 an atomic store is a plain one. [isa/races/global_races.h]
AgentAccess GridAccesses::store_access(CachePolicy policy) const {
  if (generation_ == Generation::Gfx10 || generation_ == Generation::Gfx11)
    return AgentAccess::LooseWrite;
  return reach_of(generation_, policy) < Reach::Device ? AgentAccess::Write
                                                       : AgentAccess::AtomicWrite;
}

void GridAccesses::store(u64 va, std::span<const u8> bytes, CachePolicy policy) {
  const AgentAccess access = store_access(policy);
  judge(va, static_cast<u32>(bytes.size()), access, "writes");
  if (access == AgentAccess::AtomicWrite) release(va, bytes);
}

void GridAccesses::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare) {
  judge(va, bytes, AgentAccess::AtomicWrite, "updates");
  const u8* host = at(va, bytes);
  if (host == nullptr) return;
  u64 value = 0;
  std::memcpy(&value, host, bytes);
  value = update(value, operand, compare);
  release(va, std::span(reinterpret_cast<const u8*>(&value), bytes));
}

// Scalar ones say that they return the value before in other bits, and are taken to do it.
void GridAccesses::updated(u64 va, u32 bytes) {
  if ((op_->flags & kMemoryReturns) != 0 || op_->name.starts_with("S_")) acquire(va, bytes);
}

void GridAccesses::acquire(u64 va, u32 bytes) {
  if (const u8* host = at(va, bytes))
    task_.acquire({.host = host, .bytes = bytes, .cell = cell_at(va), .holds = {}});
}

// Wide stores are of several cells.
void GridAccesses::release(u64 va, std::span<const u8> bytes) {
  const u8* host = at(va, bytes.size());
  while (host != nullptr && !bytes.empty()) {
    const u64 left = SignalClocks::kCell - reinterpret_cast<u64>(host) % SignalClocks::kCell;
    const usize now = std::min<usize>(left, bytes.size());
    task_.release(host, bytes.first(now));
    host += now;
    bytes = bytes.subspan(now);
  }
}

void GridAccesses::judge(u64 va, u32 bytes, AgentAccess access, const char* does) {
  const u8* host = at(va, bytes);
  if (host == nullptr) return;
  const auto conflict = task_.access(host, bytes, access);
  if (!conflict) return;
  const u64 where = va + static_cast<u64>(conflict->at - host);
  found_.push_back(
      {.pc = op_->pc,
       .other_pc = reinterpret_cast<u64>(conflict->other->who.get()),
       .what = fmt::format("{} of {} {} memory at {:#x}, {}, {}", op_->name, task_.who(), does,
                           where, space_.describe(where), task_.describe(*conflict))});
}

}  // namespace doorbell::emu::amdgpu
