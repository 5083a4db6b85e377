// Rounds and medians.
#include "tools/doorbell/collectives/turns.h"

#include "drivers/mpi/link.h"
#include "runtime/processes.h"
#include "tensor/engine/must.h"
#include "tools/measure/distribution.h"
#include "tools/measure/measure.h"

namespace doorbell::tools {

void plain_mpi(mpi::Plain what, const void* from, void* to, i64 bytes) {
  engine::must(runtime::process_link()->plain(what, from, to, bytes));
}

std::vector<f64> in_turn(const std::vector<std::function<void()>>& calls, usize rounds) {
  constexpr usize kWarmUp = 3;
  std::vector<std::vector<f64>> samples(calls.size());
  for (usize round = 0; round < kWarmUp + rounds; ++round)
    for (usize i = 0; i < calls.size(); ++i) {
      plain_mpi(mpi::Plain::Barrier, nullptr, nullptr, 0);
      const f64 begin = now();
      calls[i]();
      if (round >= kWarmUp) samples[i].push_back((now() - begin) * 1e9);
    }
  std::vector<f64> medians;
  for (std::vector<f64>& each : samples)
    medians.push_back(Distribution(std::move(each), 1).median() / 1e3);
  return medians;
}

}  // namespace doorbell::tools
