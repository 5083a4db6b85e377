// What a warp's instructions may rely on of its registers: that they were written (or depend on
// such), and that the scoreboard of a pending result or source was waited for.
//
// The rules are NV-CODE-004 and NV-CODE-005 of compute/rules.h. Fixed latencies (stall counts) are
// not checked: they are not documented.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <vector>

#include "emulator/nv/isa/operation.h"
#include "emulator/nv/isa/warpgroup_rules.h"

namespace doorbell::emu::nvgpu {

struct Warp;

// Registers that an operation reads or writes.
struct RegisterRange {
  u32 row = kZero, count = 1;
};
// Units that take the instructions of a warp in order: one reads its registers before a later one
// writes a result.
enum class Unit : u8 { Other, Address, Double, Conversion };
// Bit row % 64 of word row / 64.
using RowSet = std::array<u64, (kRows + 63) / 64>;
// What the rules ask of an operation, found once.
struct RegisterUses {
  absl::InlinedVector<RegisterRange, 4> reads;
  absl::InlinedVector<RegisterRange, 2> writes;
  RegisterRange address{kZero, 0};         // of these reads, those that are an address
  absl::InlinedVector<u32, 2> predicates;  // that it writes, but for PT
  u64 rows = 0;                            // of reads and writes: bit row % 64
  RowSet all_rows{};                       // of reads and writes
  u32 decides = 0;                         // predicates that it writes, or branches or exits by
  Unit unit = Unit::Other;
  Control control;
};
RegisterUses register_uses(const Operation& op);
// Of each operation.
std::vector<RegisterUses> register_uses(const Program& program);

class RegisterRules {
 public:
  RegisterRules();

  // Before the operation is executed. False: it broke a rule at level error; the warp is stopped.
  bool check(Warp& warp, const Operation& op, const RegisterUses& uses);

 private:
  static constexpr u32 kScoreboards = 6;
  // A register that an instruction has not written, or not read, yet.
  struct Pending {
    RegisterRange range;
    u32 lanes = 0;  // that execute the instruction
    bool writes = false;
    const Operation* by = nullptr;
    Unit unit = Unit::Other;  // of `by`
  };

  bool check_waits(Warp& warp, const Operation& op, const RegisterUses& uses);
  void finish(u32 scoreboard);
  bool check_pending(Warp& warp, const Operation& op, const RegisterUses& uses, u32 scoreboard);
  bool check_undefined(Warp& warp, const Operation& op, const RegisterUses& uses);
  // Whether check_undefined() would find and change nothing.
  bool is_defined(const Operation& op, const RegisterUses& uses) const;
  void set_undefined(u32 row, u32 lanes);
  void set_undefined_predicate(u32 predicate, u32 lanes);

  // The lanes of `lanes` whose result has undefined bits, which are noted.
  u32 note_bits(const Warp& warp, const Operation& op, const RegisterUses& uses, u32 lanes);

  WarpgroupRules products_;
  std::array<u32, kRows> undefined_{};  // lanes with undefined bits
  std::array<u32, kRows> partly_{};     // of these, where not all bits are
  std::vector<Row> bits_;               // which bits, of lanes in partly_; empty until one is
  RowSet undefined_rows_{};             // those of which it has some
  std::array<u32, kPredicates> undefined_predicates_{};  // lanes
  u32 undefined_predicate_bits_ = 0;                     // those of which it has some
  std::array<std::vector<Pending>, kScoreboards> pending_;
  u32 scoreboards_ = 0;                           // a bit for each that has some pending
  std::array<u64, kScoreboards> pending_rows_{};  // bit row % 64, of at least those pending
};

}  // namespace doorbell::emu::nvgpu
