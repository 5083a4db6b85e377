// Accesses whose lanes are far apart in memory, while their instances are neighbours, as results of
// a convolution whose lanes are channels: lanes and instances change places in registers, so that
// memory is accessed by vectors. For accesses by themselves see lanes.h.
#pragma once

#include <span>
#include <vector>

#include "codegen/lower/lanes.h"

namespace doorbell::codegen {

// Columns of the rows: vector c has lane c of each. There are as many rows as lanes, a power of two
// from 4 on.
std::vector<core::UOp> transpose(core::Arena& arena, std::span<const core::UOp> rows);

// One instance of an access over the lanes of a Vector range.
struct LaneAccess {
  core::UOp index, gate;  // scalar, of the range; no gate is null
  core::UOp value;        // of a Store; null of a Load
};

class Transposer {
 public:
  Transposer(core::Rewriter& rewriter, const Caps& caps, Lanes& lanes)
      : rw_(rewriter), caps_(caps), lanes_(lanes) {}

  // How many accesses, from the first on, are to be made together; 0: make that one by itself.
  usize run_of(core::DType element, std::span<const LaneAccess> accesses, core::UOp v) const;
  // Of a run. `v`: the Vector range.
  core::UOp store(core::UOp memory, std::span<const LaneAccess> run, core::UOp v);
  std::vector<core::UOp> load(core::UOp memory, core::DType element,
                              std::span<const LaneAccess> run, core::UOp v);

 private:
  u16 width(core::DType element, core::UOp v) const;

  core::Rewriter& rw_;
  const Caps& caps_;
  Lanes& lanes_;
};

}  // namespace doorbell::codegen
