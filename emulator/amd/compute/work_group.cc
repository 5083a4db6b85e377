// Barriers: [RDNA4 ISA, "Work-group barriers"]: a signal counts; when all of the group's waves have
// signalled, the count starts again and every wave's next wait is satisfied. The old s_barrier is
// both in one. Waves that have ended are not waited for. The state that s_get_barrier_state reads:
// bit 0 valid, the members from bit 4, of them those that have signalled from bit 16.
#include "emulator/amd/compute/work_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "emulator/amd/compute/random.h"

namespace doorbell::emu::amdgpu {

namespace {

// A group's only one.
constexpr u32 kBarrier = 0;

void fill_random(u32* words, usize count, Random& random) {
  for (usize i = 0; i < count; ++i) words[i] = static_cast<u32>(random.next());
}

}  // namespace

void WorkGroup::start(const Dispatch& dispatch, const Resources& resources, const GroupPlace& place,
                      Memory& memory, u64 poison_seed, Judged judged) {
  place_ = place;
  const usize items = usize{place.size[0]} * place.size[1] * place.size[2];
  count_ = live_ = (items + lanes_ - 1) / lanes_;
  signalled_ = 0;
  split_ = false;
  while (members_.size() < count_) {
    members_.push_back({.wave = std::make_unique<Wave>(*chip_, lanes_)});
  }
  if (dispatch.lds_bytes > lds_capacity_) {
    // Padding behind the end, for handlers that read more than they use.
    lds_ = std::make_unique<u8[]>(dispatch.lds_bytes + 64);
    lds_capacity_ = dispatch.lds_bytes;
  }
  lds_bytes_ = dispatch.lds_bytes;
  if (poison_seed != 0) poison(dispatch, memory, poison_seed);
  if (judged.undefined) {
    twin_lds_ = std::make_unique<u8[]>(lds_capacity_ + 64);
    for (u32 i = 0; i < lds_bytes_; ++i) twin_lds_[i] = static_cast<u8>(~lds_[i]);
  }
  // Later chips have no loads from memory to LDS.
  const bool follows_copies = judged.races && chip_->generation < Generation::Gfx11;
  for (usize i = 0; i < count_; ++i) {
    Member& member = members_[i];
    member.state = State::Ready;
    member.barrier_complete = false;
    member.slept_at = 0;
    member.told_at = ~u64{0};
    member.polls = false;
    Wave& wave = *member.wave;
    wave.memory = &memory;
    wave.group = this;
    wave.lds = lds_.get();
    wave.lds_bytes = dispatch.lds_bytes;
    wave.lds_observer = nullptr;
    const WaveStart start{.group = place.id,
                          .group_size = place.size,
                          .wave = static_cast<u32>(i),
                          .waves = static_cast<u32>(count_),
                          .scratch_slot = place.scratch_slot + static_cast<u32>(i),
                          .compute_unit = place.compute_unit};
    if (judged.waits || follows_copies) {
      if (!member.loads)
        member.loads = std::make_unique<PendingLoads>(*chip_, lanes_, judged.waits);
      member.loads->clear();
    }
    if (!judged.undefined) {
      start_wave(wave, dispatch, resources, start);
      continue;
    }
    if (!member.twin) member.twin = std::make_unique<Twin>(*chip_, lanes_);
    Wave& twin = member.twin->wave;
    member.twin->complement(wave, resources.vgprs, resources.accumulators);
    twin.lds = twin_lds_.get();
    twin.lds_bytes = dispatch.lds_bytes;
    start_wave(wave, dispatch, resources, start);
    start_wave(twin, dispatch, resources, start);
    member.twin->begin(wave);
  }
  orders_.clear();
  if (judged.races && (count_ > 1 || follows_copies))
    start_races();
  else
    races_.reset();
  if (judged.global != nullptr) orders_.push_back(judged.global->start(place.number, place.id));
}

void WorkGroup::start_races() {
  if (!races_) races_ = std::make_unique<LdsRaces>();
  races_->start(static_cast<u32>(count_), lds_bytes_);
  orders_.push_back(races_.get());
  for (usize i = 0; i < count_; ++i) {
    members_[i].wave->lds_observer = races_.get();
    if (members_[i].loads) races_->follow(static_cast<u32>(i), *members_[i].loads);
  }
}

void WorkGroup::poison(const Dispatch& dispatch, Memory& memory, u64 seed) {
  // Only the start of scratch, where small arrays and spilled registers are.
  constexpr u32 kScratchBytes = 8192;
  Random random(seed + place_.number);
  for (usize i = 0; i < count_; ++i) {
    Wave& wave = *members_[i].wave;
    fill_random(wave.v, usize{wave.chip->vgprs} * wave.lanes, random);
    fill_random(wave.s.data(), kVccHi + 1, random);
    wave.s[kM0] = static_cast<u32>(random.next());
    // If the dispatch does not give scratch's address, only the kernel knows it.
    if (dispatch.scratch_base == 0) continue;
    const u32 bytes = std::min(dispatch.scratch_wave_bytes, kScratchBytes);
    const u64 slot =
        dispatch.scratch_base + (place_.scratch_slot + i) * dispatch.scratch_wave_bytes;
    u32 words[16];
    for (u32 at = 0; at + sizeof words <= bytes; at += sizeof words) {
      fill_random(words, std::size(words), random);
      if (!memory.store(slot + at, sizeof words, words, 0)) break;  // the access will fault
    }
  }
  fill_random(reinterpret_cast<u32*>(lds_.get()), lds_bytes_ / 4, random);
}

void WorkGroup::wait_at_barrier(usize i, u64 pc) {
  members_[i].state = State::AtBarrier;
  members_[i].barrier_pc = pc;
  ++signalled_;
  tell(&GroupOrder::arrive, static_cast<u32>(i), kBarrier);
  release();
}

bool WorkGroup::signal_barrier(usize i) {
  CHECK_LT(i, count_);
  split_ = true;
  const bool first = signalled_++ == 0;
  tell(&GroupOrder::arrive, static_cast<u32>(i), kBarrier);
  release();
  return first;
}

void WorkGroup::wait_for_barrier(usize i, u64 pc) {
  Member& member = members_[i];
  split_ = true;
  if (member.barrier_complete) {
    member.barrier_complete = false;
    tell(&GroupOrder::pass, static_cast<u32>(i), kBarrier);
    return;
  }
  member.state = State::AtBarrier;
  member.barrier_pc = pc;
}

u32 WorkGroup::barrier_state() const { return static_cast<u32>(signalled_ << 16 | live_ << 4 | 1); }

void WorkGroup::wait_for_sync(usize i, const GlobalWaveSync::Wait& wait) {
  members_[i].state = State::AtWaveSync;
  members_[i].sync_wait = wait;
}

void WorkGroup::wake(GlobalWaveSync& sync) {
  for (usize i = 0; i < count_; ++i) {
    Member& member = members_[i];
    if (member.state == State::AtWaveSync && sync.over(member.sync_wait)) {
      member.state = State::Ready;
      note_sync(i);
    }
  }
}

void WorkGroup::note_sync(usize i) { tell(&GroupOrder::sync, static_cast<u32>(i)); }

void WorkGroup::end(usize i) {
  members_[i].state = State::Ended;
  --live_;
  tell(&GroupOrder::end, static_cast<u32>(i));
  release();
}

void WorkGroup::release() {
  if (signalled_ == 0 || signalled_ < live_) return;
  signalled_ = 0;
  tell(&GroupOrder::complete, kBarrier);
  for (usize i = 0; i < count_; ++i) {
    Member& member = members_[i];
    if (member.state == State::AtBarrier) {
      member.state = State::Ready;
      tell(&GroupOrder::pass, static_cast<u32>(i), kBarrier);
    } else if (member.state == State::Ready && split_) {
      member.barrier_complete = true;
    }
  }
}

std::string WorkGroup::deadlock() const {
  std::string text;
  for (usize i = 0; i < count_; ++i) {
    const Member& member = members_[i];
    if (member.state == State::Ready || member.state == State::AtWaveSync) return {};
    if (member.state == State::Ended) continue;
    text += fmt::format("{}wave {} at {:#x}", text.empty() ? "" : ", ", i, member.barrier_pc);
  }
  return text;
}

}  // namespace doorbell::emu::amdgpu
