// bench_kernels: the speed of generated kernels on the CPU, as a share of the machine's peak, which
// is measured in the same process, and beside libraries (rivals.h). One process per number of
// threads. For the workloads see workloads.h, for the peak probe.h, for the processes rows.h.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/util/error.h"
#include "bench/kernels/rows.h"
#include "bench/support/child.h"
#include "tools/measure/measure.h"
#include "tools/measure/table.h"

namespace doorbell::bench {

using namespace tools;  // measuring and tables

namespace {

using nlohmann::json;

// The roofline: the least time that the machine's peaks allow, and which peak bounds it.
struct Bound {
  f64 seconds;
  const char* name;
};

Bound bound_of(const json& row, const json& machine_peak) {
  const f64 arithmetic = number(row, "flops") / (number(machine_peak, "gflops") * 1e9);
  const f64 memory_rate = row["reads_only"].get<bool>() ? number(machine_peak, "read_gbps")
                                                        : number(machine_peak, "copy_gbps");
  const f64 memory = number(row, "bytes") / (memory_rate * 1e9);
  return arithmetic >= memory ? Bound{arithmetic, "arithmetic"} : Bound{memory, "memory"};
}

std::vector<std::string> rival_names(const json& child) {
  std::vector<std::string> names;
  for (const auto& [name, description] : child["rivals"].items())
    if (name != "missing") names.push_back(name);
  return names;
}

void add_rows(const json& child, int threads, Table* table) {
  const std::vector<std::string> rivals = rival_names(child);
  for (const json& row : child["rows"]) {
    const f64 seconds = number(row, "seconds");
    const Bound bound = bound_of(row, child);
    const f64 gflops = number(row, "flops") / seconds * 1e-9;
    const bool is_arithmetic = std::string_view(bound.name) == "arithmetic";
    std::vector<Cell> cells{
        row["name"].get<std::string>(),
        static_cast<f64>(threads),
        number(row, "kernels"),
        seconds * 1e3,
        is_arithmetic ? Cell(gflops) : Cell(),
        is_arithmetic ? Cell() : Cell(number(row, "bytes") / seconds * 1e-9),
        std::string(bound.name),
        100 * bound.seconds / seconds,
    };
    const json beside = row.value("rivals", json::object());
    f64 least = INFINITY;
    for (const std::string& name : rivals) {
      const json rival = beside.value(name, json::object());
      const f64 ratio = number(rival, "ratio");
      cells.push_back(std::isnan(ratio) ? Cell() : Cell(number(rival, "seconds") * 1e3));
      if (!std::isnan(ratio)) least = std::min(least, ratio);
    }
    if (!rivals.empty()) cells.push_back(std::isinf(least) ? Cell() : Cell(100 * least));
    table->rows.push_back(std::move(cells));
  }
}

void add_facts(const json& child, const Options& options, int threads, Table* table) {
  const std::string with = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
  table->facts.push_back(fmt::format(
      "peak of {}: {:.0f} GFLOPS of f32 multiply-adds, reading {:.1f} GB/s, copying "
      "{:.1f} GB/s",
      with, number(child, "gflops"), number(child, "read_gbps"), number(child, "copy_gbps")));
  for (const auto& [name, description] : child["rivals"].items())
    table->facts.push_back(fmt::format("{}: {}", name, description.get<std::string>()));
  if (!child.contains("random")) return;
  const json& shapes = child["random"];
  std::string worst;
  for (const json& shape : shapes["worst"])
    worst += fmt::format("{}{} {:.1f} %", worst.empty() ? "" : ", ",
                         shape["shape"].get<std::string>(), 100 * number(shape, "ratio"));
  table->facts.push_back(fmt::format(
      "{} random products of sizes from 1 to {}, seed {}, {}: {:.1f} % of the best's "
      "speed (geometric mean); the worst: {}",
      options.random_shapes, kLargest, options.seed, with, 100 * number(shapes, "mean"), worst));
}

std::vector<std::string> child_command(const Options& options, int threads) {
  std::vector<std::string> command{"env", "-u", "OPENBLAS_L2_SIZE"};
#if defined(__x86_64__)
  // An OpenBLAS older than the processor would fall back to its kernels for AVX2.
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr && __builtin_cpu_supports("avx512f"))
    command.push_back("OPENBLAS_CORETYPE=SkylakeX");
#endif
  command.insert(command.end(),
                 {own_path(), "--child", "--threads", std::to_string(threads), "--device",
                  options.device, "--against", options.against, "--python", options.python});
  if (!options.only.empty()) command.insert(command.end(), {"--only", options.only});
  if (!options.products.empty())
    command.insert(command.end(),
                   {"--products", fmt::format("{}", fmt::join(options.products, ","))});
  if (options.random_shapes > 0)
    command.insert(command.end(), {"--random", std::to_string(options.random_shapes), "--seed",
                                   std::to_string(options.seed)});
  if (options.smoke) command.push_back("--smoke");
  return command;
}

std::vector<int> thread_counts(const Options& options) {
  if (options.threads > 0) return {options.threads};
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  if (all > 1 && !options.smoke) return {1, 2};
  return {1};
}

int run_parent(const Options& options) {
  Table table;
  table.title = "Generated kernels, heuristics only";
  table.facts = {machine(), "device " + options.device};
  table.columns = {"expression", "threads", "kernels", "ms", "GFLOPS", "GB/s", "bound", "% peak"};
  bool failed = false, named = false;
  for (int threads : thread_counts(options)) {
    Result<json> child = run_for_json(child_command(options, threads));
    if (!child) {
      std::fprintf(stderr, "bench_kernels: %s\n", child.error().what());
      failed = true;
      continue;
    }
    const std::vector<std::string> rivals = rival_names(*child);
    if (!std::exchange(named, true) && !rivals.empty()) {
      for (const std::string& name : rivals) table.columns.push_back(name + " ms");
      table.columns.push_back("% best");
    }
    add_rows(*child, threads, &table);
    add_facts(*child, options, threads, &table);
  }
  table.notes = {
      "bound: which of the machine's peaks gives the longer time for the work that cannot be "
      "avoided; % peak: that time over the measured one.",
      "% best: our speed as a share of the fastest other's, each the median of pairs of samples "
      "taken in turn.",
      "What is below 100 % is work beyond it: operands read again, instructions beside the "
      "multiply-adds, calls, and launches of more than one kernel.",
      "Milliseconds are medians and include building the lazy graph, finding its schedule and "
      "waiting for the device."};
  if (options.as_json)
    table.print_json();
  else
    table.print();
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace doorbell::bench

int main(int argc, char** argv) {
  doorbell::bench::Options options;
  CLI::App app("Speed of the generated kernels on the CPU.");
  app.add_flag("--json", options.as_json, "Print JSON");
  app.add_flag("--smoke", options.smoke, "Once, small: does it run at all");
  app.add_option("--device", options.device, "As DEV says it");
  app.add_option("--only", options.only,
                 "Expressions whose name has this in it, or one of several with | between");
  app.add_option("--products", options.products,
                 "These products besides, each ROWSxDEPTHxCOLUMNS, with commas between")
      ->delimiter(',');
  app.add_option("--against", options.against, "torch, openblas, or both with a comma between");
  app.add_option("--python", options.python, "A Python that has PyTorch");
  app.add_option("--random", options.random_shapes, "So many random products beside the others");
  app.add_option("--seed", options.seed, "Of the random products");
  app.add_option("--threads", options.threads, "Only so many; else one, then two");
  app.add_flag("--child", options.is_child)->group("");
  try {
    app.parse(argc, argv);
    if (!options.is_child) return doorbell::bench::run_parent(options);
    fmt::print("{}\n", doorbell::bench::measure_rows(options).dump());
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const doorbell::Error& error) {
    std::fprintf(stderr, "bench_kernels: %s\n", error.what());
    return 1;
  }
}
