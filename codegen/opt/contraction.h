// Contractions: sums of products of two operands, A[.., i, k] and B[.., k, j]. Recognised here for
// tile_plan.cc, which blocks them, and tile.cc, which applies the blocks.
//
// Each of the axes may be several of the kernel's that are walked as one: the channels and taps of
// a convolution are its k, rows and columns of the image its j.
#pragma once

#include <optional>
#include <vector>

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"

namespace doorbell::codegen::detail {

inline i64 divide_up(i64 n, i64 by) { return (n + by - 1) / by; }

// Axes walked as one, the most significant first. Opts name the last.
struct JoinedAxis {
  std::vector<i64> ids;
  i64 size = 1;  // of all together
  u64 mask = 0;

  bool exists() const { return !ids.empty(); }
  bool is_joined() const { return ids.size() > 1; }
  i64 id() const { return ids.empty() ? -1 : ids.back(); }
  void prepend(const KernelInfo& info, i64 id);
};

// The axis that the plan's Join opts make of this one.
JoinedAxis joined_axis(const KernelInfo& info, const Plan& plan, i64 axis);

struct Contraction {
  JoinedAxis i, j, k;  // i: none if A is a single row
  const Access *a = nullptr, *b = nullptr;
  bool b_along_k = false;     // B is not contiguous along j
  bool rows_of_dots = false;  // both operands are contiguous along k
  bool scatters = false;      // the result is not contiguous along j,
  bool along_i = false;       // but along i
  // The innermost loops need no more than the two operands as they lie: no windows, no padding.
  bool is_plain = true;
};

// So many neighbours along k are a word (linear/dot.h), if this is a sum of products of two
// conversions from dtypes that an instruction of the target takes; else 1. It is the amount of the
// plan's Stage opts.
i64 parts_of_word(const KernelInfo& info, const Caps& caps, const Contraction& c);

// How the kernel may be seen as a contraction, best first: none, one, or with A and B in either
// role. i is only in A, j only in B, k in both.
std::vector<Contraction> find_contractions(const KernelInfo& info);

// Whether neighbours on the joined axis are `step` apart in memory wherever they are.
bool is_linear(const KernelInfo& info, const Access& access, const JoinedAxis& axis, i64 step);
// So many neighbours on axis `k` of an operand that is contiguous along it are packed for each of
// `j` at once, transposed in registers (lower/transpose.h), in blocks of `depth`; 1: it is not.
i64 transposed_run(const KernelInfo& info, const Access& access, const JoinedAxis& j,
                   const JoinedAxis& k, i64 depth);
// So many neighbours, a power of two up to `most`, are a vector with no end of an axis within.
i64 vector_piece(const KernelInfo& info, const Access& access, const JoinedAxis& axis, i64 most);

// How many of the `panels` of a block of B are packed together: rows of a matrix lie far apart, so
// pieces of a few cache lines are read from each. A divisor of `panels`; a piece of a panel is of
// `row_bytes`, a packed one of `bytes`.
i64 panels_together(i64 panels, i64 row_bytes, i64 bytes);

}  // namespace doorbell::codegen::detail
