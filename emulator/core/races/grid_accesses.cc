// From accesses of waves to accesses of agents (grid_accesses.h).
#include "emulator/core/races/grid_accesses.h"

#include <algorithm>

#include "base/util/format.h"

namespace doorbell::emu {

void GridAccesses::acquire(const u8* host, u32 bytes) {
  const u8* cell = host - reinterpret_cast<u64>(host) % SignalClocks::kCell;
  task_.acquire({.host = host,
                 .bytes = bytes,
                 .cell = __atomic_load_n(reinterpret_cast<const u64*>(cell), __ATOMIC_RELAXED),
                 .holds = {}});
}

// Wide stores are of several cells.
void GridAccesses::release(const u8* host, std::span<const u8> bytes) {
  while (!bytes.empty()) {
    const u64 left = SignalClocks::kCell - reinterpret_cast<u64>(host) % SignalClocks::kCell;
    const usize now = std::min<usize>(left, bytes.size());
    task_.release(host, bytes.first(now));
    host += now;
    bytes = bytes.subspan(now);
  }
}

void GridAccesses::access(u64 va, const u8* host, u32 bytes, AgentAccess access) {
  constexpr const char* kDoes[] = {"reads", "writes", "reads", "updates", "writes"};
  const auto conflict = task_.access(host, bytes, access);
  if (!conflict) return;
  const u64 where = va + static_cast<u64>(conflict->at - host);
  found_.push_back({.pc = pc_,
                    .other_pc = reinterpret_cast<u64>(conflict->other->who.get()),
                    .what = fmt::format("{} of {} {} memory at {:#x}, {}, {}", name_, task_.who(),
                                        kDoes[static_cast<usize>(access)], where,
                                        space_.describe(where), task_.describe(*conflict))});
}

}  // namespace doorbell::emu
