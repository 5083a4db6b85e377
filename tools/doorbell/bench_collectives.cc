// `doorbell bench collectives`: what an exchange between processes costs beside the same blocking
// call of MPI, in the same processes, in turn. Every process of a launcher of MPI runs it; times
// are those of rank 0, which alone prints.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "drivers/mpi/link.h"
#include "runtime/processes.h"
#include "runtime/runtime.h"
#include "tensor/dist/dist.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"
#include "tensor/jit/jit.h"
#include "tools/doorbell/bench.h"
#include "tools/doorbell/collectives/turns.h"
#include "tools/measure/measure.h"
#include "tools/measure/table.h"

namespace doorbell::tools {
namespace {

struct Collective {
  const char* name;
  mpi::Plain plain;
  bool has_blocks;  // its input is a block for each process
  Tensor (*run)(const Tensor&);
};

constexpr Collective kCollectives[] = {
    {"allreduce", mpi::Plain::Allreduce, false,
     [](const Tensor& x) { return dist::all_reduce(x); }},
    {"allgather", mpi::Plain::Allgather, false, &dist::all_gather},
    {"alltoall", mpi::Plain::AllToAll, true, &dist::all_to_all},
    {"broadcast", mpi::Plain::Broadcast, false, [](const Tensor& x) { return dist::broadcast(x); }},
};

struct Options {
  std::vector<std::string> only;
  std::vector<u64> sizes{8, 1024, 65536, 1 << 20, 16 << 20};
  bool as_json = false, is_step = false, is_model = false;
  Sampling sampling{.runs = 200};
  f64 timeout_s = 60;
};

constexpr const char* kExplanation = R"(
COLUMNS
  MPI us     MPI_Allreduce, MPI_Allgather, MPI_Alltoall, MPI_Bcast on host memory
  replay us  a captured function (jit), until its result can be read
  eager us   the same expression, realised again
  over us    replay less MPI; over % is that of MPI
  GB/s       bytes by the time of a replay

Bytes are those of what a process gives; of alltoall, those for one process. Calls are made in
turn, each after a barrier; times are medians of rank 0. With --step: products alone, sums of their
results over the processes alone, both in one captured function, and the share of the sums' time
that the step does not show. With --model: from what a product, a short and a long sum take here,
what the step would take on up to 1,024 processes, each with as much work (docs/distributed.md).

EXAMPLES
  mpirun -n 2 doorbell bench collectives
  mpirun -n 2 doorbell bench collectives --step
  mpirun -n 4 doorbell bench collectives --only allreduce --sizes 1KiB,1MiB --json
)";

std::vector<Cell> measure(const Collective& collective, i64 bytes, usize rounds) {
  const i64 count = std::max<i64>(1, bytes / 4), ranks = dist::world_size();
  const usize all = static_cast<usize>(count * ranks);
  std::vector<f32> from(all, 1), to(all, 0);
  const Shape shape = collective.has_blocks ? Shape{ranks, count} : Shape{count};
  const Tensor x = Tensor::full(shape, 1.0).contiguous().realize();
  auto captured = jit([&](const Tensor& given) { return collective.run(given); });
  for (int i = 0; i < 3; ++i) captured(x).realize();
  const std::vector<f64> medians =
      in_turn({
                  [&] { plain_mpi(collective.plain, from.data(), to.data(), count * 4); },
                  [&] {
                    captured(x);
                    engine::synchronize();
                  },
                  [&] {
                    collective.run(x).realize();
                    engine::synchronize();
                  },
              },
              rounds);
  const f64 over = medians[1] - medians[0];
  return {fmt::format("{} {}", collective.name, count * 4),
          medians[0],
          medians[1],
          medians[2],
          over,
          over / medians[0] * 100,
          static_cast<f64>(count * 4) / medians[1] / 1e3,
          static_cast<f64>(rounds)};
}

Table measure(const Options& options) {
  Table table;
  table.title = fmt::format("collectives of {} processes", dist::world_size());
  table.columns = {"what",    "MPI us", "replay us", "eager us",
                   "over us", "over %", "GB/s",      "samples"};
  table.notes = {"medians of rank 0, in turn; MPI's are its blocking calls"};
  for (const Collective& collective : kCollectives) {
    if (!options.only.empty() &&
        std::ranges::find(options.only, collective.name) == options.only.end())
      continue;
    for (u64 size : options.sizes) {
      constexpr u64 kLong = 1 << 20;
      const usize most = size < kLong ? options.sampling.runs : 30;
      table.rows.push_back(
          measure(collective, static_cast<i64>(size), std::min(options.sampling.runs, most)));
    }
  }
  return table;
}

int run(const Options& options) {
  dist::init({.timeout_s = options.timeout_s});
  const usize runs = options.sampling.runs;
  Table table = options.is_model  ? model_scaling(runs)
                : options.is_step ? measure_step(runs)
                                  : measure(options);
  table.facts = {machine(), runtime::process_link()->name()};
  if (dist::rank() != 0) return 0;
  if (options.as_json)
    table.print_json();
  else
    table.print();
  return 0;
}

}  // namespace

void add_collectives(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(
      "collectives", "What exchanges between processes cost beside plain calls of MPI");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  std::vector<std::string> names;
  for (const Collective& collective : kCollectives) names.push_back(collective.name);
  command->add_option("--only", options->only, "These, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->option_text("NAME,...");
  command
      ->add_option("--sizes", options->sizes,
                   "Bytes, such as 64KiB,1MiB; 8 bytes to 16MiB by default")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(u64{4}, u64{1} << 30))
      ->option_text("BYTES,...");
  command->add_option("--runs", options->sampling.runs, "Samples per figure, 200 by default")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  CLI::Option* step = command->add_flag(
      "--step", options->is_step,
      "Instead, a step of training: how much of its sums is hidden behind products");
  command
      ->add_flag("--model", options->is_model,
                 "Instead, a model of that step on up to 1,024 processes")
      ->excludes(step);
  command->add_flag("--json", options->as_json, "Print JSON");
  command->footer(kExplanation);
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
