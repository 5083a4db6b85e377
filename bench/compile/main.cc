// bench_compile: the time from a lazy graph to rendered kernels on NULL, with caches off, beside
// tinygrad's if a checkout is given. Each figure is the median of several fresh processes with cold
// caches. For the graphs see workloads.h.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/util/try.h"
#include "bench/compile/render_only.h"
#include "bench/compile/workloads.h"
#include "bench/support/child.h"
#include "core/device/counters.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"
#include "tensor/engine/kernel_compiler.h"
#include "tensor/engine/realize.h"
#include "tools/measure/measure.h"
#include "tools/measure/table.h"

namespace doorbell::bench {

using namespace tools;  // measuring and tables

namespace {

using nlohmann::json;

struct Options {
  bool as_json = false, smoke = false;
  int repeats = 3;
  std::vector<std::string> names;
  std::string nvidia;  // a chip; empty: none
  std::string tinygrad, python = "python3", script;
  // For a child process.
  std::string child, device = "NULL";
  int threads = 1;
};

// ---- the child: one graph, once ----

i64 nodes_made() { return core::TensorGraph::made_nodes() + core::counters.arena_nodes.load(); }

int run_child(const Options& options) {
  Result<core::Config> read = runtime::read_environment(runtime::process_environment());
  if (!read) throw std::move(read).error();
  core::Config config = std::move(read).value();
  config.dev = options.device;
  config.parallel = options.threads;
  config.cache_level = 0;
  if (Result<void> started = runtime::initialize(config); !started)
    throw std::move(started).error();
  if (options.device == "NULL") engine::set_kernel_compiler(&render_only_compiler(options.threads));
  const Workload* workload = find_workload(options.child);
  if (workload == nullptr) throw fail(ErrorKind::Invalid, "no workload {}", options.child);
  const Build build = workload->prepare(options.smoke);

  const i64 nodes_before = nodes_made();
  const f64 memory_before = peak_memory_mib(), start = now();
  const std::vector<Tensor> wanted = build();
  const f64 built = now();
  std::vector<core::UOpRef> owners;
  std::vector<core::UOp> roots;
  for (const Tensor& tensor : wanted) owners.push_back(tensor.uop());
  for (const core::UOpRef& owner : owners) roots.push_back(*owner);
  const engine::Preparation made = engine::prepare(roots);
  const f64 end = now();
  engine::clear_schedule_cache();  // the kernels' arenas are counted when they go
  const json line{{"kernels", made.kernels},
                  {"distinct", made.distinct_kernels},
                  {"build_ms", (built - start) * 1e3},
                  {"schedule_ms", made.schedule_seconds * 1e3},
                  {"compile_ms", made.compile_seconds * 1e3},
                  {"total_ms", (end - start) * 1e3},
                  {"nodes", nodes_made() - nodes_before},
                  {"memory_before_mib", memory_before},
                  {"peak_mib", peak_memory_mib()}};
  fmt::print("{}\n", line.dump());
  return 0;
}

// ---- the parent ----

// The run whose total is the median.
Result<json> median_run(const Options& options, const Workload& workload, const char* device,
                        int threads) {
  std::vector<json> runs;
  for (int i = 0; i < (options.smoke ? 1 : options.repeats); ++i) {
    std::vector<std::string> arguments{"--child",   std::string(workload.name), "--device", device,
                                       "--threads", std::to_string(threads)};
    if (options.smoke) arguments.push_back("--smoke");
    TRY(json run, run_self(arguments));
    runs.push_back(std::move(run));
  }
  std::sort(runs.begin(), runs.end(), [](const json& a, const json& b) {
    return number(a, "total_ms") < number(b, "total_ms");
  });
  return runs[runs.size() / 2];
}

Result<json> tinygrad_run(const Options& options, const Workload& workload) {
  return run_for_json({"env", "PYTHONPATH=" + options.tinygrad, "DEV=NULL", "PARALLEL=0",
                       "CACHELEVEL=0", "CCACHE=0", "NULL_ALLOW_COPYOUT=1", options.python,
                       options.script, std::string(workload.name)});
}

Cell cell(f64 value) { return std::isnan(value) ? Cell() : Cell(value); }

// The longest of the three parts, and its share.
Cell longest_part(const json& run) {
  const char* longest = nullptr;
  f64 most = 0;
  for (const char* name : {"build_ms", "schedule_ms", "compile_ms"}) {
    if (!(number(run, name) > most)) continue;
    most = number(run, name);
    longest = name;
  }
  if (longest == nullptr) return {};
  const std::string_view part = longest;
  return fmt::format("{} {:.0f} %", part.substr(0, part.find('_')),
                     100 * most / number(run, "total_ms"));
}

// The cost of a node and of a visit of the rules, from bench_rewrite.
std::string parts_note(const Options& options) {
  if (options.smoke) return "parts: not measured";
  const Result<json> parts =
      run_for_json({own_folder() + "/bench_compile_parts", "--benchmark_format=json",
                    "--benchmark_filter=intern_new|intern_existing|index_arithmetic|float_visit"});
  if (!parts) return "parts: " + parts.error().message;
  std::string note = "parts:";
  for (const json& part : (*parts)["benchmarks"]) {
    const std::string name = part["name"].get<std::string>();
    note += fmt::format(" {} {:.0f} ns a node;", name, 1e9 / number(part, "items_per_second"));
    if (part.contains("visit"))
      note += fmt::format(" {:.0f} ns a visit;", 1e9 * number(part, "visit"));
  }
  note.back() = '.';
  return note;
}

// Prints an error to stderr and dashes in the table, so that the other rows are still shown.
json value_or_nothing(Result<json> result, const std::string& what, bool* failed) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s: %s\n", what.c_str(), result.error().what());
  *failed = true;
  return json::object();
}

void add_row(const Options& options, const Workload& workload, const char* device, int threads,
             Table* table, bool* failed) {
  const std::string what = fmt::format("{} on {}", workload.name, device);
  const json one = value_or_nothing(median_run(options, workload, device, 1), what, failed);
  json all = one;
  if (threads > 1)
    all = value_or_nothing(median_run(options, workload, device, threads), what, failed);
  std::vector<Cell> row{std::string(workload.text), std::string(device)};
  for (const char* name :
       {"kernels", "distinct", "build_ms", "schedule_ms", "compile_ms", "total_ms"})
    row.push_back(cell(number(one, name)));
  row.push_back(cell(number(all, "total_ms")));
  row.push_back(cell(number(one, "nodes")));
  row.push_back(cell(number(one, "nodes") > 0 ? number(one, "total_ms") * 1e6 / number(one, "nodes")
                                              : std::numeric_limits<f64>::quiet_NaN()));
  row.push_back(cell(number(one, "peak_mib")));
  row.push_back(longest_part(one));
  if (!options.tinygrad.empty() && workload.in_tinygrad && std::string(device) == "NULL") {
    const json theirs = value_or_nothing(tinygrad_run(options, workload), "tinygrad", failed);
    row.push_back(cell(number(theirs, "kernels")));
    row.push_back(cell(number(theirs, "total_ms")));
    row.push_back(cell(number(theirs, "total_ms") / number(one, "total_ms")));
  }
  table->rows.push_back(std::move(row));
}

bool wanted(const Options& options, std::string_view name) {
  return options.names.empty() ||
         std::find(options.names.begin(), options.names.end(), name) != options.names.end();
}

int run_parent(const Options& options) {
  const int threads = options.smoke ? 1 : static_cast<int>(std::thread::hardware_concurrency());
  Table table;
  table.title = "From a lazy graph to rendered kernels, caches off";
  table.facts = {machine(),
                 fmt::format("NULL renders and runs nothing; CPU:LLVM goes on to machine code; "
                             "milliseconds, cold processes, median of {}",
                             options.smoke ? 1 : options.repeats)};
  table.columns = {"graph",    "device",      "kernels",
                   "distinct", "build ms",    "schedule",
                   "compile",  "1 thread ms", fmt::format("{} threads", threads),
                   "nodes",    "ns/node",     "peak MiB",
                   "mostly"};
  if (!options.tinygrad.empty())
    table.columns.insert(table.columns.end(), {"tinygrad: kernels", "ms", "times faster"});
  bool failed = false;
  for (const Workload& workload : workloads())
    if (wanted(options, workload.name))
      add_row(options, workload, "NULL", threads, &table, &failed);
  if (wanted(options, "resnet18") && !options.smoke)
    add_row(options, *find_workload("resnet18"), "CPU:LLVM", threads, &table, &failed);
  if (wanted(options, "resnet18") && !options.nvidia.empty())
    add_row(options, *find_workload("resnet18"), ("NULL:NV_PTX:" + options.nvidia).c_str(), threads,
            &table, &failed);
  table.notes = {
      "build: the tensor API makes the lazy graph. schedule: it is cut into kernels, memory is "
      "planned.",
      "compile: each distinct kernel is optimised, lowered and rendered; on CPU:LLVM, compiled.",
      "Build, schedule and compile are of one thread; compiling uses all. nodes: made in arenas "
      "and "
      "the tensor graph.",
      "On NULL all of it is making nodes and trying rules on them; on CPU:LLVM it is LLVM.",
      parts_note(options),
      "tinygrad: the same graph, PARALLEL=0 CACHELEVEL=0 CCACHE=0; times faster: with 1 thread."};
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
  options.script = DOORBELL_SOURCE_ROOT "/bench/compile/tinygrad_compile.py";
  CLI::App app("Time from a lazy graph to rendered kernels.");
  app.add_flag("--json", options.as_json, "Print JSON");
  app.add_flag("--smoke", options.smoke, "Once, small: does it run at all");
  app.add_option("--repeats", options.repeats, "Processes per figure")->check(CLI::Range(1, 100));
  app.add_option("--tinygrad", options.tinygrad, "A tinygrad checkout to measure beside");
  app.add_option("--nvidia", options.nvidia,
                 "A chip, sm_90, to compile resnet18 for: by LLVM to PTX, and by nvJitLink");
  app.add_option("--python", options.python, "The Python that runs it");
  app.add_option("workloads", options.names, "Only these");
  app.add_option("--child", options.child)->group("");
  app.add_option("--device", options.device)->group("");
  app.add_option("--threads", options.threads)->group("");
  try {
    app.parse(argc, argv);
    for (const std::string& name : options.names)
      if (doorbell::bench::find_workload(name) == nullptr)
        throw CLI::ValidationError("workloads", "there is no " + name);
    return options.child.empty() ? doorbell::bench::run_parent(options)
                                 : doorbell::bench::run_child(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const doorbell::Error& error) {
    std::fprintf(stderr, "bench_compile: %s\n", error.what());
    return 1;
  }
}
