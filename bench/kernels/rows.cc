// Samples are taken in turn, ours and each rival's, so that a busy or slow moment of the machine
// falls on all alike; a ratio is the median of the turns' ratios.
#include "bench/kernels/rows.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>

#include "bench/kernels/probe.h"
#include "bench/kernels/rivals.h"
#include "bench/kernels/workloads.h"
#include "core/device/counters.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"
#include "tensor/engine/realize.h"
#include "tools/measure/measure.h"

namespace doorbell::bench {

using namespace tools;  // measuring and tables

namespace {

using nlohmann::json;
using Rivals = std::vector<std::unique_ptr<Rival>>;

constexpr std::chrono::milliseconds kSpinning(20);  // threads of others, after a call
constexpr f64 kSampleSeconds = 0.05, kLimitSeconds = 8;
constexpr usize kTurns = 11, kRandomTurns = 3, kWorst = 5;

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::move(result).error();
  return std::move(result).value();
}

f64 median(std::vector<f64> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Turns {
  std::vector<f64> ours;
  std::vector<std::vector<f64>> theirs;  // by rival

  json of(usize rival) const {
    std::vector<f64> ratios;
    for (usize turn = 0; turn < ours.size(); ++turn)
      ratios.push_back(theirs[rival][turn] / ours[turn]);
    return {{"seconds", median(theirs[rival])}, {"ratio", median(ratios)}};
  }
};

Turns take_turns(const std::function<void()>& body, const std::vector<Rival*>& rivals,
                 usize turns) {
  Turns made;
  made.theirs.resize(rivals.size());
  const MeasureOptions once{.warmup = 0, .samples = 1, .sample_seconds = kSampleSeconds};
  const f64 start = now();
  while (made.ours.size() < turns && (made.ours.size() < 3 || now() - start < kLimitSeconds)) {
    made.ours.push_back(measure(body, once).best);
    for (usize i = 0; i < rivals.size(); ++i) {
      made.theirs[i].push_back(value_of(rivals[i]->sample(kSampleSeconds)));
      std::this_thread::sleep_for(kSpinning);
    }
  }
  return made;
}

std::vector<Rival*> able_rivals(const Rivals& all, const json& task) {
  std::vector<Rival*> able;
  for (const auto& rival : all)
    if (value_of(rival->prepare(task))) able.push_back(rival.get());
  return able;
}

json measure_workload(const KernelWorkload& workload, const Rivals& all, bool smoke) {
  const KernelRun run = workload.prepare();
  const auto body = [&] {
    run.body();
    engine::synchronize();
  };
  body();
  const i64 before = core::counters.kernels.load();
  body();
  const i64 kernels = core::counters.kernels.load() - before;
  json row{{"name", workload.name},
           {"kernels", kernels},
           {"flops", run.work.flops},
           {"bytes", run.work.bytes},
           {"reads_only", run.work.reads_only}};
  if (smoke) {
    row["seconds"] = measure(body, {.warmup = 0, .samples = 1, .sample_seconds = 0}).best;
    return row;
  }
  const std::vector<Rival*> rivals = able_rivals(all, workload.task);
  const Turns turns = take_turns(body, rivals, kTurns);
  row["seconds"] = median(turns.ours);
  row["best_seconds"] = *std::min_element(turns.ours.begin(), turns.ours.end());
  for (usize i = 0; i < rivals.size(); ++i) row["rivals"][rivals[i]->name()] = turns.of(i);
  return row;
}

// Shapes of any sizes up to kLargest, each equally likely; beside the better of the rivals.
json measure_random(const Rivals& all, const Options& options) {
  std::mt19937 random(options.seed);
  const auto size = [&] { return 1 + static_cast<i64>(random() % kLargest); };
  f64 log_sum = 0;
  std::vector<std::pair<f64, std::string>> shapes;
  for (int i = 0; i < options.random_shapes; ++i) {
    Product p;
    p.m = size(), p.n = size(), p.k = size();
    const KernelWorkload workload = product_workload("", p, dtypes::f32);
    const KernelRun run = workload.prepare();
    const auto body = [&] {
      run.body();
      engine::synchronize();
    };
    body();  // compiled
    const std::vector<Rival*> rivals = able_rivals(all, workload.task);
    const Turns turns = take_turns(body, rivals, kRandomTurns);
    f64 ratio = 1e30;
    for (usize r = 0; r < rivals.size(); ++r)
      ratio = std::min(ratio, turns.of(r).at("ratio").get<f64>());
    log_sum += std::log(ratio);
    shapes.emplace_back(ratio, fmt::format("{}x{}x{}", p.m, p.k, p.n));
  }
  std::sort(shapes.begin(), shapes.end());
  json result{{"mean", std::exp(log_sum / options.random_shapes)}, {"worst", json::array()}};
  for (usize i = 0; i < std::min(shapes.size(), kWorst); ++i)
    result["worst"].push_back({{"shape", shapes[i].second}, {"ratio", shapes[i].first}});
  return result;
}

// Whether one of `parts`, which have bars between them, is in the name. Names have commas.
bool is_named(std::string_view name, std::string_view parts) {
  for (usize at = 0; at <= parts.size();) {
    const usize end = std::min(parts.find('|', at), parts.size());
    if (name.find(parts.substr(at, end - at)) != std::string_view::npos) return true;
    at = end + 1;
  }
  return false;
}

// "rows x depth x columns", without spaces.
Result<Product> parse_product(const std::string& text) {
  Product p{};
  int read = 0;
  const int found =
      std::sscanf(text.c_str(), "%" SCNd64 "x%" SCNd64 "x%" SCNd64 "%n", &p.m, &p.k, &p.n, &read);
  const bool is_whole = found == 3 && text.c_str()[read] == 0;
  if (!is_whole || p.m < 1 || p.k < 1 || p.n < 1)
    return fail(ErrorKind::Invalid, "product {}, expected ROWSxDEPTHxCOLUMNS", text);
  return p;
}

}  // namespace

json measure_rows(const Options& options) {
  core::Config config = value_of(runtime::read_environment(runtime::process_environment()));
  config.dev = options.device;
  config.device_settings["CPU_THREADS"] = std::to_string(options.threads);
  if (Result<void> started = runtime::initialize(config); !started)
    throw std::move(started).error();
  Tensor::manual_seed(0);
  const Peak peak = probe_machine(options.threads, options.smoke);
  json result{
      {"gflops", peak.gflops}, {"read_gbps", peak.read_gbps}, {"copy_gbps", peak.copy_gbps}};
  result["rows"] = json::array(), result["rivals"] = json::object();
  std::string missing;
  Rivals rivals;
  if (!options.smoke)
    rivals = value_of(open_rivals({options.against, options.python, options.threads}, &missing));
  if (!missing.empty()) result["rivals"]["missing"] = missing;
  for (const auto& rival : rivals) result["rivals"][rival->name()] = rival->description();
  std::vector<KernelWorkload> workloads = kernel_workloads(options.smoke);
  std::erase_if(workloads,
                [&](const KernelWorkload& w) { return !is_named(w.name, options.only); });
  for (const std::string& name : options.products)
    workloads.push_back(
        product_workload("matmul " + name, value_of(parse_product(name)), dtypes::f32));
  for (const KernelWorkload& workload : workloads)
    result["rows"].push_back(measure_workload(workload, rivals, options.smoke));
  if (!rivals.empty() && options.random_shapes > 0)
    result["random"] = measure_random(rivals, options);
  return result;
}

}  // namespace doorbell::bench
