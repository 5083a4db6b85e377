// PendingLoads: the loads of a wave that it has not waited for, and instructions that use their
// registers all the same. Hardware returns loads late and does not hold such an instruction back;
// the interpreter returns them at once, so that the result is right here and wrong there.
//
// Counters and what they count: RDNA2, RDNA3 and RDNA4 ISA, "Data Dependency Resolution"; CDNA3
// ISA, "Manually Inserted Wait States" and S_WAITCNT; LLVM, lib/Target/AMDGPU/SIInsertWaitcnts.cpp.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "emulator/amd/isa/chip.h"
#include "emulator/amd/isa/decode/register_bounds.h"
#include "emulator/amd/isa/operation.h"

namespace doorbell::emu::amdgpu {

// A register that is used before its load was waited for.
struct MissingWait {
  u64 pc = 0;        // of the instruction that uses it
  std::string what;  // a sentence
};

// Of one wave. Thread safety: one thread at a time.
class PendingLoads {
 public:
  // `chip` is static; `lanes` of the wave. Without judging, only copies are followed.
  PendingLoads(const Chip& chip, u32 lanes, bool judges = true)
      : chip_(&chip), lanes_(lanes), judges_(judges) {}

  // Call before each instruction that the wave executes: judges it, then notes what it loads or
  // waits for.
  void begin(const Operation& op);
  // The first that was found since the last call.
  std::optional<MissingWait> take();
  // Loads from memory to LDS, which come back in their order.
  u32 copies_issued() const { return copies_issued_; }
  u32 copies_back() const { return copies_back_; }  // for which the wave has waited
  // The wave starts anew.
  void clear();

 private:
  // Loads of the same order come back one after the other; those of None as they like. A flat load
  // comes from one of two places.
  enum class Order : u8 { Vector, Lds, None, Flat };
  // What S_WAITCNT and its successors wait for. Before gfx12 one counter has LDS and scalar loads.
  enum Counter : u8 { kVector = 1, kLds = 2, kScalar = 4 };
  struct Load {
    u64 pc = 0;
    std::string_view name;
    Order order = Order::None;
    u8 counters = 0;      // any of them says when it is back
    bool copies = false;  // to LDS
    RegisterRanges results;
  };

  std::optional<Load> load_of(const Operation& op, const RegisterRanges& ranges) const;
  void judge(const Operation& op, const RegisterRanges& uses);
  // Whether `op` waited: it is an instruction that does.
  bool waits(const Operation& op);
  void wait(u8 counters, u32 left);
  void mark(const Load& load);
  void unmark();
  const char* counter_name(u8 counters) const;

  const Chip* chip_;
  u32 lanes_;
  bool judges_;
  u32 copies_issued_ = 0, copies_back_ = 0;
  std::vector<Load> loads_;  // in the order of issue
  // The registers of all results.
  bool has_results_ = false;
  std::bitset<kRegisterRows> vectors_;
  std::bitset<kScalarRows> scalars_;
  std::optional<MissingWait> found_;
};

}  // namespace doorbell::emu::amdgpu
