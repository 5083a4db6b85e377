// `doorbell bench gemm`, `bandwidth`, `attention` and `convolution`: the command line and the
// table. For what is measured see throughput/workload.h.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/util/stop.h"
#include "runtime/progress_bar.h"
#include "tools/doorbell/bench.h"
#include "tools/doorbell/open_device.h"
#include "tools/doorbell/throughput/beside_cublas.h"
#include "tools/doorbell/throughput/workload.h"
#include "tools/measure/measure.h"
#include "tools/measure/table.h"

namespace doorbell::tools {
namespace {

using throughput::Workload;

struct Benchmark {
  const char* name;
  const char* about;
  const char* dtypes;  // that are measured unless others are named
  const char* sizes;   // what a size is
  const char* note;
  std::vector<Workload> (*workloads)(const throughput::Request& request);
};

constexpr Benchmark kBenchmarks[] = {
    {"gemm", "Throughput of square matrix products", "f32,f16,bf16", "Rows and columns",
     "a product of n x n x n counts 2 n^3 operations", throughput::gemm},
    {"bandwidth", "Memory bandwidth of elementwise kernels, reductions and norms", "f32,f16",
     "Bytes of one operand, such as 16MiB",
     "bytes are those of the inputs and of the result, each counted once", throughput::bandwidth},
    {"attention", "Throughput of scaled dot product attention", "f32,f16",
     "Lengths of the sequence",
     "operations are those of the two products, halved where the mask is causal; the memory and "
     "the time of the softmax are not counted",
     throughput::attention},
    {"convolution", "Throughput of the convolutions of a ResNet", "f32,f16", "Images of a batch",
     "operations are those of the products, padding included", throughput::convolution},
};

struct Options {
  std::string device;
  std::vector<std::string> dtypes;
  std::vector<u64> sizes;
  f64 longest = 2;
  bool as_json = false;
  Sampling sampling{.runs = 50};
};

core::DType dtype_named(const std::string& name) {
  core::DType dtype;
  if (core::parse_dtype(name, &dtype)) return dtype;
  throw fail(ErrorKind::Invalid, "--dtypes {}: there is no dtype of this name, such as f16", name);
}

throughput::Request request_of(const Options& options) {
  throughput::Request request{open_device(options.device), {}, {}};
  if (!request.device.runs()) {
    throw fail(ErrorKind::Unsupported, "device {} runs no kernels: there is nothing to measure",
               request.device.name());
  }
  for (const std::string& name : options.dtypes) request.dtypes.push_back(dtype_named(name));
  for (u64 size : options.sizes) request.sizes.push_back(static_cast<i64>(size));
  std::ranges::sort(request.sizes);
  return request;
}

std::vector<Cell> row_of(const Workload& workload, const Distribution& time) {
  const auto rate = [&](f64 amount) {
    return amount == 0 ? Cell(std::string()) : Cell(amount / time.median());
  };
  return {workload.what,
          time.least() / 1e3,
          time.median() / 1e3,
          time.most() / 1e3,
          rate(workload.flops),
          rate(workload.bytes),
          static_cast<f64>(time.count()),
          static_cast<f64>(time.calls()),
          Cell(std::string())};
}

std::vector<Cell> missing(const Workload& workload, std::string reason) {
  std::vector<Cell> row(9, Cell(std::string()));
  row.front() = workload.what;
  row.back() = std::move(reason);
  return row;
}

// `seconds` is estimated from the rate of the previous workload of the same dtype.
void refuse_long(f64 seconds, f64 longest) {
  if (seconds > longest) {
    throw fail(ErrorKind::Unsupported, "a call would take about {:.3g} s, --longest is {:g} s",
               seconds, longest);
  }
}

int run(const Benchmark& benchmark, const Options& options) {
  const throughput::Request request = request_of(options);
  const std::vector<Workload> workloads = benchmark.workloads(request);
  Table table;
  table.title = std::string(benchmark.name) + " of " + request.device.name();
  table.facts = {machine(), request.device.name() + ": " + request.device.description(),
                 "renderer " + request.device.spec().renderer};
  table.columns = {"what", "least us", "median us", "most us",     "GFLOPS",
                   "GB/s", "samples",  "calls",     "not measured"};
  table.notes = {benchmark.note,
                 "a sample is `calls` calls of a jitted function in a row and one wait for the "
                 "device, divided by `calls`; rates are those of the median"};
  std::optional<throughput::BesideCublas> cublas;
  if (!workloads.empty() && workloads[0].product != 0) {
    cublas.emplace(request.device);
    for (std::string& column : cublas->columns()) table.columns.push_back(std::move(column));
    if (!cublas->note().empty()) table.notes.push_back(cublas->note());
  }
  std::map<std::string, f64> rates;  // by dtype, of the last workload: GFLOPS or GB/s
  runtime::ProgressBar bar(static_cast<i64>(workloads.size()));
  for (usize i = 0; i < workloads.size(); ++i) {
    bar.tell(static_cast<i64>(i), "measuring " + workloads[i].what);
    try {
      const std::string dtype = workloads[i].dtype.str();
      const f64 work = workloads[i].flops + workloads[i].bytes;
      if (rates.contains(dtype)) refuse_long(work / rates[dtype] * 1e-9, options.longest);
      const Distribution time = throughput::measure(request.device, workloads[i], options.sampling);
      rates[dtype] = work / time.median();
      table.rows.push_back(row_of(workloads[i], time));
      if (cublas)
        std::ranges::move(
            cublas->times_us(workloads[i].dtype, workloads[i].product, options.sampling),
            std::back_inserter(table.rows.back()));
    } catch (const Stopped&) {
      throw;
    } catch (const Error& error) {
      table.rows.push_back(missing(workloads[i], error.message));
      table.rows.back().resize(table.columns.size());
    }
  }
  bar.clear();
  options.as_json ? table.print_json() : table.print();
  return 0;
}

void add(const Benchmark& benchmark, CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(benchmark.name, benchmark.about);
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  add_sampling(command, &options->device, &options->sampling);
  command
      ->add_option("--dtypes", options->dtypes,
                   std::string("Separated by commas; by default ") + benchmark.dtypes)
      ->delimiter(',')
      ->default_str("")
      ->option_text("DTYPE,...");
  command
      ->add_option("--sizes", options->sizes,
                   std::string(benchmark.sizes) + ", separated by commas")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(u64{1}, u64{1} << 40))
      ->option_text("SIZE,...");
  command
      ->add_option("--longest", options->longest,
                   "Leave out what takes longer than this for a call, 2 by default")
      ->check(CLI::Range(0.0, 3600.0))
      ->option_text("S");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->callback([&benchmark, options, status] {
    if (options->dtypes.empty()) options->dtypes = CLI::detail::split(benchmark.dtypes, ',');
    *status = run(benchmark, *options);
  });
}

}  // namespace

void add_throughput(CLI::App* app, int* status) {
  for (const Benchmark& benchmark : kBenchmarks) add(benchmark, app, status);
}

}  // namespace doorbell::tools
