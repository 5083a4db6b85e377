// Writes on their way (posted_writes.h).
#include "emulator/amd/cp/posted_writes.h"

#include <algorithm>
#include <utility>

#include "base/util/check.h"
#include "base/util/format.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

bool PostedWrites::has(QueueId queue) const {
  return std::ranges::any_of(writes_, [&](const Write& write) { return write.queue == queue; });
}

void PostedWrites::age(QueueId queue) {
  for (Write& write : writes_)
    if (write.queue == queue && write.turns > 0) --write.turns;
}

void PostedWrites::launched(QueueId queue, u64 dispatch) {
  for (Write& write : writes_)
    if (write.queue == queue) write.dispatches.push_back(dispatch);
}

PostedWrites::Write PostedWrites::take_first(u64 va, u64 bytes) {
  auto first =
      std::ranges::find_if(writes_, [&](const Write& one) { return one.overlaps(va, bytes); });
  CHECK(first != writes_.end(), "no write to {:#x} is on its way", va);
  Write write = std::move(*first);
  writes_.erase(first);
  return write;
}

void PostedWrites::judge_packet(QueueId queue, u64 va, u64 bytes) {
  for (Write& write : writes_)
    if (write.queue == queue && write.overlaps(va, bytes)) report(write, "a later packet");
}

void PostedWrites::judge_wave(u64 dispatch, const std::string& kernel, u64 va, u64 bytes) {
  for (Write& write : writes_)
    if (write.overlaps(va, bytes) && std::ranges::count(write.dispatches, dispatch) != 0)
      report(write, "kernel " + kernel);
}

void PostedWrites::report(Write& write, const std::string& who) {
  if (std::exchange(write.told, true)) return;
  checks_.report(kUnconfirmed,
                 fmt::format("{} comes to {:#x} before the write of {}, which asks for no "
                             "confirmation: WR_CONFIRM (DMA_DATA: CP_SYNC) is missing",
                             who, write.va, write.what));
}

}  // namespace doorbell::emu::amdgpu
