// Vector clocks in the manner of FastTrack: a single read is kept as one, and as a list by wave
// only once two waves read without an order. [Flanagan and Freund, "FastTrack: Efficient and
// Precise Dynamic Race Detection", PLDI 2009]
#include "emulator/amd/isa/races/lds_races.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/waits/pending_loads.h"

namespace doorbell::emu::amdgpu {

namespace {

void join(std::vector<u32>& to, const std::vector<u32>& from) {
  for (usize i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

const char* does(LdsAccess access) {
  switch (access) {
    case LdsAccess::Load: return "reads";
    case LdsAccess::Store: return "writes";
    case LdsAccess::Copy: return "copies to";
    default: return "updates";
  }
}

const char* did(LdsAccess access) {
  switch (access) {
    case LdsAccess::Load: return "read";
    case LdsAccess::Store: return "wrote";
    case LdsAccess::Copy: return "copied to";
    default: return "updated";
  }
}

std::string count_barriers(u32 count) {
  return fmt::format("{} barrier{}", count, count == 1 ? "" : "s");
}

}  // namespace

void LdsRaces::start(u32 waves, u32 lds_bytes) {
  count_ = waves;
  lds_bytes_ = lds_bytes;
  const usize agents = usize{2} * waves;
  waves_.assign(waves, {});
  clocks_.assign(agents, Clock(agents, 0));
  for (u32 wave = 0; wave < waves; ++wave) clocks_[wave][wave] = 1;
  arrived_.assign(agents, 0);
  passed_.assign(agents, 0);
  sync_.assign(agents, 0);
  found_.clear();
  const usize dwords = (usize{lds_bytes} + 3) / 4;
  if (!used_ && dwords <= dwords_.size()) return;
  dwords_.assign(dwords, {});
  is_split_.assign(dwords, 0);
  reads_ = {};
  atomics_ = {};
  used_ = false;
}

// The loads to LDS for which the wave has waited come before all that it does from now on.
void LdsRaces::settle(u32 wave) {
  const PendingLoads* loads = waves_[wave].loads;
  if (loads != nullptr) clocks_[wave][count_ + wave] = loads->copies_back();
}

void LdsRaces::arrive(u32 wave, u32) {
  settle(wave);
  join(arrived_, clocks_[wave]);
  ++clocks_[wave][wave];
}

void LdsRaces::end(u32 wave) {
  settle(wave);
  if (const PendingLoads* loads = waves_[wave].loads)
    clocks_[wave][count_ + wave] = loads->copies_issued();
  join(arrived_, clocks_[wave]);
}

void LdsRaces::complete(u32) {
  passed_.swap(arrived_);
  std::ranges::fill(arrived_, 0);
}

void LdsRaces::pass(u32 wave, u32) {
  join(clocks_[wave], passed_);
  ++waves_[wave].barriers;
}

void LdsRaces::sync(u32 wave) {
  settle(wave);
  join(clocks_[wave], sync_);
  join(sync_, clocks_[wave]);
  ++clocks_[wave][wave];
}

u32 LdsRaces::site_of(const Operation& op, LdsAccess access) {
  const auto [at, is_new] = site_numbers_.try_emplace(op.pc, static_cast<u32>(sites_.size()));
  if (is_new) sites_.push_back({op.pc, std::string(op.name), access});
  return at->second;
}

void LdsRaces::accessed(const Wave& wave, const Operation& op, u64 active, const u32* address,
                        u32 bytes, LdsAccess access) {
  const u32 index = wave.wave_in_group;
  CHECK_LT(index, count_);
  settle(index);
  u32 agent = index;
  const PendingLoads* loads = waves_[index].loads;
  if (access == LdsAccess::Copy && loads != nullptr) {
    agent = count_ + index;
    join(clocks_[agent], clocks_[index]);
    clocks_[agent][agent] = loads->copies_issued();
  }
  clock_ = &clocks_[agent];
  now_ = {.time = (*clock_)[agent],
          .site = site_of(op, access),
          .barriers = waves_[index].barriers,
          .agent = agent};
  used_ = true;
  for_each_lane(active, [&](u32 lane) {
    if (u64{address[lane]} + bytes > lds_bytes_) return;
    lane_ = lane;
    judge_lane(address[lane], bytes, access);
  });
  // What the wave does next is not what others learn from this operation.
  if (is_atomic(access)) ++clocks_[agent][agent];
}

template <class Function>
void LdsRaces::for_each_cell(u32 address, u32 bytes, Function&& function) {
  for (u32 at = address, end = address + bytes; at < end;) {
    const u32 dword = at / 4;
    const bool whole = at % 4 == 0 && end - at >= 4;
    if (whole && is_split_[dword] == 0) [[likely]] {
      function(dwords_[dword], at);
      at += 4;
      continue;
    }
    if (is_split_[dword] == 0) split(dword);
    function(bytes_[at], at);
    ++at;
  }
}

void LdsRaces::split(u32 dword) {
  if (bytes_.size() < dwords_.size() * 4) bytes_.resize(dwords_.size() * 4);
  is_split_[dword] = 1;
  const Cell& whole = dwords_[dword];
  for (u32 i = 0; i < 4; ++i) {
    Cell& cell = bytes_[dword * 4 + i];
    cell = whole;
    if (i == 0) continue;
    if (whole.reads != 0) {
      cell.reads = take_reads();
      reads_.at(cell.reads) = reads_.at(whole.reads);
    }
    if (whole.atomics != 0) {
      cell.atomics = take_atomics();
      atomics_.at(cell.atomics) = atomics_.at(whole.atomics);
    }
  }
}

void LdsRaces::judge_lane(u32 address, u32 bytes, LdsAccess access) {
  switch (access) {
    case LdsAccess::Load:
      for_each_cell(address, bytes, [&](Cell& cell, u32 at) { load(cell, at); });
      return;
    case LdsAccess::Store:
    case LdsAccess::Copy:
      for_each_cell(address, bytes, [&](Cell& cell, u32 at) { store(cell, at); });
      return;
    case LdsAccess::Atomic:
    case LdsAccess::AtomicResult:
      for_each_cell(address, bytes, [&](Cell& cell, u32 at) {
        update(cell, at, access == LdsAccess::AtomicResult);
      });
      return;
  }
}

void LdsRaces::load(Cell& cell, u32 address) {
  judge(cell.write, address);
  if (cell.atomics != 0) judge_atomics(cell, address);
  if (cell.reads == 0) {
    if (is_ordered(cell.read)) {
      cell.read = now_;
      return;
    }
    cell.reads = take_reads();
    reads_.at(cell.reads)[cell.read.agent] = cell.read;
  }
  reads_.at(cell.reads)[now_.agent] = now_;
}

void LdsRaces::store(Cell& cell, u32 address) {
  judge(cell.write, address);
  judge_reads(cell, address);
  if (cell.atomics != 0) judge_atomics(cell, address);
  if (cell.reads != 0) reads_.free.push_back(cell.reads);
  if (cell.atomics != 0) atomics_.free.push_back(cell.atomics);
  cell = {.write = now_};
}

void LdsRaces::update(Cell& cell, u32 address, bool returns) {
  if (cell.atomics == 0) cell.atomics = take_atomics();
  Atomics& atomics = atomics_.at(cell.atomics);
  if (returns) join(clocks_[now_.agent], atomics.clock);
  judge(cell.write, address);
  judge_reads(cell, address);
  join(atomics.clock, *clock_);
  atomics.last[now_.agent] = now_;
}

void LdsRaces::judge_reads(const Cell& cell, u32 address) {
  if (cell.reads == 0) return judge(cell.read, address);
  for (const Access& read : reads_.at(cell.reads)) judge(read, address);
}

void LdsRaces::judge_atomics(const Cell& cell, u32 address) {
  for (const Access& last : atomics_.at(cell.atomics).last) judge(last, address);
}

u32 LdsRaces::take_reads() {
  const u32 number = reads_.take();
  reads_.at(number).assign(count_, {});
  return number;
}

u32 LdsRaces::take_atomics() {
  const u32 number = atomics_.take();
  atomics_.at(number) = {.clock = Clock(clocks_.size(), 0), .last = std::vector<Access>(count_)};
  return number;
}

void LdsRaces::report(const Access& before, u32 address) {
  const Site &site = sites_[now_.site], &other = sites_[before.site];
  if (!known_.emplace(site.pc, other.pc).second) return;
  const u32 wave = wave_of(now_.agent), other_wave = wave_of(before.agent);
  std::string why;
  if (wave == other_wave)
    why = "the wave has not waited for vmcnt between them";
  else
    why = fmt::format("{} orders them: wave {} had passed {} then, wave {} {} now",
                      before.agent >= count_ ? "no wait for vmcnt with a barrier behind it"
                                             : "neither a barrier nor an atomic operation",
                      other_wave, count_barriers(before.barriers), wave,
                      count_barriers(now_.barriers));
  found_.push_back(
      {.pc = site.pc,
       .other_pc = other.pc,
       .lane = lane_,
       .what = fmt::format("{} {} LDS at {:#x}, which wave {} {} by {} at pc {:#x}; {}", site.name,
                           does(site.access), address, other_wave, did(other.access), other.name,
                           other.pc, why)});
}

}  // namespace doorbell::emu::amdgpu
