// What channels, grids and copies tell the detector of races (core/races). In one channel the host
// engine goes on while grids and copies run: it is behind them where it waits for idle. Copies of a
// channel are behind those ahead of them unless they are pipelined, grids are not.
// docs/decisions/0069-races.md says what is not seen.
#include <fmt/format.h>

#include "emulator/nv/compute/rules.h"
#include "emulator/nv/host/gpu.h"

namespace doorbell::emu::nvgpu {

std::string Gpu::race_place(const Channel& channel, std::string_view what) const {
  return fmt::format("{} of {}, entry {}", what, name(channel), channel.fetched);
}

void Gpu::begin_race_packet(Channel& channel) {
  channel.races->begin_packet(channel.fetched, race_place(channel, "a method"));
}

bool Gpu::judge(Channel& channel, RaceTask* task, u64 address, const u8* host, u64 bytes,
                AgentAccess access) {
  if (task == nullptr) return true;
  const auto conflict = task->access(host, bytes, access);
  if (!conflict) return true;
  const u64 where = address + static_cast<u64>(conflict->at - host);
  return !breaks(channel, ChannelError::GraphicsException, kAgentRace,
                 fmt::format("{} {} memory at {:#x}, {}, {}", task->who(),
                             access == AgentAccess::Read ? "reads" : "writes", where,
                             channel.space().describe(where), task->describe(*conflict)));
}

bool Gpu::hand_over(Channel& channel, RaceTask* task, u64 address, const u8* host, u64 value,
                    u64 bytes) {
  if (task == nullptr) return true;
  if (!judge(channel, task, address, host, bytes, AgentAccess::AtomicWrite)) return false;
  task->release(host, std::span(reinterpret_cast<const u8*>(&value), bytes));
  return true;
}

void Gpu::note_acquired(Channel& channel, const u8* host) {
  if (!channel.races) return;
  const hw::Semaphore& semaphore = channel.acquire;
  const bool rises = semaphore.operation == hw::SemOperation::AcqCircGeq ||
                     semaphore.operation == hw::SemOperation::AcqStrictGeq;
  const u8* cell = host - reinterpret_cast<u64>(host) % SignalClocks::kCell;
  channel.races->processor().acquire(
      {.host = host,
       .bytes = semaphore.payload_64bit ? 8u : 4u,
       .cell = __atomic_load_n(reinterpret_cast<const u64*>(cell), __ATOMIC_RELAXED),
       .holds = [&](u64 word) { return passes(semaphore, word); },
       .rises = rises});
}

}  // namespace doorbell::emu::nvgpu
