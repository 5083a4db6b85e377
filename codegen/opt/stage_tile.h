// Stager: the tile of one operand in local memory. For when tiles are filled see stage_local.cc.
//
// A tile holds the operand's elements for all items and registers of the group. Its rows run along
// an output axis, as items read them, or along the depth of matrix instructions; rows are padded to
// avoid bank conflicts, or, where matrix instructions read the tile themselves, swizzled
// (LocalMatrix in codegen/linear/program.h). An operand whose depth is not contiguous in global
// memory is transposed in registers: an item copies a block of it, with vectors on both sides; or,
// where the target's loads transpose, on its way there.
// Of a window that slides over the operand (windows.h), the tile holds each element once: its axis
// and the one it slides along are one dimension. Of the window's weights, which lie side by side in
// global memory, an item copies all, for as many values of the depth as fill a vector.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "codegen/linear/program.h"
#include "codegen/opt/group_loops.h"
#include "codegen/opt/tensor_map_fit.h"
#include "codegen/tensor_core.h"

namespace doorbell::codegen::detail {

inline constexpr i64 kMaxUnrolledCopies = 8;  // of an item
// Of a large operand that is transposed, an item copies blocks of at least so many rows and
// columns. What is left free behind a block's rows keeps neighbouring items in different banks.
inline constexpr i64 kWideBlock = 8, kSkewBytes = 64;
// Matrix loads take rows 0, 1, 4, 5, 8, 9, 12 and 13 of bytes along the output at once: what is
// left free behind each eight keeps them in different banks.
inline constexpr i64 kPairedRows = 8, kPairedSkewBytes = 32;

// Other values of loops.
using LoopValues = std::span<const std::pair<core::UOp, core::UOp>>;

// The phase of a ring's buffer that copies of boxes end, and the bytes of all of them.
struct BoxPhase {
  core::UOp mbarriers, number;
  i64 bytes = 0;
};

// Whether blocks of so many elements along the axis begin at multiples of them.
bool is_aligned(const Affine& address, i64 along, i64 block);

// The output axis of matrix instructions along which the load's tile has rows, as they lie in
// global memory, so that matrix loads transpose them; or -1.
i64 axis_of_rows(const GroupLoops& loops, core::UOp load);

// One operand's tile.
class Stager {
 public:
  // The tile holds `value`, which is made of the load and constants, or the load.
  Stager(GroupLoops& loops, core::UOp load, core::UOp value)
      : loops_(loops), rw_(loops.rw), load_(load), value_(value) {
    find_dims();
  }
  // The copy, as an effect, into `memory` as it is once the last tile was read.
  core::UOp fill(core::UOp memory) { return copy(memory, rw_.index(0), {}, false, core::UOp()); }
  // The same in two steps, by way of `held`, private memory of held_count() elements. In the first,
  // the loops over tiles have other values; the tile is stored at element `base`.
  core::UOp hold(core::UOp held, LoopValues loops);
  core::UOp store_held(core::UOp memory, core::UOp base, core::UOp held);
  // The same by the memory's own means, done when a barrier waits for it; if copies_async(). Where
  // `gate` is false nothing is copied; null: true.
  core::UOp fill_async(core::UOp memory, core::UOp base, LoopValues loops, core::UOp gate) {
    return copy(memory, base, loops, true, gate);
  }
  // Whether an item's copies are single loads and stores; those of whole windows are more.
  bool can_hold() const { return whole_ == 0 && copies() <= kMaxUnrolledCopies; }
  bool copies_async() const {
    return loops_.caps.async_copies && !computes() && !transposes() &&
           lanes_ * load_.dtype().bytes() == kAsyncBytes &&
           (load_.nsrc() < 2 || (load_.src(1).is_const() && load_.src(1).arg(0) == 0));  // or +0.0
  }
  // The same by copies of boxes, if fit_boxes() says a map for them (stage_boxes.cc): adds them to
  // those of the phase. The gate, which is not null, is true for one wave.
  std::optional<TensorMapFit> fit_boxes() const;
  void copy_boxes(core::UOp memory, core::UOp base, const BoxPhase& phase, LoopValues loops,
                  core::UOp gate, std::vector<core::UOp>* copies);
  // The elements that a work item reads, of the tile at element `base`. `left`: so many batches of
  // matrix instructions that read local memory may be done later.
  core::UOp read(core::UOp memory, core::UOp base, i64 left);
  i64 count() const {
    const Dim& d = dims_[rows_.front()];
    return d.extent * d.pitch + d.extent / skewed_rows_ * skew_;
  }
  i64 alignment() const { return loops_.reads_local ? kLocalTileAlignment : 0; }
  i64 copies() const;
  i64 held_count() const { return copies() * lanes_ * down_; }
  core::DType dtype() const { return value_.dtype(); }

 private:
  struct Dim {
    i64 axis;
    i64 extent, stride;  // in global memory; a large number if it is not constant
    bool reduced;
    i64 pitch = 1;            // in the tile
    i64 block = 1, tap = -1;  // of the axis; the axis of a window, or -1
    i64 before = 0;           // elements of the tile before the first window
  };
  // Part of a block's place: digit * step of a dim, the fastest first.
  struct Digit {
    usize dim;
    i64 extent, step;
  };
  // The block that an item copies, as ranges: which copy of the item's, and where in the block.
  struct Block {
    core::UOp copy, lane, row;  // the constant 0 where there is one
    RangeList made;
    std::vector<core::UOp> at;  // by dim
    std::vector<core::UOp> to;  // the same, of what is stored
    core::UOp inside;           // null: all blocks are
  };
  void find_dims();
  void merge_windows();
  void pair_window();
  void lay_out();
  void lay_out_swizzled();
  void find_block();
  void find_whole();
  bool can_transpose() const;
  bool can_widen(i64 elements, i64 lanes) const;
  std::vector<Digit> digits() const;
  core::UOp begin_block(Block* b);
  Block block(core::AxisType lanes, core::AxisType rows);
  Block transposed_block();
  core::UOp place(core::UOp memory, core::UOp base, const std::vector<core::UOp>& at,
                  core::UOp gate);
  core::UOp pair(core::UOp load, core::UOp lane);
  core::UOp element(const Block& b, LoopValues loops, core::UOp gate);
  // What the tile holds of it.
  core::UOp made_of(core::UOp element);
  core::UOp swizzled_index(core::UOp base, const std::vector<core::UOp>& at);
  i64 row_elements() const { return kLocalRowBytes / dtype().bytes(); }
  core::UOp tile_start(i64 axis, LoopValues loops);
  core::UOp held_place(core::UOp held, const Block& b);
  core::UOp effect(core::UOp place, core::UOp value, const RangeList& made);
  core::UOp close(core::UOp store, const RangeList& made);
  bool loads_matrices() const;
  core::UOp copy(core::UOp memory, core::UOp base, LoopValues loops, bool async, core::UOp gate);
  // The axes that its gate varies with.
  u64 gates() const { return load_.src(0).nsrc() > 2 ? load_.src(0).src(2).range_mask() : 0; }
  bool transposes() const { return rows_.back() != 0; }
  bool computes() const { return value_ != load_; }
  const GroupParts& parts(i64 axis) const { return loops_.parts[static_cast<usize>(axis)]; }
  const GroupParts& parts(const Dim& d) const { return parts(d.axis); }
  i64 size(i64 axis) const { return loops_.info.size(axis); }

  GroupLoops& loops_;
  core::Rewriter& rw_;
  core::UOp load_, value_;
  std::vector<Dim> dims_;    // ascending strides: the order of the copy
  std::vector<usize> rows_;  // into dims_: the tile's order, the contiguous one last
  // An item copies blocks: `lanes_` neighbours in global memory by `down_` neighbours in the tile,
  // if those are others. Where the tile's neighbours are apart in global memory, lanes_ is 1.
  i64 lanes_ = 1, down_ = 1;
  i64 window_lanes_ = 1;            // neighbours that a window's rows can be read by
  i64 skew_ = 0, skewed_rows_ = 1;  // elements behind so many rows
  bool by_load_ = false;            // rows of lanes_, of which a load makes columns
  usize whole_ = 0;                 // so many of dims_, the fastest, are in each block as a whole
  bool along_output_ = false;       // the tile's rows: matrix loads transpose them
};

}  // namespace doorbell::codegen::detail
