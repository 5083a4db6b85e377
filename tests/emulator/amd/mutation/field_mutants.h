// Mutants: one thing about what a driver submits, dropped or changed. Made from a recorded run;
// each is then run by itself, as a hook before the queues (emulator/amd/cp/packet_hook.h). Runs are
// in lockstep, so that the n-th packet of a run is the n-th of all of them, up to the mutation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/amd/hw/stream/stream.h"
#include "emulator/amd/cp/packet_hook.h"

namespace doorbell::testing {

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
  usize at = 0;      // which of what passed
  bool all = false;  // every packet of the kind on this queue, whatever the run's order
  emulator::amd::QueueId queue = 0;
  std::string role, change;  // "RELEASE_MEM Low32 AfterWriteConfirm", "drop" or a field's name
  bool drop = false;
  std::optional<Bits> place;  // of a packet: its lowest bit is turned over
  u64 add = 0;                // to a doorbell's value

  std::string name() const { return (all ? "all " : "") + role + ": " + change; }
};

// Each kind of packet of each queue (what registers it sets is part of the kind) dropped, and each
// of its fields changed, wherever it comes: what one packet says another may say again. Besides,
// the first and the last packet of each role dropped by itself, and doorbells dropped and changed.
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
  bool is_it(emulator::amd::QueueId queue, emulator::amd::QueueKind kind,
             const std::vector<u32>& words);

  const Mutant& mutant_;
  const amd::hw::Generation generation_;
  usize passed_ = 0;
  bool happened_ = false;
};

}  // namespace doorbell::testing
