// A batch is built case by case, realised as a whole, and compared. If realising fails, or a value
// is wrong, each case concerned runs again alone: that finds the failing case, and shows whether it
// fails only together with others.
#include "conformance/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <regex>

#include "conformance/processes.h"

namespace doorbell::conformance {
namespace {

std::string group_of(const std::string& name) { return name.substr(0, name.find('/')); }

// A name as a pattern: its dots and brackets match only themselves.
std::string escaped(const std::string& name) {
  std::string pattern;
  for (char c : name) {
    if (std::string_view(".[]()+*?|{}^$\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Keeps some batches of each group, at least one where a single process is enough for it, and some
// cases of each batch.
std::vector<Batch> sample(const std::vector<Batch>& batches, u64 seed, u64 one_in) {
  const usize max_cases = std::clamp<usize>(60 / one_in, 3, 10);
  std::map<std::string, std::pair<u64, const Batch*>> first;  // of each group, by the seed's order
  for (const Batch& batch : batches) {
    const std::pair<u64, const Batch*> entry{seed_of(seed, batch.name), &batch};
    auto [at, fresh] = first.emplace(group_of(batch.name), entry);
    if (!fresh && entry.first < at->second.first) at->second = entry;
  }
  std::vector<Batch> kept;
  for (const Batch& batch : batches) {
    const bool is_first =
        first.at(group_of(batch.name)).second == &batch && !is_distributed(batch.name);
    if (!batch.always && !is_first && seed_of(seed, batch.name) % one_in != 0) continue;
    kept.push_back(batch);
    std::vector<Case>& cases = kept.back().cases;
    if (cases.size() <= max_cases) continue;
    std::stable_sort(cases.begin(), cases.end(), [&](const Case& a, const Case& b) {
      return seed_of(seed, a.name) < seed_of(seed, b.name);
    });
    cases.resize(max_cases);
  }
  return kept;
}

// Builds a case; an error is a failure of it.
void build(const Case& one, Trial& trial) {
  try {
    one.run(trial);
  } catch (const Error& error) {
    trial.require(false, "error: " + error.message);
  }
}

std::vector<Tensor> tensors_of(const Trial& trial) {
  std::vector<Tensor> tensors;
  for (const Expectation& expectation : trial.expectations()) tensors.push_back(expectation.got);
  return tensors;
}

bool realize(const std::vector<Tensor>& tensors) {
  try {
    Tensor::realize(tensors);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void settle(Trial& trial) {
  try {
    Tensor::realize(tensors_of(trial));
    for (const Expectation& expectation : trial.expectations()) trial.settle(expectation);
  } catch (const Error& error) {
    trial.require(false, "error: " + error.message);
  }
}

// As they are, or in the seed's order where the time may not suffice for all.
std::vector<const Batch*> in_order(const std::vector<Batch>& batches, const Options& options) {
  std::vector<const Batch*> order;
  for (const Batch& batch : batches) order.push_back(&batch);
  if (options.seconds > 0)
    std::stable_sort(order.begin(), order.end(), [&](const Batch* a, const Batch* b) {
      return seed_of(options.seed, a->name) < seed_of(options.seed, b->name);
    });
  return order;
}

class Runner {
 public:
  Runner(const Target& target, const Options& options, const Progress& progress)
      : target_(target), options_(options), progress_(progress) {}

  void run(const Batch& batch) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<const Case*> cases;
    for (const Case& one : batch.cases) {
      std::optional<std::string> reason = target_.lacks(one.needs);
      if (!reason && !one.exception.empty()) reason = one.exception;
      if (is_distributed(one.name) && any_process(reason.has_value()) && !reason)
        reason = "the device of another process cannot";
      if (!reason) {
        cases.push_back(&one);
        continue;
      }
      ++report.skipped;
      ++report.skips[*reason];
      ++report.groups[group_of(one.name)].skipped;
    }
    if (!cases.empty()) run(batch, cases);
    const std::chrono::duration<f64> took = std::chrono::steady_clock::now() - start;
    report.groups[group_of(batch.name)].seconds += took.count();
    if (progress_.batch) progress_.batch(batch, took.count());
  }

  Report report;

 private:
  void run(const Batch& batch, const std::vector<const Case*>& cases) {
    Trial::Inputs inputs;
    std::vector<Trial> trials;
    std::vector<Tensor> together;
    for (const Case* one : cases) {
      trials.emplace_back(target_, seed_of(options_.seed, batch.name), &inputs,
                          progress_.held != nullptr);
      build(*one, trials.back());
      for (Tensor& tensor : tensors_of(trials.back())) together.push_back(std::move(tensor));
    }
    const bool realized = realize(together);
    together.clear();
    for (usize i = 0; i < cases.size(); ++i) {
      if (realized) settle(trials[i]);
      if (!trials[i].held().empty()) progress_.held(*cases[i], trials[i].held());
      finish(batch, *cases[i], trials[i], !realized);
    }
  }

  // The result of the case in its batch; `again`: not known yet.
  void finish(const Batch& batch, const Case& one, const Trial& trial, bool again) {
    if (trial.failures().empty() && !again) {
      ++report.passed;
      ++report.groups[group_of(one.name)].passed;
      return;
    }
    Failure failure{one.name, "", "^" + escaped(one.name) + "$"};
    if (is_distributed(one.name)) {  // the others do not run it again
      for (const std::string& line : trial.failures()) failure.text += line + "\n";
      count(std::move(failure));
      return;
    }
    Trial::Inputs inputs;
    Trial alone(target_, trial.seed(), &inputs);
    build(one, alone);
    settle(alone);
    const bool passes_alone = alone.failures().empty();
    if (passes_alone && trial.failures().empty()) {  // another case made the realisation fail
      ++report.passed;
      ++report.groups[group_of(one.name)].passed;
      return;
    }
    if (passes_alone) {
      failure.filter = "^" + escaped(batch.name) + "/";
      failure.text = "passes alone, and fails among the cases of its batch\n";
    }
    for (const std::string& line : (passes_alone ? trial : alone).failures())
      failure.text += line + "\n";
    count(std::move(failure));
  }

  void count(Failure failure) {
    ++report.failed;
    ++report.groups[group_of(failure.name)].failed;
    if (progress_.failure) progress_.failure(failure);
    report.failures.push_back(std::move(failure));
  }

  const Target& target_;
  const Options& options_;
  const Progress& progress_;
};

}  // namespace

Result<std::vector<Batch>> choose(const Suite& suite, const Options& options) {
  std::vector<Batch> chosen;
  std::regex pattern;
  try {
    pattern = std::regex(options.filter, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return fail(ErrorKind::Invalid, "'{}' is no regular expression: {}", options.filter,
                error.what());
  }
  for (const std::unique_ptr<Batch>& batch : suite.batches()) {
    Batch kept{batch->name, batch->needs, {}, batch->always};
    for (const Case& one : batch->cases)
      if (options.filter.empty() || std::regex_search(one.name, pattern)) kept.cases.push_back(one);
    if (!kept.cases.empty()) chosen.push_back(std::move(kept));
  }
  if (chosen.empty())
    return fail(ErrorKind::NotFound, "no case has '{}' in its name; --list names them",
                options.filter);
  return options.sample_one_in > 0 ? sample(chosen, options.seed, options.sample_one_in)
                                   : std::move(chosen);
}

Report run(const std::vector<Batch>& batches, const Target& target, const Options& options,
           const Progress& progress) {
  Runner runner(target, options, progress);
  const auto begin = std::chrono::steady_clock::now();
  for (const Batch* batch : in_order(batches, options)) {
    const std::chrono::duration<f64> spent = std::chrono::steady_clock::now() - begin;
    if (options.seconds > 0 && spent.count() > options.seconds)
      runner.report.not_run += static_cast<i64>(batch->cases.size());
    else
      runner.run(*batch);
  }
  Report& report = runner.report;
  if (dist::world_size() > 1)
    report.failed_elsewhere = sum_over_processes(report.failed) - report.failed;
  return std::move(report);
}

std::string last_line(const Report& report, const Target& target) {
  std::string line =
      fmt::format("{} passed, {} failed, {} skipped", report.passed, report.failed, report.skipped);
  if (report.failed_elsewhere > 0)
    line += fmt::format(", {} failed in other processes", report.failed_elsewhere);
  if (report.not_run > 0) line += fmt::format(", {} not run for want of time", report.not_run);
  const char* separator = ": ";
  for (const auto& [reason, count] : report.skips) {
    line += fmt::format("{}{} {}", separator, count, reason);
    separator = "; ";
  }
  if (!target.device->runs()) line += " (planned and compiled only)";
  return line;
}

}  // namespace doorbell::conformance
