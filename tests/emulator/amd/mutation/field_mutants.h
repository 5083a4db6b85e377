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
amd::hw::StreamKind stream_kind(emulator::amd::QueueKind kind);

// A packet or doorbell as it passed.
struct Passed {
  emulator::amd::QueueId queue = 0;
  emulator::amd::QueueKind kind = emulator::amd::QueueKind::Pm4;
  unsigned depth = 0;
  std::vector<u32> words;  // empty: a doorbell
  std::optional<u64> doorbell;
};

class Recording final : public emulator::amd::PacketHook {
 public:
  bool packet(emulator::amd::QueueId queue, emulator::amd::QueueKind kind, unsigned depth,
              std::vector<u32>& words) override;
  bool doorbell(emulator::amd::QueueId queue, u64& value) override;
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
  emulator::amd::QueueId queue = 0;
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

class Mutation final : public emulator::amd::PacketHook {
 public:
  Mutation(const Mutant& mutant, amd::hw::Generation generation)
      : mutant_(mutant), generation_(generation) {}
  bool packet(emulator::amd::QueueId queue, emulator::amd::QueueKind kind, unsigned depth,
              std::vector<u32>& words) override;
  bool doorbell(emulator::amd::QueueId queue, u64& value) override;
  bool happened() const { return happened_; }

 private:
  bool is_it(emulator::amd::QueueId queue, emulator::amd::QueueKind kind, unsigned depth,
             const std::vector<u32>& words);

  const Mutant& mutant_;
  const amd::hw::Generation generation_;
  usize passed_ = 0;  // of those that the mutant counts
  bool happened_ = false;
};

}  // namespace doorbell::testing
