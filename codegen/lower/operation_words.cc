// A walk from the results to the inputs: a node is named together with the nodes below it that are
// parts of the same function, which then get no words.
#include "codegen/lower/operation_words.h"

#include <algorithm>
#include <cmath>

#include "codegen/lower/function_shapes.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

class Namer {
 public:
  explicit Namer(const KernelInfo& info) : info_(info) {
    u32 last = 0;
    for (UOp u : info.order) last = std::max(last, u.id());
    holds_data_.resize(last + 1);
    is_bound_.resize(last + 1);
    is_part_.resize(last + 1);
    for (UOp u : info.order) {
      is_bound_[u.id()] = bounds(u);
      holds_data_[u.id()] =
          u.is(Op::Load) || u.is(Op::Threefry) ||
          std::any_of(u.srcs().begin(), u.srcs().end(), [&](UOp s) { return holds_data_[s.id()]; });
    }
  }

  std::vector<OperationWord> words() {
    std::vector<OperationWord> found;
    for (auto u = info_.order.rbegin(); u != info_.order.rend(); ++u) {
      if (is_part_[u->id()] || !computes(*u)) continue;
      const OperationWord word = u->is(Op::Index) ? access_word(*u) : word_of(*u);
      if (!word.text.empty()) found.push_back(word);
    }
    if (found.empty()) found.push_back({transfer_word(), WordRank::Whole});
    std::reverse(found.begin(), found.end());
    std::vector<OperationWord> once;
    for (const OperationWord& word : found)
      if (std::none_of(once.begin(), once.end(),
                       [&](const OperationWord& other) { return other.text == word.text; }))
        once.push_back(word);
    return once;
  }

 private:
  // Values made from data; a value that depends only on loops is an address or a mask.
  bool computes(UOp u) const {
    if (!holds_data_[u.id()] || u.dtype().is_index() || is_bound_[u.id()]) return false;
    return u.is(Op::Reduce) || u.is(Op::Index) || (core::is_elementwise(u.op()) && !u.is(Op::Cast));
  }
  // Whether an element lies within a window, or an index within its axis.
  bool bounds(UOp u) const {
    if (!u.dtype().is_bool()) return false;
    if (core::is_comparison(u.op()) && u.src(0).dtype().is_index()) return true;
    return (u.is(Op::And) || u.is(Op::Or) || u.is(Op::CmpNe)) &&
           (is_bound_[u.src(0).id()] || is_bound_[u.src(1).id()]) &&
           (is_bound_[u.src(0).id()] || u.src(0).is_const()) &&
           (is_bound_[u.src(1).id()] || u.src(1).is_const());
  }
  // If an address is data, the operations that made it get no words.
  OperationWord access_word(UOp index) {
    if (!holds_data_[index.src(1).id()]) return kNoWord;
    absorb_down_to(index.src(1), UOp());
    const bool writes = std::any_of(info_.accesses.begin(), info_.accesses.end(),
                                    [&](const Access& a) { return a.store && a.index == index; });
    return {writes ? "scatter" : "gather", WordRank::Whole};
  }
  void absorb(std::initializer_list<UOp> parts) {
    for (UOp part : parts) is_part_[part.id()] = true;
  }
  // Everything from `u` down to, but without, `input`.
  void absorb_down_to(UOp u, UOp input) {
    std::vector<UOp> below = {u};
    while (!below.empty()) {
      UOp part = below.back();
      below.pop_back();
      if (part == input || is_part_[part.id()]) continue;
      is_part_[part.id()] = true;
      below.insert(below.end(), part.srcs().begin(), part.srcs().end());
    }
  }

  OperationWord word_of(UOp u) {
    switch (u.op()) {
      case Op::Reduce: return reduction(u);
      case Op::Exp2:
        if (is_exp(u)) {
          absorb({u.src(0)});
          return {"exp", WordRank::Function};
        }
        break;
      case Op::Recip: return reciprocal(u);
      case Op::Mul: return product(u);
      case Op::FDiv: return quotient(u);
      case Op::Sub: return difference(u);
      case Op::Max: return larger(u);
      case Op::Neg: return negative(u);
      case Op::Where: return choice(u);
      case Op::CmpNe: return inequality(u);
      case Op::Threefry: absorb({u.src(0)}); break;
      default: break;
    }
    return plain_word(u.op());
  }

  // exp(x - the largest x): both steps are parts of a softmax.
  void absorb_shifted_exp(UOp exp) {
    absorb({exp, exp.src(0)});
    absorb_shift(exp.src(0).src(0));
  }
  void absorb_shift(UOp shifted) {
    if (!shifted.is(Op::Sub)) return;
    absorb({shifted});
    if (shifted.src(1).is(Op::Reduce)) absorb({shifted.src(1)});
  }

  OperationWord reciprocal(UOp u) {
    if (is_sigmoid(u)) {
      UOp exp = u.src(0).src(0);
      absorb({u.src(0), exp, exp.src(0)});
      return {"sigmoid", WordRank::Function};
    }
    if (u.src(0).is(Op::Sqrt)) {
      absorb({u.src(0)});
      return {"rsqrt", WordRank::Function};
    }
    return plain_word(u.op());
  }

  OperationWord product(UOp u) {
    UOp a = u.src(0), b = u.src(1);
    if (is_log(u)) {
      absorb({a});
      return {"log", WordRank::Function};
    }
    if (is_mean(a, b, [](f64 count) { return 1 / count; })) {
      absorb({a});
      return mean_of(a);
    }
    if (a == b) return {"square", WordRank::Choice};
    if (is_exp(a) && b.is(Op::Recip) && is_sum_of_exp(b.src(0))) {
      absorb({b});
      return softmax(a, b.src(0));
    }
    // Random bits as a number below 1.
    if (a.is(Op::Cast) && a.src(0).is(Op::Shr) && b.is_const() && is_random(a.src(0).src(0))) {
      absorb({a.src(0)});
      return kNoWord;
    }
    for (auto [x, s] : {std::pair(a, b), std::pair(b, a)}) {
      if (!is_sigmoid(s) || s.src(0).src(0).src(0).src(0) != x) continue;
      UOp exp = s.src(0).src(0);
      absorb({s, s.src(0), exp, exp.src(0)});
      return {"silu", WordRank::Function};
    }
    // x / 2 * (1 + erf)
    if (a.is(Op::Mul) && is_number(a.src(1), 0.5) && b.is(Op::Add) && is_number(b.src(1), 1)) {
      if (OperationWord inner = curve_word(b.src(0)); inner.text == "erf") {
        absorb({a, b});
        absorb_curve(b.src(0));
        if (UOp scaled = curve_input(b.src(0)); scaled.is(Op::FDiv) || scaled.is(Op::Mul))
          absorb({scaled});
        return {"gelu", WordRank::Function};
      }
    }
    return plain_word(u.op());
  }

  bool is_window(UOp u) const {
    return (u.is(Op::Load) && u.nsrc() > 1) || (u.is(Op::Where) && is_bound_[u.src(0).id()]);
  }

  // not any(not x)
  OperationWord inequality(UOp u) {
    UOp any = u.src(0);
    if (!is_not(u) || !any.is(Op::Reduce) || !finds_any(any) || !is_not(any.src(0)))
      return plain_word(u.op());
    absorb({any, any.src(0)});
    return {"all", WordRank::Whole};
  }
  OperationWord softmax(UOp exp, UOp sum) {
    absorb({sum});
    absorb_shifted_exp(exp);
    absorb_shifted_exp(sum.src(0));
    return {"softmax", WordRank::Whole};
  }
  OperationWord quotient(UOp u) {
    UOp a = u.src(0), b = u.src(1);
    if (is_exp(a) && is_sum_of_exp(b)) return softmax(a, b);
    if (is_mean(a, b, [](f64 count) { return count; })) {
      absorb({a});
      return mean_of(a);
    }
    return plain_word(u.op());
  }

  OperationWord difference(UOp u) {
    if (is_log(u.src(1)) && is_sum_of_exp(u.src(1).src(0).src(0))) {
      UOp log = u.src(1), sum = log.src(0).src(0);
      absorb({log, log.src(0), sum});
      absorb_shifted_exp(sum.src(0));
      absorb_shift(u.src(0));
      return {"log_softmax", WordRank::Whole};
    }
    return plain_word(u.op());
  }

  OperationWord larger(UOp u) {
    if (is_number(u.src(1), 0)) return {"relu", WordRank::Choice};
    if (is_absolute(u)) {
      absorb({u.src(1)});
      return {"abs", WordRank::Choice};
    }
    return plain_word(u.op());
  }

  // A minimum is the negated maximum of the negated values.
  OperationWord negative(UOp u) {
    UOp max = u.src(0);
    const bool reduces = max.is(Op::Reduce) && max.reduce_op() == Op::Max;
    if (!reduces && !max.is(Op::Max)) return plain_word(u.op());
    if (!max.src(0).is(Op::Neg) && !max.src(0).is_const()) return plain_word(u.op());
    absorb({max, max.src(0)});
    if (!reduces && max.src(1).is(Op::Neg)) absorb({max.src(1)});
    return {"min", reduces ? WordRank::Whole : WordRank::Choice};
  }

  // tanh and erf have two formulas each, one for small arguments.
  OperationWord curve_word(UOp u) const {
    if (!u.is(Op::Where) || !u.src(0).is(Op::CmpLt) || !is_absolute(u.src(0).src(0)))
      return kNoWord;
    const bool has_power =
        std::ranges::any_of(info_.order, [](UOp one) { return one.is(Op::Exp2); });
    if (has_power && is_number(u.src(0).src(1), 0.625)) return {"tanh", WordRank::Function};
    if (has_power && is_number(u.src(0).src(1), 1)) return {"erf", WordRank::Function};
    return kNoWord;
  }
  static UOp curve_input(UOp where) { return where.src(0).src(0).src(0); }
  void absorb_curve(UOp where) { absorb_down_to(where, curve_input(where)); }

  OperationWord choice(UOp u) {
    const OperationWord word = curve_word(u);
    if (!word.text.empty()) {
      absorb_curve(u);
      return word;
    }
    // A concatenation chooses by position between a part and those before it; padding, 0.
    if (is_bound_[u.src(0).id()])
      return is_window(u.src(2)) ? OperationWord{"cat", WordRank::Whole} : kNoWord;
    if (core::is_comparison(u.src(0).op())) absorb({u.src(0)});
    return plain_word(u.op());
  }

  // ---- reductions

  f64 trips_of(UOp reduce) const {
    f64 trips = 1;
    for (usize i = 1; i < reduce.nsrc(); ++i)
      trips *= static_cast<f64>(info_.size(reduce.src(i).range_id()));
    return trips;
  }
  template <class Factor>
  bool is_mean(UOp sum, UOp factor, const Factor& of_count) const {
    return is_sum(sum) && trips_of(sum) > 0 && is_number(factor, of_count(trips_of(sum)));
  }
  OperationWord mean_of(UOp sum) {
    const OperationWord word = reduction(sum);
    return {word.text == "sum" ? "mean" : word.text, WordRank::Whole};
  }

  OperationWord reduction(UOp u) {
    UOp value = u.src(0);
    if (is_sum(u) && without_cast(value).is(Op::Mul)) return sum_of_products(u);
    if (value.is(Op::Cast) && value.src(0).dtype().is_bool() && is_sum(u))
      return {"count", WordRank::Whole};
    // The index of the first element found (argmax, argmin).
    if (u.reduce_op() == Op::Max && u.dtype().is_int() && value.is(Op::Where) &&
        value.src(1).is(Op::Cast) && value.src(1).src(0).dtype().is_index()) {
      absorb_down_to(value, value.src(1));
      return {"index_of", WordRank::Whole};
    }
    return {reduction_word(u), WordRank::Whole};
  }

  OperationWord sum_of_products(UOp u) {
    UOp product = without_cast(u.src(0)), a = product.src(0), b = product.src(1);
    u64 closed = 0;
    for (usize i = 1; i < u.nsrc(); ++i) closed |= u64{1} << u.src(i).range_id();
    const bool both = a.range_mask() & closed && b.range_mask() & closed && holds_data_[a.id()] &&
                      holds_data_[b.id()];
    if (a == b || !both) return {"sum", WordRank::Whole};
    const u64 rows = a.range_mask() & ~closed, columns = b.range_mask() & ~closed;
    if (rows == columns && rows) return {"sum", WordRank::Whole};  // of elementwise products
    absorb({product});
    if (has_windows(closed)) return {"conv", WordRank::Whole};
    if (!rows && !columns) return {"dot", WordRank::Whole};
    return {rows & ~columns && columns & ~rows ? "matmul" : "matvec", WordRank::Whole};
  }

  // A load walks over the same elements by a loop of the reduction and by another loop.
  bool has_windows(u64 closed) const {
    for (const Access& access : info_.accesses) {
      if (access.store) continue;
      for (const Affine::Term& inner : access.affine.ranges) {
        if (!(closed >> inner.value.range_id() & 1)) continue;
        for (const Affine::Term& outer : access.affine.ranges)
          if (!(closed >> outer.value.range_id() & 1) && overlap(inner, outer)) return true;
      }
    }
    return false;
  }
  bool overlap(const Affine::Term& inner, const Affine::Term& outer) const {
    const f64 a = std::abs(static_cast<f64>(inner.coefficient));
    const f64 b = std::abs(static_cast<f64>(outer.coefficient));
    return (a <= b && b < a * static_cast<f64>(info_.size(inner.value.range_id()))) ||
           (b <= a && a < b * static_cast<f64>(info_.size(outer.value.range_id())));
  }

  // ---- kernels that compute nothing

  const char* transfer_word() const {
    const Access* read = nullptr;
    const Access* written = nullptr;
    for (const Access& access : info_.accesses) (access.store ? written : read) = &access;
    if (read == nullptr) return output_is_constant() ? "fill" : "index";
    if (read->gate_mask) return "pad";
    for (UOp u : info_.order)
      if (u.is(Op::Cast) && holds_data_[u.id()]) return "cast";
    for (const Affine::Term& term : written->affine.ranges) {
      const std::optional<i64> step = read->affine.coefficient(term.value.range_id());
      if (step && *step < 0) return "flip";
      if (step && *step != term.coefficient) return *step == 0 ? "expand" : "permute";
    }
    return "copy";
  }
  bool output_is_constant() const {
    return std::all_of(info_.order.begin(), info_.order.end(),
                       [](UOp u) { return !u.is(Op::Store) || u.src(1).is_const(); });
  }

  const KernelInfo& info_;
  std::vector<bool> holds_data_;  // by node id
  std::vector<bool> is_bound_;
  std::vector<bool> is_part_;  // of a function that was named
};

}  // namespace

std::vector<OperationWord> operation_words(const KernelInfo& info) { return Namer(info).words(); }

}  // namespace doorbell::codegen
