// The registers of products of warp groups (wgmma) that nobody waited for yet: hardware writes the
// sums, and reads factors, at some time until WARPGROUP.DEPBAR. The rule is NV-CODE-005 of
// compute/rules.h.
#pragma once

#include <vector>

#include "emulator/nv/isa/operation.h"

namespace doorbell::emu::nvgpu {

struct Warp;
struct RegisterRange;
struct RegisterUses;

class WarpgroupRules {
 public:
  // Before the operation is executed. False: it broke the rule at level error; the warp is stopped.
  bool check(Warp& warp, const Operation& op, const RegisterUses& uses);

 private:
  struct Pending {
    u32 row = 0, count = 0;  // registers
    bool writes = false;
    u64 group = 0;
    const Operation* by = nullptr;
  };

  bool check_pending(Warp& warp, const Operation& op, const RegisterUses& uses) const;
  bool uses_of(const RegisterUses& uses, const Pending& pending) const;
  void add_product(const Operation& op, const RegisterUses& uses);

  std::vector<Pending> pending_;
  u64 committed_ = 0;  // groups
};

}  // namespace doorbell::emu::nvgpu
