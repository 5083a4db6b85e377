// The judge of global_races.h, cell by cell. A wave's time moves on behind each operation that
// others may learn from: stores, atomic operations, barriers.
#include "emulator/core/races/global_races.h"

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell::emu {

namespace {

// So many accesses of a list are looked at when another is added: older ones stay, which costs
// room, but nothing else.
constexpr u32 kLook = 64;

bool is_update(GlobalAccess access) {
  return access == GlobalAccess::Atomic || access == GlobalAccess::AtomicResult;
}
bool is_load(GlobalAccess access) {
  return access == GlobalAccess::Load || access == GlobalAccess::AtomicLoad;
}

const char* does(GlobalAccess access) {
  return is_load(access) ? "reads" : is_update(access) ? "updates" : "writes";
}
const char* did(GlobalAccess access) {
  return is_load(access) ? "read" : is_update(access) ? "updated" : "wrote";
}

}  // namespace

// The clocks of a group's waves, which stay when it has ended: others may learn from it later.
class GlobalRaces::Group final : public GroupOrder {
 public:
  Group(GlobalRaces& races, u32 first, const std::array<u32, 3>& id)
      : id(id), clocks(races.waves_per_group_), races_(races), first_(first) {
    for (u32 wave = 0; wave < races.waves_per_group_; ++wave) step(wave);
  }

  void arrive(u32 wave, u32 barrier) override {
    if (barrier >= barriers_.size()) barriers_.resize(barrier + 1);
    barriers_[barrier].arrived.join(clocks[wave]);
    step(wave);
  }
  void end(u32 wave) override { ended_.join(clocks[wave]); }
  void complete(u32 barrier) override {
    if (barrier >= barriers_.size()) barriers_.resize(barrier + 1);
    Barrier& completed = barriers_[barrier];
    completed.passed = std::exchange(completed.arrived, {});
    completed.passed.join(ended_);
  }
  void pass(u32 wave, u32 barrier) override { clocks[wave].join(barriers_[barrier].passed); }
  void sync(u32 wave) override {
    clocks[wave].join(races_.sync_);
    races_.sync_.join(clocks[wave]);
    step(wave);
  }

  // The wave's next accesses are behind those that others have learnt of.
  void step(u32 wave) { clocks[wave].raise(first_ + wave, clocks[wave].of(first_ + wave) + 1); }

  void fence(u32 wave) {
    if (fenced_.empty()) fenced_.resize(clocks.size());
    fenced_[wave] = clocks[wave];
    step(wave);
  }
  const SparseClock& fenced(u32 wave) {
    if (fenced_.empty()) fenced_.resize(clocks.size());
    return fenced_[wave];
  }

  // Of the last addresses on which a wave did an atomic operation that returned a value.
  void note_update(u32 wave, u64 va) {
    if (updated_.empty()) updated_.resize(clocks.size());
    updated_[wave].va[updated_[wave].next++ % kUpdates] = va;
  }
  bool has_updated(u32 wave, u64 va) const {
    return !updated_.empty() && std::ranges::count(updated_[wave].va, va) != 0;
  }

  const std::array<u32, 3> id;
  std::vector<SparseClock> clocks;

 private:
  static constexpr u32 kUpdates = 64;
  struct Updated {
    std::array<u64, kUpdates> va{};
    u32 next = 0;
  };

  GlobalRaces& races_;
  const u32 first_;  // agent
  struct Barrier {
    SparseClock arrived, passed;  // of who is at it, and of who was when it completed last
  };
  std::vector<Barrier> barriers_;
  SparseClock ended_;
  std::vector<SparseClock> fenced_;
  std::vector<Updated> updated_;
};

GlobalRaces::GlobalRaces(const Rules& rules, u32 waves_per_group)
    : rules_(rules), waves_per_group_(waves_per_group) {}
GlobalRaces::~GlobalRaces() = default;

GroupOrder* GlobalRaces::start(u64 group, const std::array<u32, 3>& id) {
  const u64 first = group * waves_per_group_;
  CHECK_LE(first + waves_per_group_, u64{~u32{0}});
  std::unique_ptr<Group>& started = groups_[group];
  started = std::make_unique<Group>(*this, static_cast<u32>(first), id);
  return started.get();
}

GlobalRaces::Group& GlobalRaces::group_of(u32 agent) const {
  return *groups_.at(agent / waves_per_group_);
}

SparseClock& GlobalRaces::clock_of(u32 agent) const {
  return group_of(agent).clocks[agent % waves_per_group_];
}

void GlobalRaces::finish() {
  if (now_ != 0 && !is_load(kind_)) group_of(agent_).step(agent_ % waves_per_group_);
  now_ = 0;
}

void GlobalRaces::begin(u64 group, u32 wave) {
  finish();
  agent_ = static_cast<u32>(group) * waves_per_group_ + wave;
}

void GlobalRaces::begin(u64 pc, std::string_view name) {
  finish();
  pc_ = pc;
  name_ = name;
}

void GlobalRaces::fence(u64 group, u32 wave) { groups_.at(group)->fence(wave); }

const SparseClock& GlobalRaces::handed_over() const {
  return rules_.fences_count ? group_of(agent_).fenced(agent_ % waves_per_group_) : *clock_;
}

void GlobalRaces::access(u64 va, u32 bytes, GlobalAccess kind, bool wide) {
  if (now_ == 0 || kind != kind_) note(kind);
  wide_ = wide;
  for_each_cell(va, bytes, [&](Cell& cell, u64 at) { judge_cell(cell, at); });
}

// What an instruction loads in one wave at one time is one access: a loop that polls is not to fill
// memory.
void GlobalRaces::note(GlobalAccess kind) {
  kind_ = kind;
  clock_ = &clock_of(agent_);
  ordered_list_ = 0, with_list_ = ~0u, acquired_ = 0;
  const u32 time = clock_->of(agent_);
  const auto [at, is_new] = site_numbers_.try_emplace(pc_, static_cast<u32>(sites_.size()));
  if (is_new) sites_.push_back({.pc = pc_, .name = std::string(name_), .access = kind});
  u32& last = sites_[at->second].last;
  if (is_load(kind) && accesses_[last].agent == agent_ && accesses_[last].time == time) {
    now_ = last;
    return;
  }
  last = now_ = static_cast<u32>(accesses_.size());
  accesses_.push_back({.agent = agent_, .time = time, .site = at->second});
}

GlobalRaces::Page& GlobalRaces::page_at(u64 va) {
  const u64 number = va / kPageBytes;
  if (number != recent_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    recent_ = page.get();
    recent_number_ = number;
  }
  return *recent_;
}

template <class Function>
void GlobalRaces::for_each_cell(u64 va, u32 bytes, Function&& function) {
  for (u64 at = va, end = va + bytes; at < end;) {
    Page& page = page_at(at);
    const u32 offset = at % kPageBytes, dword = offset / 4;
    const bool whole = at % 4 == 0 && end - at >= 4;
    if (whole && !page.is_split[dword]) [[likely]] {
      function(page.dwords[dword], at);
      at += 4;
      continue;
    }
    if (!page.is_split[dword]) split(page, dword);
    function((*page.bytes)[offset], at);
    ++at;
  }
}

void GlobalRaces::split(Page& page, u32 dword) {
  if (!page.bytes) page.bytes = std::make_unique<std::array<Cell, kPageBytes>>();
  page.is_split[dword] = true;
  const Cell& whole = page.dwords[dword];
  for (u32 i = 0; i < 4; ++i) {
    Cell& cell = (*page.bytes)[dword * 4 + i];
    cell = whole;
    if (i == 0 || whole.atomics == 0) continue;
    cell.atomics = 0;
    Atomics& copy = atomics_of(cell);
    copy = atomics_[whole.atomics];
  }
}

GlobalRaces::Atomics& GlobalRaces::atomics_of(Cell& cell) {
  if (cell.atomics == 0 && free_atomics_.empty()) {
    cell.atomics = static_cast<u32>(atomics_.size());
    atomics_.emplace_back();
  } else if (cell.atomics == 0) {
    cell.atomics = free_atomics_.back();
    free_atomics_.pop_back();
    atomics_[cell.atomics] = {};
  }
  return atomics_[cell.atomics];
}

// ---- lists of accesses

u32 GlobalRaces::list_of(u32 access, u32 rest) {
  const auto [at, is_new] =
      list_numbers_.try_emplace(u64{access} << 32 | rest, static_cast<u32>(lists_.size()));
  if (is_new) lists_.push_back({access, rest});
  return at->second;
}

// Who comes behind the access at hand comes behind this one: it need not be kept. A load does not
// stand for an atomic operation, with which other accesses race.
bool GlobalRaces::replaces(const Access& before) const {
  return is_ordered(before) && (is_update(kind_) || !is_update(kind_of(before)));
}

u32 GlobalRaces::with(u32 list, u32 access) {
  if (list == with_list_) return with_result_;
  std::array<u32, kLook> kept;
  u32 count = 0, rest = list;
  bool dropped = false;
  for (u32 i = 0; i < kLook && rest != 0; ++i) {
    const Accesses& item = lists_[rest];
    if (replaces(accesses_[item.access]))
      dropped = true;
    else
      kept[count++] = item.access;
    rest = item.rest;
  }
  u32 result = dropped ? rest : list;
  while (dropped && count > 0) result = list_of(kept[--count], result);
  with_list_ = list;
  with_result_ = list_of(access, result);
  return with_result_;
}

// ---- what is behind what

void GlobalRaces::judge_cell(Cell& cell, u64 va) {
  switch (kind_) {
    case GlobalAccess::Load:
    case GlobalAccess::AtomicLoad: return judge_load(cell, va);
    case GlobalAccess::Store:
    case GlobalAccess::AtomicStore: return judge_store(cell, va);
    case GlobalAccess::Atomic:
    case GlobalAccess::AtomicResult: return judge_atomic(cell, va);
  }
}

void GlobalRaces::judge(u32 access, u64 va) {
  if (access != 0 && !is_ordered(accesses_[access])) [[unlikely]]
    report(accesses_[access], va);
}

void GlobalRaces::judge_list(u32 list, u64 va) {
  if (list == ordered_list_) return;
  for (u32 at = list; at != 0; at = lists_[at].rest) judge(lists_[at].access, va);
  ordered_list_ = list;
}

void GlobalRaces::judge_load(Cell& cell, u64 va) {
  if (kind_ == GlobalAccess::AtomicLoad) {
    acquire(cell);
    judge_or_acquire(cell.write, va);
    Atomics& atomics = atomics_of(cell);
    atomics.users = with(atomics.users, now_);
    return;
  }
  judge(cell.write, va);
  if (cell.atomics != 0)
    for (u32 at = atomics_[cell.atomics].users; at != 0; at = lists_[at].rest)
      if (is_update(kind_of(accesses_[lists_[at].access]))) judge(lists_[at].access, va);
  cell.reads = with(cell.reads, now_);
}

void GlobalRaces::judge_store(Cell& cell, u64 va) {
  const bool both_atomic = kind_ == GlobalAccess::AtomicStore && cell.write != 0 &&
                           kind_of(accesses_[cell.write]) == GlobalAccess::AtomicStore;
  if (!both_atomic) judge(cell.write, va);
  judge_list(cell.reads, va);
  cell.write = now_;
  cell.reads = 0;
  if (rules_.fences_count && kind_ == GlobalAccess::AtomicStore) atomics_of(cell);
  if (cell.atomics == 0) return;
  judge_users_of_store(cell, va);
  if (kind_ == GlobalAccess::AtomicStore || !rules_.stores_have_scope) {
    Atomics& atomics = atomics_[cell.atomics];
    atomics.wide = handed_over();
    atomics.narrow.clear();
    atomics.released = now_;
    return;
  }
  free_atomics_.push_back(std::exchange(cell.atomics, 0));
}

void GlobalRaces::judge_users_of_store(const Cell& cell, u64 va) {
  if (kind_ == GlobalAccess::AtomicStore) return;
  // A store of gfx10 and gfx11 that gives back a lock, or sets a flag for which others wait.
  if (!rules_.stores_have_scope && group_of(agent_).has_updated(agent_ % waves_per_group_, va))
    return;
  for (u32 at = atomics_[cell.atomics].users; at != 0; at = lists_[at].rest) {
    const u32 user = lists_[at].access;
    if (rules_.stores_have_scope || is_update(kind_of(accesses_[user]))) judge(user, va);
  }
}

void GlobalRaces::judge_atomic(Cell& cell, u64 va) {
  if (kind_ == GlobalAccess::AtomicResult) {
    acquire(cell);
    judge_or_acquire(cell.write, va);
    if (!rules_.stores_have_scope) group_of(agent_).note_update(agent_ % waves_per_group_, va);
  } else {
    judge(cell.write, va);
  }
  judge_list(cell.reads, va);
  Atomics& atomics = atomics_of(cell);
  atomics.users = with(atomics.users, now_);
  release(atomics);
}

void GlobalRaces::judge_or_acquire(u32 write, u64 va) {
  if (write == 0 || is_ordered(accesses_[write])) return;
  const Access& before = accesses_[write];
  const GlobalAccess kind = kind_of(before);
  const bool releases = kind == GlobalAccess::AtomicStore ||
                        (kind == GlobalAccess::Store && !rules_.stores_have_scope);
  if (!wide_ || !releases) return report(before, va);
  if (rules_.fences_count) return;  // acquire() has told
  clock_->join_before(clock_of(before.agent), before.agent, before.time);
}

void GlobalRaces::acquire(const Cell& cell) {
  if (cell.atomics == 0) return;
  const Atomics& atomics = atomics_[cell.atomics];
  if (atomics.released == 0 || atomics.released == acquired_ || atomics.released == now_) return;
  if (wide_) {
    clock_->join(atomics.wide);
    acquired_ = atomics.released;
  }
  const u32 first = agent_ / waves_per_group_ * waves_per_group_;
  if (!wide_) clock_->join(atomics.wide, first, waves_per_group_);
  clock_->join(atomics.narrow, first, waves_per_group_);
}

void GlobalRaces::release(Atomics& atomics) {
  if (atomics.released == now_) return;
  (wide_ ? atomics.wide : atomics.narrow).join(handed_over());
  atomics.released = now_;
}

void GlobalRaces::report(const Access& before, u64 va) {
  const Site& other = sites_[before.site];
  if (!known_.emplace(pc_, other.pc).second) return;
  const std::array<u32, 3>& id = group_of(before.agent).id;
  const bool same_group = before.agent / waves_per_group_ == agent_ / waves_per_group_;
  found_.push_back(
      {.pc = pc_,
       .other_pc = other.pc,
       .what = fmt::format(
           "{} {} memory at {:#x}, which {} {} of {} {},{},{} {} by {} at pc {:#x}; {}", name_,
           does(kind_), va, rules_.wave, before.agent % waves_per_group_, rules_.group, id[0],
           id[1], id[2], did(other.access), other.name, other.pc,
           same_group ? "neither a barrier nor an atomic operation orders them"
                      : fmt::format("no atomic operation at {} orders the {}s{}", rules_.scope,
                                    rules_.group,
                                    rules_.fences_count ? ", or no fence is before it" : ""))});
}

}  // namespace doorbell::emu
