// Values of signals, and the clocks of their writers (signal_clocks.h).
#include "emulator/core/races/signal_clocks.h"

namespace doorbell::emu {

namespace {

u64 cell_of(const u8* host) { return reinterpret_cast<u64>(host) / SignalClocks::kCell; }

}  // namespace

void SignalClocks::fold(Signal& signal, usize count) {
  for (usize i = 0; i < count; ++i) signal.older.join(signal.releases[i].clock);
  signal.releases.erase(signal.releases.begin(),
                        signal.releases.begin() + static_cast<std::ptrdiff_t>(count));
}

void SignalClocks::release(const u8* host, u64 before, u64 after, const SparseClock& clock,
                           const SparseClock& host_clock) {
  Signal& signal = signals_[cell_of(host)];
  if (!signal.releases.empty() && signal.releases.back().cell != before) {
    fold(signal, signal.releases.size());
    signal.older.join(host_clock);
  }
  if (signal.releases.size() == kKept) fold(signal, 1);
  signal.releases.push_back({.cell = after, .clock = clock});
}

SparseClock SignalClocks::acquire(const Wait& wait, bool& is_host) const {
  const auto found = signals_.find(cell_of(wait.host));
  is_host = found == signals_.end() || found->second.releases.empty();
  if (is_host) return found == signals_.end() ? SparseClock() : found->second.older;
  const Signal& signal = found->second;
  const u64 shift = reinterpret_cast<u64>(wait.host) % kCell * 8;
  const u64 mask = wait.bytes == kCell ? ~u64{0} : ~u32{0};
  const auto word = [&](u64 cell) { return cell >> shift & mask; };
  is_host = word(wait.cell) != word(signal.releases.back().cell);

  // The values have only risen since this one.
  usize first = signal.releases.size() - 1;
  while (first > 0 && word(signal.releases[first - 1].cell) <= word(signal.releases[first].cell))
    --first;
  SparseClock learnt = signal.older;
  for (usize i = 0; i < signal.releases.size(); ++i) {
    learnt.join(signal.releases[i].clock);
    const bool enough = wait.rises && !is_host && i >= first && wait.holds &&
                        wait.holds(word(signal.releases[i].cell));
    if (enough) break;
  }
  return learnt;
}

void SignalClocks::forget(const u8* host, u64 bytes) {
  const u64 first = cell_of(host), last = cell_of(host + bytes - 1);
  absl::erase_if(signals_,
                 [&](const auto& signal) { return signal.first >= first && signal.first <= last; });
}

}  // namespace doorbell::emu
