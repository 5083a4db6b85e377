// Shared by the parts of the heuristic for work groups: queries about axes, and assigning work
// items. For the plans see group_plan.cc (elementwise, reductions, rows) and group_tile_plan.cc
// (contractions).
#pragma once

#include <functional>

#include "codegen/opt/heuristic.h"

namespace doorbell::codegen::detail {

constexpr i64 kGroupItems = 256;  // work items of a group, if there is enough work

class GroupAxes {
 public:
  GroupAxes(const KernelInfo& info, const Caps& caps) : info_(info), caps_(caps) {}

  // Output axes by their step in what is stored, the contiguous one first.
  std::vector<i64> outputs() const;
  f64 values(u64 mask) const;  // product of the sizes
  f64 busy_items() const { return static_cast<f64>(caps_.busy_items); }
  bool contiguous(const Access& a, i64 axis) const {
    return a.affine.coefficient(axis).value_or(0) == 1;
  }
  // Lanes for an axis: the widest vector that every chosen access along it can use without masks,
  // or 1.
  i64 lanes(i64 axis, const std::function<bool(const Access&)>& chosen) const;

  // Adds a Local opt (or `op`) of at most `left` items on the axis, and takes them from `left`.
  void add_items(Plan& plan, i64 axis, i64* left, OptOp op = OptOp::Local) const;
  i64 all_items() const {
    return caps_.max_local > 0 ? std::min(kGroupItems, caps_.max_local) : kGroupItems;
  }

 private:
  const KernelInfo& info_;
  const Caps& caps_;
};

// A contraction of operands that many outputs share, with register tiles, staged if local memory is
// fast; empty if the kernel is not a contraction or too small.
// `time`: see tensor_core_plan().
Plan group_tile_plan(const KernelInfo& info, const Caps& caps, f64* time = nullptr);

}  // namespace doorbell::codegen::detail
