// Reductions: each with every dtype, over one axis, several and all, of views and of empty tensors;
// large ones that must be split. With the chosen values every order of summation gives the same
// float, so that an error is at least one element.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "conformance/inputs.h"

namespace doorbell::conformance {
namespace {

using Int = __int128;

enum class Kind : u8 { Sum, Prod, Max, Min, Any, All, Argmax, Argmin, Mean };
constexpr Kind kKinds[] = {Kind::Sum, Kind::Prod, Kind::Max,    Kind::Min,   Kind::Any,
                           Kind::All, Kind::Mean, Kind::Argmax, Kind::Argmin};
const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"sum", "prod",   "max",    "min", "any",
                                    "all", "argmax", "argmin", "mean"};
  return kNames[static_cast<usize>(kind)];
}

// Small ints are summed in 32 bits and stay so.
DType result_of(Kind kind, DType dtype) {
  switch (kind) {
    case Kind::Any:
    case Kind::All: return dtypes::bool_;
    case Kind::Argmax:
    case Kind::Argmin: return dtypes::i32;
    case Kind::Max:
    case Kind::Min: return dtype;
    case Kind::Mean: return dtype.is_float() ? dtype : dtypes::f32;
    default: break;
  }
  if (dtype.is_float() || dtype.bytes() >= 4) return dtype;
  return dtype.is_unsigned() ? dtypes::u32 : dtypes::i32;
}

// The result of reducing one line of values.
Real fold(Kind kind, DType result, bool of_floats, const std::vector<Real>& line) {
  Real total = kind == Kind::Prod ? 1 : 0;
  Int whole = 0;  // a Real holds no sum of several 64-bit integers
  usize best = 0;
  for (usize i = 0; i < line.size(); ++i) {
    const Real value = line[i];
    switch (kind) {
      case Kind::Sum:
      case Kind::Mean:
        total += value;
        if (!of_floats) whole += static_cast<Int>(value);
        break;
      case Kind::Prod:
        total = of_floats ? total * value
                          : wrap(result, static_cast<Int>(total) * static_cast<Int>(value));
        break;
      case Kind::Any: total = total != 0 || value != 0; break;
      case Kind::All: total = (i == 0 || total != 0) && value != 0; break;
      case Kind::Max:
      case Kind::Argmax:
        if (value > line[best] || (std::isnan(value) && !std::isnan(line[best]))) best = i;
        break;
      case Kind::Min:
      case Kind::Argmin:
        if (value < line[best] || (std::isnan(value) && !std::isnan(line[best]))) best = i;
        break;
    }
  }
  if (kind == Kind::All && line.empty()) return 1;
  if (kind == Kind::Argmax || kind == Kind::Argmin) return static_cast<Real>(best);
  if (kind == Kind::Max || kind == Kind::Min) return line[best];
  if (kind == Kind::Mean) return total / static_cast<Real>(line.size());
  if (kind == Kind::Sum && !of_floats) return wrap(result, whole);
  return total;
}

struct Over {
  std::vector<i64> axes;  // none: all
  bool keepdim = false;
};

Array reduced(Kind kind, const Array& x, const Over& over) {
  std::vector<bool> chosen(x.shape.size(), over.axes.empty());
  for (i64 axis : over.axes) chosen[static_cast<usize>(axis)] = true;
  std::vector<i64> kept, shape;
  for (usize i = 0; i < x.shape.size(); ++i) {
    kept.push_back(chosen[i] ? 1 : x.shape[i]);
    if (!chosen[i] || over.keepdim) shape.push_back(kept.back());
  }
  std::vector<std::vector<Real>> lines(static_cast<usize>(count_of(kept)));
  for (i64 i = 0; i < x.count(); ++i) {
    const Place at = unflatten(i, x.shape);
    i64 line = 0;
    for (usize axis = 0; axis < kept.size(); ++axis)
      line = line * kept[axis] + (chosen[axis] ? 0 : at[axis]);
    lines[static_cast<usize>(line)].push_back(x.values[static_cast<usize>(i)]);
  }
  const DType result = result_of(kind, x.dtype);
  Array made{result, shape, {}};
  for (const std::vector<Real>& line : lines)
    made.values.push_back(fold(kind, result, x.dtype.is_float(), line));
  return made;
}

Tensor apply(Kind kind, const Tensor& x, const Over& over) {
  const Axes axes = over.axes.empty() ? Axes() : Axes(over.axes);
  const ReduceOptions options{.keepdim = over.keepdim};
  const bool all = over.axes.empty();
  switch (kind) {
    case Kind::Sum: return x.sum(axes, options);
    case Kind::Prod: return x.prod(axes, options);
    case Kind::Max: return x.max(axes, options);
    case Kind::Min: return x.min(axes, options);
    case Kind::Any: return x.any(axes, options);
    case Kind::All: return x.all(axes, options);
    case Kind::Mean: return x.mean(axes, options);
    case Kind::Argmax: return all ? x.argmax() : x.argmax(over.axes[0], options);
    case Kind::Argmin: return all ? x.argmin() : x.argmin(over.axes[0], options);
  }
  return x;
}

// Small whole numbers, whose sums are exact; for products ones, a few twos and halves.
Array values_for(Kind kind, u64 seed, DType dtype, const std::vector<i64>& shape) {
  Random random(seed);
  // Means are of f32, which holds small numbers only.
  const bool full_range = dtype.is_int() && dtype.bytes() >= 4 && kind != Kind::Mean;
  i64 twos = 0;
  return Array::make(dtype, shape, [&](const Place&) -> Real {
    if (dtype.is_bool()) return random.below(4) == 0;
    if (full_range || (dtype.is_int() && kind != Kind::Prod && kind != Kind::Mean))
      return wrap(dtype, static_cast<Int>(random.next()));
    if (kind != Kind::Prod)
      return static_cast<Real>(random.below(9)) - (dtype.is_unsigned() ? 0 : 4);
    if (dtype.is_int()) return static_cast<Real>(random.below(3)) + 1;
    const u64 pick = random.below(6);
    if (pick < 2 && std::abs(twos + (pick == 0 ? 1 : -1)) < 4) {
      twos += pick == 0 ? 1 : -1;
      return pick == 0 ? 2 : 0.5L;
    }
    return pick == 2 ? -1 : 1;
  });
}

Tolerance tolerance_for(Kind kind, DType dtype) {
  if (kind != Kind::Mean || !dtype.is_float()) return {};
  return {.ulps = dtype.bytes() < 4 ? 1.0 : 3.0};
}

bool refuses_empty(Kind kind) {
  return kind == Kind::Max || kind == Kind::Min || kind == Kind::Argmax || kind == Kind::Argmin;
}

void add_case(Batch& batch, const std::string& name, Kind kind, DType dtype, const View& view,
              const Over& over) {
  batch.add(name, [=](Trial& trial) {
    const std::string key = kind == Kind::Prod ? "prod" : kind == Kind::Mean ? "mean" : "other";
    const Input& input = trial.input(
        key, [&] { return values_for(kind, seed_of(trial.seed(), key), dtype, view.stored); });
    const Array values = view.of_array(input.values);
    Array want = reduced(kind, values, over);
    const Tolerance tolerance = tolerance_for(kind, want.dtype);
    trial.expect("value", apply(kind, view.of_tensor(input.tensor), over), std::move(want),
                 tolerance, [values](usize) { return summary_of("x", values); });
  });
}

void add_axes(Suite& suite, DType dtype, const View& view, const std::vector<Over>& overs) {
  Batch& batch =
      suite.add(fmt::format("reduce/{}/{}", dtype.str(), view.name), {.dtypes = {dtype}});
  for (Kind kind : kKinds) {
    if (dtype.is_bool() && (kind == Kind::Prod || kind == Kind::Mean)) continue;
    for (const Over& over : overs) {
      const bool is_arg = kind == Kind::Argmax || kind == Kind::Argmin;
      if (is_arg && over.axes.size() > 1) continue;
      if (count_of(view.stored) == 0 && (refuses_empty(kind) || kind == Kind::Mean)) continue;
      const std::string tag =
          over.axes.empty() ? "all" : fmt::format("{}", fmt::join(over.axes, "_"));
      add_case(batch, fmt::format("{}_{}{}", name_of(kind), tag, over.keepdim ? "_keepdim" : ""),
               kind, dtype, view, over);
    }
  }
}

// Long axes, in front and behind, and all of a large tensor.
void add_large(Suite& suite, DType dtype) {
  static const View kLarge[] = {
      {"long", {70001}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
      {"tall", {30011, 3}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
      {"wide", {3, 30011}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
      {"square", {257, 263}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
  };
  for (const View& view : kLarge) {
    Batch& batch =
        suite.add(fmt::format("reduce/large/{}_{}", dtype.str(), view.name), {.dtypes = {dtype}});
    for (Kind kind : {Kind::Sum, Kind::Max, Kind::Min, Kind::Any, Kind::Argmax}) {
      for (const Over& over : {Over{}, {{0}}, {{1}}}) {
        if (!over.axes.empty() && over.axes[0] >= static_cast<i64>(view.stored.size())) continue;
        if (kind == Kind::Any && dtype != dtypes::bool_) continue;
        if (kind == Kind::Argmax && over.axes.empty() && view.stored.size() > 1) continue;
        const std::string tag = over.axes.empty() ? "all" : std::to_string(over.axes[0]);
        add_case(batch, fmt::format("{}_{}", name_of(kind), tag), kind, dtype, view, over);
      }
    }
  }
}

void add_nan(Suite& suite, DType dtype) {
  Batch& batch = suite.add("reduce/nan/" + dtype.str(), {.dtypes = {dtype}});
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const Array x{dtype, {3, 4}, {1, nan, 2, 3, 0, -1, -2, -3, 4, 4, nan, nan}};
  for (Kind kind : {Kind::Max, Kind::Min, Kind::Sum, Kind::Argmax, Kind::Argmin, Kind::Any}) {
    batch.add(name_of(kind), [=](Trial& trial) {
      trial.expect("value", apply(kind, trial.tensor(x), {{1}}), reduced(kind, x, {{1}}), {},
                   [x](usize) { return summary_of("x", x); });
    });
  }
}

void add_empty_refusals(Suite& suite) {
  suite.add_alone("reduce/refuses_empty/max", {}, [](Trial& trial) {
    const Tensor none = Tensor::zeros({0, 3}, trial.on(dtypes::f32));
    trial.require_throws([&] { none.max(0); }, "no elements");
    trial.require_throws([&] { none.argmin(0); }, "no elements");
  });
}

}  // namespace

void add_reduce_cases(Suite& suite) {
  const std::vector<Over> cube = {{}, {{0}}, {{1}}, {{2}}, {{0, 2}}, {{1, 2}, true}, {{0, 1, 2}}};
  const std::vector<Over> plane = {{}, {{0}}, {{1}, true}};
  const std::vector<Over> line = {{}, {{0}}};
  for (DType dtype : all_dtypes()) {
    for (const char* name : {"odd", "flip", "transposed", "strided", "repeated", "padded", "offset",
                             "one", "scalar", "empty", "empty_axis"}) {
      const View& view = view_named(name);
      const usize rank = view.stored.size();
      add_axes(suite, dtype, view,
               rank == 3   ? cube
               : rank == 2 ? plane
               : rank == 1 ? line
                           : std::vector<Over>{{}});
    }
    if (dtype.is_float()) add_nan(suite, dtype);
  }
  for (DType dtype :
       {dtypes::f32, dtypes::i32, dtypes::bool_, dtypes::u8, dtypes::f16, dtypes::i64})
    add_large(suite, dtype);
  add_empty_refusals(suite);
}

}  // namespace doorbell::conformance
