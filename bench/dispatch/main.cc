// bench_dispatch: the cost of repeated work, and of starting a process. Eager expressions of 16
// elements on NULL (the host's part alone) and on the CPU, and processes that print one result,
// with an empty and a filled compile cache; beside tinygrad if a checkout is given.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/os/process.h"
#include "base/util/check.h"
#include "bench/support/child.h"
#include "runtime/runtime.h"
#include "tensor/api/tensor.h"
#include "tensor/engine/realize.h"
#include "tensor/jit/jit.h"
#include "tools/measure/measure.h"
#include "tools/measure/table.h"

namespace doorbell::bench {

using namespace tools;  // measuring and tables

namespace {

using nlohmann::json;

struct Options {
  bool as_json = false, smoke = false;
  std::string tinygrad, python = "python3", script, hello;
};

// Microseconds per call on one device, by the name of what is done.
struct Case {
  const char* name;
  const char* bound;
  f64 kernels;  // per call
  std::function<void()> (*prepare)(const std::string& device);
};

Tensor input(const std::string& device) {
  return Tensor::full({16}, 1.5, {.device = device}).contiguous().realize();
}

std::function<void()> build_only(const std::string& device) {
  return [a = input(device), b = input(device)] { (void)(a + b); };
}

std::function<void()> eager(const std::string& device) {
  return [a = input(device), b = input(device)] { (a + b).realize(); };
}

std::function<void()> eager_waited(const std::string& device) {
  return [a = input(device), b = input(device)] {
    (a + b).realize();
    engine::synchronize();
  };
}

// The table of live nodes and the allocator hold more; no call may walk them.
std::function<void()> eager_among_many(const std::string& device) {
  std::vector<Tensor> alive;
  for (i64 i = 0; i < 10000; ++i) alive.push_back(Tensor::empty({16}, {.device = device}) + i);
  return [alive, a = input(device), b = input(device)] { (a + b).realize(); };
}

std::function<void()> chain_of_ten(const std::string& device) {
  return [a = input(device), b = input(device)] {
    Tensor x = a;
    for (int i = 0; i < 10; ++i) x = (x + b).contiguous();
    x.realize();
  };
}

// A captured chain of `kernels`, replayed.
template <int kernels>
std::function<void()> replay(const std::string& device) {
  auto body = [b = input(device)](const Tensor& x) {
    Tensor result = x;
    for (int i = 0; i < kernels; ++i) result = (result + b).realize();
    return result;
  };
  // shared_ptr: the measured std::function is copied.
  const auto step = std::make_shared<Jit<decltype(body)>>(jit(body));
  const Tensor a = input(device);
  for (int i = 0; i < 2; ++i) (*step)(a);
  CHECK_EQ(step->launches(), static_cast<usize>(kernels));
  return [step, a] {
    (*step)(a);
    engine::synchronize();
  };
}

std::function<void()> replay_with_variable(const std::string& device) {
  const Variable length("dispatch_length", 1, 16);
  auto body = [b = input(device)](const Tensor& x, const Size& n) {
    return (x + b)[{Slice(0, n)}].sum();
  };
  const auto step = std::make_shared<Jit<decltype(body)>>(jit(body));
  const Tensor a = input(device);
  for (int i = 1; i < 3; ++i) (*step)(a, length.bind(i));
  return [step, a, length, n = 0]() mutable {
    n = n % 16 + 1;
    (*step)(a, length.bind(n));
    engine::synchronize();
  };
}

constexpr Case kCases[] = {
    {"build a + b, not realized", "one node in the graph's table", 0, build_only},
    {"(a + b).realize()", "the key's walk, one launch, one buffer", 1, eager},
    {"same, among 10,000 live tensors", "the same: no walk of live tensors", 1, eager_among_many},
    {"same, and wait for the device", "the worker's wake-up", 1, eager_waited},
    {"chain of 10 kernels, one realize", "launches: the rest is shared", 10, chain_of_ten},
    {"jit: 1 kernel, and wait", "checks, one buffer, one node", 1, replay<1>},
    {"jit: chain of 100 kernels, and wait", "launches", 100, replay<100>},
    {"jit: 1 kernel with a variable, and wait", "two nodes for the bound size", 1,
     replay_with_variable},
};

f64 measure_case(const Case& one, const std::string& device, bool smoke) {
  const std::function<void()> body = one.prepare(device);
  MeasureOptions options{.warmup = 100, .samples = 21, .sample_seconds = 0.02};
  if (smoke) options = {.warmup = 1, .samples = 1, .sample_seconds = 0};
  const f64 seconds = measure(body, options).median;
  engine::synchronize();
  return seconds * 1e6;
}

// ---- starting a process ----

f64 start_seconds(const Options& options, const std::string& cache) {
  const std::vector<std::string> command{"env", "XDG_CACHE_HOME=" + cache, options.hello};
  const f64 start = now();
  Result<os::ProcessOutput> output = os::run_process(command);
  const f64 seconds = now() - start;
  if (!output) throw std::move(output).error();
  if (output->exit_status != 0)
    throw fail(ErrorKind::Os, "{} ended with status {}: {}", options.hello, output->exit_status,
               output->error_out);
  return seconds;
}

// An empty folder each time, or one that a first, uncounted run filled.
f64 median_start_ms(const Options& options, bool is_cold) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("doorbell-dispatch-{}", getpid());
  std::vector<f64> samples;
  const usize wanted = options.smoke ? 1 : 15;
  if (!is_cold) start_seconds(options, folder.string());
  while (samples.size() < wanted) {
    if (is_cold) fs::remove_all(folder);
    samples.push_back(start_seconds(options, folder.string()));
  }
  fs::remove_all(folder);
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2] * 1e3;
}

// ---- the table ----

json tinygrad_figures(const Options& options, const char* device) {
  if (options.tinygrad.empty()) return json::object();
  Result<json> figures =
      run_for_json({"env", "PYTHONPATH=" + options.tinygrad, fmt::format("DEV={}", device),
                    "NULL_ALLOW_COPYOUT=1", options.python, options.script});
  if (figures) return std::move(figures).value();
  std::fprintf(stderr, "tinygrad on %s: %s\n", device, figures.error().what());
  return json::object();
}

void add_row(Table* table, std::vector<Cell> row, f64 ours, f64 theirs) {
  if (theirs == theirs) {
    row.push_back(theirs);
    row.push_back(theirs / ours);
  }
  table->rows.push_back(std::move(row));
}

int run(const Options& options) {
  Table table;
  table.title = "Asking again, and starting";
  table.facts = {machine(), "16 elements of f32; medians"};
  table.columns = {"what", "device", "time", "unit", "kernels", "bounded by"};
  if (!options.tinygrad.empty())
    table.columns.insert(table.columns.end(), {"tinygrad", "times faster"});
  for (const char* device : {"NULL", "CPU"}) {
    const json theirs =
        tinygrad_figures(options, std::string_view(device) == "CPU" ? "CPU:LLVM" : device);
    for (const Case& one : kCases) {
      const f64 us = measure_case(one, device, options.smoke);
      add_row(&table,
              {std::string(one.name), std::string(device), us, std::string("us"), one.kernels,
               std::string(one.bound)},
              us, number(theirs, one.name));
    }
  }
  if (!std::filesystem::exists(options.hello)) {
    table.notes.push_back(options.hello + " is not built: no figures for starting");
  } else {
    for (bool is_cold : {true, false}) {
      const f64 ms = median_start_ms(options, is_cold);
      table.rows.push_back({std::string(is_cold ? "process to first result, cache empty"
                                                : "process to first result, cache filled"),
                            std::string("default"), ms, std::string("ms"), Cell(),
                            std::string(is_cold ? "compiling its kernels, loading LLVM"
                                                : "loading shared libraries")});
    }
    table.notes.push_back("starting: examples/hello, from fork to exit; it prints two results");
  }
  if (options.as_json)
    table.print_json();
  else
    table.print();
  return 0;
}

}  // namespace
}  // namespace doorbell::bench

int main(int argc, char** argv) {
  doorbell::bench::Options options;
  options.script = DOORBELL_SOURCE_ROOT "/bench/dispatch/tinygrad_dispatch.py";
  options.hello = doorbell::bench::own_folder() + "/../examples/hello";
  CLI::App app("Cost of repeating an eager expression, and of starting.");
  app.add_flag("--json", options.as_json, "Print JSON");
  app.add_flag("--smoke", options.smoke, "Once: does it run at all");
  app.add_option("--tinygrad", options.tinygrad, "A tinygrad checkout to measure beside");
  app.add_option("--python", options.python, "The Python that runs it");
  app.add_option("--hello", options.hello, "The program whose start is timed");
  try {
    app.parse(argc, argv);
    return doorbell::bench::run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const doorbell::Error& error) {
    std::fprintf(stderr, "bench_dispatch: %s\n", error.what());
    return 1;
  }
}
