// A name that is asked for and cannot be had is an error, so that no table lacks a column silently.
#include "bench/kernels/rivals.h"

#include <algorithm>

#include "base/os/process.h"
#include "base/util/try.h"
#include "bench/kernels/blas.h"
#include "bench/support/child.h"
#include "tools/measure/measure.h"

namespace doorbell::bench {
namespace {

using nlohmann::json;

// Products of f32.
class BlasRival final : public Rival {
 public:
  explicit BlasRival(Blas blas) : blas_(std::move(blas)) {}
  std::string name() const override { return "openblas"; }
  std::string description() const override { return blas_.description(); }

  Result<bool> prepare(const json& task) override {
    if (task.value("kind", "") != "matmul" || task.value("dtype", "f32") != "f32") return false;
    product_ = {task.at("m"), task.at("n"), task.at("k")};
    const auto count = [](i64 rows, i64 columns) { return static_cast<usize>(rows * columns); };
    a_.assign(count(product_.m, product_.k), 1.0f);
    b_.assign(count(product_.k, product_.n), 0.5f);
    c_.assign(count(product_.m, product_.n), 0.0f);
    multiply();
    return true;
  }

  Result<f64> sample(f64 seconds) override {
    return tools::measure([this] { multiply(); },
                          {.warmup = 0, .samples = 1, .sample_seconds = seconds})
        .best;
  }

 private:
  void multiply() { blas_.multiply(product_, a_.data(), b_.data(), c_.data()); }

  Blas blas_;
  Product product_;
  std::vector<f32> a_, b_, c_;
};

// A process that answers with lines of JSON.
class TorchRival final : public Rival {
 public:
  static Result<std::unique_ptr<Rival>> open(const RivalOptions& options) {
    // Results in fresh memory would cost a fault per page: freed memory stays with the process.
    const std::vector<std::string> command{"env",
                                           "-u",
                                           "OPENBLAS_CORETYPE",
                                           "MALLOC_MMAP_MAX_=0",
                                           "MALLOC_TRIM_THRESHOLD_=34359738368",
                                           "OMP_NUM_THREADS=" + std::to_string(options.threads),
                                           options.python,
                                           DOORBELL_SOURCE_ROOT "/bench/kernels/torch_workloads.py",
                                           std::to_string(options.threads)};
    TRY(os::LineProcess process, os::LineProcess::start(command));
    std::unique_ptr<TorchRival> made(new TorchRival(std::move(process)));
    TRY(json about, made->ask({{"do", "describe"}}));
    made->description_ = about.at("description");
    return std::unique_ptr<Rival>(std::move(made));
  }
  std::string name() const override { return "torch"; }
  std::string description() const override { return description_; }

  Result<bool> prepare(const json& task) override {
    TRY(json answer, ask({{"do", "prepare"}, {"task", task}}));
    return answer.at("able").get<bool>();
  }
  Result<f64> sample(f64 seconds) override {
    TRY(json answer, ask({{"do", "sample"}, {"seconds", seconds}}));
    return number(answer, "seconds");
  }

 private:
  explicit TorchRival(os::LineProcess process) : process_(std::move(process)) {}
  Result<json> ask(const json& question) {
    TRY(const std::string line, process_.ask(question.dump()));
    json answer = json::parse(line, nullptr, false);
    if (answer.is_discarded() || answer.contains("error"))
      return fail(ErrorKind::Os, "PyTorch answered {} with {}", question.dump(), line);
    return answer;
  }

  os::LineProcess process_;
  std::string description_;
};

}  // namespace

Result<std::vector<std::unique_ptr<Rival>>> open_rivals(const RivalOptions& options,
                                                        std::string* missing) {
  std::vector<std::unique_ptr<Rival>> made;
  for (usize at = 0; at < options.names.size();) {
    const usize end = std::min(options.names.find(',', at), options.names.size());
    const std::string name = options.names.substr(at, end - at);
    at = end + 1;
    if (name == "torch") {
      TRY(std::unique_ptr<Rival> torch, TorchRival::open(options));
      made.push_back(std::move(torch));
    } else if (name == "openblas") {
      Result<Blas> blas = Blas::open(options.threads);
      if (blas)
        made.push_back(std::make_unique<BlasRival>(std::move(*blas)));
      else
        *missing = blas.error().message;
    } else {
      return fail(ErrorKind::Invalid, "nothing called {} to compare with: torch, openblas", name);
    }
  }
  return made;
}

}  // namespace doorbell::bench
