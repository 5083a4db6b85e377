// LdsRaces: accesses of a group's LDS by two waves to the same byte, at least one of which writes,
// that nothing orders: hardware may run the waves in any order, the interpreter runs them in one.
// It is told of barriers by the group (amd/compute/work_group.h), which also says who runs when.
//
// Happens-before by vector clocks, and for each dword of LDS (each byte, once an instruction has
// accessed a part of it) the last write and the reads since. What orders two waves: barriers, and
// atomic operations on the same address, of which one that returns a value comes behind all those
// before it. LDS executes the instructions of all waves in one order, and those of a wave in its
// own, so that a barrier needs no wait before it [LLVM SIMemoryLegalizer.cpp, insertWait, the cases
// of LDS]. A load from memory to LDS is another matter: it stores at any time until its wave has
// waited for vmcnt [llvm-project pull requests 75245, 150887].
//
// docs/decisions/0069-races.md says what is not seen.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/util/types.h"
#include "emulator/amd/isa/memory/lds_observer.h"
#include "emulator/core/races/race.h"

namespace doorbell::emu::amdgpu {

class PendingLoads;

// Of one group at a time. Thread safety: one thread at a time.
class LdsRaces final : public LdsObserver, public GroupOrder {
 public:
  // A group of as many waves starts: nothing has happened.
  void start(u32 waves, u32 lds_bytes);
  // Says which of the wave's loads to LDS it has waited for; borrowed. Without it they count as
  // stores.
  void follow(u32 wave, const PendingLoads& loads) { waves_[wave].loads = &loads; }

  void accessed(const Wave& wave, const Operation& op, u64 active, const u32* address, u32 bytes,
                LdsAccess access) override;

  void arrive(u32 wave, u32 barrier) override;
  void end(u32 wave) override;
  void complete(u32 barrier) override;
  void pass(u32 wave, u32 barrier) override;
  void sync(u32 wave) override;

  // What was found since the last call; each pair of instructions once.
  std::vector<Race> take() { return std::exchange(found_, {}); }

 private:
  // Of all agents: a wave, or a wave's loads to LDS, which follow the waves. For each, the time of
  // its own up to which the owner comes behind it.
  using Clock = std::vector<u32>;
  struct Access {
    u32 time = 0;  // of its agent; 0: there is none
    u32 site = 0;  // in sites_
    u32 barriers = 0;
    u32 agent = 0;
  };
  struct Cell {
    Access write;
    Access read;    // the last, if `reads` is 0
    u32 reads = 0;  // in reads_: of several waves
    u32 atomics = 0;
  };
  struct Atomics {
    Clock clock;  // what one that returns a value learns
    std::vector<Access> last;
  };
  struct Site {
    u64 pc = 0;
    std::string name;
    LdsAccess access = LdsAccess::Load;
  };
  struct WaveState {
    const PendingLoads* loads = nullptr;
    u32 barriers = 0;  // passed
  };
  // Records by number, from 1 on.
  template <class T>
  struct Pool {
    std::vector<T> items;
    std::vector<u32> free;
    T& at(u32 number) { return items[number - 1]; }
    u32 take() {
      if (free.empty()) {
        items.emplace_back();
        return static_cast<u32>(items.size());
      }
      const u32 number = free.back();
      free.pop_back();
      return number;
    }
  };

  u32 wave_of(u32 agent) const { return agent < count_ ? agent : agent - count_; }
  void settle(u32 wave);
  u32 site_of(const Operation& op, LdsAccess access);
  bool is_ordered(const Access& before) const { return before.time <= (*clock_)[before.agent]; }

  template <class Function>
  void for_each_cell(u32 address, u32 bytes, Function&& function);
  void split(u32 dword);
  void judge_lane(u32 address, u32 bytes, LdsAccess access);
  void load(Cell& cell, u32 address);
  void store(Cell& cell, u32 address);
  void update(Cell& cell, u32 address, bool returns);
  void judge(const Access& before, u32 address) {
    if (!is_ordered(before)) [[unlikely]]
      report(before, address);
  }
  void judge_reads(const Cell& cell, u32 address);
  void judge_atomics(const Cell& cell, u32 address);
  u32 take_reads();
  u32 take_atomics();
  void report(const Access& before, u32 address);

  u32 count_ = 0, lds_bytes_ = 0;
  std::vector<WaveState> waves_;
  std::vector<Clock> clocks_;      // of each agent
  Clock arrived_, passed_, sync_;  // at the barrier: under way, and complete
  std::vector<Cell> dwords_, bytes_;
  std::vector<u8> is_split_;  // of each dword: its cells are in bytes_
  bool used_ = false;
  Pool<std::vector<Access>> reads_;
  Pool<Atomics> atomics_;
  std::vector<Site> sites_;
  std::unordered_map<u64, u32> site_numbers_;

  // Of the access that is judged.
  const Clock* clock_ = nullptr;
  Access now_;
  u32 lane_ = 0;

  std::set<std::pair<u64, u64>> known_;
  std::vector<Race> found_;
};

}  // namespace doorbell::emu::amdgpu
