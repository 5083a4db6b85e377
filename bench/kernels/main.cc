// bench_kernels: the speed of generated kernels on the CPU, as a share of the machine's peak, which
// is measured in the same process. One process per number of threads. For the workloads see
// workloads.h, for the peak probe.h.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
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

struct Options {
  bool as_json = false, smoke = false;
  std::string device = "CPU:LLVM", only;
  int threads = 0;  // of a child; 0: the parent
};

// ---- the child: all workloads with one number of threads ----

json measure_blas(int threads, bool smoke) {
  Result<Blas> blas = Blas::open(threads);
  if (!blas) return {{"what", blas.error().message}};
  json result{{"what", blas->description()}};
  for (i64 n : {512, 1024, 2048}) {
    if (smoke) continue;
    const usize count = static_cast<usize>(n * n);
    const std::vector<float> a(count, 1.0f), b(count, 0.5f);
    std::vector<float> c(count);
    const Timing timing = measure([&] { blas->multiply(n, a.data(), b.data(), c.data()); });
    const f64 side = static_cast<f64>(n);
    result[std::to_string(n)] = 2 * side * side * side / timing.median * 1e-9;
  }
  return result;
}

json measure_workload(const KernelWorkload& workload, bool smoke) {
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
  const Timing timing = measure(body, options);
  return {{"name", std::string(workload.name)},
          {"kernels", kernels},
          {"seconds", timing.median},
          {"best_seconds", timing.best},
          {"flops", run.work.flops},
          {"bytes", run.work.bytes},
          {"reads_only", run.work.reads_only},
          {"blas_size", workload.blas_size}};
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
  for (const KernelWorkload& workload : kernel_workloads()) {
    if (workload.name.find(options.only) == std::string_view::npos) continue;
    result["rows"].push_back(measure_workload(workload, options.smoke));
  }
  // Last: its threads spin for a while after each call.
  result["blas"] = measure_blas(options.threads, options.smoke);
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
    const std::string blas_size = std::to_string(row["blas_size"].get<i64>());
    const f64 blas = number(child["blas"], blas_size.c_str());
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
        std::isnan(blas) ? Cell() : Cell(100 * gflops / blas),
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
        number(*child, "copy_gbps"), (*child)["blas"]["what"].get<std::string>()));
  }
  table.notes = {
      "bound: which of the machine's peaks gives the longer time for the work that cannot be "
      "avoided; % peak: that time over the measured one.",
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
