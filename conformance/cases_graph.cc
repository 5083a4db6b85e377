// Random graphs against their direct evaluation, and random chains of movement against copies of
// elements.
#include <fmt/format.h>

#include "conformance/graph_oracle.h"
#include "conformance/inputs.h"
#include "conformance/random_graph.h"

namespace doorbell::conformance {
namespace {

constexpr int kGraphs = 200, kChains = 200, kPerBatch = 10;

void random_graph_case(Trial& trial, const std::string& name) {
  const u32 seed = static_cast<u32>(seed_of(trial.seed(), name));
  const Tensor graph = random_graph(seed, 3 + static_cast<int>(seed % 12), trial.device().name());
  Array want{dtypes::f32, graph.shape().values(), {}};
  if (trial.runs()) {
    for (const core::ScalarValue& value : evaluate_tensor_graph(*graph.uop()))
      want.values.push_back(value.as_float());
  } else {
    want.values.resize(static_cast<usize>(want.count()));
  }
  trial.expect("value", graph, std::move(want), {.ulps = 0, .absolute = 1e-5, .relative = 1e-4});
}

// The same step on a tensor and on an array of its elements.
void move(Random& random, Tensor& x, Array& values, std::string& text) {
  const i64 rank = static_cast<i64>(values.shape.size());
  const i64 axis = static_cast<i64>(random.below(static_cast<u64>(rank)));
  const i64 size = values.shape[static_cast<usize>(axis)];
  switch (random.below(6)) {
    case 0:
      x = x.flip(axis), values = flip(values, {axis});
      text += fmt::format(" flip {}", axis);
      return;
    case 1: {
      std::vector<i64> order;
      for (i64 i = 0; i < rank; ++i) order.push_back((i + 1) % rank);
      x = x.permute(order), values = permute(values, order);
      text += " rotate";
      return;
    }
    case 2: {
      std::vector<std::pair<i64, i64>> amounts(static_cast<usize>(rank));
      amounts[static_cast<usize>(axis)] = {static_cast<i64>(random.below(3)),
                                           static_cast<i64>(random.below(2))};
      if (values.count() > 2000) return;
      x = x.pad(amounts), values = pad(values, amounts);
      text += fmt::format(" pad {} {},{}", axis, amounts[static_cast<usize>(axis)].first,
                          amounts[static_cast<usize>(axis)].second);
      return;
    }
    case 3: {
      const i64 start =
          static_cast<i64>(random.below(static_cast<u64>(std::max<i64>(1, size / 2))));
      const i64 step = 1 + static_cast<i64>(random.below(2));
      if (size < 2) return;
      const i64 count = (size - start + step - 1) / step;
      std::vector<Index> at(static_cast<usize>(axis), Index(Slice()));
      at.emplace_back(Slice(start, None, step));
      x = x.at(at), values = slice(values, axis, start, step, count);
      text += fmt::format(" slice {} {}::{}", axis, start, step);
      return;
    }
    case 4: {
      std::vector<i64> shape;
      if (rank > 1 && random.below(2) == 0) {
        shape = {values.shape[0] * values.shape[1]};
        shape.insert(shape.end(), values.shape.begin() + 2, values.shape.end());
      } else {
        shape = values.shape;
        const i64 last = shape.back();
        const i64 factor = last % 3 == 0 ? 3 : last % 2 == 0 ? 2 : 1;
        shape.back() = last / factor;
        shape.push_back(factor);
      }
      if (shape.size() > 5) return;
      x = x.reshape(Shape(shape)), values = reshape(values, shape);
      text += " reshape " + text_of(shape);
      return;
    }
    default: {
      std::vector<i64> shape = values.shape;
      shape.insert(shape.begin(), 2);
      if (rank > 3 || values.count() > 1000) return;
      x = x.expand(Shape(shape)), values = expand(values, shape);
      text += " expand " + text_of(shape);
    }
  }
}

void movement_case(Trial& trial, const std::string& name) {
  Random random(seed_of(trial.seed(), name));
  std::vector<i64> shape;
  for (u64 i = 0, rank = 1 + random.below(3); i < rank; ++i)
    shape.push_back(1 + static_cast<i64>(random.below(6)));
  i64 next = 0;
  Array values = Array::make(dtypes::i32, shape, [&](const Place&) { return Real(++next); });
  std::string text = text_of(shape);
  Tensor x = trial.tensor(values);
  for (int i = 0; i < 8; ++i) move(random, x, values, text);
  trial.expect("elements", x, values, {}, [text](usize) { return text; });
}

}  // namespace

void add_graph_cases(Suite& suite) {
  for (int first = 0; first < kGraphs; first += kPerBatch) {
    Batch& batch = suite.add(fmt::format("graph/random/{}", first));
    for (int i = 0; i < kPerBatch; ++i) {
      const std::string name = std::to_string(i);
      batch.add(name, [name](Trial& trial) { random_graph_case(trial, name); });
    }
  }
  for (int first = 0; first < kChains; first += kPerBatch) {
    Batch& batch = suite.add(fmt::format("graph/movement/{}", first), {.dtypes = {dtypes::i32}});
    for (int i = 0; i < kPerBatch; ++i) {
      const std::string name = std::to_string(i);
      batch.add(name, [name](Trial& trial) { movement_case(trial, name); });
    }
  }
}

}  // namespace doorbell::conformance
