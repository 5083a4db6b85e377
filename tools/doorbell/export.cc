// `doorbell export -- COMMAND`: runs a program and writes the functions that it jits as C, or for
// browsers. The program itself writes them (tensor/export, setting EXPORT).
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "base/os/process.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder = "export";
  bool wgsl = false;
  std::vector<std::string> command;
};

// The sorted names, without extension, of the folder's files with this extension.
std::set<std::string> names_with(const fs::path& folder, const char* ending) {
  std::set<std::string> names;
  std::error_code none;  // a missing folder has no names
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == ending) names.insert(entry.path().stem().string());
  return names;
}

int run(const Options& options) {
  const fs::path folder = fs::absolute(options.folder);
  // Files of an earlier run would look like this run's.
  const char* const ending_of_made = options.wgsl ? ".js" : ".h";
  for (const char* ending : {ending_of_made, ".refused"})
    for (const std::string& name : names_with(folder, ending)) fs::remove(folder / (name + ending));
  setenv("EXPORT", ((options.wgsl ? "wgsl:" : "") + folder.string()).c_str(), 1);
  std::fflush(stdout);
  const int status = or_throw(os::run_attached(options.command));
  const std::set<std::string> made = names_with(folder, ending_of_made),
                              refused = names_with(folder, ".refused");
  for (const std::string& name : made)
    fmt::print(fmt::runtime(options.wgsl ? "exported {0}: {1}/{0}.html, {0}.js, {0}.safetensors\n"
                                         : "exported {0}: {1}/{0}.h, lib{0}.a, {0}.safetensors\n"),
               name, folder.string());
  for (const std::string& name : refused) {
    Result<std::string> reason =
        os::read_text(os::host_files(), (folder / (name + ".refused")).string());
    std::fprintf(stderr, "doorbell: %s is not exported: %s\n", name.c_str(),
                 reason ? reason->c_str() : "and the reason cannot be read");
  }
  if (made.empty() && refused.empty())
    std::fprintf(stderr, "doorbell: %s ended with status %d and captured no function\n",
                 options.command[0].c_str(), status);
  if (status != 0) return status;
  return made.empty() || !refused.empty() ? 1 : 0;
}

}  // namespace

void add_export(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("export",
                                          "Run a program; write the functions that it jits as C "
                                          "header, library and weights, or as page, "
                                          "JavaScript module and weights");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("--folder", options->folder, "Where to; made where there is none")
      ->capture_default_str();
  command->add_flag("--wgsl", options->wgsl, "For browsers with WebGPU, instead of C");
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
