// `doorbell tune`: runs a program with BEAM, so that each of its kernels is searched for a faster
// plan; lists what searches found, writes it to a file that ships with a model, and reads such a
// file. The search is runtime/tuner.h's.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "base/os/process.h"
#include "runtime/runtime.h"
#include "runtime/tuner.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

struct Options {
  int beam = 2;
  bool list = false;
  std::string export_path, import_path;
  std::vector<std::string> command;
};

void import_plans(const std::string& path) {
  const std::string text = or_throw(os::read_text(os::host_files(), path));
  const i64 count = or_throw(runtime::tuner().plans().import_text(text));
  fmt::print("{} plans from {}\n", count, path);
}

void export_plans(const std::string& path) {
  const std::string text = runtime::tuner().plans().export_text();
  const std::span<const u8> bytes(reinterpret_cast<const u8*>(text.data()), text.size());
  u64 unique = 0;
  os::host_random().fill({reinterpret_cast<u8*>(&unique), sizeof unique});
  or_throw(os::replace_file(os::host_files(), path, bytes, unique));
  fmt::print("{} plans to {}\n", std::count(text.begin(), text.end(), '\n') - 1, path);
}

void list_plans() {
  f64 heuristic_ns = 0, ns = 0;
  fmt::print("{:>10}  {:>6}  {}\n", "us", "faster", "kernel and plan");
  for (const codegen::TunedPlan& plan : runtime::tuner().plans().all()) {
    heuristic_ns += plan.heuristic_ns, ns += plan.ns;
    const f64 faster = plan.ns > 0 ? plan.heuristic_ns / plan.ns : 1;
    fmt::print("{:>10.1f}  {:>6.2f}  {}: {}\n", plan.ns / 1e3, faster, plan.kernel,
               codegen::print(plan.plan));
  }
  if (ns > 0) fmt::print("all of them, once: {:.2f} times faster\n", heuristic_ns / ns);
}

int run(const Options& options) {
  or_throw(runtime::initialize());
  if (!options.import_path.empty()) import_plans(options.import_path);
  int status = 0;
  if (!options.command.empty()) {
    setenv("BEAM", std::to_string(options.beam).c_str(), 1);
    setenv("PROGRESS", "1", 1);
    status = or_throw(os::run_attached(options.command));
  }
  if (options.list || !options.command.empty()) list_plans();
  if (!options.export_path.empty()) export_plans(options.export_path);
  return status;
}

}  // namespace

void add_tune(CLI::App* app, int* status) {
  CLI::App* command =
      app->add_subcommand("tune", "Search faster plans for a program's kernels; move them");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("--beam", options->beam, "Plans that the search keeps at each step")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_flag("--list", options->list, "List the plans of this user's cache");
  command->add_option("--export", options->export_path, "Write these plans to a file");
  command->add_option("--import", options->import_path, "Add the plans of such a file first");
  command->add_option("command", options->command, "The program and its arguments, after --");
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
