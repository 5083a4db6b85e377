// The same products with and without the sums of their results, and the sums alone.
#include <fmt/format.h>

#include "tensor/dist/dist.h"
#include "tensor/engine/realize.h"
#include "tensor/jit/jit.h"
#include "tools/doorbell/collectives/turns.h"

namespace doorbell::tools {
namespace {

// Of each layer the product that its weights' gradient would be.
std::vector<Tensor> gradients(const Tensor& x, const Tensor& w) {
  std::vector<Tensor> found;
  Tensor h = x;
  for (i64 i = 0; i < kStepLayers; ++i) {
    const Tensor next = h.matmul(w).contiguous();
    found.push_back(h.t().matmul(next).contiguous());
    h = next;
  }
  return found;
}

std::vector<Tensor> summed(const std::vector<Tensor>& parts) {
  std::vector<Tensor> sums;
  for (const Tensor& part : parts) sums.push_back(dist::all_reduce(part));
  return sums;
}

}  // namespace

StepTimes measure(const Step& step, usize rounds) {
  const i64 width = step.width;
  const Tensor x = Tensor::full({step.batch, width}, 0.5).contiguous().realize();
  const Tensor w =
      Tensor::full({width, width}, 1.0 / static_cast<f64>(width)).contiguous().realize();
  std::vector<Tensor> parts;
  for (i64 i = 0; i < kStepLayers; ++i)
    parts.push_back(Tensor::full({width, width}, static_cast<f64>(i)).contiguous().realize());
  auto compute = jit([&](const Tensor& given) { return gradients(given, w); });
  auto both = jit([&](const Tensor& given) { return summed(gradients(given, w)); });
  auto exchange = jit([&](const Tensor& given) {
    std::vector<Tensor> each = parts;
    each[0] = given;
    return summed(each);
  });
  const auto call = [&](auto& captured, const Tensor& given) {
    captured(given);
    engine::synchronize();
  };
  const std::vector<f64> medians = in_turn(
      {[&] { call(compute, x); }, [&] { call(exchange, parts[0]); }, [&] { call(both, x); }},
      rounds);
  return {medians[0], medians[1], medians[2]};
}

Table measure_step(usize rounds) {
  Table table;
  table.title = fmt::format("a step of {} processes", dist::world_size());
  table.columns = {"what", "compute us", "exchange us", "step us", "hidden %", "samples"};
  table.notes = {
      fmt::format("{} products, of each a sum over the processes of so many bytes", kStepLayers),
      "hidden: (compute + exchange - step) / exchange"};
  for (const Step& step : kSteps) {
    const StepTimes times = measure(step, rounds);
    const f64 hidden =
        (times.compute_us + times.exchange_us - times.step_us) / times.exchange_us * 100;
    table.rows.push_back({fmt::format("{} x {} of {}", kStepLayers, step.sum_bytes(), step.batch),
                          times.compute_us, times.exchange_us, times.step_us,
                          dist::world_size() == 1 ? Cell() : Cell(hidden),
                          static_cast<f64>(rounds)});
  }
  return table;
}

}  // namespace doorbell::tools
