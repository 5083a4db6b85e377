// AccessMap: for each byte of an emulated machine's memory, the past accesses that a coming one may
// race with. Bytes are identified by the host's address, so that all GPUs that map a byte agree.
// What orders two accesses is in their clocks, which agent_races.h joins.
//
// Each page that was accessed has records: of one agent at one time of its own, and one kind of
// access, a bit for each byte. An access that is behind another one takes its bytes over where
// whoever would race with the other one races with it too. So a page has few records: its last
// writers, and the readers since.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/util/types.h"
#include "emulator/core/races/race.h"

namespace doorbell::emu {

enum class AgentAccess : u8 {
  Read,
  Write,
  AtomicRead,
  AtomicWrite,  // a signal, or an atomic operation
  // A plain store of gfx10 and gfx11, which have no others: atomic for the atomic accesses that
  // meet it.
  LooseWrite,
};

// One agent at one time.
struct AccessSite {
  u32 agent = 0, time = 0;
  u64 queue = 0;  // a number of the machine's
  std::shared_ptr<const std::string> who;
  SparseClock clock;  // what it is behind
};

// Thread safety: one thread at a time.
class AccessMap {
 public:
  static constexpr u64 kPage = 4096;
  struct Conflict {
    std::shared_ptr<const AccessSite> other;
    AgentAccess access = AgentAccess::Read;  // the other one's
    const u8* at = nullptr;
  };

  // `site` accesses these bytes; the first that it races for.
  std::optional<Conflict> access(const u8* host, u64 bytes, AgentAccess access,
                                 const std::shared_ptr<const AccessSite>& site);
  // The sites whose LooseWrites of these bytes `clock` is not behind.
  std::vector<std::shared_ptr<const AccessSite>> loose_writers(const u8* host, u64 bytes,
                                                               const SparseClock& clock) const;
  // The bytes are freed.
  void forget(const u8* host, u64 bytes);

  // Of all pages, for tests.
  usize records() const;

 private:
  static constexpr u32 kWords = kPage / 64;
  struct Record {
    std::shared_ptr<const AccessSite> site;
    AgentAccess access = AgentAccess::Read;
    std::array<u64, kWords> bytes{};
  };
  using Page = std::vector<Record>;
  // [from, to) of a page.
  struct Part {
    u64 page = 0;
    u32 from = 0, to = 0;
    u64 mask(u32 word) const;
  };
  template <class Function>
  static void for_each_part(const u8* host, u64 bytes, Function&& function);
  static Record& record_of(Page& page, AgentAccess access,
                           const std::shared_ptr<const AccessSite>& site);
  static std::optional<Conflict> judge(Page& page, const Part& part, const Record& now);

  absl::flat_hash_map<u64, std::unique_ptr<Page>> pages_;
};

}  // namespace doorbell::emu
