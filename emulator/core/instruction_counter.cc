// Bank conflicts of an access, and the sectors of an instruction.
#include "emulator/core/instruction_counter.h"

#include <algorithm>
#include <array>
#include <bit>

namespace doorbell::emu {

namespace {

constexpr u64 kSector = 32;

}  // namespace

u32 neighbours_cycle(u32 lane, u32 bytes, bool) {
  return lane * std::bit_ceil(std::max(bytes, kBankBytes)) / (kBanks * kBankBytes);
}

u64 bank_conflicts(const std::vector<SharedAccess>& accesses, bool is_write, SharedCycle cycle) {
  struct Word {
    u32 cycle;
    u64 number;
    auto operator<=>(const Word&) const = default;
  };
  std::vector<Word> words;
  for (const SharedAccess& access : accesses) {
    const u32 at = cycle(access.lane, access.bytes, is_write);
    const u64 last = (access.address + access.bytes - 1) / kBankBytes;
    for (u64 word = access.address / kBankBytes; word <= last; ++word) words.push_back({at, word});
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  u64 conflicts = 0;
  for (usize first = 0; first < words.size();) {
    std::array<u32, kBanks> used{};
    usize end = first;
    for (; end < words.size() && words[end].cycle == words[first].cycle; ++end)
      ++used[words[end].number % kBanks];
    conflicts += *std::ranges::max_element(used) - 1;
    first = end;
  }
  return conflicts;
}

void InstructionCounter::end_shared() {
  // How matrix units, barriers and TMA access shared memory is not documented.
  const bool by_lane = kind_ == InstructionClass::Shared || kind_ == InstructionClass::Global;
  if (by_lane) to_.bank_conflicts += bank_conflicts(shared_, writes_shared_, cycle_);
  shared_.clear();
}

void InstructionCounter::note_global(u64 address, u32 bytes, bool is_write) {
  (is_write ? to_.bytes_written : to_.bytes_read) += bytes;
  for (u64 sector = address / kSector; sector <= (address + bytes - 1) / kSector; ++sector)
    if (sectors_.empty() || sectors_.back() != sector) sectors_.push_back(sector);
}

void InstructionCounter::end() {
  if (!shared_.empty()) end_shared();
  if (sectors_.empty()) return;
  std::ranges::sort(sectors_);
  const auto end = std::unique(sectors_.begin(), sectors_.end());
  to_.sectors += static_cast<u64>(end - sectors_.begin());
  sectors_.clear();
}

}  // namespace doorbell::emu
