// `doorbell graph -- COMMAND`: runs a program with GRAPH_FILE and names the page of its graphs,
// schedules and kernels. The program's runtime writes it (runtime/profile.h).
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tools/doorbell/commands.h"
#include "tools/doorbell/run_for_file.h"

namespace doorbell::tools {
namespace {

struct Options {
  std::string output = "doorbell.graphs.html";
  std::vector<std::string> command;
};

int run(const Options& options) {
  const std::string path = std::filesystem::absolute(options.output).string();
  setenv("GRAPH_FILE", path.c_str(), 1);
  const FileRun done = run_for_file(options.command, path, "page");
  if (done.written) fmt::print("\ngraphs and kernels: {} (a browser opens it)\n", path);
  return done.status;
}

}  // namespace

void add_graph(CLI::App* app, int* status) {
  CLI::App* command =
      app->add_subcommand("graph", "Run a program; show its graphs, schedules and kernels");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("--output", options->output, "The page, for a browser")
      ->capture_default_str();
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
