// The tensor's surface by name: every method that users of PyTorch and tinygrad look for is called
// here, and those that no other test knows are compared with PyTorch, values and gradients
// (surface_values.py wrote them down). Layers, losses and products have tests of their own.
#include <limits>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Expected {
  std::string name;
  std::string shape;
  std::vector<double> values, gradient;
};

std::vector<Expected> expected_of_pytorch() {
  return {
#include "tests/tensor/api/surface_values.inc"
  };
}

// As in surface_values.py.
Tensor numbers(const std::vector<i64>& shape) {
  i64 i = 0;
  return Array::make(shape, [&](auto&) { return ((i++ * 37) % 101 - 50) / 16.0 + 0.03125; })
      .tensor();
}
Tensor whole(const std::vector<i64>& shape) {
  i64 i = 0;
  return Array::make(shape, [&](auto&) { return (i++ * 7) % 13 - 6.0; }).tensor(dtypes::i32);
}
Tensor input(char name) {
  switch (name) {
    case 'x': return numbers({3, 4});
    case 'c': return numbers({2, 3, 4});
    case 'v': return numbers({6});
    case 'q': return numbers({4, 4});
    case 's': return numbers({});
    case 'p': return numbers({3, 4}).abs() + 0.25;
    case 'u': return numbers({3, 4}) / 4;
    case 'g': return numbers({3, 4}) / 4 + 2;
    case 't': return Tensor::of({1e-6, -1e-4, 0.01, -0.3, 20.0, -30.0, 80.0, -100.0});
    case 'e': return numbers({0, 3});
    case 'o': return numbers({1, 1});
    case 'i': return whole({3, 4});
    case 'j': return whole({3, 4}).abs() + 1;
    case 'b': return whole({3, 4}) % 3 == 0;
    default: return Tensor::of({kNan, 1.0, 3.0, kNan, -kInf, 3.0, kInf});
  }
}
Tensor y() { return numbers({4}) + 0.5; }
Tensor mask() { return whole({3, 4}) % 2 == 0; }
Tensor rows() { return Tensor::of({true, false, true}); }

using T = const Tensor&;
Tensor assigned(T x, const std::vector<Index>& place, const Operand& value) {
  Tensor changed = Tensor::from_uop(x.uop(), x.needs_grad());
  changed.set_at(place, value);
  return changed;
}

struct Case {
  std::string name;
  char source;
  Tensor (*run)(T x);
};

const Slice kAll;
std::vector<Case> movement_cases() {
  return {
      {"shrink_to", 'x', [](T x) { return x.shrink_to({2, 3}); }},
      {"pad_to", 'x', [](T x) { return x.pad_to({5, 5}, 7); }},
      {"rearrange", 'c', [](T x) { return x.rearrange("a b c -> c (a b)"); }},
      {"rearrange split", 'x',
       [](T x) { return x.rearrange("... (h w) -> h (... w) 1", {{"h", 2}}); }},
      {"repeat_interleave", 'x', [](T x) { return x.repeat_interleave(2, 1); }},
      {"repeat_interleave flat", 'x', [](T x) { return x.repeat_interleave(2); }},
      {"repeat_interleave counts", 'x', [](T x) { return x.repeat_interleave({2, 0, 1}, 0); }},
      {"roll axes", 'x', [](T x) { return x.roll({1, -2}, {0, 1}); }},
      {"roll flat", 'x', [](T x) { return x.roll(5); }},
      {"diagonal", 'c', [](T x) { return x.diagonal(); }},
      {"diagonal offset", 'c', [](T x) { return x.diagonal(1, 1, 2); }},
      {"diagonal below", 'c', [](T x) { return x.diagonal(-1, -1, 0); }},
      {"diagonal beyond!", 'x', [](T x) { return x.diagonal(9); }},
      {"diag of vector", 'v', [](T x) { return x.diag(); }},
      {"diag above", 'v', [](T x) { return x.diag(2); }},
      {"diag below", 'v', [](T x) { return x.diag(-1); }},
      {"diag of matrix", 'x', [](T x) { return x.diag(1); }},
      {"T", 'x', [](T x) { return x.T(); }},
      {"t", 'x', [](T x) { return x.t(); }},
      {"meshgrid xy", 'v', [](T x) { return meshgrid({x, y()}, Indexing::Xy)[0]; }},
      {"meshgrid xy second", 'v', [](T x) { return meshgrid({y(), x}, Indexing::Xy)[1]; }},
      {"squeeze axes", 'v', [](T x) { return x.reshape({1, 6, 1, 1}).squeeze({0, 1, -1}); }},
      {"unfold", 'x', [](T x) { return x.unfold(1, 2, 1); }},
  };
}

std::vector<Case> elementwise_cases() {
  return {
      {"exp2", 'x', [](T x) { return x.exp2(); }},
      {"expm1", 't', [](T x) { return x.expm1(); }},
      {"log1p", 'p', [](T x) { return x.log1p(); }},
      {"log1p small", 't', [](T x) { return x.abs().log1p(); }},
      {"log10", 'p', [](T x) { return x.log10(); }},
      {"cos", 't', [](T x) { return x.cos(); }},
      {"tan", 'u', [](T x) { return x.tan(); }},
      {"asin", 'u', [](T x) { return x.asin(); }},
      {"asin small", 't', [](T x) { return (x / 200).asin(); }},
      {"acos", 'u', [](T x) { return x.acos(); }},
      {"acos small", 't', [](T x) { return (x / 200).acos(); }},
      {"atan", 'x', [](T x) { return x.atan(); }},
      {"atan all", 't', [](T x) { return x.atan(); }},
      {"sinh", 'x', [](T x) { return x.sinh(); }},
      {"sinh small", 't', [](T x) { return (x / 100).sinh(); }},
      {"cosh", 'x', [](T x) { return x.cosh(); }},
      {"tanh", 'x', [](T x) { return x.tanh(); }},
      {"tanh all", 't', [](T x) { return x.tanh(); }},
      {"asinh", 'x', [](T x) { return x.asinh(); }},
      {"asinh all", 't', [](T x) { return (x * 1e3).asinh(); }},
      {"acosh", 'g', [](T x) { return x.acosh(); }},
      {"acosh far", 'g', [](T x) { return (x * 1e6).acosh(); }},
      {"atanh", 'u', [](T x) { return x.atanh(); }},
      {"atanh small", 't', [](T x) { return (x / 200).atanh(); }},
      {"erf", 'x', [](T x) { return x.erf(); }},
      {"erf all", 't', [](T x) { return x.erf(); }},
      {"sigmoid", 't', [](T x) { return x.sigmoid(); }},
      {"logsigmoid", 't', [](T x) { return x.logsigmoid(); }},
      {"softplus", 't', [](T x) { return x.softplus(); }},
      {"softplus beta", 'x', [](T x) { return x.softplus(3); }},
      {"elu", 't', [](T x) { return x.elu(); }},
      {"celu", 'x', [](T x) { return x.celu(0.7); }},
      {"selu", 't', [](T x) { return x.selu(); }},
      {"gelu", 'x', [](T x) { return x.gelu(); }},
      {"gelu tanh", 'x', [](T x) { return x.gelu(Gelu::Tanh); }},
      {"quick_gelu", 'x', [](T x) { return x.quick_gelu(); }},
      {"swish", 'x', [](T x) { return x.swish(); }},
      {"silu far", 't', [](T x) { return x.silu(); }},
      {"mish", 't', [](T x) { return x.mish(); }},
      {"hardswish", 'x', [](T x) { return x.hardswish(); }},
      {"hardsigmoid", 'x', [](T x) { return x.hardsigmoid(); }},
      {"hardtanh", 'x', [](T x) { return x.hardtanh(-2, 0.5); }},
      {"relu6", 'x', [](T x) { return (x * 4).relu6(); }},
      {"softsign", 'x', [](T x) { return x.softsign(); }},
      {"isinf up!", 'f', [](T x) { return x.isinf(true, false); }},
      {"isinf down!", 'f', [](T x) { return x.isinf(false, true); }},
  };
}

std::vector<Case> operand_cases() {
  return {
      {"div trunc!", 'x', [](T x) { return x.div(y(), Rounding::Trunc); }},
      {"div floor ints!", 'i', [](T x) { return x.div(4, Rounding::Floor); }},
      {"mod", 'x', [](T x) { return x % y(); }},
      {"fmod", 'x', [](T x) { return x.fmod(y()); }},
      {"mod of infinity!", 'v', [](T x) { return x.mod(-kInf); }},
      {"fmod of infinity!", 'v', [](T x) { return x.fmod(kInf); }},
      {"mod ints!", 'i', [](T x) { return x % -4; }},
      {"fmod ints!", 'i', [](T x) { return x.fmod(4); }},
      {"bitwise_and!", 'i', [](T x) { return x.bitwise_and(5); }},
      {"bitwise_or!", 'i', [](T x) { return x.bitwise_or(5); }},
      {"bitwise_xor!", 'i', [](T x) { return x.bitwise_xor(5); }},
      {"lshift!", 'i', [](T x) { return x.lshift(2); }},
      {"rshift!", 'i', [](T x) { return x.rshift(1); }},
      {"reflected shift!", 'j', [](T x) { return 1 << x; }},
      {"eq!", 'i', [](T x) { return x.eq(1); }},
      {"ne!", 'i', [](T x) { return x.ne(1); }},
      {"lt!", 'x', [](T x) { return x.lt(y()); }},
      {"le!", 'f', [](T x) { return x.le(3); }},
      {"gt!", 'f', [](T x) { return x.gt(3); }},
      {"ge!", 'x', [](T x) { return x.ge(y()); }},
      {"copysign", 'x', [](T x) { return x.copysign(-y()); }},
      {"logaddexp", 't', [](T x) { return x.logaddexp(x.detach().flip(0) + 1); }},
      {"logaddexp equal", 'x', [](T x) { return x.logaddexp(x); }},
      {"lerp", 'x', [](T x) { return x.lerp(y(), 0.75); }},
      {"clip", 'x', [](T x) { return x.clip({.min = -1, .max = 2}); }},
      {"clamp min", 'x', [](T x) { return x.clamp({.min = 0.5}); }},
      {"masked_fill", 'x', [](T x) { return x.masked_fill(mask(), 3); }},
      {"usum", 'x', [](T x) { return x.usum({y(), 2, x}); }},
      {"uprod", 'x', [](T x) { return x.uprod({y(), 2, x}); }},
      {"pow reflected", 'x', [](T x) { return pow(2, x); }},
  };
}

std::vector<Case> reduce_cases() {
  return {
      {"var_mean", 'c', [](T x) { return x.var_mean({0, 2}).first; }},
      {"var_mean mean", 'c', [](T x) { return x.var_mean({0, 2}).second; }},
      {"std_mean", 'x',
       [](T x) { return x.std_mean(1, {.keepdim = true, .correction = 0}).first; }},
      {"softmin", 'x', [](T x) { return x.softmin(0); }},
      {"normalize", 'x', [](T x) { return x.normalize(); }},
      {"normalize p", 'x', [](T x) { return x.normalize(3, 0); }},
      {"cumsum", 'c', [](T x) { return x.cumsum(1); }},
      {"cumprod", 'c', [](T x) { return x.cumprod(2); }},
      {"cummax", 'x', [](T x) { return x.cummax(1).values; }},
      {"cummin", 'x', [](T x) { return x.cummin(0).values; }},
      {"cummax places!", 'i', [](T x) { return x.cummax(1).indices; }},
      {"cummin places!", 'i', [](T x) { return x.cummin(1).indices; }},
      {"cummax of nan!", 'f', [](T x) { return x.cummax().values; }},
      {"cummax places of nan!", 'f', [](T x) { return x.cummax().indices; }},
      {"cummin ints!", 'i', [](T x) { return x.cummin(1).values; }},
      {"logcumsumexp", 'x', [](T x) { return x.logcumsumexp(1); }},
      {"logcumsumexp far", 't', [](T x) { return x.logcumsumexp(); }},
      {"scalar cumsum", 's', [](T x) { return x.cumsum(); }},
      {"scatter add!", 'x',
       [](T x) { return x.scatter(1, Tensor::of({{0, 0, 3}}), 2.0, Combine::Sum); }},
      {"scatter multiply!", 'x',
       [](T x) { return x.scatter(1, Tensor::of({{0, 1, 3}}), 2.0, Combine::Product); }},
      {"one_hot!", 'j', [](T x) { return x.one_hot(); }},
      {"masked_select", 'x', [](T x) { return x.masked_select(mask()); }},
      {"masked_select rows", 'x', [](T x) { return x.masked_select(rows().unsqueeze(1)); }},
      {"nonzero!", 'i', [](T x) { return x.nonzero(); }},
      {"nonzero bool!", 'b', [](T x) { return x.nonzero(); }},
      {"isin!", 'i', [](T x) { return x.isin(Tensor::of({1, -3, 6})); }},
      {"isin inverted!", 'i', [](T x) { return x.isin(Tensor::of({1, -3, 6}), true); }},
      {"argsort!", 'x', [](T x) { return x.argsort(1, true); }},
      {"topk", 'x', [](T x) { return x.topk(2, 1).values; }},
      {"topk smallest!", 'x', [](T x) { return x.topk(2, 0, false).indices; }},
  };
}

std::vector<Case> distance_cases() {
  return {
      {"pow of ints!", 'i', [](T x) { return x.pow(x % 4); }},
      {"pow negative!", 'i', [](T x) { return (x % 3 - 1).pow(x); }},
      {"atan2", 'x', [](T x) { return x.atan2(y()); }},
      {"atan2 of y", 'x', [](T x) { return y().atan2(x); }},
      {"atan2 of infinity!", 'f', [](T x) { return x.atan2(-kInf); }},
      {"hypot", 'x', [](T x) { return x.hypot(y()); }},
      {"hypot of infinity!", 'f', [](T x) { return x.hypot(x.flip(0)); }},
      {"nan_to_num!", 'f', [](T x) { return x.nan_to_num(1, 2, -3); }},
      {"outer", 'v', [](T x) { return x.outer(x); }},
      {"mse_loss", 'x', [](T x) { return x.mse_loss(y()); }},
      {"l1_loss", 'x', [](T x) { return x.l1_loss(x.detach().flip(0), Reduction::None); }},
      {"huber_loss", 'x',
       [](T x) { return x.huber_loss(x.detach().flip(0), 0.75, Reduction::None); }},
      {"smooth_l1_loss", 'x',
       [](T x) { return x.smooth_l1_loss(x.detach().flip(0), 0.75, Reduction::Sum); }},
      {"kl_div", 'x', [](T x) { return x.kl_div(y().abs(), Reduction::None); }},
      {"kl_div of logarithms", 'x', [](T x) { return x.kl_div(y(), Reduction::Sum, true); }},
      {"norm", 'x', [](T x) { return x.norm(2, 1); }},
      {"norm 3", 'x', [](T x) { return x.norm(3, 0, {.keepdim = true}); }},
      {"norm 1", 'c', [](T x) { return x.norm(1, {0, 2}); }},
      {"norm infinity", 'x', [](T x) { return x.norm(kInf, 1); }},
      {"norm 0!", 'i', [](T x) { return x.norm(0, 1); }},
      {"norm of zeros", 'x', [](T x) { return (x * 0).norm(2, 1); }},
  };
}

std::vector<Case> order_cases() {
  return {
      {"median", 'v', [](T x) { return x.median(); }},
      {"median of nan!", 'f', [](T x) { return x.median(); }},
      {"median axis", 'c', [](T x) { return x.median(1).values; }},
      {"median place!", 'x', [](T x) { return x.median(0).indices; }},
      {"median of equals", 'x', [](T x) { return (x * 0).median(); }},
      {"unique!", 'i', [](T x) { return x.unique().values; }},
      {"unique places!", 'i', [](T x) { return x.unique().inverse; }},
      {"unique counts!", 'i', [](T x) { return x.unique().counts; }},
      {"searchsorted!", 'v',
       [](T x) { return x.sort().values.searchsorted(Tensor::of({{0.5, -9.0}, {9.0, 1.0}})); }},
      {"searchsorted right!", 'i',
       [](T x) { return x.flatten().sort().values.searchsorted(x, true); }},
      {"searchsorted rows!", 'x', [](T x) { return x.sort(1).values.searchsorted(x.flip(1)); }},
      {"diff", 'c', [](T x) { return x.diff(2, 1); }},
      {"diff of bools!", 'b', [](T x) { return x.diff(1, 0); }},
      {"var of a half", 'x', [](T x) { return x.var(1, {.correction = 0.5}); }},
      {"movedim", 'c', [](T x) { return x.movedim({0, 2}, {1, 0}); }},
  };
}

std::vector<Case> index_cases() {
  return {
      {"read list", 'x', [](T x) { return x[{{2, 0, -1}}]; }},
      {"read list beside slice", 'c', [](T x) { return x[{kAll, {2, 0}, Slice(1, 3)}]; }},
      {"read lists apart", 'c', [](T x) { return x[{{1, 0, 1}, kAll, {3, 0, -1}}]; }},
      {"read lists broadcast", 'c', [](T x) { return x[{Tensor::of({{1}, {0}}), {2, 0}}]; }},
      {"read steps", 'c', [](T x) { return x[{1, Slice(None, None, -2), Slice(1, None, 2)}]; }},
      {"read mask", 'x', [](T x) { return x[mask()]; }},
      {"read row mask", 'x', [](T x) { return x[rows()]; }},
      {"read mask beside slice", 'c', [](T x) { return x[{kAll, rows(), Slice(1, None)}]; }},
      {"read mask beside int", 'c', [](T x) { return x[{1, mask()}]; }},
      {"read mask beside list", 'c', [](T x) { return x[{{0, 1}, rows()}]; }},
      {"read no rows!", 'x', [](T x) { return x[Tensor::of({false, false, false})]; }},
      {"write slice", 'x',
       [](T x) { return assigned(x, {Slice(1, None), Slice(None, None, 2)}, y()[Slice(2)]); }},
      {"write none", 'x', [](T x) { return assigned(x, {None, 1}, y()); }},
      {"write list", 'x', [](T x) { return assigned(x, {Index{2, 0}}, y()); }},
      {"write list beside slice", 'c',
       [](T x) { return assigned(x, {kAll, {2, 0}, Slice(1, 3)}, y()[Slice(2)]); }},
      {"write list beside int", 'c', [](T x) { return assigned(x, {1, {2, 0}}, y()); }},
      {"write lists", 'c', [](T x) { return assigned(x, {{1, 0}, {2, 0}}, y()); }},
      {"write lists apart", 'c',
       [](T x) { return assigned(x, {{1, 0}, Slice(2), {3, 0}}, y()[Slice(2)]); }},
      {"write list beside step", 'c',
       [](T x) { return assigned(x, {Slice(1), Slice(None, None, 2), {3, 0}}, 5.0); }},
      {"write mask", 'x', [](T x) { return assigned(x, {mask()}, 9.0); }},
      {"write mask values", 'x',
       [](T x) { return assigned(x, {mask()}, numbers({6})[Slice(mask().sum().item<i64>())]); }},
      {"write row mask", 'x', [](T x) { return assigned(x, {rows()}, y()); }},
      {"write row mask values", 'x', [](T x) { return assigned(x, {rows()}, numbers({2, 4})); }},
      {"write mask beside slice", 'c',
       [](T x) { return assigned(x, {kAll, rows(), Slice(1, 3)}, y()[Slice(2)]); }},
      {"write mask beside int", 'c', [](T x) { return assigned(x, {1, mask()}, 9.0); }},
      {"write mask beside list", 'c', [](T x) { return assigned(x, {{0, 1}, rows()}, y()); }},
      {"write ellipsis", 'c', [](T x) { return assigned(x, {Ellipsis, 2}, y()[Slice(3)]); }},
  };
}

std::vector<Case> edge_cases() {
  return {
      {"empty cumsum!", 'e', [](T x) { return x.cumsum(); }},
      {"empty sort!", 'e', [](T x) { return x.sort().values; }},
      {"empty rows sort!", 'e', [](T x) { return x.sort(0).indices; }},
      {"empty roll!", 'e', [](T x) { return x.roll(1, 0); }},
      {"empty sum!", 'e', [](T x) { return x.sum(); }},
      {"empty sum of rows!", 'e', [](T x) { return x.sum(0); }},
      {"empty prod!", 'e', [](T x) { return x.prod(0); }},
      {"empty any!", 'e', [](T x) { return x.any(); }},
      {"empty all!", 'e', [](T x) { return x.all(1); }},
      {"empty mean!", 'e', [](T x) { return x.mean(0); }},
      {"empty argmax!", 'e', [](T x) { return x.argmax(1); }},
      {"empty softmax!", 'e', [](T x) { return x.softmax(0); }},
      {"empty cat!", 'e', [](T x) { return Tensor::cat({x, x}); }},
      {"empty nonzero!", 'e', [](T x) { return x.nonzero(); }},
      {"empty masked_select!", 'e', [](T x) { return x.masked_select(x > 0); }},
      {"empty repeat_interleave!", 'e', [](T x) { return x.repeat_interleave(3, 1); }},
      {"empty diag!", 'e', [](T x) { return x[{kAll, 0}].diag(); }},
      {"empty diagonal!", 'e', [](T x) { return x.diagonal(1); }},
      {"empty pad!", 'e', [](T x) { return x.pad({{1, 1}, {0, 0}}, {.value = 2}); }},
      {"empty read!", 'e', [](T x) { return x[{kAll, {2, 0}}]; }},
      {"empty write!", 'e', [](T x) { return assigned(x, {kAll, {2, 0}}, 1.0); }},
      {"empty logsumexp!", 'e', [](T x) { return x.logsumexp(0); }},
      {"empty flip!", 'e', [](T x) { return x.flip(0); }},
      {"empty cummax!", 'e', [](T x) { return x.cummax().values; }},
      {"empty isin!", 'e', [](T x) { return x.isin(x); }},
      {"one var!", 'o', [](T x) { return x.var(); }},
      {"one var of all", 'o', [](T x) { return x.var({}, {.correction = 0}); }},
      {"one std of rows", 'o', [](T x) { return Tensor::cat({x, x + 1}).std(0); }},
      {"one softmax", 'o', [](T x) { return x.softmax(0); }},
      {"one topk", 'o', [](T x) { return x.topk(1).values; }},
      {"one unfold", 'o', [](T x) { return x.unfold(0, 1, 1); }},
      {"one roll", 'o', [](T x) { return x.roll(3, 0); }},
      {"one diagonal", 'o', [](T x) { return x.diagonal(); }},
      {"one logcumsumexp", 'o', [](T x) { return x.logcumsumexp(); }},
      {"one squeeze", 'o', [](T x) { return x.squeeze(); }},
      {"scalar softmax", 's', [](T x) { return x.softmax(0); }},
      {"scalar sum", 's', [](T x) { return x.sum(0); }},
      {"scalar max", 's', [](T x) { return x.max(); }},
      {"scalar var!", 's', [](T x) { return x.var(); }},
      {"scalar cummax", 's', [](T x) { return x.cummax().values; }},
      {"scalar sort", 's', [](T x) { return x.sort().values; }},
      {"scalar logsumexp", 's', [](T x) { return x.logsumexp(0); }},
      {"scalar flatten", 's', [](T x) { return x.flatten(); }},
      {"scalar logcumsumexp", 's', [](T x) { return x.logcumsumexp(); }},
      {"scalar argmax!", 's', [](T x) { return x.argmax(); }},
      {"scalar none", 's', [](T x) { return x[None]; }},
      {"scalar where", 's', [](T x) { return (x > 0).where(x, y()); }},
      {"scalar broadcast", 's', [](T x) { return x * y(); }},
      {"scalar T", 's', [](T x) { return x.t(); }},
  };
}

// The weights of surface_values.py.
Tensor weights(const Tensor& like) {
  i64 i = 0;
  return Array::make(like.shape().values(), [&](auto&) { return ((i++ * 3) % 5 - 2) / 2.0 + 0.25; })
      .tensor();
}

void expect_as_in_pytorch(const std::vector<Case>& cases) {
  const std::vector<Expected> all = expected_of_pytorch();
  std::vector<const Expected*> expected;
  std::vector<Tensor> values, gradients, wanted;
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](auto& e) { return e.name == test.name; });
    ASSERT_NE(found, all.end());
    const Tensor x = input(test.source).contiguous();
    values.push_back(test.run(x));
    expected.push_back(&*found);
    gradients.push_back(found->gradient.empty()
                            ? Tensor()
                            : (values.back() * weights(values.back())).sum().gradient({x})[0]);
  }
  for (const Tensor& tensor : values) wanted.push_back(tensor);
  for (const Tensor& tensor : gradients) {
    if (tensor.defined()) wanted.push_back(tensor);
  }
  Tensor::realize(wanted);
  for (usize i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].name);
    EXPECT_EQ(values[i].shape().str(), expected[i]->shape);
    // What is far from 0 is compared with what PyTorch computes in f64; near 0 every digit counts.
    const double atol = cases[i].source == 't' ? 1e-12 : 1e-7;
    expect_values(values[i], expected[i]->values, 4e-6, atol);
    if (gradients[i].defined()) expect_values(gradients[i], expected[i]->gradient, 4e-6, 1e-7);
  }
}

TEST(Surface, Movement) { expect_as_in_pytorch(movement_cases()); }
TEST(Surface, Elementwise) { expect_as_in_pytorch(elementwise_cases()); }
TEST(Surface, Operands) { expect_as_in_pytorch(operand_cases()); }
TEST(Surface, ReductionsAndChoices) { expect_as_in_pytorch(reduce_cases()); }
TEST(Surface, ProductsNormsAndDistances) { expect_as_in_pytorch(distance_cases()); }
TEST(Surface, Order) { expect_as_in_pytorch(order_cases()); }
TEST(Surface, Indexing) { expect_as_in_pytorch(index_cases()); }

TEST(Surface, Edges) { expect_as_in_pytorch(edge_cases()); }

TEST(Surface, EveryExpectedValueIsAsked) {
  usize asked = 0;
  for (auto cases : {movement_cases(), elementwise_cases(), operand_cases(), reduce_cases(),
                     distance_cases(), order_cases(), index_cases(), edge_cases()}) {
    asked += cases.size();
  }
  EXPECT_EQ(asked, expected_of_pytorch().size());
}

}  // namespace
}  // namespace doorbell::test
