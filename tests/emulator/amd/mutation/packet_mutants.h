// Mutants of what a driver submits: each bit of each kind of packet and of the doorbells turned
// over, wherever the kind comes; packets left out, taken twice, behind the next one, or in place of
// another engine's; numbers multiplied by 2 and by the number of XCCs. Made from a recorded run, of
// what it has; each is then run by itself, as a hook before the queues
// (emulator/amd/cp/packet_hook.h). Runs are in lockstep, so that a seed repeats them exactly; under
// another seed each queue still has the same packets, in the same order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/amd/hw/stream/stream.h"
#include "emulator/amd/cp/packet_hook.h"

namespace doorbell::testing {

// How drivers/amd/hw reads the packets of a queue.
amd::hw::StreamKind stream_kind(emu::amdgpu::QueueKind kind);

// What is the same for a mutant: a kind of packet of a queue, and of what sets registers the first.
// A doorbell has no kind.
struct PacketRole {
  emu::amdgpu::QueueId queue = 0;
  bool is_doorbell = false;
  u32 kind = 0;
  auto operator<=>(const PacketRole&) const = default;
};

struct PacketMutant {
  enum class Change : u8 { Bit, Drop, Twice, Swap, Engine, Scale, More };
  static constexpr usize kAll = ~usize{0};

  PacketRole role;
  Change change = Change::Bit;
  usize at = kAll;            // of the role's packets only this one
  u32 bit = 0;                // of the words
  std::optional<Bits> place;  // of a number that is multiplied, by `times`
  u32 times = 1;
  u64 add = 0;             // to a doorbell's value
  std::vector<u32> other;  // the words that come instead, or that are swapped with
  std::string name;        // "RELEASE_MEM: data bit 3", "doorbell of queue 0: twice"
};

// "bit", "drop", "twice", "swap", "engine", "scale", "doorbell".
std::string name_of(PacketMutant::Change change);

class PacketRecording final : public emu::amdgpu::PacketHook {
 public:
  // Without `bits` no bit is turned over.
  PacketRecording(amd::hw::Generation generation, bool bits)
      : generation_(generation), bits_(bits) {}
  Verdict packet(emu::amdgpu::QueueId queue, emu::amdgpu::QueueKind kind, unsigned depth,
                 std::vector<u32>& words) override;
  Verdict doorbell(emu::amdgpu::QueueId queue, u64& value) override;
  std::vector<PacketMutant> mutants() const;

 private:
  struct Role {
    emu::amdgpu::QueueKind kind = emu::amdgpu::QueueKind::Pm4;
    std::string name;
    usize count = 0;
    std::vector<u32> words;           // the first one's; as many as the longest has
    std::vector<u32> set;             // bits that some had set
    std::vector<u32> behind;          // AQL: the packet that followed the first
    bool follows = false;             // AQL: the packet before was the role's first
    std::vector<PacketField> fields;  // of the first
  };
  void add_packet(std::vector<PacketMutant>& mutants, const PacketRole& id, const Role& role) const;
  void add_doorbell(std::vector<PacketMutant>& mutants, const PacketRole& id,
                    const Role& role) const;
  // The first packet of a queue of the other engine.
  std::vector<u32> other_engine(emu::amdgpu::QueueKind kind) const;

  const amd::hw::Generation generation_;
  const bool bits_;
  std::map<PacketRole, Role> roles_;
};

class PacketMutation final : public emu::amdgpu::PacketHook {
 public:
  explicit PacketMutation(const PacketMutant& mutant) : mutant_(mutant) {}
  Verdict packet(emu::amdgpu::QueueId queue, emu::amdgpu::QueueKind kind, unsigned depth,
                 std::vector<u32>& words) override;
  Verdict doorbell(emu::amdgpu::QueueId queue, u64& value) override;
  bool happened() const { return happened_; }

 private:
  bool is_it(const PacketRole& role);

  const PacketMutant& mutant_;
  usize passed_ = 0;  // of the role
  bool happened_ = false;
  bool repeats_ = false;        // what comes now is what was taken before
  std::vector<u32> displaced_;  // comes in place of the queue's next packet
};

}  // namespace doorbell::testing
