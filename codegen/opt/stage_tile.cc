// Which elements an item copies, and where each is in the tile.
#include "codegen/opt/stage_tile.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/util/check.h"
#include "codegen/linear/multiple.h"
#include "codegen/opt/windows.h"

namespace doorbell::codegen::detail {

using core::AxisType;
using core::Op;
using core::UOp;

bool is_aligned(const Affine& address, i64 along, i64 block) {
  const auto is_multiple = [&](const Affine::Term& t) {
    const bool is_along = t.value.is(Op::Range) && t.value.range_id() == along;
    return is_along || t.coefficient * known_multiple(t.value) % block == 0;
  };
  return address.constant % block == 0 && std::ranges::all_of(address.ranges, is_multiple) &&
         std::ranges::all_of(address.others, is_multiple);
}

i64 axis_of_rows(const GroupLoops& loops, UOp load) {
  UOp place = load.src(0);
  if (!loops.caps.async_copies || load.dtype().bytes() > 2) return -1;
  const Affine address = to_affine(place.src(1));
  const u64 gates = place.nsrc() > 2 ? place.src(2).range_mask() : 0;
  i64 found = -1, tiled = 0;
  bool has_depth = false;
  for (u64 m = place.src(1).range_mask() | gates; m; m &= m - 1) {
    const i64 axis = std::countr_zero(m);
    const GroupParts& p = loops.parts[static_cast<usize>(axis)];
    if (p.block == 1) continue;
    const bool is_next = address.coefficient(axis) == 1;
    if (loops.info.ranges[static_cast<usize>(axis)].reduce)
      has_depth = p.matrix > 1 && !is_next;
    else if (is_next && !(gates >> axis & 1) && loops.is_matrix_axis(axis))
      found = axis;
    ++tiled;
  }
  return tiled == 2 && has_depth ? found : -1;
}

void Stager::find_dims() {
  Affine address = to_affine(load_.src(0).src(1));
  for (u64 m = load_.src(0).src(1).range_mask() | gates(); m; m &= m - 1) {
    i64 axis = std::countr_zero(m);
    const GroupParts& p = loops_.parts[static_cast<usize>(axis)];
    i64 taken = p.items * p.unrolled * p.lanes * p.matrix;
    CHECK(p.block >= taken, "a staged operand varies with axis {}, which is not tiled", axis);
    CHECK(!p.loop || loops_.info.ranges[static_cast<usize>(axis)].reduce,
          "a staged operand varies with axis {}, which is a loop", axis);
    if (p.block == 1) continue;
    i64 stride = std::abs(address.coefficient(axis).value_or(INT32_MAX));
    bool reduced = loops_.info.ranges[static_cast<usize>(axis)].reduce;
    dims_.push_back({axis, p.block, stride, reduced, 1, p.block});
  }
  CHECK(!dims_.empty(), "an operand to be staged does not vary with any tile");
  std::stable_sort(dims_.begin(), dims_.end(),
                   [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  merge_windows();
  pair_window();
  loops_.reads_local ? lay_out_swizzled() : lay_out();
  find_block();
}

// Taps that lie side by side, followed by the next of the depth.
void Stager::find_whole() {
  if (!transposes() || gates() != 0 || parts(dims_[rows_.back()]).matrix == 1) return;
  i64 elements = 1;
  for (usize i = 0; i <= rows_.back(); ++i) {
    const Dim& d = dims_[i];
    if (!d.reduced || d.stride != elements) return;
    if (i < rows_.back() && d.block != size(d.axis)) return;
    elements *= d.extent;
  }
  whole_ = rows_.back();
}

// Blocks of 8 by 8, of operands of matrix instructions without gates: all items of a wave load.
bool Stager::can_transpose() const {
  constexpr i64 kLines = kTransposedElements;
  if (!loops_.caps.transposing_loads || load_.dtype().bytes() > 2 || load_.nsrc() > 1) return false;
  if (dims_.size() != 2 || !transposes() || dims_[0].stride != 1 || gates() != 0) return false;
  const bool are_whole = std::ranges::all_of(dims_, [&](const Dim& d) {
    return d.tap < 0 && d.extent % kLines == 0 && size(d.axis) > 0 && size(d.axis) % d.block == 0;
  });
  const auto is_gated = [](const RangeImage& image) { return static_cast<bool>(image.gate); };
  const i64 elements = dims_[0].extent * dims_[1].extent;
  return are_whole && parts(dims_[1]).matrix > 1 && std::ranges::none_of(loops_.images, is_gated) &&
         elements % (kLines * loops_.all_items()) == 0 && loops_.all_items() % 32 == 0 &&
         is_aligned(to_affine(load_.src(0).src(1)), dims_[0].axis, kLines);
}

// Into blocks of so many lanes, if each item has some: of these a load and a store have more.
bool Stager::can_widen(i64 elements, i64 lanes) const {
  return dims_.size() == 2 && rows_.back() == 1 && whole_ == 0 && dims_[1].tap < 0 &&
         dims_[1].extent % kWideBlock == 0 && elements >= lanes * kWideBlock * loops_.all_items();
}

// Whole vectors, where the address and the gates allow.
void Stager::find_block() {
  by_load_ = can_transpose();
  if (by_load_) {
    lanes_ = kTransposedElements;
    return;
  }
  find_whole();
  const Dim &first = dims_[0], &last = dims_[rows_.back()];
  i64 tile = 1;
  for (usize i = whole_; i < dims_.size(); ++i) tile *= dims_[i].extent;
  // Of vectors that are loaded, and of those that are stored.
  const i64 bytes = std::max(load_.dtype().bytes(), dtype().bytes());
  const i64 items = loops_.all_items();
  const i64 end = size(first.axis);
  const bool vectors =
      first.stride == 1 && end > 0 && first.tap < 0 && !(gates() >> first.axis & 1);
  auto fits = [&](i64 wide) {
    return wide == 1 || wide == window_lanes_ ||
           (vectors && whole_ == 0 && first.extent % wide == 0 && end % wide == 0);
  };
  lanes_ = std::clamp<i64>(loops_.caps.vector_bytes / bytes, 1, 16);
  // Neighbours in the tile are not neighbours in global memory.
  const bool gathers = rows_.back() == 0 && first.stride != 1 && bytes < 4;
  if ((transposes() || gathers) && parts(last).matrix > 1) {
    for (i64 wide = lanes_; wide >= kWideBlock; wide /= 2) {
      if (!fits(wide) || !can_widen(tile, wide)) continue;
      lanes_ = wide, down_ = kWideBlock, skewed_rows_ = wide, skew_ = kSkewBytes / bytes;
      return;
    }
    lanes_ = gathers ? 1 : std::min<i64>(lanes_, 4);
    while (!fits(lanes_)) lanes_ /= 2;
    down_ = std::clamp<i64>(loops_.caps.vector_bytes / bytes, 1, 16);
    while (down_ > 1 && (last.extent % down_ ||
                         (whole_ == 0 && down_ * bytes > 4 && tile / (lanes_ * down_) < items))) {
      down_ /= 2;
    }
    return;
  }
  while (lanes_ > 1 && (!fits(lanes_) || tile / lanes_ < items)) lanes_ /= 2;
}

void Stager::lay_out() {
  for (usize i = 0; i < dims_.size(); ++i) rows_.push_back(i);
  along_output_ = axis_of_rows(loops_, load_) >= 0;
  // Output axes run inside reduced axes; among them, those with lanes or registers of an item, or
  // with rows of instructions, are innermost.
  auto rank = [&](usize i) {
    const GroupParts& p = parts(dims_[i]);
    // A whole operand of an instruction.
    if (dims_[i].reduced) return p.matrix > 1 && !along_output_ ? 4 : 0;
    return p.lanes > 1 || p.matrix > 1 ? 3 : p.unrolled > 1 ? 2 : 1;
  };
  std::stable_sort(rows_.begin(), rows_.end(), [&](usize a, usize b) { return rank(a) < rank(b); });
  i64 pitch = 1;
  const i64 bytes = dtype().bytes();
  for (usize i = rows_.size(); i-- > 0;) {
    dims_[rows_[i]].pitch = pitch;
    pitch *= dims_[rows_[i]].extent;
    // Padded if the copy transposes, or if each item reads a row for a matrix instruction, to an
    // odd number of units of 16 bytes.
    const Dim& d = dims_[rows_[i]];
    bool longer = rows_[i] != 0 || (d.reduced && parts(d).matrix > 1) ||
                  (along_output_ && pitch * bytes % 32 == 0);
    if (i + 1 < rows_.size() || i == 0 || !longer) continue;
    pitch += std::max<i64>(1, 16 / bytes);
  }
  if (along_output_ && bytes == 1) skewed_rows_ = kPairedRows, skew_ = kPairedSkewBytes;
}

// Rows along the axis that is contiguous in global memory: the depth, or, of 16 bits, the other
// one. The pitch of the latter is that of a row, the former's is that of its longest run.
void Stager::lay_out_swizzled() {
  if (dims_.size() == 2 && dims_[1].reduced && dims_[1].stride == 1) std::swap(dims_[0], dims_[1]);
  along_output_ = !dims_[0].reduced;
  const i64 row = row_elements();
  CHECK(dims_.size() == 2 && dims_[0].stride == 1 && dims_[0].reduced != dims_[1].reduced &&
            dims_[0].extent % row == 0 && dims_[1].extent % 8 == 0 &&
            (!along_output_ || load_.dtype().bytes() == 2),
        "an operand of {} that no matrix instruction can read from local memory",
        load_.dtype().str());
  rows_ = {1, 0};
  dims_[0].pitch = 1;
  dims_[1].pitch = dims_[0].extent;
}

// Of LocalMatrix.
UOp Stager::swizzled_index(UOp base, const std::vector<UOp>& at) {
  const i64 row = row_elements(), unit = kLocalUnitBytes / dtype().bytes();
  UOp run = rw_.floordiv(at[0], row), in_row = rw_.floormod(at[0], row);
  UOp number = rw_.floordiv(in_row, unit), phase = rw_.floormod(at[1], 8);
  UOp swizzled = rw_.make(Op::Xor, number.dtype(), {number, phase});
  UOp rest = rw_.floormod(in_row, unit);
  UOp index = rw_.add(base, rw_.mul(run, dims_[1].extent * row));
  index = loops_.mul_add(at[1], row, index);
  index = loops_.mul_add(swizzled, unit, index);
  return rw_.add(index, rest);
}

UOp Stager::place(UOp memory, UOp base, const std::vector<UOp>& at, UOp gate) {
  UOp index = base;
  if (loops_.reads_local) {
    index = swizzled_index(base, at);
  } else {
    for (usize i : rows_) {
      UOp scaled = rw_.mul(at[i], dims_[i].pitch);
      index = rw_.add(index, scaled);
    }
    if (skew_ > 0)
      index = loops_.mul_add(rw_.floordiv(at[rows_.front()], skewed_rows_), skew_, index);
  }
  if (!gate) return rw_.make(Op::Index, memory.dtype(), {memory, index});
  return rw_.make(Op::Index, memory.dtype(), {memory, index, gate});
}

UOp Stager::read(UOp memory, UOp base, i64 left) {
  std::vector<UOp> at;
  for (const Dim& d : dims_) {
    UOp inner = parts(d).inner;
    if (d.tap >= 0) inner = rw_.add(inner, parts(d.tap).inner);
    at.push_back(d.before > 0 ? rw_.add(inner, d.before) : inner);
  }
  UOp address = place(memory, base, at, UOp());
  if (loops_.reads_local) {
    const i64 pitch = dims_[1].extent * row_elements();
    return rw_.make(Op::Load, dtype(), {address},
                    {kMatrixLocal, pitch, along_output_ ? 1 : 0, left});
  }
  if (!loads_matrices()) return rw_.make(Op::Load, dtype(), {address});
  i64 how = along_output_ ? kMatrix | kMatrixTransposed : kMatrix;
  if (std::ranges::any_of(dims_, [&](const Dim& d) { return d.axis == loops_.matrix_rows; }))
    how |= kMatrixSwapped;
  return rw_.make(Op::Load, dtype(), {address}, {how});
}

// Rows of whole units of 16 bytes.
bool Stager::loads_matrices() const {
  const Dim& last = dims_[rows_.back()];
  const auto is_whole = [&](const Dim& d) {
    return &d == &last || d.pitch * dtype().bytes() % 16 == 0;
  };
  const bool by_depth =
      last.reduced && parts(last).matrix > 1 &&
      std::ranges::any_of(dims_, [&](const Dim& d) { return loops_.is_matrix_axis(d.axis); });
  return (along_output_ || by_depth) && std::ranges::all_of(dims_, is_whole);
}

i64 Stager::copies() const {
  i64 blocks = 1, items = loops_.all_items();
  for (usize i = whole_; i < dims_.size(); ++i) blocks *= dims_[i].extent;
  blocks /= lanes_ * down_;
  return (blocks + items - 1) / items;
}

// Neighbouring items copy neighbours in global memory. For rows along the depth, as long as 32 or
// 64 bytes and padded by 16: they copy a whole row of the tile, then the row that is as many rows
// away as a row has units of 16 bytes, so that the units of eight items lie in different banks.
std::vector<Stager::Digit> Stager::digits() const {
  std::vector<Digit> list;
  const usize last = rows_.back();
  const i64 units = dims_[last].extent * dtype().bytes() / 16;
  if (dims_.size() == 2 && parts(dims_[last]).matrix > 1) {
    const usize row = 1 - last;
    const i64 wide = transposes() ? lanes_ : 1, along = transposes() ? down_ : lanes_ * down_;
    const i64 extent = dims_[row].extent;
    list.push_back({last, dims_[last].extent / along, along});
    if (wide == 1 && (units == 2 || units == 4) && extent % 8 == 0) {
      list.push_back({row, 8 / units, units});
      list.push_back({row, units, 1});
      if (extent > 8) list.push_back({row, extent / 8, 8});
    } else {
      list.push_back({row, extent / wide, wide});
    }
    return list;
  }
  for (usize i = whole_; i < dims_.size(); ++i) {
    const i64 step = (i == 0 ? lanes_ : 1) * (i == last ? down_ : 1);
    list.push_back({i, dims_[i].extent / step, step});
  }
  if (window_lanes_ > 1 && list.back().dim == last && list.back().extent % 2 == 0) {
    Digit& rest = list.back();
    const Digit two{last, 2, rest.step};
    rest = {last, rest.extent / 2, 2 * rest.step};
    list.insert(list.begin(), two);
  }
  // Parts of one row would be as many banks apart as those of a few rows.
  if (whole_ > 0 && list.size() == 2 && list[1].extent % 8 == 0) {
    const Digit of_row = list[0], rows = list[1];
    list = {{rows.dim, 8, 1}, of_row};
    if (rows.extent > 8) list.push_back({rows.dim, rows.extent / 8, 8});
  }
  return list;
}

// The number of the item's copy.
UOp Stager::begin_block(Block* b) {
  b->copy = b->lane = b->row = rw_.index(0);
  b->at.assign(dims_.size(), rw_.index(0));
  UOp number = loops_.item_number();
  if (copies() == 1) return number;
  const bool unroll = copies() <= kMaxUnrolledCopies;
  b->copy = loops_.range(unroll ? AxisType::Upcast : AxisType::Loop, copies());
  b->made.push_back(b->copy);
  return loops_.mul_add(b->copy, loops_.all_items(), number);
}

// Rows, and the columns of the same blocks: see program.h, Load.
Stager::Block Stager::transposed_block() {
  constexpr i64 kLines = kTransposedElements;
  Block b;
  const UOp number = begin_block(&b);
  b.made.push_back(b.lane = loops_.range(AxisType::Vector, kLines));
  UOp block = rw_.floordiv(number, kLines), line = rw_.floormod(number, kLines);
  // What is stored at the same time lies in different banks.
  const bool is_narrow = load_.dtype().bytes() == 1;
  const i64 deep = is_narrow && dims_[1].extent % (2 * kLines) == 0 ? 2 : 1;
  const auto place = [&](UOp n, UOp column, UOp row) {
    const i64 across = dims_[0].extent / kLines;
    UOp low = rw_.floormod(n, deep), rest = rw_.floordiv(n, deep);
    UOp down = loops_.mul_add(rw_.floordiv(rest, across), deep, low);
    UOp to_column = loops_.mul_add(rw_.floormod(rest, across), kLines, column);
    return std::vector<UOp>{to_column, loops_.mul_add(down, kLines, row)};
  };
  b.to = place(block, line, b.lane);
  if (is_narrow) {
    UOp upper = rw_.floormod(rw_.floordiv(number, 4), 2), half = rw_.floormod(block, 2);
    line = loops_.mul_add(half, 4, rw_.floormod(number, 4));
    block = loops_.mul_add(rw_.floordiv(block, 2), 2, upper);
  }
  b.at = place(block, b.lane, line);
  return b;
}

Stager::Block Stager::block(AxisType lanes, AxisType rows) {
  if (by_load_) return transposed_block();
  Block b;
  i64 blocks = 1;
  const i64 items = loops_.all_items();
  UOp number = begin_block(&b);
  if (down_ > 1) b.made.push_back(b.row = loops_.range(rows, down_));
  if (lanes_ > 1) b.made.push_back(b.lane = loops_.range(lanes, lanes_));
  for (usize i = 0; i < whole_; ++i)
    b.made.push_back(b.at[i] = loops_.range(AxisType::Upcast, dims_[i].extent));
  const std::vector<Digit> list = digits();
  for (const Digit& d : list) blocks *= d.extent;
  if (copies() * items > blocks) b.inside = rw_.lt(number, blocks);
  for (usize i = 0; i < list.size(); ++i) {
    const Digit& d = list[i];
    UOp digit = i + 1 == list.size() ? number : rw_.floormod(number, d.extent);
    number = rw_.floordiv(number, d.extent);
    b.at[d.dim] = loops_.mul_add(digit, d.step, b.at[d.dim]);
  }
  b.at[0] = rw_.add(b.at[0], b.lane);
  if (down_ > 1) b.at[rows_.back()] = rw_.add(b.at[rows_.back()], b.row);
  b.to = b.at;
  return b;
}

// The operand's element, with other values of the loops over tiles, where the gate is true.
UOp Stager::element(const Block& b, LoopValues loops, UOp gate) {
  Rebuilder rebuild(rw_);
  auto at_loops = [&](UOp expression) {
    return loops.empty() || !expression ? expression : rw_.substitute(expression, loops);
  };
  for (usize id = 0; id < loops_.images.size(); ++id) {
    RangeImage image = loops_.images[id];
    if (!image.value) continue;
    image.value = at_loops(image.value);
    image.gate = at_loops(image.gate);
    rebuild.set(static_cast<i64>(id), image);
  }
  for (usize i = 0; i < dims_.size(); ++i) {
    const Dim& d = dims_[i];
    RangeImage image;
    image.value = loops_.mul_add(at_loops(parts(d).outer), d.block, b.at[i]);
    if (d.before > 0) image.value = rw_.sub(image.value, rw_.index(d.before));
    const i64 size = this->size(d.axis);
    if (i == 0) image.gate = gate;
    if (size == 0 || size % d.block) {
      UOp limit = loops_.info.ranges[static_cast<usize>(d.axis)].range.src(0);
      // A vector is inside or outside as a whole.
      const i64 step = i == 0 ? lanes_ : 1;
      UOp within = step > 1 ? rw_.lt(rw_.floordiv(image.value, step), size / step)
                            : rw_.lt(image.value, limit);
      image.gate = image.gate ? rw_.land(image.gate, within) : within;
    }
    rebuild.set(d.axis, image);
    if (d.tap < 0) continue;
    RangeImage first;
    first.value = rw_.index(0);
    rebuild.set(d.tap, first);
  }
  UOp load = rebuild(load_);
  if (window_lanes_ > 1 && lanes_ > 1) return pair(load, b.lane);
  if (!by_load_) return load;
  CHECK(load.nsrc() == 1 && load.src(0).nsrc() == 2, "a load that transposes has a gate");
  return rw_.make(Op::Load, load.dtype(), {load.src(0)}, {kTransposing});
}

UOp Stager::made_of(UOp element) {
  if (!computes()) return element;
  const std::pair<UOp, UOp> of_load{load_, element};
  return rw_.substitute(value_, {&of_load, 1});
}

UOp Stager::effect(UOp place, UOp value, const RangeList& made) {
  return close(rw_.make(Op::Store, core::dtypes::void_, {place, value}), made);
}

UOp Stager::close(UOp store, const RangeList& made) {
  absl::InlinedVector<UOp, 4> srcs{store};
  srcs.insert(srcs.end(), made.begin(), made.end());
  return srcs.size() == 1 ? srcs[0] : rw_.make(Op::End, core::dtypes::void_, srcs);
}

UOp Stager::copy(UOp memory, UOp base, LoopValues loops, bool async, UOp gate) {
  const bool across = down_ > 1;
  const Block b = block(across ? AxisType::Upcast : AxisType::Vector, AxisType::Vector);
  if (gate && b.inside)
    gate = rw_.land(gate, b.inside);
  else if (!gate)
    gate = b.inside;
  UOp copied = made_of(element(b, loops, gate));
  UOp to = place(memory, base, b.to, gate);
  if (!async) return effect(to, copied, b.made);
  return close(rw_.make(Op::Store, core::dtypes::void_, {to, copied}, {kAsync}), b.made);
}

// In the order of the loads.
UOp Stager::held_place(UOp held, const Block& b) {
  UOp row = loops_.mul_add(b.copy, down_, b.row);
  UOp index = loops_.mul_add(row, lanes_, b.lane);
  return rw_.make(Op::Index, held.dtype(), {held, index});
}

UOp Stager::hold(UOp held, LoopValues loops) {
  const Block b = block(AxisType::Vector, AxisType::Upcast);
  return effect(held_place(held, b), element(b, loops, b.inside), b.made);
}

UOp Stager::store_held(UOp memory, UOp base, UOp held) {
  const bool across = down_ > 1;
  const Block b = block(across ? AxisType::Upcast : AxisType::Vector, AxisType::Vector);
  UOp copied = made_of(rw_.make(Op::Load, load_.dtype(), {held_place(held, b)}));
  return effect(place(memory, base, b.to, b.inside), copied, b.made);
}

}  // namespace doorbell::codegen::detail
