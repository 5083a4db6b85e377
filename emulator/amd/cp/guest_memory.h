// How the command processors and copy engines touch memory: through the GPU's page tables, word by
// word where others may be polling, and past the caches that their accesses do not see. Waves have
// their own way (emulator/amd/isa/memory/memory.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/amd/cp/memory_observer.h"
#include "emulator/amd/cp/posted_writes.h"
#include "emulator/amd/cp/queue_description.h"
#include "emulator/core/address_space.h"
#include "emulator/core/races/access_map.h"
#include "emulator/core/undefined_memory.h"

namespace doorbell::emu {
class RaceTask;
}

namespace doorbell::emu::amdgpu {

class Caches;

// Whose access it is: the L2 serves some of them and not others, by chip (caches.h).
enum class Client : u8 { CommandProcessor, Sdma };

// Thread safety: used by the GPU's thread only; the bytes are everybody's.
// Memory ordering: loads of 4 and 8 aligned bytes acquire, stores release, as a fence's data does.
class GuestMemory {
 public:
  // Both borrowed; `caches` is null unless the mode is adversarial.
  GuestMemory(const AddressSpace& space, Caches* caches) : space_(space), caches_(caches) {}

  // Each returns what the page tables refused, or nothing.
  [[nodiscard]] std::optional<MemoryFault> read(Client client, u64 va, std::span<u8> to) const;
  [[nodiscard]] std::optional<MemoryFault> write(Client client, u64 va, std::span<const u8> from);

  // 4 or 8 bytes at a multiple of 4, to which the address is rounded down; 8 bytes at no multiple
  // of 8 are two accesses. The caller judges whether rounding breaks a rule.
  template <class T>
  [[nodiscard]] std::optional<MemoryFault> load(Client client, u64 va, T& value) const {
    u64 wide = 0;
    auto fault = load_word(client, va, sizeof(T), wide);
    value = static_cast<T>(wide);
    return fault;
  }
  template <class T>
  [[nodiscard]] std::optional<MemoryFault> store(Client client, u64 va, T value) {
    return store_word(client, va, sizeof(T), static_cast<u64>(value));
  }
  // Adversarial: the bytes are on their way to `va` and land after `turns` of the queue at the
  // latest (posted_writes.h); `what` is the packet, for reports.
  [[nodiscard]] std::optional<MemoryFault> post(u64 va, std::span<const u8> from, u32 turns,
                                                std::string what);
  // All that the queue at hand has posted lands, or what has had its turns, of which this is one.
  void land();
  void land_due();
  // The same of all queues in [start, end), which need not be mapped any more.
  void land_in(u64 start, u64 end);

  // Whose accesses follow.
  void serve(QueueId queue) { queue_ = queue; }

  // Judges the accesses that follow, except polls, as this task's; null: judges none. Returns the
  // task of before. Tasks are borrowed.
  RaceTask* act_as(RaceTask* task) { return std::exchange(task_, task); }
  // The host hears of what this one did.
  void release_to_host();
  // Sentences about races that were found since the last call.
  std::vector<std::string> take_races() { return std::exchange(races_, {}); }

  // *va = update(*va, operand, compare), as one, of 4 or 8 bytes at a multiple of their number, to
  // which the address is rounded down; `before` is what was there.
  using Update = u64 (*)(u64 before, u64 operand, u64 compare);
  [[nodiscard]] std::optional<MemoryFault> atomic(u64 va, unsigned bytes, Update update,
                                                  u64 operand, u64 compare, u64& before);
  // *va += addend, of 8 bytes.
  [[nodiscard]] std::optional<MemoryFault> add(u64 va, u64 addend, u64& before);

  // What the engines write is defined from now on; null: not followed (isa/shadow/twin.h).
  void track(UndefinedMemory* undefined) { undefined_ = undefined; }
  // Is told of accesses; borrowed. Null: nobody asks.
  void show(MemoryObserver* observer) { observer_ = observer; }
  // Bytes that were read at `from` were written at `to`: what was undefined there is so here. The
  // first address in `from` whose undefined bits went to memory of the host.
  std::optional<u64> copied(u64 from, u64 to, u64 bytes);

  // Whether all of it is mapped, and in one buffer.
  bool in_one_mapping(u64 va, u64 bytes) const;
  bool is_mapped(u64 va) const { return space_.find(va) != nullptr; }
  const AddressSpace& space() const { return space_; }

 private:
  std::optional<MemoryFault> load_word(Client client, u64 va, unsigned bytes, u64& value) const;
  std::optional<MemoryFault> store_word(Client client, u64 va, unsigned bytes, u64 value);
  template <class Which>
  void land_all(Which&& which);
  void put(const PostedWrites::Write& write);
  // The host's bytes from `va` on, at most `bytes` of them, or what is wrong.
  std::optional<MemoryFault> translate(u64 va, u64 bytes, bool write, const Range*& range) const;
  void judge(const Range& range, u64 va, u64 bytes, AgentAccess access) const;
  // A word is about to be written, which others may wait for.
  void release(const Range& range, u64 va, std::span<const u8> word);

  const AddressSpace& space_;
  Caches* caches_;
  UndefinedMemory* undefined_ = nullptr;
  MemoryObserver* observer_ = nullptr;
  QueueId queue_ = 0;
  RaceTask* task_ = nullptr;
  mutable std::vector<std::string> races_;
};

// Accesses are this task's while it lives.
class ActingAs {
 public:
  ActingAs(GuestMemory& memory, RaceTask* task) : memory_(memory), before_(memory.act_as(task)) {}
  ~ActingAs() { memory_.act_as(before_); }
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

 private:
  GuestMemory& memory_;
  RaceTask* before_;
};

}  // namespace doorbell::emu::amdgpu
