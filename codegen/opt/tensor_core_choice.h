// The choice of a plan with matrix instructions: which blocks there are (tensor_core_plan.cc), and
// what time they are estimated to take (tensor_core_time.cc).
#pragma once

#include <vector>

#include "codegen/opt/group_plan.h"
#include "codegen/opt/tensor_core_plan.h"
#include "codegen/opt/windows.h"
#include "codegen/tensor_core.h"

namespace doorbell::codegen::detail {

inline constexpr i64 kTileBytes = 64;  // of a row of a tile in local memory, at least
inline constexpr i64 kBuffers = 2;     // of tiles, in local memory, at least

// Axes and the part of them that a group covers.
struct Block {
  i64 row_waves, column_waves, row_tiles, column_tiles;
  i64 depth_waves = 1;  // with the same results, of parts of the depth: they are added at the end
  i64 tile_bytes = kTileBytes, buffers = kBuffers;
  i64 taps = 1;             // more: a tile has whole windows, of as many elements
  i64 along_waves = 1;      // along the axis that windows slide over besides
  bool persistent = false;  // as many groups as the target has room for walk over all blocks
  i64 waves() const { return row_waves * column_waves * depth_waves * along_waves; }
};

class TensorCorePlan {
 public:
  TensorCorePlan(const KernelInfo& info, const Caps& caps)
      : info_(info), caps_(caps), axes_(info, caps) {}
  Plan choose();
  f64 best_time() const { return best_; }  // of what choose() found

 private:
  std::vector<i64> cores(const Product& product);
  bool can_read_local(const Product& product) const;
  bool find_axes(const Product& product);
  void find_window_axes(const Product& product);
  bool fits(i64 axis, i64 step) const;
  i64 longest(u64 mask, i64 step) const;
  i64 tile_depth(const Block& b) const;
  bool is_aligned(const Access& a, i64 along) const;
  bool copies_async(const Access& a) const;
  bool loads_pairs(const Access& a) const;
  bool copies_all_async() const;
  bool fills_async(const Block& b) const { return b.taps == 1 && copies_all_async(); }
  i64 rows_of(const Block& b) const { return b.row_waves * b.row_tiles * core_->rows; }
  i64 columns_of(const Block& b) const { return b.column_waves * b.column_tiles * core_->columns; }
  i64 extent(const Access& a, const Block& b) const;
  i64 bytes(const Block& b) const;
  i64 max_bytes(const Block& b) const;
  i64 copies_of_item(const Block& b) const;
  bool copies_boxes(const Block& b) const;
  bool copies_whole(const Access& a, const Block& b) const;
  bool copies_wide(const Access& a, const Block& b) const;
  bool loads_transpose(const Access& a, const Block& b) const;
  f64 elements_of_item(const Access& a, const Block& b) const;
  i64 registers_beside(const Block& b) const;
  f64 simds() const;
  f64 cores_of_target() const;
  i64 local_registers(const Block& b) const;
  i64 groups_of_core(const Block& b) const;
  f64 tile_instructions(const Block& b) const;
  f64 permutations(const Block& b) const;
  f64 sum_instructions(const Block& b) const;
  f64 copy_instructions(const Block& b) const;
  f64 time(const Block& b) const;
  f64 local_time(const Block& b) const;
  Plan build(const Block& b) const;
  void consider(Block b);
  void consider_all(Block b) { consider_depths(b), consider_windows(b); }
  void consider_depths(Block b);
  void consider_windows(Block b);
  void use(i64 number) { number_ = number, core_ = &tensor_core(number); }

  const KernelInfo& info_;
  const Caps& caps_;
  GroupAxes axes_;
  i64 number_ = -1;
  const TensorCore* core_ = nullptr;
  i64 rows_ = -1, columns_ = -1, depth_ = -1;  // axes
  Windows windows_;
  i64 taps_ = 1, along_ = -1;  // of the windows; the axis besides rows_ and columns_
  f64 best_ = 1e300;
  i64 chosen_core_ = -1;
  Block chosen_{};
};

}  // namespace doorbell::codegen::detail
