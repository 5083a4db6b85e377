// GlobalRaces: accesses of global memory by two waves of one grid to the same byte, at least one of
// which writes, that nothing orders: hardware may run groups and waves in any order. Who executes
// instructions says what each access is (amd/isa/races/race_memory.h, nv/compute/access_judge.h);
// NVIDIA's warps and blocks are waves and groups here.
//
// Happens-before by vector clocks; an agent is a wave. What orders two waves: barriers and global
// wave sync; and atomic operations at the GPU's scope or wider on the same address, of which one
// that returns a value, or a load, comes behind all those before it. Where stores have no scope
// (gfx10, gfx11), one counts as atomic if an atomic load or an atomic operation that returns a
// value meets it, or if the wave did an atomic operation on the address before. Where fences count
// (NVIDIA), atomic operations and stores hand over only what came before the last one of their own
// wave.
//
// Each dword of a page that is accessed has its last write and the reads since (each byte, once an
// instruction has accessed a part of it). Many waves read the same dwords: sets of accesses are
// lists that share their tails. docs/decisions/0069-races.md says what is not seen.
#pragma once

#include <bitset>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "emulator/core/races/race.h"

namespace doorbell::emu {

enum class GlobalAccess : u8 {
  Load,
  Store,
  AtomicLoad,    // at the GPU's scope or wider
  AtomicStore,   // the same
  Atomic,        // an atomic operation
  AtomicResult,  // one that returns the value before
};

// Of one grid, on all parts of a GPU. Thread safety: one thread at a time.
class GlobalRaces {
 public:
  struct Rules {
    bool stores_have_scope = false;
    bool fences_count = false;
    // How the vendor calls them.
    const char *wave = "wave", *group = "group", *scope = "agent scope";
  };
  GlobalRaces(const Rules& rules, u32 waves_per_group);
  ~GlobalRaces();

  // A group starts; what the group tells of its waves' order. Lives as long as this.
  GroupOrder* start(u64 group, const std::array<u32, 3>& id);

  // What the wave executes next.
  void begin(u64 group, u32 wave);
  void begin(u64 pc, std::string_view name);
  // The operation accesses these bytes; `wide`: at the GPU's scope, or wider.
  void access(u64 va, u32 bytes, GlobalAccess kind, bool wide);
  // The wave's accesses so far are before what it hands over from now on.
  void fence(u64 group, u32 wave);

  // What was found since the last call; each pair of instructions once.
  std::vector<Race> take() { return std::exchange(found_, {}); }

 private:
  static constexpr u32 kPageBytes = 4096, kPageDwords = kPageBytes / 4;

  struct Access {
    u32 agent = 0, time = 0, site = 0;
  };
  // A list of accesses: one, and the number of the rest of the list. 0: the empty list.
  struct Accesses {
    u32 access = 0, rest = 0;
  };
  struct Cell {
    u32 write = 0;    // in accesses_; 0: none
    u32 reads = 0;    // in lists_
    u32 atomics = 0;  // in atomics_
  };
  struct Atomics {
    SparseClock wide;    // what one at agent scope learns
    SparseClock narrow;  // what those of its own group learn besides
    u32 users = 0;       // in lists_
    u32 released = 0;    // the last access that joined its clock
  };
  struct Page {
    std::array<Cell, kPageDwords> dwords;
    std::bitset<kPageDwords> is_split;  // its cells are in `bytes`
    std::unique_ptr<std::array<Cell, kPageBytes>> bytes;
  };
  struct Site {
    u64 pc = 0;
    std::string name;
    GlobalAccess access = GlobalAccess::Load;
    u32 last = 0;  // access
  };
  class Group;

  Group& group_of(u32 agent) const;
  SparseClock& clock_of(u32 agent) const;
  void finish();
  const SparseClock& handed_over() const;
  void note(GlobalAccess kind);
  GlobalAccess kind_of(const Access& access) const { return sites_[access.site].access; }
  bool is_ordered(const Access& before) const {
    return before.agent == agent_ || before.time <= clock_->of(before.agent);
  }
  bool replaces(const Access& before) const;
  u32 with(u32 list, u32 access);
  u32 list_of(u32 access, u32 rest);
  Page& page_at(u64 va);
  template <class Function>
  void for_each_cell(u64 va, u32 bytes, Function&& function);
  void split(Page& page, u32 dword);
  Atomics& atomics_of(Cell& cell);

  void judge_cell(Cell& cell, u64 va);
  void judge_load(Cell& cell, u64 va);
  void judge_store(Cell& cell, u64 va);
  void judge_atomic(Cell& cell, u64 va);
  // The write, unless the wave learns from it or is behind it.
  void judge_or_acquire(u32 write, u64 va);
  void judge_users_of_store(const Cell& cell, u64 va);
  void acquire(const Cell& cell);
  void release(Atomics& atomics);
  void judge(u32 access, u64 va);
  void judge_list(u32 list, u64 va);
  void report(const Access& before, u64 va);

  const Rules rules_;
  const u32 waves_per_group_;
  std::unordered_map<u64, std::unique_ptr<Group>> groups_;
  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
  u64 recent_number_ = ~u64{0};
  Page* recent_ = nullptr;
  std::vector<Access> accesses_{1};
  std::vector<Accesses> lists_{1};
  std::unordered_map<u64, u32> list_numbers_;  // by access and rest
  std::vector<Atomics> atomics_{1};
  std::vector<u32> free_atomics_;
  std::vector<Site> sites_;
  std::unordered_map<u64, u32> site_numbers_;
  SparseClock sync_;

  // Of what is judged.
  u32 agent_ = 0;
  u64 pc_ = 0;
  std::string_view name_;
  SparseClock* clock_ = nullptr;
  GlobalAccess kind_ = GlobalAccess::Load;
  bool wide_ = false;
  u32 now_ = 0;  // in accesses_; 0: the operation has accessed nothing
  // Results for lists that neighbouring lanes ask for again.
  u32 ordered_list_ = 0, with_list_ = ~0u, with_result_ = 0;
  u32 acquired_ = 0;  // the release that the operation has learnt from

  std::set<std::pair<u64, u64>> known_;
  std::vector<Race> found_;
};

}  // namespace doorbell::emu
