// `doorbell trace -- COMMAND`: records how a program uses AMD's or NVIDIA's GPUs, real or emulated,
// through the kernel driver: ioctls, mappings, and the packets in its queues. libdoorbell_trace.so
// (tools/trace) records inside the program.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/util/error.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/preload.h"
#include "tools/doorbell/trace_options.h"

namespace doorbell::tools {
namespace {

struct Options {
  TraceOptions trace;
  std::string capture;  // a folder
  bool json = false;
  std::vector<std::string> command;
};

int run(const Options& options) {
  const std::string library = find_preload("libdoorbell_trace.so");
  set_trace(options.trace, "DOORBELL_TRACE_FILE", "DOORBELL_TRACE_ONLY", "DOORBELL_TRACE_LIMIT");
  if (options.json) setenv("DOORBELL_TRACE_JSON", "1", 1);
  if (!options.capture.empty()) {
    // The program may change its folder.
    const std::filesystem::path folder = std::filesystem::absolute(options.capture);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw fail_errno(error.value(), "make the folder {}", folder.string());
    setenv("DOORBELL_TRACE_CAPTURE", folder.c_str(), 1);
  }
  return run_preloaded(library, options.command);
}

}  // namespace

void add_trace(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(
      "trace",
      "Run a program; record its calls of AMD's or NVIDIA's kernel driver and its queues' packets");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command
      ->add_option("-o,--output", options->trace.file,
                   "Where the lines go, standard error when not given; .json for Perfetto, .jsonl "
                   "JSON lines")
      ->option_text("FILE");
  command->add_flag("--json", options->json, "Lines are JSON objects");
  command
      ->add_option("--capture", options->capture,
                   "Keep what is submitted to NVIDIA's GPUs in this folder, for doorbell decode")
      ->option_text("FOLDER");
  add_trace_options(command, "--only", "--limit", &options->trace);
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
