// The model's two formulas, and a table of them.
#include "tools/doorbell/collectives/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/util/check.h"
#include "tensor/dist/dist.h"
#include "tensor/engine/realize.h"
#include "tensor/jit/jit.h"
#include "tools/doorbell/collectives/turns.h"

namespace doorbell::tools {
namespace {

f64 lg(i64 processes) { return std::bit_width(static_cast<u64>(processes - 1)); }

// What a process sends of each byte, as Rabenseifner's has it.
f64 share(i64 processes) {
  return 2 * static_cast<f64>(processes - 1) / static_cast<f64>(processes);
}

// The median of a captured sum.
f64 allreduce_us(i64 bytes, usize rounds) {
  const Tensor x = Tensor::full({bytes / 4}, 1.0).contiguous().realize();
  auto captured = jit([](const Tensor& given) { return dist::all_reduce(given); });
  return in_turn({[&] {
                   captured(x);
                   engine::synchronize();
                 }},
                 rounds)[0];
}

}  // namespace

f64 modelled_sum_us(const Network& network, i64 bytes, i64 processes) {
  if (processes == 1) return 0;
  const f64 rounds = lg(processes), n = static_cast<f64>(bytes);
  if (bytes <= kDoublingBytes) return rounds * (network.latency_us + n / network.bytes_per_us);
  return 2 * rounds * network.latency_us + share(processes) * n / network.bytes_per_us;
}

Network network_of(i64 processes, i64 few, f64 few_us, i64 many, f64 many_us) {
  CHECK(processes > 1 && few <= kDoublingBytes && many > kDoublingBytes, "sizes {} and {} of {}",
        few, many, processes);
  const f64 rounds = lg(processes), latency_us = few_us / rounds;
  const f64 moving_us = std::max(many_us - 2 * rounds * latency_us, many_us / 2);
  return {latency_us, share(processes) * static_cast<f64>(many) / moving_us};
}

Table model_scaling(usize rounds) {
  const i64 processes = dist::world_size();
  if (processes < 2)
    throw fail(ErrorKind::Invalid,
               "--model measures its constants between two processes at least (1 here)");
  constexpr i64 kFew = 8, kMany = 1 << 20, kMost = 1024;
  const Network network =
      network_of(processes, kFew, allreduce_us(kFew, rounds), kMany, allreduce_us(kMany, rounds));
  const f64 between = allreduce_us(kDoublingBytes, rounds);
  Table table;
  table.title = fmt::format("weak scaling, a model of {} processes", processes);
  table.columns = {"what", "sums us", "step us", "share %", "overlapped us", "overlapped %"};
  table.notes = {
      fmt::format("a model: of {} processes a latency of {:.2f} us and {:.3f} GB/s were measured",
                  processes, network.latency_us, network.bytes_per_us / 1e3),
      fmt::format("beside it: a sum of {} bytes takes {:.1f} us, {:.1f} us by the model",
                  kDoublingBytes, between, modelled_sum_us(network, kDoublingBytes, processes)),
      "step: the sums behind the products; overlapped: all but the last sum beside them",
      "%: of one process's products alone, with the same work for each process"};
  for (const Step& step : kSteps) {
    const f64 compute = measure(step, rounds).compute_us;
    for (i64 p = 1; p <= kMost; p *= 2) {
      const f64 one = modelled_sum_us(network, step.sum_bytes(), p), sums = kStepLayers * one;
      const f64 whole = compute + sums, overlapped = std::max(compute, sums - one) + one;
      table.rows.push_back(
          {fmt::format("{} x {} of {}, {}", kStepLayers, step.sum_bytes(), step.batch, p), sums,
           whole, compute / whole * 100, overlapped, compute / overlapped * 100});
    }
  }
  return table;
}

}  // namespace doorbell::tools
