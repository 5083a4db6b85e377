// What an exchange costs beside the same call of MPI, in the same processes, in turn:
//   mpirun -n 2 build/bench/bench_collectives --json
// A call of Doorbell is a realisation of a graph that was seen before, or a replay of a captured
// one, until its result can be read. Times are those of rank 0: of all calls, the median.
#include <fmt/format.h>
#include <mpi.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <vector>

#include "tensor/dist/dist.h"
#include "tensor/engine/realize.h"
#include "tensor/jit/jit.h"
#include "tools/measure/measure.h"

namespace doorbell {
namespace {

struct Row {
  std::string what;
  i64 bytes = 0;
  f64 mpi_us = 0, eager_us = 0, replay_us = 0;
};

f64 median(std::vector<f64>& samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

// Each is called once, then the next, and so on: what disturbs the machine disturbs all.
std::vector<f64> in_turn(const std::vector<std::function<void()>>& calls, int rounds) {
  std::vector<std::vector<f64>> samples(calls.size());
  for (int round = -2; round < rounds; ++round)
    for (usize i = 0; i < calls.size(); ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const f64 begin = tools::now();
      calls[i]();
      if (round >= 0) samples[i].push_back((tools::now() - begin) * 1e6);
    }
  std::vector<f64> medians;
  for (std::vector<f64>& each : samples) medians.push_back(median(each));
  return medians;
}

Row measure(const std::string& what, i64 bytes, int rounds) {
  const i64 count = bytes / 4, ranks = dist::world_size();
  const i64 rows = what == "allreduce" ? 1 : ranks;
  std::vector<f32> from(static_cast<usize>(count * rows), 1),
      to(static_cast<usize>(count * rows), 0);
  const Tensor x = Tensor::full({count * rows}, 1.0).contiguous().realize();
  const auto run = [&](const Tensor& given) {
    if (what == "allreduce") return dist::all_reduce(given);
    if (what == "allgather") return dist::all_gather(given.reshape({rows, count})[0]);
    return dist::all_to_all(given.reshape({rows, count}));
  };
  auto captured = jit(run);
  for (int i = 0; i < 3; ++i) captured(x).realize();
  const int n = static_cast<int>(count);
  const auto plain = [&] {
    if (what == "allreduce")
      MPI_Allreduce(from.data(), to.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (what == "allgather")
      MPI_Allgather(from.data(), n, MPI_FLOAT, to.data(), n, MPI_FLOAT, MPI_COMM_WORLD);
    else
      MPI_Alltoall(from.data(), n, MPI_FLOAT, to.data(), n, MPI_FLOAT, MPI_COMM_WORLD);
  };
  const auto eager = [&] {
    run(x).realize();
    engine::synchronize();
  };
  const auto replay = [&] {
    captured(x);
    engine::synchronize();
  };
  const std::vector<f64> medians = in_turn({plain, eager, replay}, rounds);
  return {what, bytes, medians[0], medians[1], medians[2]};
}

void print(const std::vector<Row>& rows, bool json) {
  if (!json)
    fmt::print("{:<12}{:>10}{:>12}{:>12}{:>12}\n", "exchange", "bytes", "MPI us", "eager us",
               "replay us");
  for (const Row& row : rows)
    if (json)
      fmt::print(
          "{{\"exchange\": \"{}\", \"bytes\": {}, \"mpi_us\": {:.2f}, \"eager_us\": {:.2f}, "
          "\"replay_us\": {:.2f}}}\n",
          row.what, row.bytes, row.mpi_us, row.eager_us, row.replay_us);
    else
      fmt::print("{:<12}{:>10}{:>12.2f}{:>12.2f}{:>12.2f}\n", row.what, row.bytes, row.mpi_us,
                 row.eager_us, row.replay_us);
}

int run(int argc, char** argv) {
  CLI::App app("what exchanges of processes cost beside plain MPI");
  bool json = false, smoke = false;
  int rounds = 200;
  app.add_flag("--json", json, "one JSON object a line");
  app.add_flag("--smoke", smoke, "only look whether it works");
  app.add_option("--rounds", rounds, "calls of each");
  CLI11_PARSE(app, argc, argv);
  dist::init({.timeout_s = 60});
  std::vector<Row> rows;
  std::vector<i64> sizes{8, 1024, 65536, 1 << 20, 16 << 20};
  if (smoke) sizes = {1024}, rounds = 3;
  for (const char* what : {"allreduce", "allgather", "all_to_all"})
    for (i64 bytes : sizes)
      rows.push_back(measure(what, bytes, bytes >= 1 << 20 ? std::min(rounds, 30) : rounds));
  if (dist::rank() == 0) print(rows, json);
  return 0;
}

}  // namespace
}  // namespace doorbell

int main(int argc, char** argv) { return doorbell::run(argc, argv); }
