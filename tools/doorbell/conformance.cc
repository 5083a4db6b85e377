// `doorbell conformance`: runs the suite of conformance/ on a device and prints the results. For
// the cases see conformance/.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "base/util/try.h"
#include "conformance/exceptions.h"
#include "conformance/processes.h"
#include "conformance/run.h"
#include "core/util/config.h"
#include "runtime/environment.h"
#include "runtime/processes.h"
#include "runtime/progress_bar.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/conformance_record.h"
#include "tools/doorbell/open_device.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

using conformance::Batch;
using conformance::Failure;
using conformance::Report;
using conformance::Target;

struct Settings {
  conformance::Options options;
  std::string device;
  std::string exceptions;            // a file
  std::string outputs;               // a file for the record
  std::vector<std::string> compare;  // two records
  bool list = false, json = false;
  int jobs = 0;
};

std::string again(const Settings& settings, const Failure& failure) {
  std::string command = "doorbell conformance";
  if (!settings.device.empty()) command += " --device '" + settings.device + "'";
  return command + fmt::format(" --seed {} --filter '{}'", settings.options.seed, failure.filter);
}

// Of each process that finds one; what else is printed is process 0's.
void print_failure(const Settings& settings, const Failure& failure) {
  const std::string where =
      dist::world_size() > 1 ? fmt::format(" in process {}", dist::rank()) : "";
  fmt::print("FAILED {}{}\n", failure.name, where);
  std::string line;
  for (char c : failure.text) {
    if (c != '\n') {
      line += c;
      continue;
    }
    fmt::print("    {}\n", line);
    line.clear();
  }
  fmt::print("    again: {}\n", again(settings, failure));
  std::fflush(stdout);
}

void print_text(const Report& report, const Target& target) {
  fmt::print("\n{:<16} {:>7} {:>7} {:>8} {:>9}\n", "group", "passed", "failed", "skipped",
             "seconds");
  for (const auto& [name, count] : report.groups) {
    fmt::print("{:<16} {:>7} {:>7} {:>8} {:>9.1f}\n", name, count.passed, count.failed,
               count.skipped, count.seconds);
  }
  fmt::print("\n{}\n", last_line(report, target));
}

void print_json(const Settings& settings, const Report& report, const Target& target) {
  nlohmann::json failures = nlohmann::json::array();
  for (const Failure& failure : report.failures) {
    failures.push_back(
        {{"name", failure.name}, {"text", failure.text}, {"again", again(settings, failure)}});
  }
  nlohmann::json groups = nlohmann::json::object();
  for (const auto& [name, count] : report.groups) {
    groups[name] = {{"passed", count.passed},
                    {"failed", count.failed},
                    {"skipped", count.skipped},
                    {"seconds", count.seconds}};
  }
  const nlohmann::json all = {{"device", target.device->name()},
                              {"renderer", target.device->spec().renderer},
                              {"arch", target.device->spec().arch},
                              {"description", target.device->description()},
                              {"runs", target.device->runs()},
                              {"seed", settings.options.seed},
                              {"sample_one_in", settings.options.sample_one_in},
                              {"passed", report.passed},
                              {"failed", report.failed},
                              {"skipped", report.skipped},
                              {"not_run", report.not_run},
                              {"processes", dist::world_size()},
                              {"failed_elsewhere", report.failed_elsewhere},
                              {"skips", report.skips},
                              {"groups", groups},
                              {"failures", failures}};
  fmt::print("{}\n", all.dump(2));
}

Result<conformance::Suite> suite_of(const Settings& settings) {
  conformance::Suite suite = conformance::Suite::make();
  if (settings.exceptions.empty()) return suite;
  TRY(const std::string text, os::read_text(os::host_system().files, settings.exceptions));
  TRY(conformance::except(&suite, text, settings.exceptions));
  return suite;
}

// Joins the others of mpirun, where there are cases for all of them together.
void join_processes(const std::vector<Batch>& batches, const Settings& settings) {
  const bool is_needed = std::ranges::any_of(batches, [](const Batch& batch) {
    return conformance::is_distributed(batch.cases.front().name);
  });
  if (!is_needed || !runtime::launcher(runtime::process_environment())) return;
  if (settings.options.seconds > 0)
    throw fail(ErrorKind::Invalid,
               "--seconds and processes of mpirun: they would not run the same cases");
  dist::init({.timeout_s = 120});
}

int run(const Settings& settings) {
  if (!settings.compare.empty())
    return compare_record_files(settings.compare[0], settings.compare[1], settings.json);
  const conformance::Suite suite = or_throw(suite_of(settings));
  const std::vector<Batch> batches = or_throw(conformance::choose(suite, settings.options));
  if (settings.list) {
    for (const Batch& batch : batches)
      for (const conformance::Case& one : batch.cases) fmt::print("{}\n", one.name);
    return 0;
  }
  core::Device& device = open_device(settings.device);
  join_processes(batches, settings);
  core::Overrides overrides;
  if (settings.jobs > 0) overrides.parallel = settings.jobs;
  const core::Context context(overrides);
  const Target target = or_throw(Target::of(device));
  runtime::ProgressBar bar(static_cast<i64>(batches.size()));
  conformance::Progress progress;
  const bool prints = dist::rank() == 0;
  if (prints && !settings.json) {
    fmt::print("{}:{}, {}; seed {}{}{}\n", target.device->name(), target.device->spec().renderer,
               target.device->description(), settings.options.seed,
               settings.options.sample_one_in > 0 ? ", a sample" : "",
               dist::world_size() > 1 ? fmt::format("; {} processes", dist::world_size()) : "");
    std::fflush(stdout);
  }
  if (!settings.json) {
    progress.failure = [&](const Failure& failure) {
      bar.clear();
      print_failure(settings, failure);
    };
  }
  std::optional<RecordFile> record;
  if (!settings.outputs.empty()) {
    record.emplace(settings.outputs, target, settings.options);
    progress.held = [&](const conformance::Case& one, const std::vector<conformance::Held>& held) {
      record->add(one, held);
    };
  }
  i64 done = 0;
  if (prints) {
    progress.batch = [&](const Batch& batch, f64) { bar.tell(++done, batch.name); };
    bar.tell(0, "compiling");
  }
  const Report report = conformance::run(batches, target, settings.options, progress);
  bar.clear();
  if (record) record->close();
  if (prints && settings.json) print_json(settings, report, target);
  if (prints && !settings.json) print_text(report, target);
  return report.failed + report.failed_elsewhere == 0 ? 0 : 1;
}

}  // namespace

void add_conformance(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(
      "conformance", "Run the conformance suite on a device (docs/conformance.md)");
  auto settings = std::make_shared<Settings>();  // owned by the parser and the callback
  command->add_option("--device", settings->device, "As in DEV: CPU, CPU:CLANG, NULL, ...");
  command->add_flag("--sample{6}", settings->options.sample_one_in,
                    "One batch in 6 of each group, chosen by the seed; --sample=40: one in 40");
  command
      ->add_option("--seconds", settings->options.seconds,
                   "Begin no batch after this time; the seed chooses which batches come first")
      ->check(CLI::PositiveNumber)
      ->option_text("S");
  command->add_option("--seed", settings->options.seed, "Of all random inputs, and of the sample");
  command->add_option("--filter", settings->options.filter,
                      "Only cases whose name contains this regular expression");
  command->add_option("--except", settings->exceptions,
                      "A file of cases not to run: on each line a regular expression and a reason");
  command
      ->add_option("--outputs", settings->outputs,
                   "Record what the cases' tensors held, bit by bit, in this file")
      ->option_text("FILE");
  command
      ->add_option(
          "--compare", settings->compare,
          "Run nothing; compare the bits of two records; exits with 1 where those of exact "
          "arithmetic differ")
      ->expected(2)
      ->option_text("FILE FILE");
  command->add_flag("--list", settings->list, "Name the cases and run none");
  command->add_flag("--json", settings->json, "Print JSON");
  command->add_option("--jobs", settings->jobs, "Threads that compile kernels")
      ->check(CLI::PositiveNumber);
  command->callback([settings, status] { *status = run(*settings); });
}

}  // namespace doorbell::tools
