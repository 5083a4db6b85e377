// bench_kernels: the speed of generated kernels on the CPU, as a share of the machine's peak, which
// is measured in the same process. One process per number of threads. For the workloads see
// workloads.h, for the peak probe.h.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "bench/kernels/blas.h"
#include "bench/kernels/probe.h"
#include "bench/kernels/workloads.h"
#include "bench/support/child.h"
#include "core/device/counters.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"
#include "tensor/engine/realize.h"
#include "tools/measure/measure.h"
#include "tools/measure/table.h"

namespace doorbell::bench {

using namespace tools;  // measuring and tables

namespace {

using nlohmann::json;

constexpr u32 kShapeSeed = 18, kLargest = 4096;
constexpr std::chrono::milliseconds kSpinning(20);

struct Options {
  bool as_json = false, smoke = false;
  int random_shapes = 0;
  std::string device = "CPU:LLVM", only;
  int threads = 0;  // of a child; 0: the parent
};

// ---- the child: all workloads with one number of threads ----

// Beside each other: one sample of each in turn. OpenBLAS's threads spin for a while after a call.
struct Pair {
  Timing ours, blas;
  f64 ratio = 0;  // of BLAS's time to ours, the median of the pairs
};

f64 median(std::vector<f64> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Pair measure_pair(const std::function<void()>& body, const Blas& blas, const Product& p,
                  MeasureOptions options) {
  const auto count = [](i64 rows, i64 columns) { return static_cast<usize>(rows * columns); };
  const std::vector<f32> a(count(p.m, p.k), 1.0f), b(count(p.k, p.n), 0.5f);
  std::vector<f32> c(count(p.m, p.n));
  const auto theirs = [&] { blas.multiply(p, a.data(), b.data(), c.data()); };
  std::vector<f64> times[2], ratios;
  const usize pairs = options.samples;
  const f64 start = now();
  options.samples = 1;
  for (usize i = 0; i < pairs && (i < 3 || now() - start < options.limit_seconds); ++i) {
    times[0].push_back(measure(body, options).best);
    times[1].push_back(measure(theirs, options).best);
    ratios.push_back(times[1].back() / times[0].back());
    std::this_thread::sleep_for(kSpinning);
  }
  const auto timing = [](const std::vector<f64>& all) {
    return Timing{median(all), *std::min_element(all.begin(), all.end()), all.size()};
  };
  return {timing(times[0]), timing(times[1]), median(ratios)};
}

json measure_workload(const KernelWorkload& workload, const Result<Blas>& blas, bool smoke) {
  const KernelRun run = workload.prepare(smoke);
  const auto body = [&] {
    run.body();
    engine::synchronize();
  };
  body();
  const i64 before = core::counters.kernels.load();
  body();
  const i64 kernels = core::counters.kernels.load() - before;
  MeasureOptions options;
  options.sample_seconds = 0.05;
  if (smoke) options = {.warmup = 0, .samples = 1, .sample_seconds = 0};
  json row{{"name", std::string(workload.name)},
           {"kernels", kernels},
           {"flops", run.work.flops},
           {"bytes", run.work.bytes},
           {"reads_only", run.work.reads_only}};
  Timing timing;
  if (blas && workload.product.m > 0 && !smoke) {
    options.warmup = 1;
    const Pair pair = measure_pair(body, *blas, workload.product, options);
    timing = pair.ours;
    row["blas"] = run.work.flops / pair.blas.median * 1e-9;
    row["ratio"] = pair.ratio;
  } else {
    timing = measure(body, options);
  }
  row["seconds"] = timing.median, row["best_seconds"] = timing.best;
  return row;
}

std::string shape_name(const Product& p) { return fmt::format("{}x{}x{}", p.m, p.k, p.n); }

// Shapes of any sizes up to kLargest, each equally likely.
json measure_random(const Blas& blas, int shapes) {
  std::mt19937 random(kShapeSeed);
  const auto size = [&] { return 1 + static_cast<i64>(random() % kLargest); };
  f64 log_sum = 0, worst = 1e30;
  std::string worst_name;
  for (int i = 0; i < shapes; ++i) {
    Product p;
    p.m = size(), p.n = size(), p.k = size();
    const KernelRun run = product_run(p);
    const auto body = [&] {
      run.body();
      engine::synchronize();
    };
    const f64 ratio = measure_pair(body, blas, p, {.warmup = 1, .samples = 3}).ratio;
    log_sum += std::log(ratio);
    if (ratio < worst) worst = ratio, worst_name = shape_name(p);
  }
  return {{"mean", std::exp(log_sum / shapes)}, {"worst", worst}, {"worst_name", worst_name}};
}

int run_child(const Options& options) {
  Result<core::Config> config = runtime::read_environment(runtime::process_environment());
  if (!config) throw std::move(config).error();
  config->dev = options.device;
  config->device_settings["CPU_THREADS"] = std::to_string(options.threads);
  if (Result<void> started = runtime::initialize(*config); !started)
    throw std::move(started).error();
  Tensor::manual_seed(0);
  const Peak peak = probe_machine(options.threads, options.smoke);
  json result{
      {"gflops", peak.gflops}, {"read_gbps", peak.read_gbps}, {"copy_gbps", peak.copy_gbps}};
  result["rows"] = json::array();
  const Result<Blas> blas = Blas::open(options.threads);
  result["blas"] = blas ? blas->description() : blas.error().message;
  for (const KernelWorkload& workload : kernel_workloads()) {
    if (workload.name.find(options.only) == std::string_view::npos) continue;
    result["rows"].push_back(measure_workload(workload, blas, options.smoke));
  }
  if (blas && options.random_shapes > 0)
    result["random"] = measure_random(*blas, options.random_shapes);
  fmt::print("{}\n", result.dump());
  return 0;
}

// ---- the parent ----

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

void add_rows(const json& child, int threads, Table* table) {
  for (const json& row : child["rows"]) {
    const f64 seconds = number(row, "seconds");
    const Bound bound = bound_of(row, child);
    const f64 gflops = number(row, "flops") / seconds * 1e-9;
    const f64 blas = number(row, "blas");
    const bool is_arithmetic = std::string_view(bound.name) == "arithmetic";
    table->rows.push_back({
        row["name"].get<std::string>(),
        static_cast<f64>(threads),
        number(row, "kernels"),
        seconds * 1e3,
        is_arithmetic ? Cell(gflops) : Cell(),
        is_arithmetic ? Cell() : Cell(number(row, "bytes") / seconds * 1e-9),
        std::string(bound.name),
        100 * bound.seconds / seconds,
        std::isnan(blas) ? Cell() : Cell(blas),
        std::isnan(blas) ? Cell() : Cell(100 * number(row, "ratio")),
    });
  }
}

std::vector<std::string> child_command(const Options& options, int threads) {
  std::vector<std::string> command{"env"};
#if defined(__x86_64__)
  // An OpenBLAS older than the processor would fall back to its kernels for AVX2.
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr && __builtin_cpu_supports("avx512f"))
    command.push_back("OPENBLAS_CORETYPE=SkylakeX");
#endif
  command.insert(command.end(),
                 {own_path(), "--threads", std::to_string(threads), "--device", options.device});
  if (!options.only.empty()) command.insert(command.end(), {"--only", options.only});
  if (options.random_shapes > 0)
    command.insert(command.end(), {"--random", std::to_string(options.random_shapes)});
  if (options.smoke) command.push_back("--smoke");
  return command;
}

int run_parent(const Options& options) {
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<int> counts{1};
  if (all > 1 && !options.smoke) counts.push_back(std::min(all, 2));
  Table table;
  table.title = "Generated kernels, heuristics only";
  table.facts = {machine(), "device " + options.device};
  table.columns = {"expression", "threads", "kernels", "ms",       "GFLOPS",
                   "GB/s",       "bound",   "% peak",  "sgemm GF", "% sgemm"};
  bool failed = false;
  for (int threads : counts) {
    Result<json> child = run_for_json(child_command(options, threads));
    if (!child) {
      std::fprintf(stderr, "bench_kernels: %s\n", child.error().what());
      failed = true;
      continue;
    }
    add_rows(*child, threads, &table);
    table.facts.push_back(fmt::format(
        "peak of {} thread{}: {:.0f} GFLOPS of f32 multiply-adds, reading {:.1f} GB/s, copying "
        "{:.1f} GB/s; sgemm: {}",
        threads, threads == 1 ? "" : "s", number(*child, "gflops"), number(*child, "read_gbps"),
        number(*child, "copy_gbps"), (*child)["blas"].get<std::string>()));
    if (child->contains("random")) {
      const json& shapes = (*child)["random"];
      table.facts.push_back(
          fmt::format("{} random products of sizes from 1 to {}, {} thread{}: {:.1f} % of sgemm's "
                      "speed (geometric "
                      "mean), {:.1f} % the worst, {}",
                      options.random_shapes, kLargest, threads, threads == 1 ? "" : "s",
                      100 * number(shapes, "mean"), 100 * number(shapes, "worst"),
                      shapes["worst_name"].get<std::string>()));
    }
  }
  table.notes = {
      "bound: which of the machine's peaks gives the longer time for the work that cannot be "
      "avoided; % peak: that time over the measured one.",
      "% sgemm: our speed as a share of OpenBLAS's, the median of pairs of samples taken in turn.",
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
  app.add_option("--only", options.only, "Expressions whose name has this in it");
  app.add_option("--random", options.random_shapes, "So many random products beside sgemm");
  app.add_option("--threads", options.threads)->group("");
  try {
    app.parse(argc, argv);
    return options.threads == 0 ? doorbell::bench::run_parent(options)
                                : doorbell::bench::run_child(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const doorbell::Error& error) {
    std::fprintf(stderr, "bench_kernels: %s\n", error.what());
    return 1;
  }
}
