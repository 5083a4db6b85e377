// `doorbell trace -- COMMAND`: records what a program says to AMD GPUs through the kernel driver,
// on real ones or emulated: ioctls, mappings, and the packets in its queues. The recording is done
// inside the program, by libdoorbell_trace.so (tools/trace).
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tools/doorbell/commands.h"
#include "tools/doorbell/preload.h"

namespace doorbell::tools {
namespace {

struct Options {
  std::string output;
  bool json = false;
  std::vector<std::string> command;
};

int run(const Options& options) {
  const std::string library = find_preload("libdoorbell_trace.so");
  if (!options.output.empty())
    setenv("DOORBELL_TRACE_FILE", make_output(options.output).c_str(), 1);
  if (options.json) setenv("DOORBELL_TRACE_JSON", "1", 1);
  return run_preloaded(library, options.command);
}

}  // namespace

void add_trace(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(
      "trace", "Run a program; record its calls of AMD's kernel driver and its queues' packets");
  auto options = std::make_shared<Options>();  // by the parser and the callback
  command->add_option("-o,--output", options->output,
                      "Where the lines go; standard error when not given");
  command->add_flag("--json", options->json, "Lines are JSON objects");
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
