// One value over the processes of mpirun, each with a device of its own, of one kind or of several:
// exchanges, moves between layouts, products, gradients and training. With one process they are
// those of one device. Every process checks the part that it has, and the whole.
// How they keep in step: processes.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "conformance/inputs.h"
#include "conformance/processes.h"
#include "tensor/dist/mesh.h"
#include "tensor/jit/jit.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/losses.h"
#include "tensor/nn/optim.h"

namespace doorbell::conformance {
namespace {

using Axis = std::optional<i64>;
constexpr Tolerance kSums{.absolute = 1e-5, .relative = 1e-4};  // in another order

i64 count() { return dist::world_size(); }
i64 rank() { return dist::rank(); }
const Devices& everywhere(const Trial& trial) {
  return devices_of_processes(trial.device().name());
}

// On every process's CPU: the same node for all of them, from which each takes its part.
Tensor given(const Array& values) {
  return Tensor::from_bytes(values.bytes(), values.dtype, Shape(values.shape), {.device = "CPU"});
}

// Small whole numbers: sums of them are exact in any order.
Array whole_numbers(DType dtype, const std::vector<i64>& shape, i64 seed) {
  const i64 least = dtype.is_unsigned() ? 0 : -3;
  Random random(static_cast<u64>(seed) + 1);
  return Array::make(dtype, shape,
                     [&](const Place&) { return Real(static_cast<i64>(random.below(7)) + least); });
}

// The part of this process, where there are parts, and the whole, which all of them have then.
void check(Trial& trial, const std::string& what, const Tensor& x, const Array& want,
           const Axis& axis = {}, const Tolerance& tolerance = {}) {
  const Tensor value = x.contiguous().realize();
  if (axis && count() > 1) {
    const i64 length = want.shape[static_cast<usize>(*axis)] / count();
    trial.check(what + ", own part", dist::to_local(value),
                slice(want, *axis, rank() * length, 1, length), tolerance);
  }
  trial.check(what, value.to(everywhere(trial)), want, tolerance);
}

std::string text(const Axis& axis) {
  return axis ? fmt::format("in parts along axis {}", *axis) : "in copies";
}

// ---- exchanges ----------------------------------------------------------------------------------

// Row r is what process r has.
Array rows(DType dtype, i64 width) { return whole_numbers(dtype, {count(), width}, 5); }

Array combined(const Array& all, const std::function<Real(Real, Real)>& combine) {
  return Array::make(all.dtype, {all.shape[1]}, [&](const Place& at) {
    Real value = all.at({0, at[0]});
    for (i64 r = 1; r < all.shape[0]; ++r) value = combine(value, all.at({r, at[0]}));
    return value;
  });
}

void exchanges(Trial& trial, DType dtype) {
  const i64 n = count(), width = 3 * n;
  const Array all = rows(dtype, width);
  const Devices& on = everywhere(trial);
  const Tensor own = trial.tensor(slice(all, 0, rank(), 1, 1));
  const Tensor parts = dist::from_local(own, on, 0);
  const Array sum = combined(all, [](Real a, Real b) { return a + b; });
  check(trial, "gathered", parts, all, 0);
  // Sums of narrow integers are wider ones.
  check(trial, "sum", parts.sum(0).cast(dtype), sum);
  if (dtype.bytes() >= 4)  // which hold 6 to the power of 8
    check(trial, "product", parts.prod(0), combined(all, [](Real a, Real b) { return a * b; }));
  check(trial, "largest", parts.max(0),
        combined(all, [](Real a, Real b) { return std::max(a, b); }));
  check(trial, "least", parts.min(0), combined(all, [](Real a, Real b) { return std::min(a, b); }));
  check(trial, "a part of the sum for each", parts.sum(0).cast(dtype).shard(on, 0), sum, 0);
  check(trial, "all to all", parts.shard(on, 1), all, 1);
  for (i64 from = 0; from < n; ++from)
    check(trial, fmt::format("of process {} for all", from), parts[from].to(on),
          reshape(slice(all, 0, from, 1, 1), {width}));
}

bool is_one_kind(const Devices& on) {
  const auto kind = [](const std::string& name) { return name.substr(0, name.find('@')); };
  return std::ranges::all_of(
      on.names(), [&](const std::string& name) { return kind(name) == kind(on.names().front()); });
}

// The functions of dist on each process's own tensors; they take devices to be of one kind.
void functions(Trial& trial) {
  const i64 n = count(), width = 2 * n;
  const Array all = rows(dtypes::f32, width), mine = reshape(slice(all, 0, rank(), 1, 1), {width});
  const Tensor own = is_one_kind(everywhere(trial)) ? trial.tensor(mine) : given(mine);
  if (is_one_kind(everywhere(trial))) {
    const Array sum = combined(all, [](Real a, Real b) { return a + b; });
    trial.check("all_reduce", dist::all_reduce(own), sum);
    trial.check("all_gather", dist::all_gather(own), all);
    trial.check("reduce_scatter", dist::reduce_scatter(own), slice(sum, 0, rank() * 2, 1, 2));
    trial.check("all_to_all", dist::all_to_all(own.reshape({n, 2})),
                slice(all, 1, rank() * 2, 1, 2));
    trial.check("broadcast", dist::broadcast(own, static_cast<int>(n - 1)),
                reshape(slice(all, 0, n - 1, 1, 1), {width}));
  }
  // Processes 0 and 1, 2 and 3, ...: there and back.
  const i64 other = rank() ^ 1;
  if (other >= n) return;
  const int to = static_cast<int>(other);
  if (rank() < other) dist::send(own, to);
  trial.check("received", dist::recv({width}, to, {.device = trial.device().name()}),
              reshape(slice(all, 0, other, 1, 1), {width}));
  if (rank() > other) dist::send(own, to);
}

// ---- layouts ------------------------------------------------------------------------------------

void moves(Trial& trial) {
  const Array values = whole_numbers(dtypes::f32, {2 * count(), 3 * count()}, 1);
  const Devices& on = everywhere(trial);
  for (const Axis from : {Axis(0), Axis(1), Axis()}) {
    const Tensor x = given(values).shard(on, from).contiguous().realize();
    for (const Axis to : {Axis(0), Axis(1), Axis()})
      check(trial, text(from) + ", then " + text(to), x.shard(on, to), values, to);
    check(trial, "flipped, " + text(from), x.flip({0, 1}), flip(values, {0, 1}));
    check(trial, "transposed, " + text(from), x.t(), permute(values, {1, 0}));
    check(trial, "padded, " + text(from), x.pad({{1, 0}, {2, 1}}), pad(values, {{1, 0}, {2, 1}}));
    check(trial, "cut, " + text(from), x[{Slice(1, 2 * count())}],
          slice(values, 0, 1, 1, 2 * count() - 1));
  }
}

// Of as many columns as an even number of processes allows: else one.
dist::Mesh mesh_of(const Trial& trial) {
  const i64 columns = count() % 2 == 0 ? 2 : 1;
  return {everywhere(trial), {count() / columns, columns}};
}

void mesh_moves(Trial& trial) {
  using dist::Replicate, dist::Shard;
  const Array values = whole_numbers(dtypes::f32, {2 * count(), 2 * count()}, 2);
  const dist::Mesh mesh = mesh_of(trial);
  const dist::MeshPlacements layouts[] = {{Shard(0), Replicate()},
                                          {Replicate(), Shard(0)},
                                          {Shard(0), Shard(1)},
                                          {Shard(1), Shard(0)},
                                          {Shard(0), Shard(0)}};
  const Real total = [&] {
    Real sum = 0;
    for (Real value : values.values) sum += value;
    return sum;
  }();
  for (usize from = 0; from < std::size(layouts); ++from) {
    const Tensor x =
        dist::distribute_tensor(given(values), mesh, layouts[from]).contiguous().realize();
    check(trial, fmt::format("sum in layout {}", from), x.sum(), {dtypes::f32, {}, {total}});
    for (usize to = 0; to < std::size(layouts); ++to)
      check(trial, fmt::format("from layout {} to {}", from, to),
            dist::distribute_tensor(x, mesh, layouts[to]), values);
  }
}

// ---- arithmetic ---------------------------------------------------------------------------------

Array product(const Array& a, const Array& b) {
  return Array::make(a.dtype, {a.shape[0], b.shape[1]}, [&](const Place& at) {
    Real sum = 0;
    for (i64 k = 0; k < a.shape[1]; ++k) sum += a.at({at[0], k}) * b.at({k, at[1]});
    return sum;
  });
}

Array times(Array x, Real factor) {
  for (Real& value : x.values) value *= factor;
  return x;
}

// (rows, columns) of the products of all layouts, and the gradients of the sum of their squares.
void products(Trial& trial, DType dtype) {
  const Array a = whole_numbers(dtype, {2 * count(), 2 * count()}, 3),
              b = whole_numbers(dtype, {2 * count(), count()}, 4);
  const Array ab = product(a, b);
  const Array slope_a = times(product(ab, permute(b, {1, 0})), 2),
              slope_b = times(product(permute(a, {1, 0}), ab), 2);
  const Devices& on = everywhere(trial);
  const std::pair<Axis, Axis> layouts[] = {{0, {}}, {{}, 1}, {1, 0}, {0, 1}, {0, 0}};
  for (const auto& [left, right] : layouts) {
    const std::string how = text(left) + " by " + text(right);
    const Tensor x = given(a).shard(on, left).contiguous().realize(),
                 w = given(b).shard(on, right).contiguous().realize();
    check(trial, how, x.matmul(w), ab);
    if (!dtype.is_float()) continue;
    const std::vector<Tensor> slopes = x.matmul(w).square().sum().gradient({x, w});
    check(trial, how + ", gradient of the left", slopes[0], slope_a);
    check(trial, how + ", gradient of the right", slopes[1], slope_b);
  }
  if (!dtype.is_float()) return;
  const dist::Mesh mesh = mesh_of(trial);
  const Tensor x = dist::distribute_tensor(given(a), mesh, {dist::Shard(0), dist::Replicate()}),
               w = dist::distribute_tensor(given(b), mesh, {dist::Replicate(), dist::Shard(1)});
  const std::vector<Tensor> slopes = x.matmul(w).square().sum().gradient({x, w});
  check(trial, "over a mesh", x.matmul(w), ab);
  check(trial, "over a mesh, gradient of the left", slopes[0], slope_a);
  check(trial, "over a mesh, gradient of the right", slopes[1], slope_b);
}

// Against the same functions on this process's device alone.
void beside_one(Trial& trial) {
  Random random(seed_of(trial.seed(), "beside one"));
  const Array values = random_array(random, dtypes::f32, {2 * count(), 2 * count()}, Domain::Small);
  struct Form {
    const char* name;
    Tensor (*apply)(const Tensor& x);
  };
  using T = const Tensor&;
  const Form forms[] = {
      {"softmax of rows", [](T x) { return x.softmax(1); }},
      {"softmax of columns", [](T x) { return x.softmax(0); }},
      {"normed", [](T x) { return (x - x.mean(0)) / (x.var(0) + 1e-5).sqrt(); }},
      {"summed up", [](T x) { return x.cumsum(0); }},
      {"attention", [](T x) { return x.scaled_dot_product_attention(x, x); }},
      {"largest", [](T x) { return x.max(0) + x.max(1); }},
      {"joined", [](T x) { return Tensor::cat({x, x * 2}, 0); }},
  };
  const Devices& on = everywhere(trial);
  const auto array_of = [](const Tensor& x) {
    return Array::from_bytes(x.dtype(), x.shape().values(), x.to_bytes());
  };
  for (const Form& form : forms) {
    const Tensor x = trial.tensor(values);
    const Array want = array_of(form.apply(x));
    const Array slope = array_of(form.apply(x).square().sum().gradient({x})[0]);
    for (const i64 axis : {0, 1}) {
      const Tensor parts = given(values).shard(on, axis).contiguous().realize();
      const std::string how = fmt::format("{}, {}", form.name, text(axis));
      check(trial, how, form.apply(parts), want, {}, kSums);
      check(trial, how + ", gradient", form.apply(parts).square().sum().gradient({parts})[0], slope,
            {}, {.absolute = 1e-3, .relative = 1e-3});
    }
  }
}

void random_draws(Trial& trial) {
  const auto draw = [](const Tensor& like) {
    Tensor::manual_seed(5);
    TrainingScope training;
    return std::vector{like.rand_like(), like.dropout(0.5)};
  };
  const Array ones =
      Array::make(dtypes::f32, {2 * count(), 5}, [](const Place&) { return Real(1); });
  const std::vector<Tensor> alone = draw(trial.tensor(ones)),
                            found = draw(given(ones).shard(everywhere(trial), 0));
  for (usize i = 0; i < alone.size(); ++i)
    check(trial, fmt::format("draw {}", i), found[i],
          Array::from_bytes(dtypes::f32, ones.shape, alone[i].to_bytes()), 0, {.relative = 1e-6});
}

// ---- training -----------------------------------------------------------------------------------

struct Net {
  nn::Linear first{6, 0}, second{0, 3};
  explicit Net(i64 width) : first(6, width), second(width, 3) {}
  std::vector<Tensor*> weights() {
    return {&first.weight, &first.bias, &second.weight, &second.bias};
  }
};

// How the weights lie over the processes: on one device alone; in copies, with batches in parts; in
// parts, with batches in parts; in parts, with batches that every process has (tensor parallel).
enum class Weights { Alone, Copies, Parts, Tensors };

struct Learnt {
  std::vector<f64> losses;
  std::vector<Tensor> weights;
};

std::unique_ptr<nn::Optimizer> optimizer_of(int kind, const std::vector<Tensor>& weights) {
  if (kind == 0) return std::make_unique<nn::SGD>(weights, 0.05, nn::SGDOptions{.momentum = 0.9});
  if (kind == 1) return std::make_unique<nn::Adam>(weights, 0.02);
  return std::make_unique<nn::AdamW>(weights, 0.02);
}

// The axis along which weight i lies in parts: of the second layer's weight, its inputs. That
// layer's bias has 3 elements, too few for parts.
Axis weight_axis(Weights how, usize i) {
  if (how == Weights::Copies || i == 3) return {};
  return i == 2 ? 1 : 0;
}

Learnt learn(Trial& trial, Weights how, int kind, bool is_captured) {
  const Devices& on = everywhere(trial);
  const std::string here = trial.device().name();
  Net net(2 * count());
  std::vector<Tensor> weights;
  for (i64 i = 0; Tensor * weight : net.weights()) {
    Random random(seed_of(7, fmt::format("weight {}", i)));
    const Array values = random_array(random, dtypes::f32, weight->shape().values(), Domain::Unit);
    *weight = how == Weights::Alone ? trial.tensor(values).realize()
                                    : given(values)
                                          .shard(on, weight_axis(how, static_cast<usize>(i)))
                                          .contiguous()
                                          .realize();
    weight->requires_grad();
    weights.push_back(*weight);
    ++i;
  }
  const std::unique_ptr<nn::Optimizer> optimizer = optimizer_of(kind, weights);
  const auto step = [&](const Tensor& x, const Tensor& y) {
    optimizer->zero_grad();
    const Tensor loss = (net.second(net.first(x).tanh()) - y).square().mean();
    loss.backward();
    optimizer->step();
    return loss;
  };
  auto captured = jit(step);
  const auto batch = [&](i64 columns, i64 seed) {
    const Array values = whole_numbers(dtypes::f32, {2 * count(), columns}, seed);
    if (how == Weights::Alone) return trial.tensor(values).realize();
    return given(values)
        .shard(on, how == Weights::Tensors ? Axis() : Axis(0))
        .contiguous()
        .realize();
  };
  Learnt learnt;
  TrainingScope training;
  for (i64 i = 0; i < 5; ++i) {
    const Tensor x = batch(6, 10 + i), y = batch(3, 20 + i);
    learnt.losses.push_back((is_captured ? captured(x, y) : step(x, y)).item<f32>());
  }
  learnt.weights = weights;
  return learnt;
}

void trains(Trial& trial, Weights how) {
  const char* const names[] = {"SGD", "Adam", "AdamW"};
  for (int kind = 0; kind < 3; ++kind) {
    const Learnt alone = learn(trial, Weights::Alone, kind, false);
    for (const bool is_captured : {false, true}) {
      const Learnt found = learn(trial, how, kind, is_captured);
      const std::string what = fmt::format("{}{}", names[kind], is_captured ? " captured" : "");
      for (usize i = 0; i < alone.losses.size(); ++i)
        trial.require(std::abs(found.losses[i] - alone.losses[i]) <= 1e-4 * (1 + alone.losses[i]),
                      fmt::format("{}: loss {} is {}, of one process {}", what, i, found.losses[i],
                                  alone.losses[i]));
      for (usize i = 0; i < alone.weights.size(); ++i) {
        const Tensor weight = alone.weights[i].detach();
        check(trial, fmt::format("{}: weight {}", what, i), found.weights[i].detach(),
              Array::from_bytes(dtypes::f32, weight.shape().values(), weight.to_bytes()),
              weight_axis(how, i), {.absolute = 1e-4, .relative = 1e-3});
      }
    }
  }
}

}  // namespace

void add_distributed_cases(Suite& suite) {
  Batch& collectives = suite.add("distributed/exchanges", {.runs = true});
  for (const DType dtype : {dtypes::f32, dtypes::f64, dtypes::f16, dtypes::bf16, dtypes::i8,
                            dtypes::u8, dtypes::i16, dtypes::i32, dtypes::i64, dtypes::u64})
    collectives.add(std::string(core::name_of(dtype.scalar)), {.dtypes = {dtype}, .runs = true},
                    [dtype](Trial& trial) { exchanges(trial, dtype); });
  collectives.add("functions", functions);
  Batch& layouts = suite.add("distributed/layouts", {.runs = true});
  layouts.add("moves", moves).add("mesh", mesh_moves);
  Batch& arithmetic = suite.add("distributed/arithmetic", {.runs = true});
  arithmetic.add("products_f32", [](Trial& trial) { products(trial, dtypes::f32); });
  arithmetic.add("products_i32", {.dtypes = {dtypes::i32}, .runs = true},
                 [](Trial& trial) { products(trial, dtypes::i32); });
  arithmetic.add("beside_one", beside_one);
  arithmetic.add("random", {.dtypes = {dtypes::u64}, .runs = true}, random_draws);
  Batch& training = suite.add("distributed/training", {.runs = true});
  training.add("copies", [](Trial& trial) { trains(trial, Weights::Copies); });
  training.add("parts", [](Trial& trial) { trains(trial, Weights::Parts); });
  training.add("tensors", [](Trial& trial) { trains(trial, Weights::Tensors); });
}

}  // namespace doorbell::conformance
