// Mutants: one thing about what a driver submits, dropped or changed. Made from a recorded run;
// each is then run by itself, as a hook before the queues (emulator/amd/cp/packet_hook.h). Runs are
// in lockstep, so that a seed repeats them exactly; under another seed each queue still has the
// same packets, in the same order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/amd/hw/stream/stream.h"
#include "emulator/amd/cp/packet_hook.h"

namespace doorbell::testing {

// How drivers/amd/hw reads the packets of a queue.
amd::hw::StreamKind stream_kind(emu::amdgpu::QueueKind kind);

// A packet or doorbell as it passed.
struct Passed {
  emu::amdgpu::QueueId queue = 0;
  emu::amdgpu::QueueKind kind = emu::amdgpu::QueueKind::Pm4;
  unsigned depth = 0;
  std::vector<u32> words;  // empty: a doorbell
  std::optional<u64> doorbell;
};

class Recording final : public emu::amdgpu::PacketHook {
 public:
  bool packet(emu::amdgpu::QueueId queue, emu::amdgpu::QueueKind kind, unsigned depth,
              std::vector<u32>& words) override;
  bool doorbell(emu::amdgpu::QueueId queue, u64& value) override;
  const std::vector<Passed>& passed() const { return passed_; }

 private:
  std::vector<Passed> passed_;
};

struct Mutant {
  // Of the packets of this queue, depth and role, or of the queue's doorbells, which; or all of
  // the kind: other seeds have other orders.
  usize at = 0;
  bool all = false;
  unsigned depth = 0;
  emu::amdgpu::QueueId queue = 0;
  std::string role, change;  // "RELEASE_MEM Low32 AfterWriteConfirm", "drop" or a field's name
  bool is_doorbell = false;
  bool drop = false;
  std::optional<Bits> place;  // of a packet: its lowest bit is turned over
  std::optional<bool> from;   // only where that bit is this: a flag goes off or on
  u64 add = 0;                // to a doorbell's value

  std::string name() const { return (all ? "all " : "") + role + ": " + change; }
};

// Each kind of packet of each queue (what registers it sets is part of the kind) dropped, and each
// of its fields changed, wherever it comes: what one packet says another may say again. Besides,
// the first and the last packet of each role dropped by itself, and doorbells dropped and changed.
// A flag is tried both ways: off where it is set ("FIELD off"), on where it is not ("FIELD on").
std::vector<Mutant> mutants_of(const std::vector<Passed>& passed, amd::hw::Generation generation);

class Mutation final : public emu::amdgpu::PacketHook {
 public:
  Mutation(const Mutant& mutant, amd::hw::Generation generation)
      : mutant_(mutant), generation_(generation) {}
  bool packet(emu::amdgpu::QueueId queue, emu::amdgpu::QueueKind kind, unsigned depth,
              std::vector<u32>& words) override;
  bool doorbell(emu::amdgpu::QueueId queue, u64& value) override;
  bool happened() const { return happened_; }

 private:
  bool is_it(emu::amdgpu::QueueId queue, emu::amdgpu::QueueKind kind, unsigned depth,
             const std::vector<u32>& words);

  const Mutant& mutant_;
  const amd::hw::Generation generation_;
  usize passed_ = 0;  // of those that the mutant counts
  bool happened_ = false;
};

}  // namespace doorbell::testing
